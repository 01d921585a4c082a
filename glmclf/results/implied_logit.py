from glmclf.results.generative.implied_logit import ImpliedLogit as ImpliedLogit
