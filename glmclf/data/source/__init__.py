"""Sources of data in parts: Parquet, CSV, functions, Dask."""
