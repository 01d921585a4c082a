"""Rubin's rules: R's mice, by-hand arithmetic, the shapes of every model, and fits that do not belong together."""

import functools
import re

import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf import datasets
from glmclf.inference.hypotheses import pooling
from glmclf.results.tables.frames import summary_frame

NAMES = ["Intercept", "lwt", "C(race)[T.2]", "C(race)[T.3]", "smoke", "ht"]
FORMULA = "low ~ lwt + C(race) + smoke + ht"


def completed(m=5):
    """birthwt with the weight of every fourth mother drawn m times, by a rule that R repeats."""
    b = references.reference("birthwt__logit")[1]
    i = np.arange(len(b))
    return [b.assign(lwt=np.where(i % 4 == 0, b.lwt + 7 * ((i * j) % 5 - 2), b.lwt)) for j in range(1, m + 1)]


@pytest.fixture(scope="module")
def pooled():
    return glmclf.pool([glmclf.Logit.from_formula(FORMULA, d).fit() for d in completed()])


# R 4.2.2, mice 3.15.0: pool(as.mira(lapply(1:5, function(j) { d <- birthwt; d$lwt <- ifelse(i %% 4 == 0, d$lwt +
# 7 * ((i*j) %% 5 - 2), d$lwt); glm(low ~ lwt + race + smoke + ht, binomial, d, control = glm.control(1e-15, 100))
# }))), with i <- 0:188 and race a factor; columns estimate, std.error, df, riv, lambda, fmi, p.value, 2.5 %, 97.5 %
MICE = np.array(
    [
        [
            0.2813705207592,
            0.92531403552436,
            162.089376458,
            0.04230606510221,
            0.04058890811314,
            0.0522118376132,
            0.76145611188633,
            -1.545854129999,
            2.10859517151785,
        ],
        [
            -0.0174831700075,
            0.00685913827674,
            158.188596890,
            0.04830643190335,
            0.04608044979333,
            0.0579165172151,
            0.01175844681823,
            -0.031030474997,
            -0.00393586501788,
        ],
        [
            1.2820189553510,
            0.52240352691744,
            179.409656031,
            0.00691166743405,
            0.00686422419919,
            0.0177532944097,
            0.01507927491940,
            0.251173257050,
            2.31286465365232,
        ],
        [
            0.9531149538100,
            0.42285851330009,
            180.797710585,
            0.00122909037643,
            0.00122758156774,
            0.0120957519628,
            0.02539784283078,
            0.118742417280,
            1.78748749033989,
        ],
        [
            1.0812154771901,
            0.38819674607552,
            179.594908909,
            0.00625468325337,
            0.00621580535968,
            0.0171009302581,
            0.00592301803317,
            0.315201998621,
            1.84722895575898,
        ],
        [
            1.7271653701306,
            0.69108230647393,
            178.277658817,
            0.01053361682001,
            0.01042381633295,
            0.0213416116104,
            0.01335082579126,
            0.363411291811,
            3.09091944845030,
        ],
    ]
)


def test_printed_as_its_table(pooled):
    assert str(pooled) == repr(pooled) == pooled.summary().as_text()
    assert "Rubin's rules" in str(pooled)


def test_mice(pooled):
    ends = pooled.conf_int()
    found = [
        pooled.params,
        pooled.bse,
        pooled.df,
        pooled.riv,
        pooled.variances["lambda"],
        pooled.fmi,
        pooled.pvalues,
        ends[0],
        ends[1],
    ]
    for column, expected in zip(found, MICE.T, strict=True):
        assert_allclose(column[NAMES], expected, rtol=1e-6)
    assert pooled.df_complete == 183 and pooled.m == 5


def joint(pooled, names, df):
    R = np.array([pooled.params.index == name for name in names], dtype=float)
    distances = np.array([R @ r.params for r in pooled.results])
    return pooling.joint_test(distances, np.array([R @ r.cov_params().to_numpy() @ R.T for r in pooled.results]), df)


