"""Influence: certified leverage and Cook's distances, exact deletion, residuals by level."""

import pathlib

import numpy as np
import pandas as pd
import pytest
import references
import statsmodels.api as sm
from numpy.testing import assert_allclose

import glmclf


@pytest.mark.parametrize("name", references.names("diagnostics"))
def test_certified(name):
    values, res = references.reference(name)[0]["values"], references.fitted("_".join(name.split("_")[:-1]))
    found, rows = res.get_influence(), values["rows"]
    assert_allclose(found.hat_matrix_diag.loc[rows], values["hat"], rtol=1e-9)
    assert_allclose(found.cooks_distance[0].loc[rows], values["cooks"], rtol=1e-8)
    assert_allclose(found.resid_studentized.loc[rows], values["resid_pearson_std"], rtol=1e-8)
    assert_allclose(found.hat_matrix_diag.sum(), len(res.params), rtol=1e-9)


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(0)
    n = 400
    df = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)}, index=np.arange(n) + 100)
    utility = np.column_stack([np.zeros(n), 0.5 + 0.8 * df.x, 0.6 * df.z]) + rng.gumbel(size=(n, 3))
    df["y"] = np.array(["bus", "car", "rail"])[utility.argmax(axis=1)]
    df["b"] = (df.y == "car").astype(int)
    return df


def test_statsmodels(toy):
    mine = glmclf.Logit.from_formula("b ~ x + z", toy).fit().get_influence()
    theirs = sm.Logit(toy.b, sm.add_constant(toy[["x", "z"]])).fit(disp=0).get_influence()
    assert_allclose(mine.dfbetas, theirs.dfbetas, atol=1e-8)
    assert_allclose(mine.cooks_distance, theirs.cooks_distance, atol=1e-9)
    table = mine.summary_frame()
    ours = {"delta_chi2", "delta_deviance"}
    assert set(table) - ours <= {c.replace("const", "Intercept") for c in theirs.summary_frame()}
    assert_allclose(mine.d_fittedvalues, theirs.d_fittedvalues, atol=1e-9)


def test_one_step_is_near_exact_deletion(toy):
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit()
    found = res.get_influence()
    for row in found.cooks_distance[0].nlargest(3).index:
        exact = res.params - glmclf.MNLogit.from_formula("y ~ x + z", toy.drop(index=row)).fit().params
        largest = np.abs(exact).to_numpy().max()
        assert_allclose(found.d_params.loc[row], exact.to_numpy().ravel(order="F"), atol=0.05 * largest)


def test_it_is_one_scoring_step_exactly(toy):
    """From the estimate, with the information of the rows that stay."""
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit()
    found, theta = res.get_influence(), res.params.to_numpy().ravel(order="F")
    rest = glmclf.MNLogit.from_formula("y ~ x + z", toy.iloc[1:]).fit().model
    step = np.linalg.solve(rest.information(theta), rest.score(theta))
    assert_allclose(found.d_params.iloc[0], -step, rtol=1e-8)
    cooks = step @ res.model.information(theta) @ step / len(theta)
    assert_allclose(found.cooks_distance[0].iloc[0], cooks, rtol=1e-8)


def test_leverage_adds_up_with_weights(toy):
    w = np.random.default_rng(0).integers(1, 4, len(toy))
    by_frequency = glmclf.MNLogit.from_formula("y ~ x + z", toy, freq_weights=w).fit()
    long = glmclf.MNLogit.from_formula("y ~ x + z", toy.iloc[np.repeat(np.arange(len(toy)), w)]).fit()
    hat = by_frequency.get_influence().hat_matrix_diag
    assert_allclose((w * hat).sum(), 6, rtol=1e-10)
    assert_allclose(np.repeat(hat.to_numpy(), w), long.get_influence().hat_matrix_diag, rtol=1e-8)
    sampled = glmclf.MNLogit.from_formula("y ~ x + z", toy, weights=w).fit()
    assert_allclose(sampled.get_influence().hat_matrix_diag.sum(), 6, rtol=1e-10)


