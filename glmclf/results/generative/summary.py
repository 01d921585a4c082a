"""Printed summary of LDA, QDA and NaiveBayes: likelihoods, classes, tests of the features, the implied logit.

The machinery is that of `summary`. Of a result this asks what `GenerativeResults` says; of LDA and QDA also the tests
of `DiscriminantResults`; of others, if they have them, `_summary_features()`, a DataFrame with a row a feature (family,
params, observed, LR, df, pvalue, note), and `conditionals`, each feature's estimates and standard errors by level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from glmclf.core.discriminant.logit import size
from glmclf.core.gaussian.fit import Gaussian
from glmclf.inference.covariance.types import MODEL_BASED
from glmclf.inference.generative.covariances import lr_lda_qda
from glmclf.inference.hypotheses.wald import check_alpha
from glmclf.results.tables.folding import LIMITS, FoldedTerm, folded, folded_note
from glmclf.results.tables.numbers import blank, count, dof, four, number, pvalue, with_se
from glmclf.results.tables.render import table_classes, width
from glmclf.results.tables.summary import _coefficients, _facts, moment, shown_names, two_columns

GENERATIVE_HEADER_WIDTHS = (16, 19, 25, 15)
CLASS_WIDTHS = (10, 6, 12)
MAX_WIDTH = 100  # characters, of a table of classes
MAX_LEAVE_ONE_OUT, MAX_RESUBSTITUTION = 2e7, 1e8  # rows x features up to which each error rate is computed
MAX_ROWS = 500  # rows of a table that is printed without being asked for
MAX_QUADRATIC = 15  # coefficients of a quadratic logit that is printed unasked: those of 4 features
POSTERIOR_SD = (
    "post. sd: standard deviations of the posterior that the regularisation stands for. The estimates are biased, so "
    "that there is no z and no p-value; the intervals are estimate -/+ z sd."
)


@dataclass
class _Context:
    """Context of one summary: names, options, and the notes that its parts add to."""

    res: Any
    yname: str
    xname: list[str] | None
    alpha: float
    notes: list[str] = field(default_factory=list)

    @property
    def law(self) -> Gaussian | None:
        """Fitted Gaussian classes of LDA and QDA; None for other models."""
        fitted = getattr(self.res, "_fitted_classes", None)
        return getattr(fitted, "law", None)

    @property
    def tested(self) -> bool:
        """Whether the fit maximises a likelihood, so that there are tests."""
        return self.res._maximum and not self.res.model._pseudo

    def shown(self, name: str) -> str:
        """Label of a feature or term, as given by the user."""
        if self.xname is None:
            return name
        return dict(zip(self.res.discriminant.model.exog_names, self.xname)).get(name, name)

    def attempt(self, what: str, f: Callable[[], Any]) -> Any:
        """Call f and return its result; where the data do not allow it, add a note and return None."""
        try:
            return f()
        except (ValueError, NotImplementedError) as error:
            self.notes.append(f"{what} left out: {error}")
            return None


def summary(
    res: Any,
    *,
    yname: str | None = None,
    xname: Sequence[str] | None = None,
    title: str | None = None,
    alpha: float = 0.05,
    discriminant: bool | None = None,
    date: bool = True,
    levels: bool | None = None,
) -> Any:
    """See `GenerativeResults.summary`."""
    check_alpha(alpha)
    context = _Context(res, str(yname or res.model.endog_names), _names(res, xname), alpha)
    result = table_classes()["Summary"]()
    title = title or f"{type(res.model).__name__} Results"
    result.tables.append(two_columns(_left(context, date), _right(context), title, GENERATIVE_HEADER_WIDTHS))
    for part in (_tests, _class_tables, _features, partial(_estimates, levels=levels)):
        result.tables.extend(part(context))
    terms = folded(res.discriminant, levels)
    if _wants_logit(context, discriminant, terms):
        result.tables.extend(_logit(context, terms))
        context.notes += folded_note(res.discriminant, terms)
    facts = _what_was_modelled(context)
    if facts:
        result.tables.append(_facts(facts))
    notes = list(dict.fromkeys([*_described(res), *context.notes]))
    if notes:
        result.add_extra_txt(["Notes:", *(f"[{i}] {note}" for i, note in enumerate(notes, start=1))])
    return result


def _names(res: Any, xname: Sequence[str] | None) -> list[str] | None:
    if xname is None:
        return None
    own = res.discriminant.model.exog_names
    names, n = shown_names(res.model, own, xname), len(own)
    if len(names) != n:
        raise ValueError(f"xname= has {len(names)} names for {n} regressors of the implied logit: give one for each")
    return names


def _table(corner: str, heads: list[str], labels: list[str], rows: list[Any], widths: tuple[int, ...]) -> Any:
    """Table with labels in its first column and a text in its corner."""
    table = table_classes()["Table"](rows, heads, labels, title=None)
    table[0][0].data = corner
    least = (*widths, *[widths[-1]] * len(rows[0]))
    table.widths = least[: len(rows[0]) + 1]
    return table


# ---------------------------------------------------------------------------------------------------------- header
def _left(c: _Context, date: bool) -> list[tuple[str, str]]:
    res = c.res
    left = [
        ("Dep. Variable:", c.yname),
        ("Model:", type(res.model).__name__),
        ("Method:", res._estimator),
        *moment(date),
        ("Classes:", str(len(res.levels))),
    ]
    if c.law is not None:
        left.append(("Covariance:", _structure(c)))
    left.append(("Priors:", _prior_kind(res)))
    left.append(("Covariance Type:", str(res.cov_type)))
    return left


def _structure(c: _Context) -> str:
    """Structure of the covariance matrices, and their divisor."""
    assert c.law is not None
    how = "regularised" if c.law.regularised else "MLE" if c.law.divisor == "mle" else "unbiased"
    return f"{c.law.kind}, {'pooled' if c.law.pooled else 'by class'} ({how})"


def _prior_kind(res: Any) -> str:
    if not res._priors_free:
        return "fixed"
    return "smoothed" if res.model._options.get("prior_smoothing") else "estimated"


def _right(c: _Context) -> list[tuple[str, str]]:
    res = c.res
    counted = res._maximum or (c.law is not None and not c.law.shrinkage)  # a ridge does not change the number
    right = [
        ("No. Observations:", count(res.nobs)),
        ("Parameters:", dof(res.k_params_effective) + ("" if counted else " (effective)")),
        *([] if res._regularised else [("Df Model:", dof(res.df_model))]),
        ("Log-Likelihood (joint):", _loglik(res.llf)),
        ("LL-Null:", _loglik(res.llnull)),
    ]
    for label, value, shown in (
        ("LLR p-value:", res.llr_pvalue, f"{res.llr_pvalue:#6.4g}"),
        ("AIC:", res.aic, _criterion(res.aic)),
        ("BIC:", res.bic, _criterion(res.bic)),
    ):
        if not math.isnan(value):
            right.append((label, shown))
    given = c.attempt("The conditional log-likelihood is", lambda: (res.llf_conditional, res.prsquared))
    if given is not None:
        right += [("LL (conditional):", _criterion(given[0])), ("Pseudo R-squ. (cond.):", f"{given[1]:#6.4g}")]
    return right


def _loglik(x: float) -> str:
    """Text of a log-likelihood: five digits, or one decimal where there are more."""
    return f"{x:.1f}" if 1e4 <= abs(x) < 1e12 else f"{x:#8.5g}"


def _criterion(x: float) -> str:
    """Text of a criterion: four digits, or one decimal where there are more."""
    return f"{x:.1f}" if 1e3 <= abs(x) < 1e12 else f"{x:#8.4g}"


# ----------------------------------------------------------------------------------------------------------- tests
def _tests(c: _Context) -> list[Any]:
    """Tests of the model as a whole: all classes alike, equal means, equal covariances."""
    res, law = c.res, c.law
    if not c.tested:
        return []
    rows = {"Likelihood ratio": (res.llr, np.nan, res.df_model, np.nan, res.llr_pvalue)}
    if law is not None and law.kind == "full":
        if law.pooled:
            found = c.attempt("Wilks' lambda is", lambda: res.manova().loc["Wilks' lambda"])
            if found is not None:
                rows["Wilks' lambda"] = tuple(found)
        else:
            moments, roots = res._fitted_classes.moments, (res._within_root, res._class_roots)
            found = c.attempt("LDA against QDA is", lambda: lr_lda_qda(moments, *roots))
            if found is not None:
                rows["LR, LDA in QDA"] = (found.statistic, np.nan, found.df, np.nan, found.pvalue)
        box = c.attempt("Box's M is", res.boxm_test)
        if box is not None:
            rows["Box's M"] = (box.M, box.F, box.df, box.df2, box.pvalue)
            _note_box_test(c, box.pvalue)
    if res.cov_type == "cluster":
        c.notes.append("Likelihood ratio and F tests take the rows as independent, within clusters too.")
    cells = [[four(s), four(F), dof(a), blank(dof, b), pvalue(p)] for s, F, a, b, p in rows.values()]
    heads = ["statistic", "F", "df", "df2", "p-value"]
    return [_table("", heads, list(rows), cells, (18, 11, 11, 9, 12, 12))]


def _note_box_test(c: _Context, p: float) -> None:
    """Add a note where Box's test contradicts the chosen model."""
    if c.law is not None and c.law.pooled and p < 0.05:
        model_based = c.res.cov_type in MODEL_BASED and c.res._reduced is None
        robust = ' or cov_type="HC0"' if model_based else ""
        c.notes.append(f"Box's M rejects equal covariance matrices: consider QDA{robust}.")


