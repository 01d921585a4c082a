"""The numerical heart: arrays in, arrays out; no tables, no names."""