def test_two_levels_are_the_binary_model(toy):
    two, one = (getattr(glmclf, m).from_formula("b ~ x + z", toy).fit() for m in ("MNLogit", "Logit"))
    assert_allclose(two.get_influence().cooks_distance[0], one.get_influence().cooks_distance[0], rtol=1e-8)
    assert_allclose(two.get_influence().dfbetas, one.get_influence().dfbetas, rtol=1e-7)
    for name in ("resid_response", "resid_pearson"):
        assert_allclose(getattr(two, name)[1], getattr(one, name), rtol=1e-8)
    assert_allclose((two.resid_dev**2).sum(axis=1), one.resid_dev**2, rtol=1e-8)
    assert_allclose(two.augment()[".resid"], one.resid_dev, rtol=1e-8)
    assert_allclose(two.resid_generalized[1], one.resid_generalized, rtol=1e-8)
    assert_allclose([two.deviance, two.null_deviance], [one.deviance, one.null_deviance], rtol=1e-12)
    pd.testing.assert_frame_equal(two.glance(), one.glance(), rtol=1e-10)


def test_residuals_by_level(toy):
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy, reference="car").fit()
    p, y = res.fittedvalues, pd.get_dummies(toy.y).astype(float)
    assert list(res.resid_response) == ["bus", "car", "rail"] and res.resid_response.index.equals(toy.index)
    assert_allclose(res.resid_response, y - p, atol=1e-14)
    assert_allclose(res.resid_pearson, (y - p) / np.sqrt(p * (1 - p)), rtol=1e-10)
    assert list(res.resid_generalized) == ["bus", "rail"]
    assert_allclose(res.model.exog.T @ res.resid_generalized, np.zeros((3, 2)), atol=1e-9)
    assert_allclose((res.resid_dev**2).sum().sum(), res.deviance, rtol=1e-12)
    assert ((res.resid_dev > 0) == y.astype(bool)).all().all()
    assert_allclose(res.resid_dev, np.where(y == 1, np.sqrt(2 * (-np.log(p) - (1 - p))), -np.sqrt(2 * p)), rtol=1e-10)
    theirs = sm.MNLogit(toy.y.map({"bus": 0, "car": 1, "rail": 2}), sm.add_constant(toy[["x", "z"]])).fit(disp=0)
    assert_allclose(res.resid_misclassified, theirs.resid_misclassified)
    assert res.resid_misclassified.mean() == (res.predict(which="class") != toy.y).mean()


def test_residuals_of_counts(toy):
    table = toy.assign(s=toy.x > 0).pivot_table(index="s", columns="y", values="z", aggfunc="size").reset_index()
    table = pd.concat([table, table.assign(bus=table.bus + 9, s=~table.s)], ignore_index=True)
    res = glmclf.MNLogit.from_formula("bus + car + rail ~ s", table).fit()
    y = table[["bus", "car", "rail"]].to_numpy()
    m, p = y.sum(axis=1, keepdims=True), res.fittedvalues.to_numpy()
    assert_allclose(res.resid_response, y / m - p, atol=1e-12)
    assert_allclose(res.resid_pearson, (y - m * p) / np.sqrt(m * p * (1 - p)), rtol=1e-9, atol=1e-10)
    assert_allclose((res.resid_dev**2).sum(axis=1), 2 * (y * np.log(y / (m * p))).sum(axis=1), rtol=1e-7, atol=1e-10)
    assert_allclose(res.deviance, (res.resid_dev**2).sum().sum(), rtol=1e-7)
    assert_allclose(res.resid_misclassified, 1 - y[np.arange(4), p.argmax(axis=1)] / m[:, 0])


def test_augment(toy, tmp_path):
    res = glmclf.MNLogit.from_formula("y ~ x + z", toy).fit()
    table = res.augment()
    assert list(table.columns[:4]) == list(toy.columns) and table.index.equals(toy.index)
    assert_allclose(table[[f".fitted_{c}" for c in res.levels]], res.fittedvalues)
    assert_allclose(table[".hat"].sum(), 6)
    assert (table[".class"] == res.predict(which="class")).all()
    deviance = res.deviance
    res.save(tmp_path / "m.json")
    res.remove_data()
    for other in (res, glmclf.load(tmp_path / "m.json")):
        assert other.deviance == deviance
        assert ".hat" not in other.augment(toy.head(3)) and len(other.augment(toy.head(3))) == 3


def test_resid_studentized_of_several_classes(toy):
    with pytest.raises(NotImplementedError, match="leverage block"):
        glmclf.MNLogit.from_formula("y ~ x", toy).fit().get_influence().resid_studentized