def test_joint_test_by_hand(pooled):
    """R 4.2.2 arithmetic of Li, Raghunathan & Rubin (1991) on the fits above, race = 0 and ht = 0."""
    t = joint(pooled, ["C(race)[T.2]", "C(race)[T.3]", "ht"], np.inf)
    assert_allclose([t.statistic, t.riv, t.pvalue], [4.71041052995, 0.00650167562896, 0.00273274856237], rtol=1e-7)
    assert_allclose(t.df_denom, 133487.424153, rtol=1e-6)
    table = pooled.wald_test_terms().table
    assert list(table.index) == ["Intercept", "C(race)", "lwt", "smoke", "ht"]
    assert table.loc["C(race)", "df_constraint"] == 2
    one = pooled.f_test("ht = 0")
    assert_allclose(one.statistic, pooled.tvalues["ht"] ** 2, rtol=1e-10)


def test_joint_tests_count_the_degrees_of_freedom_of_complete_data(pooled):
    """R 4.2.2, mice 3.15.0: D1(fits, fits without them)$result, also with dfcom = 12, of the fits above."""
    t = pooled.wald_test("C(race)[T.2] = 0, C(race)[T.3] = 0, ht = 0")
    assert_allclose([t.statistic, t.df_denom, t.pvalue], [4.7104105299, 180.7476623105, 0.0034330982255], rtol=1e-7)
    t = joint(pooled, ["C(race)[T.2]", "C(race)[T.3]", "ht"], 12)
    assert_allclose([t.df_denom, t.pvalue], [10.367449182988, 0.025573152995046], rtol=1e-7)
    t = joint(pooled, ["C(race)[T.2]", "C(race)[T.3]", "lwt"], 12)
    assert_allclose([t.statistic, t.df_denom, t.pvalue], [4.7874542842488, 10.30781854443, 0.0245997519], rtol=1e-7)


def test_one_equation_is_t_squared(pooled):
    for hypothesis in ("ht = 0", "smoke - 2*ht = 1"):
        t, F = pooled.t_test(hypothesis), pooled.f_test(hypothesis)
        assert_allclose([F.statistic, F.df_denom, F.pvalue], [t.tvalue[0] ** 2, t.df[0], t.pvalue[0]], rtol=1e-8)
    table = pooled.wald_test_terms().table
    assert_allclose(table.loc["lwt", ["pvalue", "df_denom"]].astype(float), [pooled.pvalues["lwt"], pooled.df["lwt"]])


def test_four_clusters():
    data = [d.assign(g=np.arange(len(d)) % 4) for d in completed()]
    with pytest.warns(glmclf.errors.InferenceWarning, match="clusters"):
        fits = [glmclf.Logit.from_formula(FORMULA, d).fit(cov_type="cluster", cov_kwds={"groups": "g"}) for d in data]
    res = glmclf.pool(fits)
    assert res.df_complete == 3
    assert_allclose(res.f_test("lwt = 0").pvalue, res.pvalues["lwt"], rtol=1e-8)
    for hypothesis in ("lwt, ht", "lwt, ht, smoke"):  # Reiter's are not defined; never more than of complete data
        assert 1.5 < res.f_test(hypothesis).df_denom < 2.0


def test_limits_of_the_degrees_of_freedom():
    """Nothing missing: those of complete data; infinitely many of those: Li, Raghunathan and Rubin's, or Rubin's."""
    for df in (3.0, 12.0, 1e4):
        n = (df + 1) / (df + 3) * df
        for k in (1, 2, 5):
            assert_allclose(pooling.denominator_df(0.0, k, 5, df), n)
            assert_allclose(pooling.denominator_df(1e-9, k, 5, df), n, rtol=1e-6)
    for k, m in ((1, 5), (2, 3), (3, 5), (4, 20)):
        assert_allclose(pooling.denominator_df(0.4, k, m, 1e9), pooling.denominator_df(0.4, k, m, np.inf), rtol=1e-6)
    assert pooling.denominator_df(0.4, 2, 5, 0.0) == 0


def test_few_degrees_of_freedom():
    """k (m - 1) <= 4: the formula of Rubin (1987, 3.3) in numbers."""
    d = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]])
    U = np.array([np.diag([1.0, 4.0])] * 3)
    r = 4 / 3 * (1 + 1 / 4) / 2
    expected = (4 + 1) / (2 * (1 + r)), 0.5 * 4 * 1.5 * (1 + 1 / r) ** 2
    assert_allclose(pooling.joint_test(d, U)[0:4:3], expected, rtol=1e-12)


