from glmclf.results.hypotheses.pairwise import PairwiseTests as PairwiseTests
