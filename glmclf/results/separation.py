from glmclf.results.regression.separation import Separation as Separation
