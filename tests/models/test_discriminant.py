"""LDA and QDA against certified values: closed forms at high precision, checked against R's MASS, stats and psych.

The tables hold twelve digits; some numbers are differences of larger ones, so 1e-9 is asked of all, and 1e-7 of tail
probabilities. The files of tests/reference hold fifteen.
"""

import functools

import numpy as np
import pandas as pd
import pytest
import references

import glmclf
from glmclf import LDA, QDA, MNLogit, errors

RTOL, TAIL = 1e-9, 1e-7
FORMULAS = {
    "iris": "species ~ sepal_length + sepal_width + petal_length + petal_width",
    "crabs": "group ~ FL + RW + CL + CW + BD",
    "pima_tr": "type ~ npreg + glu + bp + skin + bmi + ped + age",
}
X0 = {
    "iris": [5.9, 3.1, 4.9, 1.6],
    "crabs": [16.0, 13.0, 32.0, 36.0, 14.0],
    "pima_tr": [4.0, 130.0, 72.0, 30.0, 33.0, 0.5, 35.0],
}
MODELS = {"LDA": LDA, "QDA": QDA}


def data(name):
    return references._data(f"data/{name}.csv").copy()


def features(name):
    return FORMULAS[name].split(" ~ ")[1].split(" + ")


@functools.cache
def fitted(model, name, cov_type=None, **keywords):
    """A fit of a data set, computed once; treat it as read-only."""
    return MODELS[model].from_formula(FORMULAS[name], data(name), **keywords).fit(cov_type=cov_type)


def x0(name):
    return data(name)[features(name)].iloc[:1].astype(float).assign(**dict(zip(features(name), X0[name])))


def close(found, expected, rtol=RTOL, atol=0.0):
    np.testing.assert_allclose(np.asarray(found, float).ravel(), np.ravel(expected), rtol=rtol, atol=atol)


def cases(table):
    return pytest.mark.parametrize("case", table, ids=[" ".join(map(str, c[:3])) for c in table])


# --------------------------------------------------------------------------------------------------- likelihoods
@cases(
    [
        ("LDA", "iris", -263.203743274, 24, 574.407486548, 646.662733607, -6.55755901928),
        ("QDA", "iris", -188.3755549, 44, 464.751109801, 597.219062741, -5.45470629514),
        ("LDA", "crabs", -1384.88644114, 38, 2845.77288229, 2971.10894221, -19.7811513889),
        ("QDA", "crabs", -1245.16818705, 83, 2656.33637409, 2930.09671551, -16.0028982419),
        ("LDA", "pima_tr", -4434.9834838, 43, 8955.9669676, 9097.79461436, -89.7883696569),
        ("QDA", "pima_tr", -4396.14948224, 71, 8934.29896449, 9168.47949751, -100.304514647),
    ]
)
def test_likelihoods_and_criteria(case):
    model, name, llf, k, aic, bic, conditional = case
    res = fitted(model, name)
    close([res.llf, res.aic, res.bic, res.llf_conditional], [llf, aic, bic, conditional])
    assert res.k_params == k == len(res.params)
    assert res.nobs == len(data(name)) and res.df_resid == res.nobs - len(res.levels)
    counts = data(name)[FORMULAS[name].split(" ~ ")[0]].value_counts()
    close(res.prsquared, 1 - conditional / (counts * np.log(counts / counts.sum())).sum())


@cases(
    [
        ("iris", -544.706473422, 563.005460297, -6.55755901928, 8),
        ("crabs", -1759.1366617, 748.500441113, -19.7811513889, 15),
    ]
)
def test_null_model(case):
    name, llnull, llr, conditional, df = case
    res = fitted("LDA", name)
    close([res.llnull, res.llr, res.llf_conditional], [llnull, llr, conditional])
    assert res.df_model == df
    close(res.llr, -res.nobs * np.log(res.manova().loc["Wilks' lambda", "statistic"]))


