"""What pytest leaves alone in docs/: sphinx's configuration and output, and pages whose package is not installed."""

from importlib.util import find_spec

collect_ignore = ["conf.py", "_ext", "_build", "auto_examples", "generated"]
collect_ignore += [] if find_spec("sklearn") else ["guides/scikit-learn.md"]
