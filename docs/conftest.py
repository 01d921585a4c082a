"""What pytest leaves alone in docs/: sphinx's configuration and its output."""

collect_ignore = ["conf.py", "_ext", "_build", "auto_examples", "generated"]