# -------------------------------------------------------------------------------------------------- discriminants
COEFFICIENTS = [
    (
        *("LDA", "iris", "versicolor", None, None),
        [13.7304720133, -8.00607923151, -16.852408835, 22.0837652624, 24.3190203898],
        [9.57093754701, 2.76298057416, 3.36947809289, 3.61668154923, 5.3274924463],
        [10.5379464367, 2.7545123198, 4.17373004133, 3.83457875438, 4.82467506961],
    ),
    (
        *("LDA", "iris", "virginica", None, None),
        [-18.4284183804, -11.3248140093, -20.3087662077, 29.7930448944, 39.2627793826],
        [13.7422915949, 3.84708225968, 4.58854654896, 4.99367441868, 7.58731126782],
        [14.8446747253, 4.03677919715, 5.59506209084, 5.36762188096, 7.22466461463],
    ),
    (
        *("QDA", "iris", "versicolor", None),
        ["Intercept", "sepal_length", "sepal_length^2", "sepal_length:sepal_width"],
        [46.2237076147, -27.0816497048, 4.81667092896, -8.90674443411],
        [28.4954126867, 13.0951818722, 2.16258266137, 3.67817870672],
        [28.0914224112, 13.0959153559, 1.7460581776, 2.94399449714],
    ),
    (
        *("LDA", "crabs", "BM", None, None),
        [6.52894297286, -1.12511250974, -5.56328556714, 2.146606328, 0.914819991669, -1.64014860915],
        [2.14272720871, 0.811578261843, 0.682625054017, 0.886507428917, 0.727403633503, 0.856716172853],
        None,
    ),
    (
        *("LDA", "crabs", "OM", None, None),
        [4.15891116442, 6.16133484916, -3.94444581086, 5.2839009724, -9.04059621087, 7.67786478977],
        [3.11194260337, 1.31826710956, 0.903521875229, 1.39638844041, 1.2862177074, 1.41582718323],
        None,
    ),
    (
        *("QDA", "crabs", "BM", None),
        ["Intercept", "FL", "FL^2", "FL:RW"],
        [-20.1650806123, 5.09558323704, 3.7370935015, 1.68504519291],
        [9.40262716418, 6.97202088795, 2.35426747142, 2.23811243806],
        None,
    ),
    (
        *("LDA", "pima_tr", "Yes", None, None),
        [
            *(-10.6966959252, 0.121994088586, 0.0368771556641, -0.00278145796628),
            *(-0.00127632785557, 0.0759424007762, 1.92285235289, 0.0482416482004),
        ],
        [
            *(1.82675390329, 0.0700709091952, 0.00737478837573, 0.0180975309056),
            *(0.0215692718211, 0.0418667951123, 0.649666553295, 0.0236651593941),
        ],
        [
            *(1.85650774054, 0.0788299873752, 0.00778937308798, 0.0191204416194),
            *(0.0200137676385, 0.0406043118787, 0.626944970306, 0.025964925335),
        ],
    ),
    (
        *("QDA", "pima_tr", "Yes", None),
        ["Intercept", "npreg", "npreg^2", "npreg:glu"],
        [-29.9577313178, -0.0167815165101, 0.066589250262, -0.00169529569221],
        [11.1413496748, 0.519338910748, 0.015581344902, 0.00207439204443],
        [9.82509394014, 0.501654222908, 0.0219311299828, 0.001975261795],
    ),
    (
        *("LDA", "iris", "versicolor", ("covariance", "diag"), ["Intercept", "sepal_length"]),
        [-66.3498069232, 3.58094475334],
        [7.23454692688, 0.570083035059],
        None,
    ),
    (
        *("LDA", "iris", "versicolor", ("covariance", "spherical"), ["Intercept", "sepal_length"]),
        [-79.976657775, 6.24878215939],
        [5.91981821286, 0.631603054915],
        None,
    ),
    (
        *("QDA", "iris", "versicolor", ("covariance", "diag"), ["Intercept", "sepal_length", "sepal_length^2"]),
        [9.64995946211, -18.3780794605, 2.19135822916],
        [29.7094787424, 9.40869648793, 0.906173268649],
        None,
    ),
    (
        *("QDA", "iris", "versicolor", ("covariance", "spherical"), ["Intercept", "sepal_length", "|x|^2"]),
        [50.895002926, -27.3048433802, 3.33400107634],
        [32.923566676, 7.68755381669, 0.736418203746],
        None,
    ),
    (
        *("LDA", "pima_tr", "Yes", ("divisor", "unbiased"), ["Intercept", "npreg"]),
        [-10.5963619081, 0.1207741477],
        [1.81765847764, 0.0697196743559],
        None,
    ),
    (
        *("LDA", "iris", "versicolor", ("divisor", "unbiased"), ["Intercept", "sepal_length"]),
        [13.455862573, -7.84595764688],
        [9.47478699593, 2.73521122038],
        None,
    ),
]


@cases(COEFFICIENTS)
def test_discriminant(case):
    model, name, level, keyword, rows, params, bse, hc0 = case
    res = fitted(model, name, **dict([keyword] if keyword else []))
    d = res.discriminant
    rows = rows or ["Intercept", *features(name)]
    close(d.params.loc[rows, level], params)
    close(d.bse.loc[rows, level], bse)
    close(d.tvalues.loc[rows, level], np.divide(params, bse))
    close(np.sqrt(np.diag(d.cov_params()))[[d.model._param_index.get_loc((level, r)) for r in rows]], bse)
    ends = d.conf_int().loc[level].loc[rows]
    close(ends.mean(axis=1), params, 1e-8)
    close((ends[1] - ends[0]) / 2 / 1.959963984540054, bse)
    if hc0 is not None:
        for robust in (fitted(model, name, "HC0"), res.with_cov("HC0")):
            close(robust.discriminant.bse.loc[rows, level], hc0)
            close(robust.discriminant.params.loc[rows, level], params)
            assert robust.cov_type == robust.discriminant.cov_type == "HC0"


@cases(
    [
        ("LDA", "diag", -384.088300529),
        ("LDA", "spherical", -444.667778293),
        ("QDA", "diag", -326.050081189),
        ("QDA", "spherical", -417.965023763),
    ]
)
def test_likelihoods_of_other_structures(case):
    model, covariance, llf = case
    res = fitted(model, "iris", covariance=covariance)
    close(res.llf, llf)
    assert len(res.params) == res.k_params


