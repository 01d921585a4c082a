"""Results of Logit, Probit, CLogLog and MNLogit."""
