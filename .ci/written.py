"""``python .ci/written.py FILE ...``: lines that no file should hold, such as marks of an unresolved merge."""

import re
import sys
from pathlib import Path

WRONG = {"space at the end": r"[ \t]+$", "tab": r"\t", "mark of a merge": r"^(<{7}|={7}|>{7})( |$)"}


def faults(path: str) -> list[str]:
    """One line for each fault of a file."""
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    faulty = [(i, what) for i, line in enumerate(lines, 1) for what, form in WRONG.items() if re.search(form, line)]
    return [f"{path}:{i}: {what}" for i, what in faulty] + ([f"{path}: no newline at the end"] if lines[-1] else [])


if __name__ == "__main__":
    wrong = [line for path in sys.argv[1:] for line in faults(path)]
    print("\n".join(wrong))
    sys.exit(bool(wrong))
