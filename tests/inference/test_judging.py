"""Reports, ROC curves, calibration and validation against certified values, R, statsmodels, scikit-learn and mpmath."""

import mpmath
import numpy as np
import pandas as pd
import pytest
import references
from numpy.testing import assert_allclose

import glmclf
from glmclf.core.numerics import folds
from glmclf.core.numerics.folds import deal
from glmclf.inference.performance import accuracy, calibration, roc, validation
from glmclf.inference.performance.accuracy import ObservedOutcomes
from glmclf.inference.performance.recalibration import in_the_large, recalibrate


def fit(case, data):
    return getattr(glmclf, case["model"]).from_formula(case["formula"], data, **case["keywords"]).fit()


@pytest.mark.parametrize("name", references.names("classification"))
def test_certified_classification(name):
    case, data = references.reference(name)
    v, res = case["values"], fit(case, data)
    r, report, c = res.roc(), res.classification_report(), res.calibration()
    assert_allclose([r.auc, r.se], [v["auc"], v["auc_se_delong"]], rtol=1e-12)
    assert_allclose(r.conf_int(), v["auc_ci_delong"], rtol=1e-12)
    assert_allclose(report.table, v["pred_table_0.5"])
    assert_allclose(
        report.overall["estimate"][["accuracy", "sensitivity", "specificity"]],
        [v[n] for n in ("accuracy", "sensitivity", "specificity")],
        rtol=1e-13,
    )
    assert_allclose([c.brier, c.log_score], [v["brier"], v["log_loss"]], rtol=1e-11)
    assert (r.n_event, r.n_other) == (v["n_event"], v["n_nonevent"])


# ------------------------------------------------------------------------------------------------------------------ R
@pytest.fixture(scope="module")
def birthwt():
    case, data = references.reference("birthwt__logit_judging")
    return case["values"], fit(case, data), data


def test_partial_areas_as_pROC(birthwt):
    v, res, _ = birthwt
    r = res.roc()
    for low, high, on in ((0.0, 0.1, "fpr"), (0.8, 1.0, "tpr")):
        name = f"partial_{on}_{low:g}_{high:g}"
        assert_allclose(r.partial_auc(low, high, on), v[name], rtol=1e-10)
        assert_allclose(r.partial_auc(low, high, on, standardized=True), v[name + "_standardized"], rtol=1e-10)
    assert_allclose([r.partial_auc(), r.partial_auc(on="tpr")], [r.auc] * 2, rtol=1e-13)


def test_cut_points_as_pROC(birthwt):
    v, res, _ = birthwt
    names = ["threshold", "sensitivity", "specificity"]
    cuts = res.roc().cut_points()
    assert_allclose(cuts.loc["youden", names], v["youden"], rtol=1e-8)
    assert_allclose(cuts.loc["closest", names], v["closest"], rtol=1e-8)
    assert_allclose(res.roc().cut_points(3, 0.2).loc["cost", names], v["cost_3_prevalence_0.2"], rtol=1e-8)
    cut = res.classification_report(cuts.loc["youden", "threshold"]).overall["estimate"]
    assert_allclose(cut[["sensitivity", "specificity"]], cuts.loc["youden", names[1:]])


def test_delong_comparison_as_pROC(birthwt):
    v, res, data = birthwt
    other = glmclf.Logit.from_formula(v["smaller"], data).fit()
    found = res.compare_roc(other)
    assert_allclose(
        found[["auc", "other_auc", "statistic", "pvalue"]],
        [v["auc"], v["smaller_auc"], v["delong_z"], v["delong_p"]],
        rtol=1e-8,
    )
    back = other.compare_roc(res)
    assert_allclose(back[["statistic", "pvalue"]], [-v["delong_z"], v["delong_p"]], rtol=1e-8)


def test_validation_as_rms(birthwt):
    """Two bootstraps of other random numbers: 4,000 replications in R."""
    v, res, _ = birthwt
    found = res.validate(seed=3, reps=150).table["corrected"]
    for name, value in v["validate_4000"].items():
        assert abs(found[name] - value) < {"slope": 0.04, "intercept": 0.05}.get(name, 0.012), name