def test_combinations_are_pooled_as_scalars(pooled):
    t = pooled.t_test("smoke - ht = 0.5, lwt = 0")
    effects = [r.params["smoke"] - r.params["ht"] for r in pooled.results]
    u = [r.cov_params([[0, 0, 0, 0, 1, -1]]).item() for r in pooled.results]
    p = pooling.pooled(np.array(effects)[:, None], np.array(u)[:, None], 183)
    assert_allclose([t.effect[0], t.sd[0], t.df[0]], [p.estimate[0], np.sqrt(p.total[0]), p.df[0]], rtol=1e-10)
    assert_allclose(t.tvalue[0], (t.effect[0] - 0.5) / t.sd[0])
    assert_allclose(t.summary_frame().iloc[1, :6], summary_frame(pooled).loc["lwt"], rtol=1e-9)
    V = pooled.cov_params()
    assert_allclose(np.sqrt(np.diag(V)), pooled.bse, rtol=1e-12)


def test_equal_data_sets_are_one_fit():
    d = completed()[0]
    res = glmclf.Logit.from_formula(FORMULA, d).fit()
    pooled = glmclf.pool([res, res, glmclf.Logit.from_formula(FORMULA, d).fit(method="newton")])
    assert_allclose(pooled.params, res.params, rtol=1e-12)
    assert_allclose(pooled.bse, res.bse, rtol=1e-10)
    joint = pooled.f_test("lwt, ht")
    assert_allclose(joint.df_denom, 184 / 186 * 183)
    assert_allclose(pooled.df, 184 / 186 * 183)  # Barnard & Rubin's, which counts the estimation of the variance
    assert_allclose(pooled.wald_test("lwt, ht").statistic, res.f_test("lwt, ht").statistic, rtol=1e-8)


def test_every_model():
    p, rng = datasets.load("penguins").dropna().reset_index(drop=True), np.random.default_rng(0)
    lost = rng.random(len(p)) < 0.3
    data = [p.assign(body_mass_g=p.body_mass_g.where(~lost, rng.normal(4200, 600, len(p)))) for _ in range(4)]
    f = p.index.to_numpy() % 3
    for model in ("Logit", "Probit", "CLogLog", "MNLogit", "LDA", "QDA", "NaiveBayes"):
        formula = ("sex" if model in ("Logit", "Probit", "CLogLog") else "island") + " ~ body_mass_g + bill_depth_mm"
        make = getattr(glmclf, model).from_formula
        fits = [make(formula, d, freq_weights=f).fit(cov_type="HC0") for d in data]
        res = glmclf.pool(fits)
        long = glmclf.pool([make(formula, d.loc[d.index.repeat(f)]).fit(cov_type="HC0") for d in data])
        for name in ("params", "bse", "pvalues", "df", "fmi"):
            assert_allclose(getattr(res, name), getattr(long, name), rtol=1e-6, atol=1e-12, err_msg=f"{model} {name}")
        shown = [getattr(r, "discriminant", r) for r in fits]
        assert_allclose(res.params, np.mean([r.params for r in shown], axis=0), rtol=1e-10)
        assert type(res.params) is type(shown[0].params)
        text = res.summary().as_text()
        assert f"{model} Results, Pooled over 4 Data Sets" in text and "fmi" in text and "HC0" in text
        assert len(res.tidy()) == np.size(res.params) and res.summary().as_latex()


def test_clusters_constraints_and_kept_results(tmp_path):
    data = [d.assign(g=np.arange(len(d)) % 25) for d in completed()]
    make = glmclf.Logit.from_formula
    res = glmclf.pool([make(FORMULA, d).fit(cov_type="cluster", cov_kwds={"groups": "g"}) for d in data])
    assert res.df_complete == 24 and res.cov_type == "cluster"
    held = glmclf.pool([make(FORMULA, d).fit_constrained("ht = 1.5") for d in data])
    assert held.params["ht"] == 1.5 and held.bse["ht"] == 0 and np.isnan(held.pvalues["ht"])
    kept = []
    for i, fit in enumerate(res.results):
        fit.save(tmp_path / f"{i}.json")
        kept.append(glmclf.load(tmp_path / f"{i}.json"))
    pd.testing.assert_frame_equal(glmclf.pool(kept).summary_frame(), res.summary_frame())