# R 4.2.2, m <- glm(low ~ age + lwt + factor(race) + smoke + ptl + ht + ui + ftv, binomial, birthwt, control =
# glm.control(1e-15, 200)) and m <- glm(cbind(Menarche, Immature) ~ Age, binomial(link), menarche): hatvalues(m),
# cooks.distance(m), rstandard(m), rstandard(m, type = "pearson"), rstudent(m) of rows 1, 100, 189 and 1, 10, 20
OF_R = {
    "birthwt__logit": (
        [0, 99, 188],
        [0.10303017427114, 0.016540563569037, 0.14595175893391],
        [0.00548371545236, 0.000147035057789, 0.00852698169668],
        [-0.89148123643729, -0.409554584008120, 0.91173768268758],
        [-0.69094607677330, -0.295674262912166, 0.70637317792006],
        [-0.87295131096506, -0.407929597736032, 0.88474033618409],
    ),
    "menarche__probit": (
        [0, 9, 19],
        [0.01981497277965, 0.0854945120250, 0.091852359736],
        [0.00105574326662, 0.0515413556982, 0.041071584437],
        [-0.45702177031904, 1.0324386265578, -0.855374514785],
        [-0.32318518928791, 1.0500668681042, -0.901195048306],
        [-0.45475247606957, 1.0339574937757, -0.859685103539],
    ),
    "menarche__cloglog": (
        [0, 9, 19],
        [0.110582081039, 0.0667351547559, 0.135344343071],
        [0.393897396488, 0.0665342066536, 0.150746999446],
        [-3.546621543778, 1.3326967525661, -1.280014557104],
        [-2.517196452883, 1.3641515056684, -1.387844713331],
        [-3.447933261877, 1.3348189729186, -1.295134179375],
    ),
}


@pytest.mark.parametrize("name", OF_R)
def test_influence_measures_of_r(name):
    rows, hat, cooks, standard, pearson, deleted = OF_R[name]
    found = references.fitted(name).get_influence()
    rtol = 1e-8 if name.endswith("logit") else 1e-6  # the digits of R's fits
    assert_allclose(found.hat_matrix_diag.iloc[rows], hat, rtol=rtol)
    assert_allclose(found.cooks_distance[0].iloc[rows], cooks, rtol=rtol)
    assert_allclose(found.resid_studentized_dev.iloc[rows], standard, rtol=rtol)
    assert_allclose(found.resid_studentized.iloc[rows], pearson, rtol=rtol)
    assert_allclose(found.resid_deleted.iloc[rows], deleted, rtol=rtol)
    assert_allclose(found.delta_chi2.iloc[rows], np.square(pearson), rtol=rtol)
    assert_allclose(found.delta_deviance.iloc[rows], np.square(deleted), rtol=rtol)


@pytest.fixture(scope="module")
def discrete(toy):
    """Few covariate patterns, with an offset that belongs to them."""
    df = toy.assign(x=toy.x.round(0).clip(-1, 1), z=(toy.z > 0).astype(int))
    return df.assign(o=0.1 * df.x, w=np.random.default_rng(4).integers(1, 4, len(df)))


@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit"])
def test_patterns_however_the_data_are_grouped(discrete, model):
    """Rows, frequency weights and counts: one answer, that of the counts' own rows."""
    y = "y" if model == "MNLogit" else "b"
    cls = getattr(glmclf, model)
    table = discrete.groupby(["x", "z", "o", y], sort=False).size().rename("n").reset_index()
    wide = table.pivot_table(index=["x", "z", "o"], columns=y, values="n", fill_value=0)
    wide = wide.set_axis([f"c{c}" for c in wide.columns], axis=1).reset_index()
    left = " + ".join(sorted((c for c in wide.columns if c[0] == "c"), reverse=model != "MNLogit"))
    fits = [
        cls.from_formula(f"{y} ~ x + z", discrete, offset="o").fit(),
        cls.from_formula(f"{y} ~ x + z", table, freq_weights="n", offset="o").fit(),
        cls.from_formula(f"{left} ~ x + z", wide, offset="o").fit(),
    ]
    tables = []
    for res in fits:
        found = res.get_influence(by="pattern")
        columns = found.patterns.iloc[:, :5]
        assert list(columns) == ["Intercept", "x", "z", "offset", "n"] and columns.n.sum() == len(discrete)
        frame = found.summary_frame().assign(d=np.asarray(found.d_fittedvalues).reshape(len(columns), -1)[:, 0])
        tables.append(frame.set_axis(pd.MultiIndex.from_frame(columns[["x", "z"]])).sort_index())
    for other in tables[1:]:
        assert_allclose(other, tables[0], rtol=1e-6, atol=1e-10)
    rows = fits[2].get_influence().summary_frame()
    rows = rows.set_axis(pd.MultiIndex.from_frame(wide[["x", "z"]])).sort_index()
    assert_allclose(tables[0].drop(columns="d"), rows, rtol=1e-6, atol=1e-10)