def test_covariance_between_equations():
    V = fitted("LDA", "iris").discriminant.cov_params()
    close(V.loc[("versicolor", "sepal_length"), ("virginica", "sepal_length")], 10.3116726965)


def test_fixed_priors():
    res = LDA.from_formula(FORMULAS["iris"], data("iris"), priors=[0.2, 0.3, 0.5]).fit()
    close(res.llf, -273.73979484)
    close(res.discriminant.params.loc["Intercept"], [14.1359371214, -17.5121276485])
    close(res.discriminant.bse.loc["Intercept"], [9.5688476594, 13.7408361565])
    close(res.discriminant.params[1:], fitted("LDA", "iris").discriminant.params[1:], 1e-13)
    close(res.discriminant.bse[1:], fitted("LDA", "iris").discriminant.bse[1:], 1e-13)
    assert res.k_params == 22 and (res.priors_bse == 0).all()


@pytest.mark.filterwarnings("ignore:.*Few clusters")
def test_cluster():
    t = data("pima_tr")
    t["group"] = np.arange(len(t)) % 17
    rows, expected = ["Intercept", "npreg", "glu"], [1.69437784188, 0.10230576064, 0.00448326808478]
    model = LDA.from_formula(FORMULAS["pima_tr"], t)
    for res in (
        model.fit(cov_type="cluster", cov_kwds={"groups": "group"}),
        model.fit().with_cov("cluster", groups=t.group),
    ):
        # the certified numbers have no small-sample factor; the package's is G/(G-1) (n-1)/(n-p)
        close(res.discriminant.bse.loc[rows, "Yes"], np.sqrt(17 / 16 * 199 / 192) * np.array(expected))
        assert res.cov_kwds == {"groups": ["group"], "n_groups": [17]}


def test_exact_bias_reduction():
    res = LDA.from_formula(FORMULAS["pima_tr"], data("pima_tr")).fit(bias_reduction="exact")
    close(res.discriminant.params.loc[["npreg", "glu"], "Yes"], [0.115894384156, 0.0350332978809])
    close(res.discriminant.bse.loc[["npreg", "glu"], "Yes"], [0.0692952695383, 0.0072878069126])


SHRUNK = [
    (
        *("ledoit_wolf", 0.15502352744, [-11.1809779864, 0.123991333909, 0.0368945162555]),
        [1.78746376634, 0.0642174093626, 0.00708835790871],
    ),
    (
        *("oas", 0.11534760215, [-11.0401644158, 0.123359136755, 0.0368753645921]),
        [1.79563598714, 0.0655521383058, 0.0071601727362],
    ),
    (
        *(0.3, 0.3, [-11.7898759941, 0.127307363759, 0.0370643960392]),
        [1.76466239245, 0.0600195376691, 0.00683022219175],
    ),
]


@cases(SHRUNK)
def test_shrinkage(case):
    wanted, intensity, params, sd = case
    res = fitted("LDA", "pima_tr", shrinkage=wanted)
    rows = ["Intercept", "npreg", "glu"]
    close(res.shrinkage, intensity)
    close(res.discriminant.params.loc[rows, "Yes"], params)
    close(res.discriminant.bse.loc[rows, "Yes"], sd)
    assert res.discriminant.tvalues.isna().all(axis=None) and res.discriminant.pvalues.isna().all(axis=None)
    assert np.isnan(res.bic) and np.isfinite(res.aic)


def test_shrinkage_robust_and_likelihood():
    res = fitted("LDA", "pima_tr", shrinkage=0.3)
    close([res.llf, res.k_params], [-4452.71978899, 36.7])
    rows, expected = ["Intercept", "npreg", "glu"], [1.84758737893, 0.0621692416352, 0.00752783819505]
    close(res.with_cov("HC0").discriminant.bse.loc[rows, "Yes"], expected)


# ----------------------------------------------------------------------------------------------------------- tests
@cases(
    [
        ("iris", 146.663249213, 140.943049923, 20, 7.04526169571, 77566.751269),
        ("crabs", 273.84777803, 261.428377666, 45, 5.80663964925, 95090.840052),
        ("pima_tr", 77.6742833773, 74.3310563356, 28, 2.65352272832, 67084.6323996),
    ]
)
def test_box_m(case):
    name, *expected = case
    for model in MODELS:
        close(fitted(model, name).boxm_test()[["M", "chi2", "df", "F", "df2"]], expected)


@cases([("iris", 149.656376747, 20), ("crabs", 279.436508194, 45)])
def test_lr_of_lda_in_qda(case):
    name, statistic, df = case
    found = fitted("QDA", name).compare_lr_test(fitted("LDA", name))
    close([found.statistic, found.df], [statistic, df])


MANOVA = {
    "iris": [
        *((0.0234386306509, 199.14534354, 8, 288), (1.19189882504, 53.4664887846, 8, 290)),
        *((32.4773202409, 580.532099306, 8, 286), (32.1919291983, 1166.95743344, 4, 145)),
    ],
    "crabs": [(0.0236947397829, 101.824367664, 15, 530.428854531)],
}