def test_calibration_as_R():
    case, data = references.reference("birthwt__probit_judging")
    v, res = case["values"], fit(case, data)
    c = res.calibration()
    found = c.summary_frame()
    assert_allclose([c.intercept, c.intercept_se], [v["large"], v["large_se"]], rtol=1e-6)
    assert_allclose(
        found.loc["intercept", ["estimate", "se"]], [v["intercept"], v["intercept_se"]], rtol=1e-6, atol=1e-8
    )
    assert_allclose([c.slope, c.slope_se], [v["slope"], v["slope_se"]], rtol=1e-8)
    assert_allclose(
        found["estimate"][["ICI", "E50", "E90", "Emax"]], [v[n] for n in ("ICI", "E50", "E90", "Emax")], rtol=1e-6
    )
    assert_allclose(c.brier, v["Brier"], rtol=1e-10)
    assert_allclose(found["estimate"]["Spiegelhalter z"], v["spiegelhalter_z"], rtol=1e-7)
    assert_allclose(found["estimate"]["Spiegelhalter p"], v["spiegelhalter_p"], rtol=1e-8)
    apparent = res.validate(seed=1, reps=2).table["apparent"]
    assert_allclose(apparent[["R2", "slope", "intercept"]], [v["R2"], v["slope"], v["intercept"]], rtol=1e-6, atol=1e-8)


def test_several_classes_as_pROC():
    case, data = references.reference("iris__lda_judging")
    v, res = case["values"], fit(case, data)
    r = res.roc()
    assert_allclose(r.auc, v["hand_till"], rtol=1e-12)
    pairs = pd.DataFrame(v["pairs"]).replace("NA", np.nan).astype(float)
    assert_allclose(r.pairs, pairs, rtol=1e-12)
    assert_allclose(r.table[["auc", "se"]], np.column_stack([v["auc"], v["se"]]), rtol=1e-10)


# ------------------------------------------------------------------------------------------------ tables by other means
TABLE = np.array([[75, 1, 4], [5, 4, 1], [0, 0, 10]])  # Fleiss (1981), of which statsmodels' kappa has the SAS output


def measures(T, alpha=0.05):
    observed, predicted = np.repeat(np.indices(T.shape).reshape(2, -1), T.ravel(), axis=1)
    return accuracy.TableMeasures(accuracy.Table.of(ObservedOutcomes(np.eye(len(T))[observed]), predicted), alpha)


def test_kappa_as_statsmodels():
    from statsmodels.stats.inter_rater import cohens_kappa

    theirs, ours = cohens_kappa(TABLE), measures(TABLE).agreement()["kappa"]
    assert_allclose(ours, [theirs.kappa, theirs.std_kappa, theirs.kappa_low, theirs.kappa_upp], rtol=1e-10)


@pytest.mark.parametrize("p, n", [(0.0, 12), (0.3, 10), (1.0, 7)])
def test_wilson_as_statsmodels(p, n):
    from statsmodels.stats.proportion import proportion_confint

    assert_allclose(accuracy.wilson(p, n, 0.1), proportion_confint(p * n, n, 0.1, "wilson"), atol=1e-15)


def mcc(*cells):
    K = int(len(cells) ** 0.5)
    T = mpmath.matrix(K, K)
    for i, c in enumerate(cells):
        T[i // K, i % K] = c
    r = [mpmath.fsum(T[k, j] for j in range(K)) for k in range(K)]
    c = [mpmath.fsum(T[k, j] for k in range(K)) for j in range(K)]
    n, trace = mpmath.fsum(r), mpmath.fsum(T[k, k] for k in range(K))
    top = n * trace - mpmath.fsum(a * b for a, b in zip(r, c))
    return top / mpmath.sqrt((n**2 - mpmath.fsum(a**2 for a in r)) * (n**2 - mpmath.fsum(b**2 for b in c)))


def f1_of_last(*cells):
    K = int(len(cells) ** 0.5)
    own, called = cells[-K:], cells[K - 1 :: K]
    return 2 * cells[-1] / (mpmath.fsum(own) + mpmath.fsum(called))


@pytest.mark.parametrize("T", [TABLE, np.array([[20, 3], [5, 9]])])
def test_delta_method_by_mpmath(T):
    """The multinomial delta method with derivatives taken in 30 digits."""
    found, cells = measures(T), [int(c) for c in T.ravel()]
    with mpmath.workdps(30):
        for f, ours in ((mcc, found.agreement()["MCC"]), (f1_of_last, found.by_class(len(T) - 1)["F1"])):
            n = sum(cells)
            g = [mpmath.diff(f, tuple(cells), tuple(int(i == j) for i in range(len(cells)))) for j in range(len(cells))]
            mean = sum(a * c for a, c in zip(g, cells)) / n
            se = mpmath.sqrt(sum(c * (a - mean) ** 2 for a, c in zip(g, cells)))
            assert_allclose([ours.estimate, ours.se], [float(f(*cells)), float(se)], rtol=1e-10)


def test_two_classes_are_a_case_of_several():
    """MCC is the phi coefficient; the weighted recall is the accuracy."""
    T = np.array([[20, 3], [5, 9]])
    chi2 = 37 * (20 * 9 - 15) ** 2 / (23 * 14 * 25 * 12)
    assert_allclose(measures(T).agreement()["MCC"].estimate, np.sqrt(chi2 / 37))
    averages = measures(TABLE).averages()
    assert_allclose(averages["weighted", "sensitivity"][:2], measures(TABLE).accuracy()[:2])
    assert_allclose(averages["macro", "sensitivity"][:2], measures(TABLE).agreement()["balanced accuracy"][:2])


def test_what_is_never_predicted_has_no_ppv():
    found = measures(np.array([[8, 0], [2, 0]])).by_class(1)
    assert np.isnan(found["PPV"]).all() and found["sensitivity"][:2] == (0.0, 0.0) and found["F1"].estimate == 0
    without = measures(np.array([[8, 0], [2, 0]])).agreement()["MCC"]
    assert found["sensitivity"].upper > 0.6 and np.isnan(without.estimate)


# ---------------------------------------------------------------------------------------------------- areas written out
def toy(n, seed, ties=True):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n).round(1 if ties else 9)
    return score, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(float), rng.integers(1, 4, n).astype(float)


