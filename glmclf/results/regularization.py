from glmclf.results.regression.path import RegularizationCV as RegularizationCV
from glmclf.results.regression.path import RegularizationPath as RegularizationPath