def test_rows_of_a_pattern(discrete):
    found = glmclf.Logit.from_formula("b ~ x + z", discrete).fit().get_influence(by="pattern")
    assert found.rows.index.equals(discrete.index) and set(found.rows) == set(found.patterns.index)
    assert found.patterns.index[0] == discrete.index[0]
    one = found.patterns.iloc[2]
    mine = discrete[(discrete.x == one.x) & (discrete.z == one.z)]
    assert one.n == len(mine) and one.observed_1 == mine.b.sum() and (found.rows[mine.index] == one.name).all()
    assert_allclose(found.patterns.expected_1.sum(), discrete.b.sum())


@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit"])
def test_fits_without_the_row(toy, model):
    """How the fit of the others changes, to first order: both statistics, at the largest and at others."""
    y, small = ("y" if model == "MNLogit" else "b"), toy.head(150)
    cls = getattr(glmclf, model)
    res = cls.from_formula(f"{y} ~ x + z", small).fit()
    found = res.get_influence()
    for row in [*found.delta_deviance.nlargest(2).index, small.index[7]]:
        rest = cls.from_formula(f"{y} ~ x + z", small.drop(index=row)).fit()
        assert_allclose(found.delta_deviance[row], res.deviance - rest.deviance, rtol=0.03)


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_sums_of_the_deltas(toy, model):
    """Own parts add up to Pearson's statistic and the deviance; the rest is what both have in common."""
    res = getattr(glmclf, model).from_formula("b ~ x + z" if model == "Logit" else "y ~ x + z", toy).fit()
    found = res.get_influence()
    gain = found.delta_deviance - (res.resid_dev**2 if model == "Logit" else (res.resid_dev**2).sum(axis=1))
    pearson = res.gof_test().loc["Pearson", "statistic"]
    assert_allclose((found.delta_chi2 - gain).sum(), pearson, rtol=1e-9)
    assert (gain >= 0).all()


def test_patterns_of_sampling_weights(discrete):
    """A pattern weighs what its rows weigh together, in units of their mean weight."""
    w = discrete.w * 0.7
    rows = glmclf.Logit.from_formula("b ~ x + z", discrete, weights=w).fit()
    counts = glmclf.Logit.from_formula("b ~ x + z", discrete, freq_weights="w").fit()
    a, b = (res.get_influence(by="pattern") for res in (rows, counts))
    assert_allclose(a.hat_matrix_diag, b.hat_matrix_diag, rtol=1e-8)
    assert_allclose(a.delta_chi2 * discrete.w.mean(), b.delta_chi2, rtol=1e-7)
    assert_allclose(a.cooks_distance[0] * discrete.w.mean(), b.cooks_distance[0], rtol=1e-7)


DIAGNOSTICS = ["hat_matrix_diag", "d_params", "dfbetas", "d_fittedvalues", "delta_chi2", "delta_deviance"]
STUDENTIZED = ["resid_studentized", "resid_studentized_dev", "resid_deleted"]


def all_diagnostics(res, by):
    found = res.get_influence(by=by)
    names = DIAGNOSTICS + ([] if type(res.model).__name__ == "MNLogit" else STUDENTIZED)
    values = {name: getattr(found, name) for name in names}
    values |= {f"cooks {i}": part for i, part in enumerate(found.cooks_distance)}
    if by == "row":
        values |= {"resid_pearson": res.resid_pearson, "resid_dev": res.resid_dev, "cooksd": res.augment()[".cooksd"]}
    return values


