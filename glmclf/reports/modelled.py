"""What was modelled and what was left out, in sentences."""

from __future__ import annotations

from typing import Any

from glmclf import registry
from glmclf.plots import labelling
from glmclf.reports.blocks import Section, Verbatim, Words, listed, sentence

#: labels of the summary's header that the sentences here tell
TOLD = (
    *("Event:", "Link:", "Levels:", "Reference:", "Freq. weights:", "Sampling weights:", "Trials:", "Offset:"),
    *("Subset:", "Rows dropped:", "Rows absent:", "Solver:", "Clusters:", "Data:"),
)
#: methods of estimation in sentences, by what summaries call them
ESTIMATORS = {
    "MLE": "maximum likelihood",
    "MLE (closed form)": "maximum likelihood, in closed form",
    "regularised MLE": "regularised maximum likelihood",
    "smoothed MLE": "smoothed maximum likelihood",
    "unbiased slopes": "maximum likelihood with unbiased slopes",
    "Mean BR (Firth)": "mean bias reduction (Firth)",
    "Median BR": "median bias reduction",
}


def whole(x: float) -> str:
    """A number of rows or a sum of weights."""
    return f"{x:,.10g}"


def title_of(res: Any) -> str:
    """Title of a report: the model in the field's words, and what it models."""
    words = registry.MODELS[type(res.model).__name__].words
    return f"{words[0].upper()}{words[1:]} of {described(res)}"


def described(res: Any) -> str:
    """The probability that is modelled, or the name of a response of several levels."""
    response = labelling.response(res)
    return response.name if labelling.levels(res) else response.describe()


def describe_model(section: Section, res: Any) -> None:
    """Add to a section what was modelled: formula, response, rows, weights, estimation, what was left out."""
    model = res.model
    header = dict(res._header())
    words: list[Words] = [f"{type(model).__name__} ({registry.MODELS[type(model).__name__].words}) models "]
    words += [Verbatim(described(res)), *_regressors(model)]
    if "Data:" in header:
        words += [" The data were read in parts: ", Verbatim(header["Data:"]), "."]
    section.say(*words)
    section.say(*_response(res, header))
    section.say(*_rows(model), *_weights(header))
    section.say(*_estimation(res, header))
    section.list(
        [f"{label} {text}." for label, text in res._header() if label not in TOLD and text]
        + [sentence(note) for note in res._notes()]
    )


def _regressors(model: Any) -> list[Words]:
    if model.formula is not None:
        return [" by the formula ", Verbatim(model.formula), "."]
    names = getattr(model, "feature_names", None) or model.exog_names
    return [f" by {len(names):,} column{'s' * (len(names) != 1)}: ", *listed(names), "."]


# -------------------------------------------------------------------------------------------------- the response
def _response(res: Any, header: dict[str, str]) -> list[Words]:
    response = labelling.response(res)
    levels = labelling.levels(res)
    if levels:
        counts, shares = _of_levels(res)
        after = [
            f" ({whole(n)}, {100 * share:.1f} %)" if n is not None else f" ({100 * share:.1f} %)"
            for n, share in zip(counts, shares, strict=True)
        ]
        words: list[Words] = [f"The response has {len(levels)} levels: ", *listed(_plain(levels), after), "."]
        if "Reference:" in header:
            words += [" Coefficients compare each with ", Verbatim(str(labelling.plain(res.model.reference))), "."]
        return words
    share = f"{100 * res._event_share:.1f} %"
    if response.kind == "fraction":
        return [f"The response is a fraction, whose mean is {share}."]
    if response.kind == "counts":
        first, _ = response.count_names
        return ["The response counts successes and failures: ", Verbatim(first), f" are {share} of all."]
    other, event = _plain(response.levels)
    n = _count(res, res._event_share)
    many = share if n is None else f"{whole(n)} of {whole(res.nobs)} observations ({share})"
    words = ["The event is ", Verbatim(str(event)), f", which has {many}; the other level is "]
    return [*words, Verbatim(str(other)), "."]


def _plain(levels: list[Any]) -> list[Any]:
    return [labelling.plain(level) for level in levels]


def _of_levels(res: Any) -> tuple[list[float | None], list[float]]:
    """Observations of each level (None where rows are sampled or hold counts), and their shares."""
    if hasattr(res, "counts"):
        sums = res.counts.to_numpy(dtype=float)
        shares = (sums / sums.sum()).tolist()
    else:
        shares = list(res._level_shares)
    return [_count(res, share) for share in shares], shares


def _count(res: Any, share: float) -> float | None:
    """Observations that a share stands for; None where rows are sampled with weights or hold counts."""
    sampled = "weights" in res.model._names
    return None if sampled or labelling.response(res).kind == "counts" else round(share * res.nobs)


# ------------------------------------------------------------------------------------------------------ the rows
def _rows(model: Any) -> list[Words]:
    f = model._facts
    given, dropped, absent = f["n_given"], f["n_dropped"], f["n_absent"]
    words: list[Words] = []
    if f["n_before"] != given:
        words.append(f"A subset of {whole(given)} of the {whole(f['n_before'])} rows of the table was given. ")
    if not dropped and not absent:
        return [*words, f"All {whole(given)} rows were used."]
    words.append(f"Of {whole(given)} rows {whole(given - dropped - absent)} were used")
    if dropped:
        has = "has a missing value" if dropped == 1 else "have missing values"
        names, counts = list(f["dropped"]), [f" ({whole(n)})" for n in f["dropped"].values()]
        words += [f"; {whole(dropped)} {has} in ", *listed(names, counts)]
    if absent:
        words.append(f"; {whole(absent)} {'has' if absent == 1 else 'have'} weight zero")
    return [*words, "."]


def _weights(header: dict[str, str]) -> list[Words]:
    """Sentences on weights, trials and offset; of none of them that there are none."""
    words: list[Words] = []
    for label, start, end in (
        ("Freq. weights:", " A row stands for as many observations as its frequency weight says: ", "."),
        ("Sampling weights:", " Rows are weighted by sampling weights: ", "."),
        ("Trials:", " The response is a share of trials: ", "."),
        ("Offset:", " The linear predictor has the offset ", ", whose coefficient is 1."),
    ):
        if label in header:
            words += [start, Verbatim(header[label]), end]
    return words or [" There are no weights and no offset."]


# ------------------------------------------------------------------------------------------------ the estimation
def _estimation(res: Any, header: dict[str, str]) -> list[Words]:
    how = res._estimator
    solver = f" ({header['Solver:']})" if "Solver:" in header else ""
    words: list[Words] = [f"Estimation is by {ESTIMATORS.get(how, how[0].lower() + how[1:])}{solver}"]
    words.append("." if res.converged else ", which did NOT converge.")
    if not getattr(res, "_has_spread", True):
        words.append(" There are no standard errors.")
    elif "Clusters:" in header:
        words += [f" Standard errors are of type {res.cov_type}, clusters: ", Verbatim(header["Clusters:"]), "."]
    else:
        words.append(f" Standard errors are of type {res.cov_type}.")
    return words
