"""C() of moments, durations and periods: a factor of their values, as of the same values as categories."""

import numpy as np
import pandas as pd
import pytest

import glmclf
from glmclf.errors import UnseenLevelError

N = 240


def table():
    r = np.random.default_rng(1)
    k = r.integers(0, 3, N)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(k, unit="D")
    frame = pd.DataFrame({"y": r.integers(0, 2, N), "x": r.normal(size=N), "k": k, "day": day})
    frame = frame.assign(step=pd.to_timedelta(k, unit="h"), month=pd.PeriodIndex(day, freq="D"),
                         zone=frame.day.dt.tz_localize("UTC"), date=frame.day.dt.date)  # fmt: skip
    for name in ("day", "step", "month", "zone", "date"):
        frame.loc[frame.index % 17 == 0, name] = pd.NaT
    return frame


@pytest.mark.parametrize("model", [glmclf.Logit, glmclf.LDA, glmclf.NaiveBayes])
@pytest.mark.parametrize("name", ["day", "step", "month", "zone", "date"])
def test_times_are_factors_of_their_values(name, model, tmp_path):
    frame = table()
    other = frame.assign(k=frame.k.where(frame[name].notna()))
    right = model.from_formula("y ~ x + C(k)", other, missing="drop").fit().predict(other[:20])
    for data in (frame, lambda: iter([frame[:100], frame[100:]])):
        found = model.from_formula(f"y ~ x + C({name})", data, missing="drop").fit()
        found.save(tmp_path / "f.glmclf")
        for res in (found, glmclf.load(tmp_path / "f.glmclf")):
            np.testing.assert_allclose(res.predict(frame[:20]), right, rtol=1e-8)


def test_a_time_that_the_fit_did_not_see_is_refused():
    frame = table()
    res = glmclf.Logit.from_formula("y ~ x + C(day)", frame).fit()
    with pytest.raises(UnseenLevelError, match="2031"):
        res.predict(frame[:2].assign(day=pd.Timestamp("2031-05-05")))
    both = glmclf.Logit.from_formula("y ~ C(day) + I(day.dt.day * x)", frame).fit()
    assert np.isfinite(both.predict(frame[1:9])).all()
