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
        return {
            "logcdf": logcdf,
            "logsf": logsf,
            "cdf": F,
            "sf": S,
            "pdf": f,
            "logpdf": mp.log(f),
            "dlogpdf": g,
            "r1": r1,
            "r0": r0,
            "w1": r1 * (r1 - g),
            "w0": r0 * (r0 + g),
        }


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


def maximum(link, X, y, start, m=None, offset=None, weights=None, digits=60):
    """Maximum likelihood estimate and its observed information by Newton's method in mpmath, from a start close to it.

    Returns the estimate (k,), the log-likelihood without coefficients, the observed information (k, k) and its inverse,
    each rounded to doubles at the end.
    """
    with mp.workdps(digits):
        n, k = X.shape
        rows = [[mp.mpf(float(v)) for v in row] for row in X]
        parts = [np.ones(n) if v is None else v for v in (m, weights)] + [np.zeros(n) if offset is None else offset]
        trials, w, shift = ([mp.mpf(float(v)) for v in part] for part in parts)
        yes = [mp.mpf(float(v)) for v in y]
        theta = [mp.mpf(float(v)) for v in start]
        for _ in range(50):
            value, score, information = mp.mpf(0), mp.zeros(k, 1), mp.zeros(k, k)
            for x, s, t, c, o in zip(rows, yes, trials, w, shift, strict=True):
                eta = mp.fsum(a * b for a, b in zip(x, theta, strict=True)) + o
                logcdf, logsf, F, S, f, g = LINKS[link](eta)
                r1, r0 = f / F, f / S
                value += c * (s * logcdf + (t - s) * logsf)
                u = c * (s * r1 - (t - s) * r0)
                h = c * (s * r1 * (r1 - g) + (t - s) * r0 * (r0 + g))
                for i in range(k):
                    score[i] += u * x[i]
                    for j in range(k):
                        information[i, j] += h * x[i] * x[j]
            step = mp.lu_solve(information, score)
            theta = [a + b for a, b in zip(theta, step, strict=True)]
            if mp.fsum(a * b for a, b in zip(step, score, strict=True)) < mp.mpf(10) ** (-digits):
                return _double(theta), float(value), _double(information.tolist()), _double((information**-1).tolist())
    raise ArithmeticError("no convergence: start nearer to the maximum")


def _double(values):
    return np.array(values, dtype=float)
