from glmclf.results.tables.regression_table import RegressionTable as RegressionTable