def test_area_and_delong_written_out():
    s, y, f = toy(90, 0)
    o = ObservedOutcomes(np.column_stack([1 - y, y]), f)
    found = roc.area(roc.ranks(s, o), o)
    x, z = np.repeat(s[y == 1], f[y == 1].astype(int)), np.repeat(s[y == 0], f[y == 0].astype(int))
    wins = (x[:, None] > z) + 0.5 * (x[:, None] == z)
    assert_allclose(found.auc, wins.mean(), rtol=1e-13)
    V = wins.mean(axis=1).var(ddof=1) / len(x) + wins.mean(axis=0).var(ddof=1) / len(z)
    assert_allclose(roc.standard_error(found, o) ** 2, V, rtol=1e-12)


def test_hand_till_error_is_close_to_a_jackknife():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 80)
    scores = rng.normal(size=(80, 3)) + 0.8 * np.eye(3)[y]
    found = roc.hand_till(scores, ObservedOutcomes(np.eye(3)[y]))
    without = np.array(
        [roc.hand_till(np.delete(scores, i, 0), ObservedOutcomes(np.eye(3)[np.delete(y, i)])).auc for i in range(80)]
    )
    assert_allclose(found.se, np.sqrt(79 / 80 * ((without - without.mean()) ** 2).sum()), rtol=0.02)


def test_equal_rows_tie_though_rounding_parts_them():
    s = np.array([0.3, 0.1 + 0.2, np.inf, -np.inf, np.inf])
    o = ObservedOutcomes(np.array([[1.0, 0], [0, 1], [0, 1], [1, 0], [1, 0]]))
    found = roc.ranks(s, o)
    assert found.yes.tolist() == [1, 1, 0] and found.no.tolist() == [1, 1, 1]
    assert_allclose(roc.area(found, o).auc, (2.5 + 1.5) / 6)


def test_average_precision_as_defined_by_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    s, y, f = toy(200, 1)
    o = ObservedOutcomes(np.column_stack([1 - y, y]), f)
    assert_allclose(roc.average_precision(roc.ranks(s, o)), metrics.average_precision_score(y, s, sample_weight=f))


def test_brier_decomposition_adds_up():
    s, y, f = toy(300, 2)
    p, o = 1 / (1 + np.exp(-s)), ObservedOutcomes(np.column_stack([1 - y, y]), f)
    for method in ("quantile", "uniform"):
        b = calibration.brier(p, o, calibration.bins_of(p, o, 7, method))
        assert_allclose(b.reliability - b.resolution + b.uncertainty + b.within, b.score, rtol=1e-13)
    exact = calibration.brier(p, o, np.unique(p, return_inverse=True)[1])
    assert abs(exact.within) < 1e-15
    assert_allclose(b.score, f @ (p - y) ** 2 / f.sum())