@pytest.mark.parametrize("by", ["row", "pattern"])
@pytest.mark.parametrize("response", ["b", "o + m", "share"])
@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit"])
def test_unit_of_sampling_weights_is_nothing_to_diagnostics(discrete, model, response, by):
    """w and 1000 w alike; equal weights change nothing."""
    if response == "share" and model == "MNLogit":
        response = "k"  # three levels
    rng = np.random.default_rng(3)
    n = len(discrete)
    df = discrete.assign(o=rng.integers(1, 5, n), m=rng.integers(1, 5, n), share=rng.uniform(0.1, 0.9, n))
    df["k"], w = rng.choice(list("abc"), n), rng.uniform(1, 3, n)
    fit = getattr(glmclf, model).from_formula
    one, other = (fit(f"{response} ~ x + z", df, weights=w * c).fit() for c in (1.0, 1000.0))
    equal = fit(f"{response} ~ x + z", df, weights=np.full(n, 7.0)).fit()
    plain = fit(f"{response} ~ x + z", df).fit(cov_type="HC0")
    for a, b in ((one, other), (equal, plain)):
        for name, values in all_diagnostics(a, by).items():
            assert_allclose(values, all_diagnostics(b, by)[name], rtol=1e-7, atol=1e-8, err_msg=name)


def test_sampling_weights_by_r():
    """R 4.2.2: m <- glm(vs ~ wt, binomial, mtcars, weights = hp / mean(hp), control = glm.control(1e-15, 200)), as
    survey's svyglm scales them; cooks.distance(m), rstandard(m, type = "pearson"), resid(m, "deviance")."""
    cars = pd.read_csv(pathlib.Path(__file__).parents[1] / "reference" / "data" / "mtcars.csv")
    res = glmclf.Logit.from_formula("vs ~ wt", cars, weights=10 * cars.hp).fit()
    found = res.get_influence()
    close = {"rtol": 2e-8}  # what the last step of R leaves
    assert_allclose(found.hat_matrix_diag[:2], [0.0819581639504575, 0.0549305620562561], **close)
    assert_allclose(found.cooks_distance[0][:3], [0.0520988153272179, 0.0189489266889302, 0.0133679261953242], **close)
    assert_allclose(found.resid_studentized[:3], [-1.080348934502743, -0.807480686743288, 0.505612240038237], **close)
    assert_allclose(res.resid_dev[:3], [-1.153666601732005, -0.948446629172493, 0.628161401483985], **close)


def test_patterns_of_a_separated_and_a_constrained_fit(discrete):
    extra = discrete.head(9).assign(g="c", b=1)
    with pytest.warns(glmclf.errors.SeparationWarning):
        res = glmclf.Logit.from_formula("b ~ x + z + g", pd.concat([discrete.assign(g="a"), extra])).fit()
    plain = glmclf.Logit.from_formula("b ~ x + z", discrete).fit().get_influence(by="pattern")
    found = res.get_influence(by="pattern")
    n = len(plain.patterns)
    assert_allclose(found.delta_chi2.iloc[:n], plain.delta_chi2, rtol=1e-7)
    assert (found.hat_matrix_diag.iloc[n:] == 0).all()
    held = glmclf.Logit.from_formula("b ~ x + z + o", discrete).fit_constrained("o = 0").get_influence(by="pattern")
    assert_allclose(held.delta_deviance, plain.delta_deviance, rtol=1e-7)
    assert_allclose(held.cooks_distance[0], plain.cooks_distance[0], rtol=1e-7)