# --------------------------------------------------------------------------------------------------------- classes
def _class_tables(c: _Context) -> list[Any]:
    """Tables of sizes, priors, log-determinants and means: a row for each class, or for each of many features."""
    res, law = c.res, c.law
    levels = [str(level) for level in res.levels]
    if len(levels) > MAX_ROWS:
        c.notes.append(f"{len(levels)} classes are not printed.")
        return []
    lines = [("n" if not res.model._pseudo else "weight", [count(n).strip() for n in _sizes(res)])]
    with_se = "" if res.model._pseudo else " (se)"
    lines.append((f"prior{with_se}", _priors(c)))
    if law is not None and not law.pooled:
        logdets = [law.dispersion(k).logdet for k in res.model._order]
        lines.append(("log|Sigma|", [number(x).strip() for x in logdets]))
    n = len(lines)
    if law is not None:
        lines += _means(c)
    corner = "" if len(lines) == n else f"means{with_se}"
    if len(lines) - n <= 6 and _width(corner, levels, lines) <= MAX_WIDTH:
        rows = [list(row) for row in zip(*(cells for _, cells in lines), strict=True)]
        return [_table(corner, [label for label, _ in lines], levels, rows, CLASS_WIDTHS)]
    return _by_columns(corner, levels, lines)


def _width(corner: str, levels: list[str], lines: list[tuple[str, list[str]]]) -> int:
    """Width in characters of a table with a row for each class."""
    least = (*CLASS_WIDTHS[1:], *[CLASS_WIDTHS[-1]] * len(lines))
    columns = [max(map(width, [label, *cells])) for label, cells in lines]
    return max(CLASS_WIDTHS[0], *map(width, [corner, *levels])) + sum(1 + max(pair) for pair in zip(columns, least))


