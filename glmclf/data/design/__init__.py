"""Designs: from the terms of a formula or from arrays to columns, in the fit and for new rows."""