@pytest.mark.parametrize("name", MANOVA)
def test_manova(name):
    table, expected = fitted("LDA", name).manova(), MANOVA[name]
    close(table[["statistic", "F", "df1", "df2"]][: len(expected)], expected)
    close(fitted("QDA", name).manova(), table, 1e-12)


def test_bartlett():
    found = fitted("LDA", "iris").manova().attrs["bartlett"]
    close([found["statistic"], found["df"]], [546.115296488, 8])


REMOVAL = {
    "iris": {
        "partial_lambda": [0.938463488076, 0.766479891824, 0.669206087831, 0.743000830079],
        "F": [4.72115209042, 21.935928089, 35.5901748494, 24.9043331922],
        "LR": [9.52669923994, 39.892022216, 60.2494819101, 44.5587175599],
        "wald": [8.69539265479, 28.3967938538, 37.2853274813, 30.668178954],
        "tolerance": [0.347993004502, 0.608859382813, 0.36512615274, 0.649313847809],
    },
    "crabs": {
        "partial_lambda": [0.636960469178, 0.343996730734, 0.876073392211, 0.573067042687, 0.734758259834],
        "LR": [90.2095366281, 213.424625067, 26.4610820984, 111.350513233, 61.6427464107],
        "wald": [53.2691125404, 79.2272915689, 22.0524377535, 59.8392454424, 41.927440701],
    },
    "pima_tr": {
        "F": [
            *(3.00082651518, 32.0074380686, 0.0226819391125, 0.00336155304211),
            *(3.26610538552, 9.2171671551, 4.16226316367),
        ],
        "wald": [
            *(3.03111258846, 25.0043579901, 0.0236214388668, 0.00350149514339),
            *(3.29025237047, 8.76013620621, 4.15552028499),
        ],
    },
}


@pytest.mark.parametrize("name", REMOVAL)
def test_tests_of_features(name):
    res, K = fitted("LDA", name), len(fitted("LDA", name).levels)
    table = res.f_to_remove()
    assert list(table.index) == features(name)
    for column, expected in REMOVAL[name].items():
        if column == "wald":
            wald = res.discriminant.wald_test_terms(skip_constant=True).table
            close(wald["statistic"].astype(float), expected)
            assert (wald["df_constraint"] == K - 1).all()
        else:
            close(table[column], expected)
    assert (table.LR_df == K - 1).all()
    close(res.term_tests(), table[["LR", "LR_df", "LR_pvalue"]], 1e-12)
    close(res.anova(), res.term_tests(), 1e-15)


@cases(
    [
        ("iris", 10, [29.3733561457, 66.114737586, 118.133238682, 108.517807022]),
        (
            *("pima_tr", 8),
            [
                *(28.6274604079, 38.6785042374, 11.4625934335, 17.4330051241),
                *(27.7793727699, 25.5518202189, 22.4884317629),
            ],
        ),
    ]
)
def test_qda_tests_of_features(case):
    name, df, expected = case
    table = fitted("QDA", name).term_tests()
    close(table.statistic, expected)
    assert (table.df == df).all() and list(table.index) == features(name)


def test_canonical_functions_of_iris():
    c = fitted("LDA", "iris").canonical
    close(c.eigenvalues, [32.1919291983, 0.285391042623])
    close(c.correlations, [0.984820894432, 0.47119701923])
    close(c.tests[["statistic", "df"]], [546.115296488, 8, 36.5296643726, 3])
    # the sign that makes the largest standardised coefficient positive is that of the table
    close(c.raw["CAN1"], [-0.829377642266, -1.5344730677, 2.20121165556, 2.81046030884])
    close(c.standardised["CAN1"], [-0.426954848571, -0.5212416758, 0.947257248678, 0.575160771921])
    close(c.structure["CAN1"], [0.222595941524, -0.119011514885, 0.706065381085, 0.633177926162])
    close(c.centroids["CAN1"], [-7.6075999269, 1.82504949015, 5.78255043676])


def test_canonical_functions_of_crabs():
    c = fitted("LDA", "crabs").canonical
    close(c.eigenvalues, [7.51672957457, 3.28117482044, 0.157476643622])
    close(c.correlations, [0.939459439008, 0.875453742891, 0.368851842161])
    close(c.tests[["statistic", "df"]], [727.916678982, 15, 311.291374381, 8, 28.444132889, 3])
    expected = [-4.81342221718, -1.42267656451, -1.25972997136, 11.4731831748, -4.16755575022]
    close(c.standardised["CAN1"], expected)


@cases(
    [
        ("iris", "versicolor", "setosa", 89.8641855821, 550.188891319, 4, 144, 86.6475806303),
        ("crabs", "BM", "BF", 10.0732980358, 49.3386026242, 5, 192, 9.56493176938),
        ("pima_tr", "Yes", "No", 2.30790705553, 14.3485878652, 7, 192, 2.05868680611),
    ]
)
def test_mahalanobis_distances(case):
    name, level, other, *expected = case
    row = fitted("LDA", name).distances().loc[(level, other)]
    close(row[["D2", "F", "df1", "df2", "D2_unbiased"]], expected)


def test_mardia():
    table = fitted("LDA", "iris").mardia_test()
    close(table.coefficient, [1.27392252262, 1.27392252262, 27.7131193649])
    close(table.statistic, [31.8480630656, 32.7452514911, 3.28196485281])


