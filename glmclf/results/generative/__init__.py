"""Results of LDA, QDA and NaiveBayes."""
