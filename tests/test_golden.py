"""Every answer of about a hundred fits of all kinds, compared to the last bit.

For steps of refactoring alone: last bits depend on the processor and on BLAS, so that answers are recorded where they
are compared, and this file and its answers go away after the last step. It runs only where asked, about a minute:

    GLMCLF_GOLDEN=1 OPENBLAS_NUM_THREADS=1 python -m pytest -q tests/test_golden.py
    GLMCLF_GOLDEN=1 OPENBLAS_NUM_THREADS=1 python -m pytest -q tests/test_golden.py -k "ridge or Probit"

`OPENBLAS_NUM_THREADS=1 python tests/test_golden.py` records all answers anew; with names of fits behind it, theirs.
Large tables are kept as a digest. Where that alone differs, run
`python tests/test_golden.py --show "Logit" "get_margeff()"`, which prints all cells, with the code before and after.
"""

import functools
import json
import os
import sys

import answers
import pytest
from answers import FITS, FOLDER, Fit, answer, other_answers, questions, written

FILE = FOLDER / "golden.json"
OTHERS = "other functions"
SHOWN = 12

pytestmark = pytest.mark.skipif(
    "GLMCLF_GOLDEN" not in os.environ, reason="compares the last bits, of one machine: set GLMCLF_GOLDEN=1 to run it")


def answers_of(name: str) -> dict:
    """What a fit answers to everything, and what it says while it is made."""
    if name == OTHERS:
        return {asked: answer(question, written) for asked, question in other_answers().items()}
    fit: Fit = FITS[name]
    made: list = []
    found = {"fit": answer(lambda: made.append(fit.make()), written)}
    if made:
        found |= {asked: answer(question, written) for asked, question in questions(made[0], fit).items()}
    return json.loads(json.dumps(found))


@functools.cache
def golden() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


def differences(old, new, where: str = ""):
    """Where two answers differ, with both values; of texts the lines."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            place = f"{where}.{key}" if where else key
            if key not in old or key not in new:
                yield f"{place}: {'new' if key not in old else 'gone'}: {str(old.get(key, new.get(key)))[:300]}"
            else:
                yield from differences(old[key], new[key], place)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{where}[{i}]")
    elif old != new or type(old) is not type(new):
        yield f"{where}:\n    was {old!r}\n    is  {new!r}"


@pytest.mark.parametrize("name", [*FITS, OTHERS])
def test_answers_are_the_same_to_the_last_bit(name):
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", "OPENBLAS_NUM_THREADS=1: the answers were recorded with it"
    found = answers_of(name)
    old = golden()[name]
    wrong = list(differences(old, {asked: found[asked] for asked in found if asked in old}))
    more = f"\n... and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    assert not wrong, f"{name}: {len(wrong)} differences\n" + "\n".join(wrong[:SHOWN]) + more


def record(names: list[str]) -> None:
    assert os.environ.get("OPENBLAS_NUM_THREADS") == "1", "set OPENBLAS_NUM_THREADS=1"
    kept = golden() if names and FILE.exists() else {}
    for name in names or [*FITS, OTHERS]:
        kept[name] = answers_of(name)
    texts = [f"{json.dumps(name)}: {{\n" + ",\n".join(
        f"{json.dumps(asked)}: {json.dumps(a, separators=(',', ':'))}" for asked, a in kept[name].items()) + "\n}"
        for name in [*FITS, OTHERS] if name in kept]
    FILE.write_text("{\n" + ",\n".join(texts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--show"]:
        answers.KEPT_IN_FULL = answers.INSIDE = 10**9
        print(json.dumps(answers_of(sys.argv[2])[sys.argv[3]], indent=1))
    else:
        record(sys.argv[1:])