def test_recalibration_is_a_logit():
    s, y, f = toy(300, 5, ties=False)
    log_p = np.column_stack([-np.logaddexp(0, s), -np.logaddexp(0, -s)])
    o = ObservedOutcomes(np.column_stack([1 - y, y]), f)
    res = glmclf.Logit(y, np.column_stack([np.ones(300), s]), freq_weights=f).fit()
    found = recalibrate(log_p, o)
    assert_allclose([*found.intercepts, found.slope], res.params, rtol=1e-9)
    assert_allclose([*found.intercepts_se, found.slope_se], res.bse, rtol=1e-8)
    weighted = glmclf.Logit(y, np.column_stack([np.ones(300), s]), weights=f).fit()
    found = recalibrate(log_p, o._replace(frequency=False, rowwise=True))
    assert_allclose([*found.intercepts_se, found.slope_se], weighted.bse, rtol=1e-8)


def test_predictions_that_separate_have_an_infinite_slope():
    log_p = np.log(np.array([[0.8, 0.2], [0.6, 0.4], [0.4, 0.6], [0.3, 0.7]]))
    o = ObservedOutcomes(np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]))
    assert recalibrate(log_p, o).slope == np.inf
    assert np.isnan(recalibrate(np.log(np.full((4, 2), 0.5)), o).slope)


@pytest.mark.parametrize("K", [2, 3])
def test_recalibration_does_not_depend_on_the_scale_of_the_predictor(K):
    rng = np.random.default_rng(K)
    y = rng.integers(0, K, 200)
    eta, o = rng.normal(size=(200, K)) + np.eye(K)[y], ObservedOutcomes(np.eye(K)[y], rng.integers(0, 3, 200) * 1.0)
    with np.errstate(all="raise", under="ignore"):
        one, *others = (
            recalibrate(s * eta - np.logaddexp.reduce(s * eta, axis=1)[:, None], o) for s in (1, 1e-5, 1e3, 1e7)
        )
    for s, found in zip((1e-5, 1e3, 1e7), others):
        for ours, theirs in zip(found, (*one[:2], one.slope / s, one.slope_se / s, one.llf)):
            assert_allclose(ours, theirs, rtol=1e-8)


def log_p_of(z):
    return np.column_stack([-np.logaddexp(0, z), -np.logaddexp(0, -z)])


def test_recalibration_of_nearly_separated_predictions_in_mpmath():
    """One observation on the wrong side, by 1e-9: the score equations in 30 digits."""
    log_p, y = log_p_of(np.r_[-3, -2, -1, 1e-9, 0, 1, 2, 5.0]), np.r_[0, 0, 0, 0, 1, 1, 1, 1.0]
    z, found = log_p[:, 1] - log_p[:, 0], recalibrate(log_p, ObservedOutcomes(np.column_stack([1 - y, y])))

    def score(a, b):
        r = [v - 1 / (1 + mpmath.exp(-a - b * mpmath.mpf(t))) for v, t in zip(y, z)]
        return [mpmath.fsum(r), mpmath.fsum(e * mpmath.mpf(t) for e, t in zip(r, z))]

    with mpmath.workdps(30):
        a, b = mpmath.findroot(score, (found.intercepts[0], found.slope))
    # the slope has the information of a distance of 1e-9: 1e-16 of its score are 2e-7 of it
    assert_allclose(found.slope, float(b), atol=4e-7)
    assert_allclose(found.intercepts[0], float(a), atol=1e-14)


def test_separated_recalibration_has_a_limit():
    """What is left of the likelihood is between classes with equal predictors: one of three, two of three."""
    z, y = np.r_[-3, -2, 0, 0, 0, 1, 2.0], np.r_[0, 0, 0, 1, 1, 1, 1]
    for p, slope in ((log_p_of(z), np.inf), (log_p_of(-z), -np.inf)):
        found = recalibrate(p, ObservedOutcomes(np.eye(2)[y]))
        assert found.slope == slope
        assert_allclose(found.llf, np.log(4 / 27), rtol=1e-12)
    eta = np.array([[3, 0, 0], [2, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, 0], [0, 3, 0], [0, 0, 2], [0, 0, 4.0]])
    found = recalibrate(
        np.log(np.exp(eta) / np.exp(eta).sum(axis=1)[:, None]), ObservedOutcomes(np.eye(3)[[0, 0, 0, 1, 1, 1, 2, 2]])
    )
    assert found.slope == np.inf
    assert_allclose(found.llf, np.log(4 / 27), rtol=1e-12)