def _by_columns(corner: str, levels: list[str], lines: list[tuple[str, list[str]]]) -> list[Any]:
    """Tables with a column for each level, split where the columns do not fit in one table."""
    labels = [label for label, _ in lines]
    stub = max(18, *map(width, [corner, *labels]))
    columns = [max(13, width(level), *(width(cells[k]) for _, cells in lines)) for k, level in enumerate(levels)]
    tables, start = [], 0
    while start < len(levels):
        stop, total = start + 1, stub + columns[start] + 1
        while stop < len(levels) and total + columns[stop] + 1 <= MAX_WIDTH:
            total += columns[stop] + 1
            stop += 1
        rows = [cells[start:stop] for _, cells in lines]
        tables.append(_table(corner, levels[start:stop], labels, rows, (18, 13)))
        start = stop
    return tables


def _sizes(res: Any) -> list[float]:
    """Number of rows of each level, or sums of weights."""
    counts = getattr(res, "counts", None)
    return np.asarray(res._by_class(res._prior_counts) if counts is None else counts, dtype=float).tolist()


def _priors(c: _Context) -> list[str]:
    if not c.res._priors_free:
        return [f"{number(p).strip()} (fixed)" for p in c.res.priors]
    return [_with_se(p, se, c) for p, se in zip(c.res.priors, c.res.priors_bse, strict=True)]


