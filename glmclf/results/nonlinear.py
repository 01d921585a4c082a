from glmclf.results.hypotheses.nonlinear import NonlinearTest as NonlinearTest
