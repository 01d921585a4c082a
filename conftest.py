"""What pytest leaves alone where an optional package is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("sklearn") else ["glmclf/sklearn.py"]