def _means(c: _Context) -> list[tuple[str, list[str]]]:
    names = c.res.feature_names
    if len(names) > MAX_ROWS:
        c.notes.append(f"The means of {len(names)} features are not printed: see means.")
        return []
    means, se = c.res.means.to_numpy(), c.res.means_bse.to_numpy()
    return [
        (c.shown(name), [_with_se(m, s, c) for m, s in zip(means[:, j], se[:, j], strict=True)])
        for j, name in enumerate(names)
    ]


def _with_se(x: float, se: float, c: _Context | None = None) -> str:
    """Text of an estimate with its standard error, which sampling weights do not have."""
    return with_se(x, math.nan if c is not None and c.res.model._pseudo else se)


# -------------------------------------------------------------------------------------------------------- features
def _features(c: _Context) -> list[Any]:
    """Tables of the contribution of each feature: F-to-remove or family, and likelihood ratio."""
    if hasattr(c.res, "_summary_features"):
        return _family_table(c)
    if c.law is None or not c.tested:
        return []
    terms = c.res.model._feature_terms
    if len(terms) > MAX_ROWS:
        c.notes.append(f"Tests of {len(terms)} terms are not printed: see term_tests().")
        return []
    if c.law.pooled and c.law.kind == "full":
        table = c.attempt("Tests of the features are", c.res.f_to_remove)
        if table is None:
            return []
        columns = zip(*(table[n] for n in ("F", "pvalue", "LR", "LR_df", "LR_pvalue", "tolerance")), strict=True)
        rows = [
            [number(F), pvalue(p), number(LR), dof(df), pvalue(q), blank(number, t)] for F, p, LR, df, q, t in columns
        ]
        heads = ["F-to-remove", "P>F", "LR", "df", "P>chi2", "tolerance"]
        return [_table("feature", heads, [c.shown(t) for t in table.index], rows, (14, 12, 8, 11, 6, 9, 11))]
    table = c.attempt("Tests of the features are", c.res.term_tests)
    if table is None:
        return []
    tests = table[["statistic", "df", "pvalue"]].itertuples(index=False)
    rows = [[number(s), dof(df), pvalue(p)] for s, df, p in tests]
    return [_table("feature", ["LR", "df", "P>chi2"], [c.shown(t) for t in table.index], rows, (18, 13, 8, 11))]


def _family_table(c: _Context) -> list[Any]:
    """Table of the features of naive Bayes, a line each."""
    p = len(c.res.model.features)
    if p > MAX_ROWS:
        c.notes.append(f"{p} features are not printed one by one: see term_tests().")
        return []
    features = c.res._summary_features()
    tested, remarks = features["LR"].notna().any(), features["note"].astype(bool).any()
    if tested and not c.res._maximum:
        c.notes.append("Likelihood ratios of the features leave the smoothing out.")
    heads = ["family", "params", "observed", *["LR", "df", "P>chi2"] * bool(tested), *["note"] * bool(remarks)]
    columns, rows = ["family", "params", "observed", "LR", "df", "pvalue", "note"], []
    for family, params, observed, LR, df, p, note in features[columns].itertuples(index=False):
        test = [blank(number, LR), dof(df), blank(pvalue, p)] if tested else []
        rows.append([family, dof(params), count(observed).strip(), *test, *([note] if remarks else [])])
    return [_table("feature", heads, [c.shown(f) for f in features.index], rows, (14, 12, 7, 9, 11, 5, 8))]