CONDITIONAL = {
    "llf": -89.195333233,
    "llf_conditional": -89.7883696569,
    "statistic": 1.18607284774,
    "scale": 0.105883560866,
    "df": 4.38658371516,
    "penalty": 8.4657296465,
}


@pytest.mark.parametrize("reference", ["No", "Yes"])
def test_compare_conditional(reference):
    mnlogit = MNLogit.from_formula(FORMULAS["pima_tr"], data("pima_tr"), reference=reference).fit()
    found = fitted("LDA", "pima_tr").compare_conditional(mnlogit)
    for name, expected in CONDITIONAL.items():
        close(getattr(found, name), expected, 1e-8 if name == "statistic" else RTOL)
    close(found.pvalue, 0.0320745499831, TAIL)
    close(found.aic_conditional, 2 * 89.7883696569 + 2 * 8.4657296465)


# ----------------------------------------------------------------------------------------------------- predictions
@cases(
    [
        ("LDA", "iris", [1.5156616569e-27, 0.683228540983, 0.316771459017], [61.3730195681, 60.6043707154]),
        ("QDA", "iris", [2.42158082841e-103, 0.828482685254, 0.171517314746], None),
        (
            *("LDA", "crabs", [0.00869186297224, 5.1285839896e-05, 0.877013013699, 0.114243837489]),
            [-5.13272788778, 4.61413453369, 2.57594779204],
        ),
        ("LDA", "pima_tr", [0.62181545333, 0.37818454667], [-0.497261054707]),
    ]
)
def test_prediction(case):
    model, name, posterior, odds = case
    res, row = fitted(model, name), x0(case[1])
    close(res.predict(row), posterior)
    if odds is not None:
        close(res.predict(row, which="linear").iloc[0, 1:], odds)
    close(res.predict(row, which="linear").iloc[0, 1:], np.log(np.divide(posterior[1:], posterior[0])), 1e-8)


@cases(
    [
        ("LDA", "iris", [7.47857969268, 7.50500031148]),
        ("QDA", "iris", [47.9627058926, 47.9641618874]),
        ("LDA", "crabs", [1.36147513462, 1.00092754313, 1.06841795018]),
        ("LDA", "pima_tr", [0.188593818613]),
    ]
)
def test_standard_errors_of_log_odds(case):
    """By the entries of the discriminant's covariance; the odds of x0 itself is a contrast of its coefficients."""
    model, name, expected = case
    res = fitted(model, name)
    S = res._log_odds_covariance(x0(name)[features(name)].to_numpy(), True)[0]
    close(np.sqrt(np.diag(S)), expected)
    close(res.get_prediction(x0(name), "linear").se.iloc[0, 1:], expected)
    if model == "LDA":
        z = np.kron(np.eye(len(res.levels) - 1), np.append(1.0, X0[name]))
        close(res.discriminant.t_test(z).sd, expected, 1e-8)
    if len(res.levels) == 2:
        frame = res.get_prediction(x0(name)).summary_frame()
        close(frame.se, np.repeat(expected, 2) * 0.62181545333 * 0.37818454667)


@cases(
    [
        ("iris", [1.93133543283e-18, 0.144188472268, 0.083502171847]),
        ("pima_tr", [0.997835384485, 0.999646203547]),
    ]
)
def test_typicality(case):
    name, expected = case
    close(fitted("LDA", name).typicality(x0(name)), expected, TAIL)
    close(fitted("LDA", name, divisor="unbiased").typicality(x0(name)), expected, TAIL)


@cases(
    [
        ("LDA", "iris", 3, 3, 0.0157152733397, -8.0755368197),
        ("QDA", "iris", 3, 4, None, -8.60091435232),
        ("LDA", "crabs", 8, 10, 0.0391286852081, -23.460594301),
        ("QDA", "crabs", 8, 13, None, -22.9982142891),
        ("LDA", "pima_tr", 46, 48, 0.183916987033, -98.3485966166),
        ("QDA", "pima_tr", 46, 54, None, -136.932396824),
    ]
)
def test_error_rates(case):
    model, name, resubstitution, left_out, posterior, log_score = case
    res = fitted(model, name)
    e = res.error_rates()
    assert e.rates.loc[["resubstitution", "leave-one-out"], "n_errors"].tolist() == [resubstitution, left_out]
    close(e.rates.loc["resubstitution", "log_score"], res.llf_conditional, 1e-11)
    close(e.rates.loc["leave-one-out", "log_score"], log_score)
    if posterior is not None:
        close(e.rates.loc["posterior", "error"], posterior)
    p, y = res.leave_one_out(), data(name)[FORMULAS[name].split(" ~ ")[0]]
    own = p.to_numpy()[np.arange(len(p)), [res.levels.index(v) for v in y]]
    close(np.log(own).sum(), log_score)
    assert (p.idxmax(axis=1) != y).sum() == left_out


# ------------------------------------------------------------------------------------------------- reference files
FILES = references.names("fit", models=("LDA", "QDA"))
LDA_FILES = [name for name in FILES if name.endswith("__lda")]


