"""Clusters that cannot be used."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import make, models, shared, toy


def clustered(model, groups, t=None, **keywords):
    t = toy() if t is None else t
    return make(model, "y ~ x1", t, **keywords).fit(cov_type="cluster", cov_kwds={"groups": groups})


@models
@pytest.mark.parametrize(
    "groups, words",
    [
        ("frim", ["frim", "firm"]),
        (np.zeros(159), ["159", "160"]),
        (np.zeros((160, 3)), ["3"]),
        (["firm", "year", "g"], []),
        (5, ["5"]),
        ([], []),
        (np.zeros(160), ["two clusters"]),
        (["firm", np.zeros(160)], ["two clusters"]),
        (pd.Series(["a", "b"] * 80, index=range(1, 161)), ["label"]),
        (pd.Series(["a", "b"] * 80, index=[0, 1] * 80), ["repeats"]),
    ],
)
def test_groups(model, groups, words):
    with refused(*words):
        clustered(model, groups)
    with refused(*words):
        shared(model).with_cov("cluster", groups=groups)


@models
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_groups_of_kept_rows(model, missing):
    t = toy()
    t["firm"] = t.firm.astype(object)
    t.loc[[2, 8], "firm"] = missing
    with refused("firm", "2 rows", "2, 8"):
        clustered(model, "firm", t)
    with refused("year"):
        clustered(model, ["firm", "year"], toy().assign(year=np.where(toy().year == 2000, np.nan, toy().year)))


@models
def test_no_groups_at_all(model):
    for kwds in (None, {}, {"groups": None}):
        with refused("cluster", "groups"):
            shared(model).model.fit(cov_type="cluster", cov_kwds=kwds)
    with refused("groups", error=(ValueError, TypeError)):
        shared(model).with_cov("cluster")


@models
@pytest.mark.parametrize(
    "kwds", [{"group": "firm"}, {"groups": "firm", "df_correction": True}, {"groups": "firm", "use_correction": False}]
)
def test_unknown_keywords(model, kwds):
    word = next(k for k in kwds if k != "groups")
    with refused(word, "cluster", error=TypeError):
        shared(model).model.fit(cov_type="cluster", cov_kwds=kwds)
    with refused(word, "cluster", error=TypeError):
        shared(model).with_cov("cluster", **kwds)


@models
@pytest.mark.parametrize("cov", ["nonrobust", "expected", "HC0", "HC1"])
def test_groups_without_clusters(model, cov):
    with refused("groups", cov, error=TypeError):
        shared(model).model.fit(cov_type=cov, cov_kwds={"groups": "firm"})
    with refused("groups", cov, error=TypeError):
        shared(model).with_cov(cov, groups="firm")
