"""The three links in mpmath, each with as many digits as its tails need: what the numerical core is compared with."""

import mpmath as mp
import numpy as np

LARGEST = mp.mpf(np.finfo(float).max)
SMALLEST = mp.mpf(np.finfo(float).tiny)  # below it a double loses digits


def logit(eta):
    """log F, log(1-F), F, 1-F, f and d log f / d eta of the logistic distribution."""
    F, S = 1 / (1 + mp.exp(-eta)), 1 / (1 + mp.exp(eta))
    return -mp.log1p(mp.exp(-eta)), -mp.log1p(mp.exp(eta)), F, S, F * S, -mp.tanh(eta / 2)


def probit(eta):
    """The same of the normal distribution."""
    F, S = mp.erfc(-eta / mp.sqrt(2)) / 2, mp.erfc(eta / mp.sqrt(2)) / 2
    logs = (mp.log(F), mp.log1p(-F)) if eta < 0 else (mp.log1p(-S), mp.log(S))
    return *logs, F, S, mp.npdf(eta), -eta


def cloglog(eta):
    """The same of the minimum extreme value distribution."""
    h = mp.exp(eta)
    F, S = -mp.expm1(-h), mp.exp(-h)
    return mp.log1p(-S) if h > 0.5 else mp.log(F), -h, F, S, h * S, -mp.expm1(eta)


LINKS = {"logit": logit, "probit": probit, "cloglog": cloglog}


def functions(link, eta):
    """Every function of a link at one double, by name, to at least forty digits.

    Curvatures come from their definition, w1 = r1 (r1 - g), which cancels by up to exp(|eta|), or eta^2 for the normal
    distribution: the working digits allow for it.
    """
    digits = 80 if link == "probit" else 60 + int(abs(eta) / 2.3)
    with mp.workdps(digits):
        logcdf, logsf, F, S, f, g = LINKS[link](mp.mpf(float(eta)))
        r1, r0 = f / F, f / S
        return {"logcdf": logcdf, "logsf": logsf, "cdf": F, "sf": S, "pdf": f, "logpdf": mp.log(f), "dlogpdf": g,
                "r1": r1, "r0": r0, "w1": r1 * (r1 - g), "w0": r0 * (r0 + g)}  # fmt: skip


def relative_error(value, exact):
    """|value - exact| / |exact|, where the exact value is a normal double; NaN counts as infinitely wrong.

    Below the normal doubles anything from 0 to the smallest of them is right, above the largest that or infinity.
    """
    with mp.workdps(40):
        if np.isnan(value):
            return np.inf
        if abs(exact) > LARGEST:
            return 0.0 if abs(value) >= float(LARGEST) * (1 - 1e-12) and np.sign(value) == mp.sign(exact) else np.inf
        if np.isinf(value):
            return np.inf
        if abs(exact) < SMALLEST:
            return 0.0 if abs(value) <= SMALLEST and value * mp.sign(exact) >= 0 else np.inf
        return float(abs(mp.mpf(float(value)) - exact) / abs(exact))
