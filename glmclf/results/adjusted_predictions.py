from glmclf.results.margins.contrasts import Contrasts as Contrasts
from glmclf.results.margins.predictions import AdjustedPredictions as AdjustedPredictions