def _estimates(c: _Context, levels: bool | None) -> list[Any]:
    """Tables of the parameters of the features' distributions by class, with standard errors."""
    if not hasattr(c.res, "conditionals"):
        return []
    counts = [len(f.estimates()) for f in c.res._fit.features for _ in range(f.family.p)]
    sizes = dict(zip(c.res.model.feature_names, counts, strict=True))
    for name, n in sizes.items():
        if n > LIMITS[levels]:
            c.notes.append(
                f"{c.shown(name)}: {n} estimates a class are not printed: see conditionals, or summary(levels=True)."
            )
    n = sum(size for size in sizes.values() if size <= LIMITS[levels])
    if n > MAX_ROWS and not levels:
        c.notes.append(f"{n} estimates a class are not printed: see conditionals, or summary(levels=True).")
    if not n or (n > MAX_ROWS and not levels):
        return []
    found = {name: table for name, table in c.res.conditionals.items() if sizes[name] <= LIMITS[levels]}
    kinds, lines = {feature.name: feature.kind for feature in c.res.model.features}, []
    for name, table in found.items():
        for word in dict.fromkeys(table.columns.get_level_values(0)):
            pairs = zip(table[word, "estimate"], table[word, "se"], strict=True)
            lines.append((_parameter_label(c.shown(name), word, kinds[name]), [_with_se(x, se, c) for x, se in pairs]))
    heading = "estimate" if c.res.model._pseudo else "estimate (se)"
    return _by_columns(heading, [str(level) for level in c.res.levels], lines)


def _parameter_label(feature: str, word: str, kind: str) -> str:
    """Name of a parameter as in `params`, without the class."""
    inside = {"codes": f"{feature}={word}", "counts": word}
    return f"prob[{inside[kind]}]" if kind in inside else f"{word}[{feature}]"


# ---------------------------------------------------------------------------------------------------- implied logit
def _wants_logit(c: _Context, wanted: bool | None, terms: list[FoldedTerm]) -> bool:
    """Whether to print the coefficients; if not, add a note that says where they are."""
    if wanted is not None:
        return bool(wanted)
    law, equations = c.law, len(c.res.levels) - 1
    m = len(c.res.discriminant.model.exog_names) if law is None else size(law)
    quadratic = law is not None and not law.pooled
    rows = m - sum(len(term.columns) - 1 for term in terms)
    wanted = m <= MAX_QUADRATIC if quadratic else rows * equations <= MAX_ROWS
    if not wanted:
        c.notes.append(
            f"The implied {'quadratic ' if quadratic else ''}logit has {m * equations} coefficients: print them by "
            "summary(discriminant=True), or see discriminant."
        )
    return wanted


def _logit(c: _Context, terms: list[FoldedTerm]) -> list[Any]:
    """Tables of coefficients as of MNLogit, without tests for a regularised fit."""
    fit = c.res.discriminant
    names = fit.model.exog_names if c.xname is None else c.xname
    tables = _coefficients(fit, [str(name) for name in names], c.alpha, False, c.yname, terms)
    if c.res._regularised:
        for table in tables:
            if c.res.cov_type in MODEL_BASED:
                table[0][2].data = "post. sd"
            for row in table[1:]:
                row[3].data = row[4].data = ""
    return tables


# --------------------------------------------------------------------------------------------------- facts and notes
def _what_was_modelled(c: _Context) -> list[tuple[str, str]]:
    res, law = c.res, c.law
    facts = [(label, text) for label, text in res._header() if text not in (None, "")]
    smoothing = res.model._options.get("prior_smoothing")
    if smoothing:
        facts.append(("Prior smoothing:", f"(n + {smoothing:g}) / (N + {smoothing * len(res.levels):g})"))
    if law is not None and law.shrinkage:
        facts.append(("Shrinkage:", _shrinkage(c)))
    if law is not None and law.ridge:
        facts.append(("Ridge:", f"{law.ridge:g} added to each variance"))
    errors = _errors(c)
    return [*facts, ("Errors:", errors)] if errors else facts


