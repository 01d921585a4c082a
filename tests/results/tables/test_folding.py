"""Terms of many coefficients stand in one line of summaries, tables and plots; what it says is computed here anew."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import glmclf
from glmclf import LDA, QDA, Logit, MNLogit, NaiveBayes, Probit, plots
from glmclf.__main__ import main
from glmclf.errors import CollinearityWarning, SeparationWarning

FORMATS = ("text", "latex", "html", "csv", "markdown", "typst")
LINE = re.compile(r"(?P<size>[\d,]+ \w+)(, (?P<said>[^;]+))?; (others )?(?P<low>\S+) to (?P<high>[^\s;]+)"
                  r"(; chi2\((?P<df>\d+)\) = (?P<stat>\S+), p = (?P<p>\S+))?$")


def table(levels: int = 60, rows: int = 12) -> pd.DataFrame:
    r = np.random.default_rng(1)
    g = np.repeat(np.arange(levels), rows)
    x = r.normal(size=len(g))
    y = (r.random(len(g)) < 1 / (1 + np.exp(-0.5 * x))).astype(int)
    y[::rows], y[1::rows] = 0, 1  # no level is separated
    classes = np.array(["a", "b", "c"])[r.integers(0, 3, len(g))]
    for i, k in enumerate("abc"):
        classes[i + 2 :: rows] = k
    return pd.DataFrame({"y": y, "k": classes, "x": x, "g": [f"g{i:03d}" for i in g]})


DATA = table()


@pytest.fixture(scope="module")
def logit():
    return Logit.from_formula("y ~ x + g", DATA).fit()


def line_of(summary, equation: int = 1, name: str = "g") -> re.Match:
    row = next(row for row in summary.tables[equation] if row[0].data == name)
    found = LINE.match(row[1].data)
    assert found, row[1].data
    return found


def check(line: re.Match, b: np.ndarray, V: np.ndarray) -> None:
    statistic = b @ np.linalg.solve(V, b)
    assert_allclose([float(line["low"]), float(line["high"])], [b.min(), b.max()], atol=5.1e-4)
    assert int(line["df"]) == len(b)
    assert_allclose(float(line["stat"]), statistic, rtol=2e-3)
    assert_allclose(float(line["p"]), chi2.sf(statistic, len(b)), atol=5.1e-4)


@pytest.mark.parametrize("cov_type", ["nonrobust", "HC1"])
def test_line_of_a_factor(logit, cov_type):
    res = logit.with_cov(cov_type)
    names = [name for name in res.params.index if name.startswith("g[")]
    line = line_of(res.summary())
    assert line["size"] == "60 levels" and line["said"] is None
    check(line, res.params[names].to_numpy(), res.cov_params(columns=names).to_numpy())
    assert len(res.params) == 61


@pytest.mark.parametrize("form", FORMATS)
def test_formats(logit, form):
    text = getattr(logit.summary(), f"as_{form}")()
    assert "60 levels;" in text and "g[T.g007]" not in text
    assert len(text.splitlines()) < 90
    everything = getattr(logit.summary(levels=True), f"as_{form}")()
    assert "60 levels;" not in everything
    assert everything.count("[T.g0") == 59


def test_the_line_fits_the_page(logit):
    assert max(map(len, logit.summary().as_text().splitlines())) == 78


def test_few_levels_have_rows_unless_asked_otherwise():
    res = Probit.from_formula("y ~ x + g", table(levels=51)).fit()
    assert "g[T.g050]" in str(res.summary())
    assert line_of(res.summary(levels=False))["size"] == "51 levels"
    assert "g[T.g050]" not in str(res.summary(levels=False))


def test_ratios(logit):
    line, b = line_of(logit.summary(exponentiate=True)), logit.params.filter(like="g[")
    assert_allclose([float(line["low"]), float(line["high"])], np.exp([b.min(), b.max()]), rtol=1e-2)
    assert line["stat"] == line_of(logit.summary())["stat"]


def test_equations():
    res = MNLogit.from_formula("k ~ x + g", DATA).fit()
    for j, level in enumerate(["b", "c"]):
        names = [(level, name) for name in res.params.index if name.startswith("g[")]
        line = line_of(res.summary(), 1 + j)
        check(line, res.params[level].filter(like="g[").to_numpy(), res.cov_params(columns=names).to_numpy())


def test_interactions_and_bases():
    res = Logit.from_formula("y ~ g:x", table(levels=55)).fit()
    assert line_of(res.summary(), name="g:x")["size"] == "55 coefficients"


def test_infinite_and_omitted_coefficients_are_counted():
    data = DATA.assign(region=np.where(DATA.g < "g030", "north", "south"))
    data.loc[data.g.isin(["g003", "g004"]), "y"] = 1
    data.loc[data.g == "g005", "y"] = 0
    with pytest.warns(SeparationWarning), pytest.warns(CollinearityWarning):
        res = Logit.from_formula("y ~ region + x + g", data).fit()
    b = res.params.filter(like="g[")
    assert np.isinf(b).sum() == 3 and b.isna().sum() == 1
    line = line_of(res.summary())
    assert line["said"] == "3 infinite, 1 omitted"
    names = list(b.index[np.isfinite(b)])
    check(line, b[names].to_numpy(), res.cov_params(columns=names).to_numpy())


def test_fits_without_tests(logit):
    ridge = logit.model.fit_regularized(0.01)
    line = line_of(ridge.summary())
    assert line["df"] is None and "Wald" not in ridge.summary().extra_txt.split("Of g")[1]
    lasso = logit.model.fit_regularized(0.005, L1_wt=1.0)
    zero = (lasso.params.filter(like="g[") == 0).sum()
    assert line_of(lasso.summary())["said"] == f"{zero} not selected"
    held = logit.model.fit_constrained("g[T.g001] = g[T.g002]")
    assert line_of(held.summary())["df"] is None


def test_without_the_rank_there_is_no_test(logit):
    res = logit.with_cov("cluster", groups=np.arange(len(DATA)) % 25)
    assert "; no joint test" in str(res.summary())


def test_pooled():
    fits = [Logit.from_formula("y ~ x + g", DATA.assign(x=DATA.x + 0.01 * i * DATA.y)).fit() for i in range(3)]
    res = glmclf.pool(fits)
    row = res.wald_test_terms().table.loc["g"]
    assert f"F(59, {row.df_denom:.1f}) = {row.statistic:.4g}" in str(res.summary())
    assert "g[T.g010]" in str(res.summary(levels=True))


def test_generative_models():
    res = NaiveBayes.from_formula("k ~ x + g", DATA).fit()
    text = str(res.summary())
    assert text.count("60 levels;") == 2 and "[T.g" not in text and "prob[g=" not in text
    everything = str(res.summary(levels=True))
    assert everything.count("prob[g=") == 60 and "60 levels;" not in everything
    for model in (LDA, QDA):
        assert "x" in str(model.from_formula("k ~ x", DATA).fit().summary())


def test_loaded_fits_say_the_same(logit, tmp_path):
    logit.save(tmp_path / "fit.json")
    assert str(glmclf.load(tmp_path / "fit.json").summary(date=False)) == str(logit.summary(date=False))


@pytest.mark.parametrize("levels", ["all", 1, 0.0])
def test_values_of_the_option(logit, levels):
    with pytest.raises(ValueError, match="choose True, False or None"):
        logit.summary(levels=levels)
    with pytest.raises(ValueError, match="choose True, False or None"):
        glmclf.regression_table(logit, levels=levels)


def test_regression_table(logit):
    small = Logit.from_formula("y ~ x + g", DATA[DATA.g < "g010"]).fit()
    found = glmclf.regression_table(logit, small)
    frame = found.to_frame()
    assert frame.loc["g"].tolist() == ["60 levels", "10 levels"]
    assert not any("[T." in label for label in frame.index)
    assert "One row for all coefficients of g: levels=True shows each." in found.as_text()
    named = glmclf.regression_table(logit, labels={"g": "School"}, keep=["g", "x"]).to_frame()
    assert named.index[0] == "School" and named.iloc[0, 0] == "60 levels"
    one = glmclf.regression_table(logit, keep=["g[T.g007]", "x"])
    assert [label for label in one.to_frame().index if "[T." in label] == ["g[T.g007]"]
    assert sum("[T." in label for label in glmclf.regression_table(logit, levels=True).to_frame().index) == 59
    assert "Not shown: g." in glmclf.regression_table(logit, drop="g").as_text()


def test_a_row_of_levels_beside_a_number_of_that_name(logit):
    number = Logit.from_formula("y ~ g", DATA.assign(g=DATA.x)).fit()
    assert glmclf.regression_table(logit, number).to_frame().loc["g (levels)"].tolist() == ["60 levels", ""]


def test_plot(logit):
    pytest.importorskip("matplotlib")
    axes = plots.coefficients(logit).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["x"]
    assert "not drawn: coefficients of g (59)" in axes.get_xlabel().replace("\n", " ")
    assert len(plots.coefficients(logit, levels=True).axes[0].get_yticklabels()) == 60
    assert len(plots.coefficients(logit, which=["g[T.g003]"]).axes[0].get_yticklabels()) == 1


def test_shell(tmp_path, capsys):
    path = tmp_path / "data.csv"
    DATA.to_csv(path, index=False)
    assert main(["logit", str(path), "y ~ x + g"]) == 0
    out = capsys.readouterr().out
    assert "60 levels;" in out and "--levels shows each coefficient" in " ".join(out.split())
    assert main(["logit", str(path), "y ~ x + g", "--levels"]) == 0
    assert "g[T.g007]" in capsys.readouterr().out