@functools.cache
def reference_fit(name, **keywords):
    case, table = references.reference(name)
    return case["values"], MODELS[case["model"]].from_formula(case["formula"], table, **keywords).fit(), table


def frame(values, levels, names):
    """Rows by level of a mapping of mappings."""
    return [[values[str(level)][x] for x in names] for level in levels]


def same_covariances(res, expected):
    if isinstance(expected, dict):
        for level in res.levels:
            close(res.covariances[level], expected[str(level)], 1e-11, 1e-15)
    else:
        close(res.covariances, expected, 1e-11, 1e-15)


def same_posteriors(res, expected, table, rtol=1e-10):
    rows = table.iloc[expected["rows"]]
    # log densities of 1e4 leave a posterior of 1e-300 fewer digits than their own
    p = np.array(expected["mean"])
    found = res.predict(rows)
    close(np.log(found), np.log(p), 1e-10, 1e-10)
    close(found.to_numpy()[p > 1e-3], p[p > 1e-3], rtol)
    if "joint_logpdf" in expected:
        close(res.predict(rows, which="joint"), expected["joint_logpdf"], 1e-11, 1e-10)


def same_discriminant(res, expected):
    """Constants, slopes and quadratic forms, whose products x_i x_j have twice the matrix's entry."""
    names, d = res.feature_names, res.discriminant
    for level in d.params.columns:
        e = expected[str(level)]
        for table, suffix in ((d.params, ""), (d.bse, "_se")):
            if "const" + suffix not in e:
                continue
            column = table[level]
            scale = abs(e["const" + suffix])
            close(column["Intercept"], e["const" + suffix], RTOL)
            close(column[names], [e["linear" + suffix][x] for x in names], RTOL, 1e-13 * scale)
            if "quadratic" + suffix not in e:
                continue
            A = np.array(e["quadratic" + suffix])
            for i, x in enumerate(names):
                close(column[f"{x}^2"], A[i, i], RTOL)
                for j in range(i + 1, len(names)):
                    close(column[f"{x}:{names[j]}"], 2 * A[i, j], 1e-8, 1e-11 * np.abs(A).max())


@pytest.mark.parametrize("name", FILES)
def test_reference_fit(name):
    v, res, table = reference_fit(name)
    names, mle = res.feature_names, v["mle"]
    assert names == v["features"] and list(map(str, res.levels)) == v["levels"] and res.nobs == v["nobs"]
    close(res.priors, [v["priors"][str(level)] for level in res.levels], 1e-14)
    close(res.counts, [v["counts"][str(level)] for level in res.levels], 1e-15)
    close(res.means, frame(v["means"], res.levels, names), 1e-13)
    close([res.llf, res.aic, res.bic], [mle["llf"], mle["aic"], mle["bic"]], 1e-12)
    close(res.llf_conditional, mle["llf_conditional"], 1e-10)
    assert res.k_params == mle["n_params"]
    same_covariances(res, mle["covariance"])
    assert res.pred_table().to_numpy().astype(int).tolist() == mle["confusion"]
    assert res.error_rates().rates.loc["resubstitution", "n_errors"] == mle["errors"]
    assert res.error_rates().confusion["resubstitution"].to_numpy().tolist() == mle["confusion"]
    same_posteriors(res, mle["posterior"], table)
    same_discriminant(res, mle["discriminant"])


@pytest.mark.parametrize("name", FILES)
def test_reference_standard_errors(name):
    v, res, _ = reference_fit(name)
    names, mle = res.feature_names, v["mle"]
    close(res.priors_bse, [mle["priors_se"][str(level)] for level in res.levels], 1e-13)
    close(res.means_bse, frame(mle["means_se"], res.levels, names), 1e-12)
    for level in res.levels:
        found = [res.bse[f"mean[{level}, {x}]"] for x in names]
        close(found, [mle["means_se"][str(level)][x] for x in names], 1e-12)
    matrices = mle["covariance_se"] if isinstance(mle["covariance_se"], dict) else {"": mle["covariance_se"]}
    for level, matrix in matrices.items():
        for i, a in enumerate(names):
            for j in range(i, len(names)):
                label = ", ".join(part for part in (level, a, names[j]) if part)
                close(res.bse[f"cov[{label}]"], matrix[i][j], 1e-11)


@pytest.mark.parametrize("name", FILES)
def test_reference_unbiased_divisor(name):
    v, mle, table = reference_fit(name)
    res, expected = reference_fit(name, divisor="unbiased")[1], v["moment"]
    same_covariances(res, expected["covariance"])
    close([res.llf, res.llnull, res.aic], [mle.llf, mle.llnull, mle.aic], 1e-13)
    y = [res.levels.index(c) for c in table.loc[:, res.model.endog_names]]
    joint = res.predict(which="joint").to_numpy()
    close(joint[np.arange(len(y)), y].sum(), expected["llf"], 1e-12)
    close(res.llf_conditional, expected["llf_conditional"], 1e-10)
    assert res.pred_table().to_numpy().astype(int).tolist() == expected["confusion"]
    same_posteriors(res, expected["posterior"], table)
    same_discriminant(res, expected["discriminant"])