def _shrinkage(c: _Context) -> str:
    """Text on shrinkage: its intensity, how that was chosen, and the target."""
    res, law = c.res, c.law
    assert law is not None
    how, target = res.model._options["shrinkage"], {"fixed": "a given matrix"}.get(law.target, law.target)
    if law.pooled:
        lam = f"lambda = {law.shrinkage[0]:.4g}"
    else:
        parts = [f"{level} {law.shrinkage[k]:.4g}" for level, k in zip(res.levels, res.model._order, strict=True)]
        lam = f"lambda: {', '.join(parts)}"
    return f"{lam}{f' ({how})' if isinstance(how, str) else ''}, target {target}"


def _errors(c: _Context) -> str | None:
    """Text with error rates, if they are known or cheap to compute."""
    res = c.res
    known = res.__dict__.get("_error_facts")
    rows = res.model._rows_
    if known is None and rows is None:
        c.notes.append("Error rates are left out: they need the rows of the fit, which were removed or not saved.")
        return None
    cost = 0 if known is not None else len(rows) * _n_features(c)
    if cost >= MAX_RESUBSTITUTION:
        c.notes.append("Error rates are left out of the summary of many rows: see error_rates().")
        return None
    by_row = known is None and getattr(res, "_costly_leave_one_out", False)
    if cost >= MAX_LEAVE_ONE_OUT or by_row or not hasattr(type(res), "_error_facts"):
        if cost >= MAX_LEAVE_ONE_OUT:
            c.notes.append("The leave-one-out error is left out of the summary of many rows: see error_rates().")
        elif by_row:
            c.notes.append(
                "The leave-one-out error is left out of the summary, as shrinkage to a target from the data needs a "
                "covariance matrix for each row: see error_rates()."
            )
        table = c.attempt("Error rates are", lambda: res.pred_table().to_numpy())
        return None if table is None else _error(res, table)
    facts = c.attempt("Error rates are", lambda: res._error_facts)
    return None if facts is None else _both_errors(c, facts)


def _n_features(c: _Context) -> int:
    if c.law is not None:
        return c.law.p
    return len(getattr(c.res, "feature_names", None) or c.res.discriminant.model.exog_names)


def _both_errors(c: _Context, facts: dict[str, Any]) -> str:
    text, left = _error(c.res, np.array(facts["resubstitution"]["confusion"])), facts["leave-one-out"]
    if left is None:
        return text
    skipped = float(np.sum(left["skipped"]))
    aside = f", {count(skipped).strip()} left aside" if skipped else ""
    return f"{text}; leave-one-out {_error(c.res, np.array(left['confusion']), False)}{aside}"


def _error(res: Any, table: np.ndarray, first: bool = True) -> str:
    """Text of an error rate, with its counts where weights are counts."""
    n, wrong = float(table.sum()), float(table.sum() - np.trace(table))
    if not n > 0:
        return "none known"
    share = f"{100 * wrong / n:.1f}%"
    if res.model._pseudo:
        return f"{share} (weighted)"
    return f"{share} ({count(wrong).strip()}{f' of {count(n).strip()}' if first else ''})"


def _described(res: Any) -> list[str]:
    """Notes of the fit; for a regularised one with what replaces tests."""
    notes = list(res._notes())
    if not res._regularised:
        return notes
    if res.cov_type in MODEL_BASED:
        notes = [POSTERIOR_SD if note == res._cov.description else note for note in notes]
    left_out = "No likelihood ratio, F, Wilks' or Box's test, and no BIC, of a regularised fit."
    law = getattr(getattr(res, "_fitted_classes", None), "law", None)
    if law is not None and law.shrinkage:
        left_out += " AIC is with the effective number of parameters; the uncertainty of lambda is ignored."
    return [*notes, left_out]
