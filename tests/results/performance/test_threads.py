"""Several threads: what one of them does not want to hear is not silenced for all."""

import threading
import warnings

import pytest

import glmclf
from glmclf.errors import CollinearityWarning, InferenceWarning, warn, without_warnings


def test_filters_of_the_process_stay():
    res = glmclf.Logit.from_formula("GRADE ~ GPA", glmclf.datasets.load("spector")).fit()
    before, inside, go_on = list(warnings.filters), threading.Event(), threading.Event()

    def first():
        with without_warnings():
            inside.set()
            go_on.wait(30)

    def second():
        inside.wait(30)
        res.validate(reps=3, seed=1)
        go_on.set()

    threads = [threading.Thread(target=target) for target in (first, second)]
    for thread in threads:
        thread.start()
    inside.wait(30)
    with pytest.warns(InferenceWarning):  # of this thread, while the other does without
        warn("heard", InferenceWarning)
    for thread in threads:
        thread.join()
    assert list(warnings.filters) == before


def test_kinds_of_warnings():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with without_warnings(CollinearityWarning):
            warn("one", CollinearityWarning)
            warn("two", InferenceWarning)
            with without_warnings(InferenceWarning):
                warn("three", InferenceWarning)
        warn("four", CollinearityWarning)
    assert [str(w.message) for w in said] == ["two", "four"]