@pytest.mark.parametrize("name", LDA_FILES)
def test_reference_equal_priors(name):
    v, _, table = reference_fit(name)
    res, expected = reference_fit(name, priors="equal")[1], v["mle_equal_priors"]
    close([res.llf, res.llf_conditional], [expected["llf"], expected["llf_conditional"]], 1e-10)
    same_posteriors(res, expected["posterior"], table)
    close(res.priors, np.full(len(res.levels), 1 / len(res.levels)), 1e-15)


@pytest.mark.parametrize("name", LDA_FILES)
def test_reference_canonical_and_tests(name):
    v, res, table = reference_fit(name)
    e, c, N, K = v["canonical"], res.canonical, res.nobs, len(res.levels)
    close(c.eigenvalues, e["eigenvalues"], 1e-11)
    close(c.correlations, e["canonical_corr"], 1e-11)
    close(c.proportions, e["proportion"], 1e-11)
    close(np.sqrt(c.eigenvalues * (N - K) / (K - 1)), e["svd"], 1e-11)
    for function, expected in zip(c.raw, e["scaling"]):
        expected = np.array([expected[x] for x in res.feature_names])
        found = c.raw[function].to_numpy()
        close(found * np.sign(found @ expected), expected, 1e-8, 1e-10 * np.abs(expected).max())
    wilks = res.manova().loc["Wilks' lambda"]
    close(wilks[["statistic", "F", "df1", "df2"]], [e["wilks"], e["wilks_F"], *e["wilks_df"]], 1e-11)
    close(wilks.pvalue, e["wilks_F_pvalue"], TAIL)
    bartlett = res.manova().attrs["bartlett"]
    close(list(bartlett.values())[:2], [e["wilks_chi2"], e["wilks_chi2_df"]], 1e-11)
    close(bartlett["pvalue"], e["wilks_chi2_pvalue"], TAIL)
    box = res.boxm_test()
    close(box[["M", "chi2", "df"]], [e["box_m"], e["box_chi2"], e["box_df"]], 1e-10)
    close(box.chi2_pvalue, e["box_pvalue"], TAIL)
    means = table.groupby(res.model.endog_names)[res.feature_names].mean()
    close(c.scores(means), c.centroids, 1e-9, 1e-10)


def test_tail_probabilities_of_iris():
    """Tails of published distributions, far out, by mpmath."""
    import mpmath as mp

    def chi2(x, df):
        return float(mp.gammainc(mp.mpf(df) / 2, mp.mpf(float(x)) / 2, mp.inf, regularized=True))

    def f_tail(F, a, b):
        return float(mp.betainc(mp.mpf(b) / 2, mp.mpf(a) / 2, 0, b / (b + a * mp.mpf(float(F))), regularized=True))

    lda, qda = fitted("LDA", "iris"), fitted("QDA", "iris")
    for res in (lda, qda):
        close(res.llr_pvalue, chi2(res.llr, res.df_model), TAIL)
        box = res.boxm_test()
        close(box.pvalue, f_tail(box.F, box.df, box.df2), TAIL)
        close(box.chi2_pvalue, chi2(box.chi2, box.df), TAIL)
        for _, row in res.term_tests().iterrows():
            close(row.pvalue, chi2(row.statistic, row.df), TAIL)
    for _, row in [*lda.f_to_remove().iterrows(), *lda.distances().iterrows(), *lda.manova().iterrows()]:
        close(row.pvalue, f_tail(row.F, row.df1, row.df2), TAIL)
    lr = qda.compare_lr_test(lda)
    close(lr.pvalue, chi2(lr.statistic, lr.df), TAIL)
    for _, row in lda.discriminant.wald_test_terms().table.astype(float).iterrows():
        close(row.pvalue, chi2(row.statistic, row.df_constraint), TAIL)
    mardia = lda.mardia_test()
    close(mardia.pvalue.iloc[0], chi2(mardia.statistic.iloc[0], 20), TAIL)
    close(mardia.pvalue.iloc[2], float(mp.erfc(mp.mpf(float(mardia.statistic.iloc[2])) / mp.sqrt(2))), TAIL)


def test_regularised_has_no_tests():
    res = fitted("LDA", "pima_tr", shrinkage=0.3)
    for call in (
        *(res.manova, res.boxm_test, res.f_to_remove, res.term_tests, res.distances, res.ladder, res.mardia_test),
        *(res.typicality, res.wald_test_terms, lambda: res.canonical, lambda: res.compare_lr_test(res)),
        lambda: res.discriminant.t_test("npreg = 0"),
    ):
        with pytest.raises((ValueError, NotImplementedError, errors.EstimationError)):
            call()


# --------------------------------------------------------------------------------------------------- many features
MOMENTS = "glmclf.core.gaussian.moments."


@pytest.mark.parametrize("options", [{}, {"shrinkage": 0.3}, {"covariance": "diag"}, {"covariance": "spherical"}])
def test_qda_whose_scatters_are_large(monkeypatch, options):
    """A fit takes what it needs, however much is kept of what it does not need."""
    usual = fitted("QDA", "iris", **options)
    monkeypatch.setattr(MOMENTS + "MAX_SCATTER_NUMBERS", 10)
    res = QDA.from_formula(FORMULAS["iris"], data("iris"), **options).fit()
    close(res.llf, usual.llf, 1e-12)
    close(res.discriminant.params, usual.discriminant.params, 1e-10)
    close(res.llnull, usual.llnull, 1e-12)
    assert str(res.summary())


