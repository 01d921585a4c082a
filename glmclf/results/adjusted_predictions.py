from glmclf.results.margins.predictions import AdjustedPredictions as AdjustedPredictions
from glmclf.results.margins.predictions import Contrasts as Contrasts