def test_fits_that_do_not_belong_together():
    data, make = completed(), glmclf.Logit.from_formula
    fits = [make(FORMULA, d).fit() for d in data[:2]]
    pairs = {
        "model: Logit; Probit": glmclf.Probit.from_formula(FORMULA, data[1]).fit(),
        "names of the parameters": make("low ~ lwt + smoke + ht", data[1]).fit(),
        "number of observations: 189; 188": make(FORMULA, data[1].iloc[1:]).fit(),
        "covariance type: nonrobust; HC1": make(FORMULA, data[1]).fit(cov_type="HC1"),
        "the levels": make(FORMULA, data[1], event=0).fit(),
        "bias_reduction: None; firth": make(FORMULA, data[1]).fit(bias_reduction="firth", cov_type="nonrobust"),
        "constraints": make(FORMULA, data[1]).fit_constrained("ht = 1"),
        "offset": make(FORMULA, data[1], offset="ptl").fit(),
    }
    for why, other in pairs.items():
        with pytest.raises(ValueError, match=f"fits 1 and 2 differ in.*{why}"):
            glmclf.pool([fits[0], other])
    with pytest.raises(ValueError, match=r"standardize\(lwt\) memorised other numbers in fit 2"):
        glmclf.pool([make("low ~ standardize(lwt)", d).fit() for d in data])
    with pytest.raises(ValueError, match="memorised other numbers"):
        glmclf.pool([make("low ~ bs(lwt, df=4)", d).fit() for d in data])
    fixed = "low ~ bs(lwt, df=4, knots=[120], lower_bound=50, upper_bound=300)".replace("df=4, ", "")
    assert np.isfinite(glmclf.pool([make(fixed, d).fit() for d in data]).bse).all()
    with pytest.raises(NotImplementedError, match="fit 2 is penalised"):
        glmclf.pool([fits[0], make(FORMULA, data[1]).fit_regularized(0.1)])
    apart = data[1].assign(low=(data[1].lwt > 120).astype(int))
    with pytest.warns(glmclf.errors.SeparationWarning):
        infinite = make(FORMULA, apart).fit()
    with pytest.raises(ValueError, match="fit 2 is infinite"):
        glmclf.pool([fits[0], infinite])
    with pytest.warns(glmclf.errors.ConvergenceWarning):
        short = make(FORMULA, data[1]).fit(maxiter=1)
    with pytest.raises(ValueError, match="fit 2 did not converge"):
        glmclf.pool([fits[0], short])


@glmclf.rowwise
def thin(v):
    return v / 10


def slim(v):
    return v / 10


def away(v):
    return v - v.mean()


def test_code_that_looks_across_rows_is_refused_where_these_were_imputed(tmp_path):
    """Like standardize(lwt): the mean, ranks or quantiles are of each data set; functions of the row are none of it."""
    data = completed(2)

    across = ("I(lwt - lwt.mean())", "lwt.rank()", "away(lwt)", "lwt.shift(1)", "hinge(lwt.rank(), [50])")
    for code in (*across, "pd.qcut(lwt, 2, labels=False)", "np.where(lwt > np.median(lwt), 1, 0)"):
        with pytest.raises(ValueError, match=f'"{re.escape(code)}" in a row depends on other rows, and "lwt" .* fit 2'):
            glmclf.pool([glmclf.Logit.from_formula(f"low ~ {code}", d).fit() for d in data])
    with pytest.raises(ValueError, match="depends on other rows"):
        glmclf.pool([glmclf.LDA.from_formula("low ~ lwt.rank()", d).fit() for d in data])
    for code in ("thin(lwt)", "lwt.clip(90, 200)", "away(age)", "age.rank() + lwt"):
        fits = [glmclf.Logit.from_formula(f"low ~ {code}", d).fit() for d in data]
        assert glmclf.pool(fits).m == 2
    for function in (slim, thin):
        fits = [glmclf.Logit._from_formula("low ~ f(lwt)", each, {"f": function}).fit() for each in data]
        fits[1].save(tmp_path / "b.json")
        kept = glmclf.load(tmp_path / "b.json", functions={"f": function})
        if function is thin:
            assert glmclf.pool([fits[0], kept]).m == 2
            continue
        with pytest.raises(ValueError, match=r'"f\(lwt\)" in a row depends on other rows, .*f = glmclf\.rowwise\(f\)'):
            glmclf.pool(fits)
        with pytest.raises(ValueError, match=r'"f\(lwt\)" .* kept in a file has no data'):
            glmclf.pool([fits[0], kept])


