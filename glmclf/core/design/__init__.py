"""Design matrices: dense, coded factors and sparse columns, with their products."""
