from glmclf.results.performance.calibration import Calibration as Calibration