def test_what_was_modelled_is_compared(tmp_path):
    """Coefficients of one name that mean different things are not pooled; the difference is named."""
    one, two = (
        d.assign(other=1 - d.low, w=1.0 + d.smoke, v=2.0 - d.smoke, g=np.arange(len(d)) % 30) for d in completed(2)
    )
    one, two = (d.assign(h=np.arange(len(d)) % 25, k=pd.Categorical(d.race)) for d in (one, two))
    make, lda, bayes = glmclf.Logit.from_formula, glmclf.LDA.from_formula, glmclf.NaiveBayes.from_formula
    counted = {"lwt": "poisson"}
    poly, turned = "low ~ C(k, Poly)", two.assign(k=pd.Categorical(two.race, categories=[2, 1, 3]))
    pairs = [
        ("the response: low; other", make("low ~ lwt", one).fit(), make("other ~ lwt", two).fit()),
        ("the offset: v; w", make("low ~ lwt", one, offset="v").fit(), make("low ~ lwt", two, offset="w").fit()),
        (
            "the weights: .*v.*; .*w",
            make("low ~ lwt", one, weights="v").fit(),
            make("low ~ lwt", two, weights="w").fit(),
        ),
        (
            "kind of weights: none; freq",
            make("low ~ lwt", one).fit(),
            make("low ~ lwt", two, freq_weights=np.ones(189)).fit(),
        ),
        (
            "maxlags",
            *(make("low ~ lwt", d).fit(cov_type="HAC", cov_kwds={"maxlags": m}) for d, m in ((one, 1), (two, 9))),
        ),
        (
            "groups",
            *(
                make("low ~ lwt", d).fit(cov_type="cluster", cov_kwds={"groups": c})
                for d, c in ((one, "g"), (two, "h"))
            ),
        ),
        (
            "groups",
            *(
                make("low ~ lwt", d).fit(cov_type="cluster", cov_kwds={"groups": c.to_numpy()})
                for d, c in ((one, one.g), (two, two.h))
            ),
        ),
        (
            "flic: False; True",
            *(make("low ~ lwt", d).fit(bias_reduction="firth", flic=f) for d, f in ((one, False), (two, True))),
        ),
        (
            "priors=: .*0.1.*; .*0.5",
            *(lda("race ~ lwt", d, priors=p).fit() for d, p in ((one, [0.1, 0.1, 0.8]), (two, [0.5, 0.3, 0.2]))),
        ),
        (
            "priors=: None; ",
            *(lda("race ~ lwt", d, priors=p).fit() for d, p in ((one, None), (two, {1: 0.5, 2: 0.3, 3: 0.2}))),
        ),
        (
            "families",
            *(
                bayes("low ~ lwt", d, families=f, pooled=True).fit()
                for d, f in ((one, {"lwt": "gaussian"}), (two, counted))
            ),
        ),
    ]
    for why, a, b in pairs:
        with pytest.raises(ValueError, match=f"fits 1 and 2 differ in .*{why}"):
            glmclf.pool([a, b])
        b.save(tmp_path / "b.json")
        with pytest.raises(ValueError, match=f"fits 1 and 2 differ in .*{why}"):
            glmclf.pool([a, glmclf.load(tmp_path / "b.json")])
    with pytest.raises(ValueError, match="memorised other numbers"):
        glmclf.pool([make(poly, one).fit(), make(poly, turned).fit()])
    fits = []
    power = 2
    fits.append(make("low ~ I((lwt / 100) ** power)", one).fit())
    power += 1  # the same name
    fits.append(make("low ~ I((lwt / 100) ** power)", two).fit())
    with pytest.raises(ValueError, match="beside the table: {'power': 2}; {'power': 3}"):
        glmclf.pool(fits)
    drawn = [
        make("low ~ lwt", d.assign(low=np.where(np.arange(189) < 9, i, d.low)), offset="v").fit()
        for i, d in enumerate((one, two))
    ]
    assert glmclf.pool(drawn).m == 2  # imputed outcomes differ in their values


def offset_by(a, b=0.0):
    def moved(v, c=b):
        return v - a - c

    return moved


