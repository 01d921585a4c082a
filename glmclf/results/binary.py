from glmclf.results.regression.binary import BinaryResults as BinaryResults
