from glmclf.results.diagnostics.influence import Influence as Influence
from glmclf.results.diagnostics.influence import PatternInfluence as PatternInfluence