@pytest.mark.parametrize("scale", [1, 1e3])
def test_calibration_in_the_large_of_extreme_predictions(scale):
    """As many events are predicted as there are; bisected in 400 digits."""
    z, y = scale * np.r_[-3, -2, -1, 1.5, 0.5, 1, 2, 4, 5], np.r_[0, 0, 0, 0, 1, 1, 0, 0, 1.0]
    found = in_the_large(log_p_of(z), ObservedOutcomes(np.column_stack([1 - y, y])))
    with mpmath.workdps(400):
        low, high = mpmath.mpf(-9 * scale), mpmath.mpf(9 * scale)
        for _ in range(120):
            a = (low + high) / 2
            more = mpmath.fsum(1 / (1 + mpmath.exp(-a - mpmath.mpf(t))) for t in z) > y.sum()
            low, high = (low, a) if more else (a, high)
    assert_allclose(found.intercepts[0], float(a), rtol=1e-12)
    if scale > 1:  # between the third and the fourth largest, 1.5 and 2
        assert_allclose(float(a), -1.75 * scale)


def test_net_benefit_written_out():
    s, y, f = toy(150, 6)
    p, o = 1 / (1 + np.exp(-s)), ObservedOutcomes(np.column_stack([1 - y, y]), f)
    t = np.array([0.3, 0.5])
    value, se = roc.net_benefit(roc.ThresholdCounts.of(p, o, t), t)
    for t, v, e in zip((0.3, 0.5), value, se):
        gain = np.repeat((p > t) * (y - (1 - y) * t / (1 - t)), f.astype(int))
        assert_allclose([v, e], [gain.mean(), gain.std() / np.sqrt(len(gain))], rtol=1e-12)


def test_net_benefit_of_weighted_rows():
    """As the mean of a weighted sample of rows, linearised."""
    s, y, f = toy(150, 7)
    p, w = 1 / (1 + np.exp(-s)), f / 1.7
    t = np.array([0.4])
    outcomes = ObservedOutcomes(np.column_stack([1 - y, y]), w, False, True)
    value, se = roc.net_benefit(roc.ThresholdCounts.of(p, outcomes, t), t)
    gain = (p > 0.4) * (y - (1 - y) * 0.4 / 0.6)
    mean = w @ gain / w.sum()
    assert_allclose([value[0], se[0]], [mean, np.sqrt((w**2 * (gain - mean) ** 2).sum()) / w.sum()], rtol=1e-12)


