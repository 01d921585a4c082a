from glmclf.results.performance.validation import Validation as Validation