def test_qda_that_is_too_large_says_so(monkeypatch):
    monkeypatch.setattr(MOMENTS + "MAX_NEEDED_NUMBERS", 47)
    with pytest.raises(errors.EstimationError, match=r"3 covariance matrices of 4 features are 48 numbers.*LDA.*diag"):
        QDA.from_formula(FORMULAS["iris"], data("iris")).fit()


def test_a_diagonal_fit_without_products(monkeypatch):
    monkeypatch.setattr(MOMENTS + "MAX_SCATTER_NUMBERS", 15)
    for model in (LDA, QDA):
        res = model.from_formula(FORMULAS["iris"], data("iris"), covariance="diag").fit()
        close(res.term_tests(), fitted(model.__name__, "iris", covariance="diag").term_tests(), 1e-10, 1e-300)
        with pytest.raises(errors.EstimationError, match="products of 4 features"):
            res.manova()
        assert str(res.summary()) and len(res.ladder()) == 6


# ----------------------------------------------------------------------------------------------------------- names
def test_names_of_a_quadratic_logit_are_unique():
    """The feature a:b, its square, and the product of a and b: each by its own name, with its own numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80), "y": np.repeat(["u", "v"], 40)})
    frame["c"] = frame.a * frame.b
    res = QDA.from_formula("y ~ a * b", frame).fit()
    names = ["Intercept", "a", "b", "a:b", "a^2", "(a):(b)", "a:(a:b)", "b^2", "b:(a:b)", "(a:b)^2"]
    assert res.discriminant.params.index.tolist() == names
    plain = QDA.from_formula("y ~ a + b + c", frame).fit().discriminant
    assert plain.params.index.tolist()[4:] == ["a^2", "a:b", "a:c", "b^2", "b:c", "c^2"]
    close(res.discriminant.params, plain.params, 1e-12)
    tests, expected = (r.wald_test_terms().table for r in (res.discriminant, plain))
    close(tests.statistic, expected.statistic, 1e-9)
    assert list(tests.index) == ["Intercept", "a", "b", "a:b"]


@pytest.mark.parametrize("covariance", ["full", "diag", "spherical"])
def test_names_that_look_like_squares(covariance):
    X = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 3)), columns=["x", "x^2", "|x,x^2,(x)^2|^2"])
    names = QDA(np.repeat([0, 1], 30), X, covariance=covariance).fit().discriminant.params.index
    assert names.is_unique and names[1:4].tolist() == list(X)


@pytest.mark.parametrize("model", [LDA, QDA])
def test_the_unbiased_divisor_counts_rows(model):
    """N - K with N the sum of sampling weights would depend on their unit."""
    rng = np.random.default_rng(2)
    t = pd.DataFrame({"y": np.repeat(["a", "b"], 20), "x": rng.normal(size=40), "w": rng.uniform(1, 2, 40)})
    with pytest.raises(NotImplementedError, match=f'divisor="unbiased" of {model.__name__}.*sampling weights='):
        model.from_formula("y ~ x", t, weights="w", divisor="unbiased").fit()
    plain = model.from_formula("y ~ x", t, divisor="unbiased").fit()
    twice = model.from_formula("y ~ x", pd.concat([t, t]), divisor="unbiased").fit()
    counted = model.from_formula("y ~ x", t.assign(f=2), divisor="unbiased", freq_weights="f").fit()
    np.testing.assert_allclose(counted.predict(), twice.predict().head(40), 1e-12)
    assert abs(plain.predict() - counted.predict()).max(axis=None) > 1e-6


@pytest.mark.parametrize("model", [LDA, QDA])
@pytest.mark.parametrize("covariance", ["diag", "spherical"])
def test_files_hold_no_products_that_the_fit_does_not_need(model, covariance, tmp_path):
    rng = np.random.default_rng(3)
    p, y = 400, np.repeat(["a", "b"], 30)
    X = rng.normal(size=(60, p)) + (y == "b")[:, None]
    res = model(y, X, covariance=covariance).fit()
    res.save(tmp_path / "fit.json")
    assert (tmp_path / "fit.json").stat().st_size < 800 * p  # 800 bytes a feature: no p x p numbers
    other = glmclf.load(tmp_path / "fit.json")
    np.testing.assert_array_equal(other.predict(X[:5]), res.predict(X[:5]))
    for name in ("llf", "llnull", "llr"):
        np.testing.assert_allclose(getattr(other, name), getattr(res, name), 1e-12)
    pd.testing.assert_frame_equal(other.discriminant.bse, res.discriminant.bse)
    with pytest.raises(errors.EstimationError, match="are not kept .* in a file"):
        other.canonical
    small = model(y, X[:, :9], covariance=covariance).fit()
    small.save(tmp_path / "small.json")
    pd.testing.assert_frame_equal(glmclf.load(tmp_path / "small.json").canonical.raw, small.canonical.raw)
