"""Small data sets for examples, shipped or read from statsmodels; `README.md` beside has sources and licences."""

from importlib.resources import files
from typing import Any

import pandas as pd

from glmclf.datasets.digits import Digits, mnist

__all__ = ["Digits", "load", "mnist", "names"]

#: data sets that are read from the copies in statsmodels, whose authors permitted it: name -> how its file is written
OF_STATSMODELS: dict[str, dict[str, Any]] = {"fair": {}, "spector": {"sep": " ", "quotechar": "'", "index_col": 0}}

#: name -> (rows, columns, what it is)
CATALOGUE = {
    "beetles": (8, 4, "beetles killed by carbon disulphide, by dose (Bliss 1935)"),
    "fair": (6366, 9, "extramarital affairs, Redbook survey of 1974 (Fair 1978)"),
    "penguins": (344, 8, "size and sex of three penguin species, Palmer Archipelago (Gorman et al. 2014)"),
    "spector": (32, 4, "effect of a teaching method on grades in economics (Spector & Mazzeo 1980)"),
}


def names() -> list[str]:
    """Names of the data sets, in alphabetical order.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from glmclf import datasets
    >>> datasets.names()
    ['beetles', 'fair', 'penguins', 'spector']
    """
    return sorted(CATALOGUE)


def load(name: str) -> pd.DataFrame:
    """Read a data set by its name.

    Parameters
    ----------
    name : str
        One of `names()`.

        ========  ====  =======  ======================================================================================
        name      rows  columns  content, source and licence
        ========  ====  =======  ======================================================================================
        beetles   8     4        ``dose`` (log10 of CS2 in mg/l), ``n`` beetles, of them ``killed`` and ``survived``.
                                 Bliss (1935), table IV. A published table of counts: facts, no licence needed.
        fair      6366  9        ``affairs``, the measure of time spent in extramarital affairs, and eight regressors.
                                 Fair (1978). Read from statsmodels, which has it by permission.
        penguins  344   8        ``species``, ``island``, four sizes (mm, g), ``sex``, ``year``; 19 cells are missing.
                                 Gorman, Williams & Fraser (2014). CC0.
        spector   32    4        ``GPA``, ``TUCE`` (a test score), ``PSI`` (took part: 1), ``GRADE`` (improved: 1).
                                 Spector & Mazzeo (1980). Read from statsmodels, which has it by permission.
        ========  ====  =======  ======================================================================================

    Returns
    -------
    DataFrame
        A new frame at each call; each number is the double nearest to the decimal in the file.

    Raises
    ------
    ValueError
        The name is not one of `names()`.

    References
    ----------
    Bliss, C. I. (1935). The calculation of the dosage-mortality curve. Annals of Applied Biology 22, 134-167.

    Fair, R. C. (1978). A theory of extramarital affairs. Journal of Political Economy 86, 45-61.

    Gorman, K. B., Williams, T. D. & Fraser, W. R. (2014). Ecological sexual dimorphism and environmental variability
    within a community of Antarctic penguins (genus Pygoscelis). PLoS ONE 9(3), e90081.

    Spector, L. C. & Mazzeo, M. (1980). Probit analysis and economic education. Journal of Economic Education 11, 37-44.

    Examples
    --------
    >>> from glmclf import datasets
    >>> datasets.load("spector").mean().round(4)
    GPA       3.1172
    TUCE     21.9375
    PSI       0.4375
    GRADE     0.3438
    dtype: float64
    """
    if name not in CATALOGUE:
        raise ValueError(f"there is no data set {name!r}; choose from {', '.join(names())}")
    if name not in OF_STATSMODELS:
        with files(__name__).joinpath(f"{name}.csv").open("rb") as file:
            return read_csv(file)
    with files("statsmodels").joinpath("datasets", name, f"{name}.csv").open("rb") as file:
        return read_csv(file, **OF_STATSMODELS[name]).reset_index(drop=True)


def read_csv(source: Any, **written: Any) -> pd.DataFrame:
    """Read comma-separated values, each number as its nearest double."""
    major, minor = (int(part) for part in pd.__version__.split(".")[:2])
    # pandas reads exactly by default since 3.1 and warns there when asked to
    exact: Any = {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}
    return pd.read_csv(source, **exact, **written)
