"""Clusters that cannot be used."""

import numpy as np
import pandas as pd
import pytest
from bad_input.refusal import refused
from properties.toys import close, make, models, shared, toy


def clustered(model, groups, t=None, **keywords):
    t = toy() if t is None else t
    return make(model, "y ~ x1", t, **keywords).fit(cov_type="cluster", cov_kwds={"groups": groups})


@models
@pytest.mark.parametrize(
    "groups, words",
    [
        ("frim", ["frim", "firm"]),
        (np.zeros(159), ["159", "160"]),
        (np.zeros((160, 11)), ["11"]),
        (["firm"] * 11, ["found 11"]),
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


def test_labels_need_no_order():
    """Clusters of mixed types, and pairs."""
    t = toy()
    known = shared("Logit").with_cov("cluster", groups="firm").bse
    mixed = [k if k % 2 else str(k) for k in pd.factorize(t.firm)[0]]
    pairs = [(f, 1) for f in t.firm]
    for groups in (mixed, np.array(mixed, dtype=object), pd.Series(mixed), pairs, pd.Series(pairs)):
        close(shared("Logit").with_cov("cluster", groups=groups).bse, known)
    t["mixed"], t["pairs"] = mixed, pairs
    res = make("Logit", "y ~ x1 + x2 + g", t).fit()
    for name in ("mixed", "pairs"):
        close(res.with_cov("cluster", groups=name).bse, res.with_cov("cluster", groups="firm").bse)
    with refused("1 row "):
        res.with_cov("cluster", groups=[None, *mixed[1:]])


def test_levels_of_an_index():
    t = toy()
    res, index = shared("Logit"), pd.MultiIndex.from_arrays([t.firm, t.year])
    both = res.with_cov("cluster", groups=index)
    close(both.bse, res.with_cov("cluster", groups=["firm", "year"]).bse)
    assert both.cov_kwds["groups"] == ["firm", "year"]
    close(res.with_cov("cluster", groups=pd.Index(t.firm)).bse, res.with_cov("cluster", groups="firm").bse)
    with refused("1 to 10 groupings", "found 11"):
        res.with_cov("cluster", groups=pd.MultiIndex.from_arrays([t.firm] * 11))
    with refused("no such column", "rgion"):
        res.with_cov("cluster", groups=["firm", "year", "rgion"])


def test_a_grouping_of_one_cluster_is_named():
    t = toy().assign(one=1, two=np.arange(len(toy())) % 2)
    with refused("at least two clusters", "grouping 2 (one)", "Leave it out"):
        make("Logit", "y ~ x1", t).fit(cov_type="cluster", cov_kwds={"groups": ["two", "one"]})
    with refused("at least two clusters", "grouping 1"):
        make("Logit", "y ~ x1", t).fit(cov_type="cluster", cov_kwds={"groups": [t.one.to_numpy(), t.two.to_numpy()]})
    with refused("at least two clusters; one has one"):
        make("Logit", "y ~ x1", t).fit(cov_type="bootstrap", cov_kwds={"groups": "one"})


def test_arrays_of_several_groupings():
    """A column a grouping, with a name of its own."""
    t, res = toy(), shared("Logit")
    known = res.with_cov("cluster", groups=["firm", "year"]).bse
    codes = np.c_[pd.factorize(t.firm)[0], t.year]
    for groups in (codes, t[["firm", "year"]].to_records(index=False)):
        close(res.with_cov("cluster", groups=groups).bse, known)
    assert res.with_cov("cluster", groups=codes).cov_kwds["groups"] == ["groups[0]", "groups[1]"]
    with refused("found ", f"in an array of shape {codes.T.shape}, one a column"):
        res.with_cov("cluster", groups=codes.T)
    with refused(f"a list of {len(t)} lists", "np.array(groups)"):
        res.with_cov("cluster", groups=codes.tolist())
    with refused("found dict"):
        res.with_cov("cluster", groups={"firm": t.firm})
    with pytest.raises(NotImplementedError, match=r"groups\[0\] and groups\[1\]"):
        make("Logit", "y ~ x1", t).fit(cov_type="bootstrap", cov_kwds={"groups": codes})
