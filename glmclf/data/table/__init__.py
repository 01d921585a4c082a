"""Tables: columns of any type as plain values, alignment, rows kept and why."""
