"""Separation that counting tells against the linear programs, which know nothing of levels."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import glmclf
from glmclf.core.design.dense import Dense
from glmclf.core.design.sparse import Sparse
from glmclf.core.likelihood.links import CLogLogLink, LogitLink, ProbitLink
from glmclf.core.likelihood.objective import MultinomialObjective, Objective
from glmclf.core.likelihood.pointwise import Binomial, Multinomial
from glmclf.core.rows.blocks import Blocks
from glmclf.core.separation import counting, outcomes, search
from glmclf.core.separation.simplicial import SimplicialCone
from glmclf.errors import CollinearityWarning, EstimationError, PerfectSeparationError, SeparationWarning
from glmclf.models import base

LINKS = [LogitLink(), ProbitLink(), CLogLogLink()]


def indicators(codes, base=True):
    """Indicators of the levels that occur, without those of the first."""
    return (codes[:, None] == np.unique(codes)[int(base) :]).astype(float)


def design(generator, n, slopes, factors):
    """Constant, numbers and factors of few rows a level, of full rank: those columns that others imply are left out."""
    X = [np.ones((n, 1)), generator.normal(size=(n, slopes))]
    X += [indicators(generator.integers(0, generator.integers(2, max(3, n // 4)), n)) for _ in range(factors)]
    X = np.hstack(X)
    kept = [j for j in range(X.shape[1]) if np.linalg.matrix_rank(X[:, : j + 1]) > np.linalg.matrix_rank(X[:, :j])]
    X = X[:, kept]
    return X * generator.choice([1.0, -1.0, 3.0], X.shape[1])


def example(seed, several):
    """A random objective: classes or counts, weights, offset, as the seed has it."""
    generator = np.random.default_rng([seed, several])
    n = int(generator.integers(20, 60))
    X = design(generator, n, int(generator.integers(0, 3)), int(generator.integers(1, 4)))
    weights = generator.integers(1, 4, n).astype(float) if generator.random() < 0.3 else None
    offset = generator.normal(size=n) if generator.random() < 0.3 else None
    counts, m = generator.random() < 0.3, None
    columns = Sparse(sparse.csr_array(X)) if generator.random() < 0.3 else Dense(np.asfortranarray(X))
    if several:
        p = generator.dirichlet(np.ones(3), n)
        y = np.array([generator.multinomial(2 if counts else 1, q) for q in p])
        m = y.sum(axis=1).astype(float) if counts else None
        y = y.astype(float) if counts else y.argmax(axis=1)
        return MultinomialObjective(Multinomial(3), Blocks(columns, y, m, offset, weights))
    m = generator.integers(1, 4, n).astype(float) if counts else None
    y = generator.binomial(np.ones(n, dtype=int) if m is None else m.astype(int), generator.choice([0.1, 0.3, 0.5]))
    return Objective(Binomial(LINKS[seed % 3]), Blocks(columns, y.astype(float), m, offset, weights))


@pytest.mark.parametrize("sign", [1.0, -2.0])
@pytest.mark.parametrize("order", "CF")
def test_columns_that_are_nowhere_zero(order, sign):
    """They tell of all rows at once, as the constant does; a zero beyond the first rows is one."""
    generator = np.random.default_rng(4)
    X = np.column_stack([np.full(300, sign), sign * (1.0 + generator.random((300, 2)))])
    rest, y = (None, None, None), (np.arange(300) % 3 == 0).astype(float)

    def told(X, y):
        return counting.is_told(Objective(Binomial(LINKS[0]), Blocks(Dense(np.asarray(X, order=order)), y, *rest)))

    assert not told(X, y) and told(X, np.zeros(300)) and told(X[:, 1:2] * 0 + sign, np.ones(300))
    X[150:, 1] = 0.0
    assert not told(X, y) and told(X, (np.arange(300) >= 150).astype(float))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("several", [False, True])
def test_what_is_counted_is_what_programs_find(several):
    proven = told = 0
    for seed in range(80):
        objective = example(seed, several)
        cone, constraints = outcomes.find_cone(objective)
        counted = counting.count(objective)
        if cone is None:
            assert counted is None, seed
        if counted is None:
            continue
        told += 1
        gone = outcomes.ruled_out(objective, cone, constraints)
        assert not (counted.gone & ~gone).any(), seed
        if counted.cone is None:
            continue
        proven += 1
        np.testing.assert_array_equal(counted.gone, gone, f"{seed}")
        assert counted.cone.complete == cone.complete, seed
        assert counted.cone.basis.shape == cone.basis.shape, seed
        np.testing.assert_array_equal(counted.cone.signs, cone.signs, f"{seed}")
        p = len(cone.signs)
        R = np.random.default_rng(seed).integers(-1, 2, (20, p)).astype(float)
        np.testing.assert_array_equal(counted.cone.sign_of(R), cone.sign_of(R), f"{seed}")
        np.testing.assert_array_equal(counted.cone.moves(R), cone.moves(R), f"{seed}")
        rank = np.linalg.matrix_rank
        assert rank(np.column_stack([counted.cone.basis, cone.basis])) == cone.basis.shape[1], seed
    assert proven > 25 and told > proven


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("base", [False, True])
@pytest.mark.parametrize("K", [2, 3])
def test_levels_of_one_outcome_each_are_counted(K, base):
    """Where they decide every row, the constant is no direction of its own beside that of the base level."""
    for seed in range(12):
        generator = np.random.default_rng([seed, K])
        L = int(generator.integers(K, 12))
        codes = np.r_[np.arange(L), generator.integers(0, L, int(generator.integers(0, 12)))]
        X, y = indicators(codes, base), np.r_[np.arange(K), generator.integers(0, K, L - K)][codes]
        X = (np.column_stack([np.ones(len(X)), X]) if base else X) * generator.choice([1.0, -1.0, 3.0], L)
        several, y = (True, y) if K > 2 else (False, y.astype(float))
        blocks = Blocks(Dense(np.asfortranarray(X)), y, None, None, None)
        objective = MultinomialObjective(Multinomial(K), blocks) if several else Objective(Binomial(LINKS[0]), blocks)
        cone, counted = outcomes.find_cone(objective)[0], counting.count(objective)
        assert counted.gone.sum() == len(X) * (K - 1) and counted.cone.complete
        np.testing.assert_array_equal(counted.cone.signs, cone.signs, f"{seed}")
        R = generator.integers(-1, 2, (20, len(cone.signs))).astype(float)
        np.testing.assert_array_equal(counted.cone.sign_of(R), cone.sign_of(R), f"{seed}")


# ------------------------------------------------------------------------------------------------------------- fits
def many_levels(seed, several):
    """A table of 30 levels, some of them separated, the base level too where the seed has it."""
    generator = np.random.default_rng(seed)
    table = pd.DataFrame({"level": np.repeat([f"g{j:02d}" for j in range(30)], 12), "x": generator.normal(size=360)})
    event = generator.random(360) < 1 / (1 + np.exp(-table.x))
    for j in [*generator.choice(np.arange(1, 30), 6, replace=False), *([0] if seed % 2 else [])]:
        event[12 * j : 12 * j + 12] = generator.random() < 0.5
    table["y"] = event.astype(int)
    if several:
        table["y"] = np.where((generator.random(360) < 0.4) & (table.level != "g03"), "c", np.where(event, "b", "a"))
    table["times"], table["away"] = generator.integers(1, 4, 360), generator.normal(size=360)
    return table


def fitted(model, table, columns, monkeypatch, **keywords):
    """A fit that counts from so many columns on."""
    for module in (base, search):
        monkeypatch.setattr(module, "MIN_COLUMNS_TO_COUNT", columns)
    with pytest.warns(SeparationWarning):
        return getattr(glmclf, model).from_formula("y ~ x + level", table, **keywords).fit(cov_type="HC1")


@pytest.mark.parametrize("keywords", [{}, {"freq_weights": "times", "offset": "away"}], ids=["plain", "weights"])
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", ["Logit", "Probit", "CLogLog", "MNLogit"])
def test_fits_are_those_of_programs(model, seed, keywords, monkeypatch, tmp_path):
    table = many_levels(seed, model == "MNLogit")
    by_programs = fitted(model, table, 1000, monkeypatch, **keywords)
    res = fitted(model, table, 1, monkeypatch, **keywords)
    assert isinstance(res._state.estimate.cone, SimplicialCone) and res.separation == by_programs.separation
    for name in ("params", "bse", "llf", "llr", "df_resid"):
        np.testing.assert_allclose(getattr(res, name), getattr(by_programs, name), rtol=1e-6, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(res.cov_params(), by_programs.cov_params(), rtol=1e-6, atol=1e-9)
    new = table.iloc[::5].assign(x=2.0)
    others = {"offset": new.away} if keywords else {}
    np.testing.assert_allclose(res.predict(new, **others), by_programs.predict(new, **others), rtol=1e-7, atol=1e-12)
    res.save(tmp_path / "res.json")
    again = glmclf.load(tmp_path / "res.json")
    np.testing.assert_array_equal(again.predict(new, **others), res.predict(new, **others))
    assert again.separation.directions.equals(res.separation.directions)


def test_no_program_is_asked(monkeypatch):
    import scipy.optimize

    monkeypatch.setattr(scipy.optimize, "linprog", None)
    table = many_levels(1, False)
    with pytest.warns(SeparationWarning):
        res = glmclf.Logit.from_formula("y ~ x + level", table).fit()
    found = glmclf.detect_separation("y ~ x + level", table)
    assert found == res.separation and np.isinf(res.params["Intercept"])
    with pytest.raises(PerfectSeparationError, match=r'"level\[T.g..\]" \(-?inf\).* and \d+ more'):
        glmclf.Logit.from_formula("y ~ x + level", table).fit(separation="raise")


@pytest.mark.parametrize("model", ["Logit", "MNLogit"])
def test_levels_are_counted_over_parts(model):
    """Also such as lie in several parts, or in few."""
    generator = np.random.default_rng(5)
    table = pd.DataFrame({"level": np.repeat(np.arange(150), 8), "x": generator.normal(size=1200)})
    table["y"] = generator.integers(0, 2 if model == "Logit" else 3, 1200)
    table.loc[table.level.isin([3, 40, 41, 149]), "y"] = 1
    table["level"] = pd.Categorical(table.level)
    cuts = [0, 28, 330, 331, 1200]

    def parts():
        return (table.iloc[a:b] for a, b in zip(cuts, cuts[1:], strict=False))

    fits = []
    for data in (table, parts):
        with pytest.warns(SeparationWarning):
            fits.append(getattr(glmclf, model).from_formula("y ~ x + level", data).fit())
    whole, streamed = fits
    assert streamed.separation.n_rows == whole.separation.n_rows
    assert streamed.separation.directions.equals(whole.separation.directions)
    for name in ("params", "bse", "llf"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(whole, name), rtol=1e-8, atol=1e-10, err_msg=name)
    assert str(glmclf.detect_separation("y ~ x + level", parts, model=model.lower())) == str(whole.separation)


@pytest.mark.parametrize("response, model", [("y", "Logit"), ("c", "MNLogit")])
def test_a_level_for_each_row(response, model, monkeypatch):
    """A number of the row taken for a factor: logits are infinite, and so are their differences from the first row's,
    of no sign where both rows are alike."""
    monkeypatch.setattr(outcomes, "find_cone", lambda *args: 1 / 0)
    i = np.arange(400)
    table = pd.DataFrame({"id": i, "x": np.sin(i), "y": i * i % 7 % 2, "c": np.array(list("abc"))[i * i % 7 % 3]})
    with pytest.warns((SeparationWarning, CollinearityWarning)):
        res = getattr(glmclf, model).from_formula(f"{response} ~ x + C(id)", table).fit()
    assert res.separation.kind == "complete"
    params = np.asarray(res.params).reshape(len(res.model.exog_names), -1)
    levels = [name.startswith("C(id)") for name in res.model.exog_names]
    shown, first = table[response].to_numpy(), table[response].min()
    for j, level in enumerate("bc" if model == "MNLogit" else [1]):
        logit = np.select([shown == level, shown == first], [1.0, -1.0], np.nan)
        off = logit[1:] - logit[0]  # 0 of two rows that are both ahead, however far
        np.testing.assert_array_equal(params[levels, j], np.select([off > 0, off < 0], [np.inf, -np.inf], np.nan))


def test_programs_of_gigabytes_are_refused(monkeypatch):
    """A number that tells the outcomes apart in all levels, which counting does not see."""
    monkeypatch.setattr(outcomes, "MAX_NUMBERS_OF_PROGRAMS", 1000)
    table = many_levels(2, False)
    table["y"] = (table.x > 0).astype(int)
    with pytest.raises(EstimationError, match=r"linear programs on 360 x 31 numbers"):
        glmclf.Logit.from_formula("y ~ x + level", table).fit()


def test_numbers_beside_levels_lead_to_an_interior_point():
    """What is left is told apart by a number: the fit of it, far along the levels' directions, is inside the cone."""
    table = many_levels(2, False)
    table["y"] = np.where(table.level.isin(["g04", "g05"]), table.y.max(), table.x > 0).astype(int)
    objective = glmclf.Logit.from_formula("y ~ x + level", table)._objective()
    counted = counting.count(objective)
    assert counted.cone is None
    constraints = outcomes.constraints_of(objective)
    side = constraints.times(constraints.directions.coordinates(counted.near)[:, None])[:, 0]
    assert side.min() > 0
    cone, _ = search.find_cone(objective)
    assert cone.complete
