from glmclf.results.margins.effects import MarginalEffects as MarginalEffects
