"""Parameters chosen by name, and how many of them have a covariance matrix that is formed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from glmclf.data.table.frame import close_to

MAX_COVARIANCE_BYTES = 2**31  # of a covariance matrix that is formed for who asks for it


def places_of(chosen: Sequence[Any] | str, names: Sequence[str], index: pd.Index) -> ndarray:
    """Places of parameters by name, in the order asked for, each once.

    Parameters
    ----------
    chosen : str or list of str
        Names as in `names`, or labels of `index`; of an index (level, regressor) a regressor stands for all levels.
    names : list of str
        Names as hypotheses spell them.
    index : Index
        Labels of the parameters in tables.

    Raises
    ------
    ValueError
        Unknown names; no name.
    """
    known: dict[Any, list[int]] = {}
    several = isinstance(index, pd.MultiIndex)
    regressors = index.get_level_values(-1)
    for i, (label, name) in enumerate(zip(index, names, strict=True)):
        for key in {label, name, regressors[i]}:
            known.setdefault(key, []).append(i)
    one_label = several and isinstance(chosen, tuple) and chosen in known
    alone = isinstance(chosen, str) or not np.iterable(chosen) or one_label
    asked: list[Any] = [chosen] if alone else list(chosen)
    if not asked:
        raise ValueError("columns=[] names no parameter")
    for name in asked:
        if not _hashable(name) or name not in known:
            hint = close_to(str(name), dict.fromkeys(regressors)).replace("columns", "coefficients")
            raise ValueError(f"columns= names {name!r}, which is no parameter of the model. {hint}")
    return np.array(list(dict.fromkeys(i for name in asked for i in known[name])))


def _hashable(name: Any) -> bool:
    try:
        hash(name)
    except TypeError:
        return False
    return True


def check_formed(p: int, asked: bool = False) -> None:
    """Refuse a covariance matrix of p parameters that is larger than 2 GB; `asked` for by name or all of them."""
    size = 8 * p * p
    if size > MAX_COVARIANCE_BYTES:
        whose = "these" if asked else "all"
        raise ValueError(
            f"the covariance of {whose} {p:,} parameters has {size / 1e9:,.1f} GB, more than is formed: "
            f"ask for {'fewer' if asked else 'a part'}, cov_params(columns=[...]). bse has the standard errors of all"
        )
