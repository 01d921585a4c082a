from glmclf.results.performance.roc import MulticlassRoc as MulticlassRoc
from glmclf.results.performance.roc import PrecisionRecall as PrecisionRecall
from glmclf.results.performance.roc import RocCurve as RocCurve
