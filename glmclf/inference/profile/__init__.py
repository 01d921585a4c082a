"""Profile likelihood intervals."""