KINDS = {
    "low ~ I(lwt - mu.lwt)": lambda k: {"mu": pd.Series({"lwt": 1.0 + k, "low": 0.5})},
    "low ~ I(lwt - part[0])": lambda k: {"part": (1.0 + k, 2.0)},
    "low ~ I(lwt - part['a'])": lambda k: {"part": {"a": 1.0 + k}},
    "low ~ I(lwt - few)": lambda k: {"few": np.array([1.0 + k])},
    "low ~ hinge(lwt, knots)": lambda k: {"knots": [120.0 + k]},
    "low ~ moved(lwt)": lambda k: {"moved": offset_by(float(k))},
    "low ~ np.sqrt(moved(lwt))": lambda k: {"moved": offset_by(1.0, float(k))},
    "low ~ own(lwt)": lambda k: {"own": functools.partial(np.add, 1.0 + k)},
    "I(low > k) ~ lwt": lambda k: {"k": 0.3 * k},
    "I(lwt > lim.top) ~ age": lambda k: {"lim": pd.Series({"top": 120 + k})},
}


@pytest.mark.parametrize("formula", KINDS)
def test_values_beside_the_table_have_to_be_the_same(formula, tmp_path):
    """Of whatever kind and side; equal ones that are other objects pool. Also of kept fits, but for functions."""
    left, right = (side.strip() for side in formula.split("~"))
    said = re.escape(f'fits 1 and 2 differ in what "{right if left == "low" else left}" takes from beside the table: ')
    data = completed(1)[0]
    fits = [glmclf.Logit._from_formula(formula, data, {**globals(), **KINDS[formula](k)}).fit() for k in (0, 0, 1)]
    assert glmclf.pool(fits[:2]).m == 2
    with pytest.raises(ValueError, match=said):
        glmclf.pool(fits[1:])
    if left != "low" or "few" in formula or "knots" in formula:  # others cannot be kept in a file
        fits[2].save(tmp_path / "b.json")
        with pytest.raises(ValueError, match=said):
            glmclf.pool([fits[0], glmclf.load(tmp_path / "b.json")])


def test_what_is_compared_of_functions_is_said():
    data = completed(1)[0]
    lines = [lambda v: v / 10, lambda v: v / 10, lambda v: v / 9 + 0 * np.sqrt(v)]
    fits = [glmclf.Logit._from_formula("low ~ f(lwt) + age", data, {"f": f}).fit() for f in lines]
    text = " ".join(glmclf.pool(fits[:2]).summary().as_text().split())
    assert "Of f the name and the numbers held are the same in all fits; code was not compared." in text
    assert glmclf.pool(fits).m == 3  # other code of one name is not noticed, which is what the summary says
    whole = glmclf.pool([glmclf.Logit.from_formula("low ~ lwt + np.log(age)", data).fit() for _ in range(2)])
    assert "code was not compared" not in whole.summary().as_text()


def test_long_arrays_beside_the_table_are_compared_by_every_number():
    from glmclf.data.formula.borrowed import in_words

    for n in (7, 500, 5000):
        a, b = np.arange(float(n)), np.arange(float(n))
        assert in_words(a) == in_words(b) == in_words(np.arange(n)) and len(in_words(a)) < 60
        b[-1] += 1e-9
        for hold in (np.asarray, pd.Series, lambda v: {"a": v}, lambda v: functools.partial(np.add, v)):
            assert in_words(hold(a)) == in_words(hold(a.copy())) != in_words(hold(b))


def test_a_left_side_that_looks_across_rows():
    fits = [glmclf.Logit.from_formula("I(lwt > lwt.mean()) ~ age", d).fit() for d in completed(2)]
    with pytest.raises(ValueError, match=r'"I\(lwt > lwt.mean\(\)\)" in a row depends on other rows'):
        glmclf.pool(fits)


def test_bad_arguments(pooled):
    res = pooled.results[0]
    for bad, why in (
        (res, "takes a list"),
        (3, "takes a list"),
        ([res], "two fits or more"),
        ([res, 3], "number 2 is no fit"),
        ([pooled, pooled], "number 1 is no fit"),
    ):
        with pytest.raises(TypeError, match=why):
            glmclf.pool(bad)
    for call in (
        lambda: pooled.nonlinear_test("lwt"),
        lambda: pooled.t_test_pairwise("race"),
        lambda: pooled.t_test("lwt", use_t=False),
        lambda: pooled.wald_test("lwt", use_f=False),
        lambda: pooled.conf_int(method="profile"),
    ):
        with pytest.raises(NotImplementedError, match="pooled fits"):
            call()
    with pytest.raises(ValueError, match="alpha"):
        pooled.conf_int(2)
