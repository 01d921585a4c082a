from glmclf.results.regression.levels import Equation as Equation
from glmclf.results.regression.levels import LevelPredictions as LevelPredictions