@pytest.mark.parametrize(
    ("model", "formula", "constraints", "same", "offset"),
    [
        ("Logit", "b ~ x + z + g", "x = z", "b ~ I(x + z) + g", None),
        ("Probit", "b ~ x + z + g", "x = 0.5", "b ~ z + g", "half"),
        ("MNLogit", "y ~ x + z", "y{1}_x = y{1}_z, y{2}_x = y{2}_z", "y ~ I(x + z)", None),
        ("MNLogit", "y ~ x + z", "y{1}_x = 0, y{2}_x = 0", "y ~ z", None),
    ],
)
def test_patterns_are_those_that_constraints_leave(model, formula, constraints, same, offset):
    """Two ways to say one model, with few values of x and z, have the same tests and numbers by pattern."""
    r = np.random.default_rng(3)
    d = pd.DataFrame({name: r.integers(0, 4, 160) * 1.0 for name in ("x", "z")} | {"g": r.choice([*"uv"], 160)})
    d = d.assign(b=r.integers(0, 2, 160), y=r.choice([*"pqr"], 160), half=d.x / 2)
    make = getattr(glmclf, model).from_formula
    a = make(formula, d).fit_constrained(constraints.format(*"pqr"))
    b = make(same, d, **({} if offset is None else {"offset": offset})).fit()
    assert_allclose(a.gof_test(), b.gof_test(), rtol=1e-6)
    one, two = a.get_influence(by="pattern"), b.get_influence(by="pattern")
    assert_allclose(one.patterns, two.patterns, rtol=1e-6)
    columns = ["cooks_d", "hat_diag", "delta_chi2", "delta_deviance"]
    assert_allclose(one.summary_frame()[columns], two.summary_frame()[columns], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*no degree of freedom is left")
def test_a_constrained_fit_is_saturated_in_its_patterns():
    cells = pd.DataFrame({"g": [*"aabbcc"] * 20, "h": [*"uv"] * 60, "y": np.random.default_rng(1).integers(0, 2, 120)})
    res = glmclf.Logit.from_formula("y ~ g*h", cells).fit_constrained("g[T.b] = 0")
    with pytest.warns(glmclf.errors.InferenceWarning, match="the model is saturated"):
        table = res.gof_test()
    assert table.loc["Pearson", "df"] == 0 and np.isnan(table.loc["Hosmer-Lemeshow", "pvalue"])


def test_patterns_have_the_weights_of_their_residuals(discrete):
    """(o - e)^2 / (e (1 - e / n) (1 - h)) is delta_chi2, whatever the unit of the weights."""
    w = 1.0 + np.arange(len(discrete)) % 3
    kept = []
    for unit in (1.0, 50.0):
        fit = glmclf.Logit.from_formula("b ~ x + z", discrete.assign(w=unit * w), weights="w").fit()
        found = fit.get_influence(by="pattern")
        t = found.patterns
        kept.append(t)
        r2 = (t.observed_1 - t.expected_1) ** 2 / (t.expected_1 * (1 - t.expected_1 / t.n))
        assert_allclose(r2 / (1 - found.hat_matrix_diag), found.delta_chi2, rtol=1e-8)
        assert_allclose(t.n.sum(), len(discrete))
    assert_allclose(*kept, rtol=1e-7)


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_without_a_row_that_alone_determines_a_coefficient(toy, model):
    """Its leverage is one, and there is no estimate without it: no number, large or small."""
    y = "b" if model == "Logit" else "y"
    df = toy.assign(one=(np.arange(len(toy)) == 3) * 1.0)
    cls = getattr(glmclf, model)
    res = cls.from_formula(f"{y} ~ C(x > 0)", df).fit().get_influence(by="pattern")
    assert_allclose(res.hat_matrix_diag, 1.0 if model == "Logit" else 2.0)
    assert res.summary_frame().drop(columns="hat_diag").isna().all().all()


def test_what_goes(toy):
    res = glmclf.Logit.from_formula("b ~ x", toy).fit()
    for by in ("rows", None, 1):
        with pytest.raises(ValueError, match='"row" or "pattern"'):
            res.get_influence(by=by)


@pytest.mark.parametrize("model, y", [("Logit", "b"), ("MNLogit", "y")])
def test_patterns_of_rows_with_labels_of_several_levels(discrete, model, y):
    """The numbers do not depend on the labels of rows."""
    i = np.arange(len(discrete))
    panel = discrete.set_index(pd.MultiIndex.from_arrays([i // 4, i % 4], names=["firm", "year"]))
    fits = (getattr(glmclf, model).from_formula(f"{y} ~ x + z", d).fit() for d in (panel, discrete))
    found, plain = (fit.get_influence(by="pattern") for fit in fits)
    assert_allclose(found.summary_frame(), plain.summary_frame(), rtol=1e-12)
    assert found.rows.index.equals(panel.index) and found.rows.iloc[-1] in found.patterns.index


def test_values_that_differ_by_rounding_are_one_pattern():
    """0.1 + 0.2 is 0.30000000000000004, and 0.1 + 0.2 - 0.3 is 5.6e-17."""
    i = np.arange(60)
    exact = pd.DataFrame({"x": np.array([0.0, 0.3, 0.7, 1.1])[i % 4], "b": (i * 7 % 11 > 8 - 2 * (i % 4)).astype(int)})
    shaken = exact.assign(
        x=exact.x.where(i % 8 > 3, exact.x.map({0.0: 0.1 + 0.2 - 0.3, 0.3: 0.1 + 0.2, 0.7: 0.7, 1.1: 1.1}))
    )
    assert shaken.x.nunique() == 6
    one, two = (glmclf.Logit.from_formula("b ~ x", d).fit() for d in (exact, shaken))
    assert_allclose(one.gof_test(groups=4), two.gof_test(groups=4), rtol=1e-8)
    assert len(two.get_influence(by="pattern").patterns) == 4 and two.roc().auc == one.roc().auc
