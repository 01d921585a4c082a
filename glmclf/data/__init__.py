"""From tables and formulas to arrays, and from new tables to new arrays."""