# -------------------------------------------------------------------------------------------------------- validation
def scored(K, rows=60, seed=0):
    """Log probabilities with ties, and weighted outcomes."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(K), rows).round(1) + 0.05
    y = rng.integers(0, K, rows)
    y[:K] = np.arange(K)
    return np.log(p / p.sum(axis=1, keepdims=True)), ObservedOutcomes(
        np.eye(K)[y], rng.integers(0, 3, rows) + (np.arange(rows) < K)
    )


@pytest.mark.parametrize("K", [2, 3, 5])
def test_measures_that_are_sorted_once(K):
    """The areas and scores of validate are those of the functions that also give standard errors."""
    log_p, outcomes = scored(K)
    held = np.flatnonzero(outcomes.weights)
    part, p = outcomes.rows(held), np.exp(log_p[held])
    found = validation.Predicted(log_p)
    for _ in range(2):
        AUC, brier, log_score, right, *_ = found.measures(outcomes)
        scores = calibration.log_odds(log_p[held])
        areas = roc.area(roc.ranks(scores[:, 1], part), part) if K == 2 else roc.hand_till(scores, part)
        assert_allclose(AUC, areas.auc, rtol=1e-13)
        assert_allclose(brier * (2 if K == 2 else 1), calibration.brier_of_classes(p, part).value, rtol=1e-12)
        assert_allclose(log_score, calibration.log_score(log_p[held], part).value, rtol=1e-12)
    pairs = [(i, j) for i in range(K) for j in range(K) if i != j]
    by_hand = [pair_area(outcomes, i, j, calibration.log_odds(log_p)[:, i]) for i, j in pairs]
    assert_allclose(AUC, np.mean(by_hand), rtol=1e-12)


def pair_area(outcomes, i, j, score):
    """P(score of i > score of j) + P(equal)/2 over all pairs of observations."""
    t = outcomes.totals
    above = np.sign(np.round(score[:, None] - score, 9)) / 2 + 0.5
    return t[:, i] @ above @ t[:, j] / (t[:, i].sum() * t[:, j].sum())


def test_recalibration_maximises_its_likelihood():
    """statsmodels: a logistic regression on the log odds with frequency weights."""
    import statsmodels.api as sm

    log_p, outcomes = scored(2)
    z = log_p[:, 1] - log_p[:, 0]
    found = recalibrate(log_p, outcomes)
    glm = sm.GLM(outcomes.counts[:, 1], sm.add_constant(z), sm.families.Binomial(), freq_weights=outcomes.weights)
    fitted = glm.fit(tol=1e-14)
    assert_allclose([found.intercepts[0], found.slope], fitted.params, rtol=1e-8)
    assert_allclose([found.intercepts_se[0], found.slope_se], fitted.bse, rtol=1e-6)
    assert_allclose(found.llf, fitted.llf, rtol=1e-10)


def test_without_information():
    """Each row with outcomes in the shares of all: what independence of outcomes and predictions means."""
    for K in (2, 3):
        log_p, outcomes = scored(K)
        share = outcomes.sizes / outcomes.sizes.sum()
        independent = ObservedOutcomes(np.tile(share, (len(log_p), 1)), outcomes.totals.sum(axis=1))
        found = validation.measures(log_p, independent)
        assert_allclose(validation.without_information(log_p, outcomes), found, rtol=1e-9, atol=1e-9)


def test_the_rows_of_a_weight_are_dealt_as_equal_rows():
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 4, (50, 3))
    rows = counts.sum(axis=1)
    expanded = np.concatenate([np.eye(3, dtype=int)[np.repeat(np.arange(3), row)] for row in counts])
    start = np.r_[0, np.cumsum(rows)[:-1]][rows > 0]
    for seed in range(3):
        one, other = deal(counts, 4, seed), deal(expanded, 4, seed)
        assert (np.add.reduceat(other, start, axis=1) == one[:, rows > 0]).all()
        assert (one.sum(axis=0) == counts).all()


def test_dealing_one_by_one_and_by_numbers_has_one_law():
    """Mean and variance of a hypergeometric number: size N_i / N, and that times (1 - N_i/N)(N - size)/(N - 1)."""
    rng, column, sizes = np.random.default_rng(0), np.array([5, 3, 2]), np.array([4, 3, 3])
    for way in (folds._one_by_one, folds._by_numbers):
        drawn = np.array([way(column, sizes, rng)[0] for _ in range(4000)])
        mean = 4 * column / 10
        assert_allclose(drawn.mean(axis=0), mean, atol=0.06)
        assert_allclose(drawn.var(axis=0), mean * (1 - column / 10) * 6 / 9, atol=0.06)


@pytest.mark.parametrize("seed", range(4))
def test_weighted_shares_of_zero_and_one_are_exact(seed):
    """Sampling weights add up to a share of 1 in rounding; its interval has Kish's size and ends at 1."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.1, 3, 50)
    observed, predicted = np.repeat([0, 1], 25), np.repeat([0, 1], [20, 30])
    outcomes = ObservedOutcomes(np.eye(2)[observed], w, frequency=False, rowwise=True)
    found = accuracy.TableMeasures(accuracy.Table.of(outcomes, predicted), 0.05).by_class(1)
    size = w[25:].sum() * w.sum() / (w @ w)
    assert found["sensitivity"][:2] == (1.0, 0.0) and found["sensitivity"].upper == 1.0
    assert_allclose(found["sensitivity"].lower, size / (size + 3.841458820694124), rtol=1e-12)  # Wilson's at p = 1
    assert found["NPV"][:2] == (1.0, 0.0) and found["NPV"].upper == 1.0
    swapped = accuracy.TableMeasures(accuracy.Table.of(outcomes, 1 - observed), 0.05)
    for measure in (swapped.accuracy(), *(m for name, m in swapped.by_class(0).items() if name != "F1")):
        assert measure[:3] == (0.0, 0.0, 0.0) and 0 < measure.upper < 1


@pytest.mark.parametrize("seed", range(4))
def test_weighted_area_of_a_perfect_score_is_one(seed):
    rng = np.random.default_rng(seed)
    outcomes = ObservedOutcomes(
        np.eye(2)[np.repeat([0, 1], 40)], rng.uniform(0.1, 3, 80), frequency=False, rowwise=True
    )
    for score, auc in ((np.arange(80.0), 1.0), (-np.arange(80.0), 0.0)):
        found = roc.area(roc.ranks(score, outcomes), outcomes)
        assert found.auc == auc and roc.standard_error(found, outcomes) == 0
