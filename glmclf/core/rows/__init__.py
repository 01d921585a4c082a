"""Rows in blocks, in memory or from a stream, and sums over them."""
