"""Links and likelihoods: pointwise values and derivatives, and their sums over rows."""
