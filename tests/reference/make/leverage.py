"""HC2 to HC5 in multi-precision arithmetic, by the definitions, row by row: tests/reference/leverage/mpmath.json.

python tests/reference/make/leverage.py   (from the root of the repository; mpmath, numpy, pandas, patsy)

Nothing of glmclf is used. Powers of I - W G are mpmath's powm (a logarithm and an exponential), of matrices of any
size.
"""

import json
import pathlib
import re

import mpmath as mp
import pandas as pd
from patsy import dmatrix

mp.mp.dps = 50
ROOT = pathlib.Path("tests/reference")
CASES = (
    *("spector__logit", "spector__probit", "spector__cloglog"),
    *("menarche__logit", "menarche__probit", "menarche__cloglog"),
    *("mtcars__logit_hp", "titanic__logit", "hard_weights__logit", "wine__mnlogit", "alligators__mnlogit"),
)


def delta(kind, r, largest):
    """Power of 1 - h under a squared score, r and `largest` being h_i and its maximum over the mean of all h."""
    if kind in ("HC2", "HC3"):
        return mp.mpf({"HC2": 1, "HC3": 2}[kind])
    if kind == "HC4":  # Cribari-Neto (2004)
        return min(mp.mpf(4), r)
    if kind == "HC4m":  # Cribari-Neto & da Silva (2011), gamma = (1, 1.5)
        return min(mp.mpf(1), r) + min(mp.mpf("1.5"), r)
    return min(r, max(mp.mpf(4), mp.mpf("0.7") * largest)) / 2  # Cribari-Neto, Souza & Vasconcellos (2007), k = 0.7


def of_link(model, y, m, eta):
    """Score, observed and expected information of one row in its linear predictor."""
    if model == "Logit":
        p = 1 / (1 + mp.exp(-eta))
        return y - m * p, m * p * (1 - p), m * p * (1 - p)
    if model == "Probit":
        f, up, down = mp.npdf(eta), mp.ncdf(eta), mp.ncdf(-eta)
        a, b = f / up, f / down
        return y * a - (m - y) * b, y * a * (eta + a) + (m - y) * b * (b - eta), m * a * b
    e = mp.exp(eta)
    up = -mp.expm1(-e)
    r = e * mp.exp(-e) / up
    return y * r - (m - y) * e, (m - y) * e - y * r * (1 - e - r), m * e * r


def read(name):
    """What a case is, and its numbers: X, y, trials or classes, weights."""
    case = json.loads((ROOT / f"{name}.json").read_text())
    t = pd.read_csv(ROOT / case["data"])
    for c in t.select_dtypes("float"):  # each number its nearest double, whatever the version of pandas
        t[c] = [float(v) for v in pd.read_csv(ROOT / case["data"], dtype=str)[c]]
    left, right = case["formula"].split(" ~ ")
    keywords = case["keywords"]
    w = keywords.get("freq_weights", keywords.get("weights"))
    t = t[t[w] > 0].reset_index(drop=True) if w else t
    X = [[mp.mpf(float(v)) for v in row] for row in dmatrix(right, t)]
    weights = [mp.mpf(float(v)) for v in t[w]] if w else [mp.mpf(1)] * len(t)
    if " + " in left:
        won, lost = (t[c] for c in left.split(" + "))
        return case, X, [mp.mpf(int(v)) for v in won], [mp.mpf(int(v)) for v in won + lost], weights
    if case["model"] == "MNLogit":
        levels = [keywords["reference"]] if "reference" in keywords else []
        levels += [level for level in sorted(t[left].unique()) if level not in levels]
        return case, X, [levels.index(v) for v in t[left]], len(levels), weights
    y = t[left] if "event" not in keywords else (t[left] == keywords["event"]).astype(int)
    return case, X, [mp.mpf(int(v)) for v in y], [mp.mpf(1)] * len(t), weights


def rows(case, X, y, m, theta):
    """(D, u, observed, expected) of each row: (p, q), (q, 1), (q, q), (q, q)."""
    found = []
    for x, yi, mi in zip(X, y, m if isinstance(m, list) else [m] * len(X), strict=True):
        k = len(x)
        if case["model"] != "MNLogit":
            eta = mp.fsum(a * b for a, b in zip(x, theta, strict=True))
            u, observed, expected = of_link(case["model"], yi, mi, eta)
            found.append((mp.matrix(x), mp.matrix([u]), mp.matrix([observed]), mp.matrix([expected])))
            continue
        q = mi - 1
        e = [mp.exp(mp.fsum(a * theta[j * k + i] for i, a in enumerate(x))) for j in range(q)]
        p = [a / (1 + mp.fsum(e)) for a in e]
        D, W = mp.zeros(k * q, q), mp.zeros(q, q)
        for j in range(q):
            for i in range(k):
                D[j * k + i, j] = x[i]
            for l in range(q):
                W[j, l] = p[j] * ((j == l) - p[l])
        u = mp.matrix([(1 if yi == j + 1 else 0) - p[j] for j in range(q)])
        found.append((D, u, W, W))
    return found


def add(total, term):
    for i in range(total.rows):
        for j in range(total.cols):
            total[i, j] += term[i, j]


def values(name):
    case, X, y, m, w = read(name)
    q = 1 if isinstance(m, list) else m - 1
    p = len(X[0]) * q
    theta, frequency = [mp.mpf(0)] * p, "weights" not in case["keywords"]
    for iteration in range(60):  # Newton; scoring until it is near
        score, A = mp.zeros(p, 1), mp.zeros(p, p)
        for (D, u, observed, expected), wi in zip(rows(case, X, y, m, theta), w, strict=True):
            add(score, wi * (D * u))
            add(A, wi * (D * (observed if iteration > 8 else expected) * D.T))
        step = mp.lu_solve(A, score)
        theta = [a + b for a, b in zip(theta, step, strict=True)]
        if iteration > 9 and (step.T * A * step)[0] < mp.mpf(10) ** -80:
            break
    else:
        raise ArithmeticError(name)
    found = rows(case, X, y, m, theta)
    observed, expected = mp.zeros(p, p), mp.zeros(p, p)
    for (D, _, O, E), wi in zip(found, w, strict=True):
        add(observed, wi * (D * O * D.T))
        add(expected, wi * (D * E * D.T))
    inverse = expected**-1
    own = [mp.mpf(1) if frequency else wi for wi in w]
    WG = [wi * (E * (D.T * inverse * D)) for (D, _, _, E), wi in zip(found, own, strict=True)]
    h = [mp.fsum(M[i, i] for i in range(q)) for M in WG]
    n = mp.fsum(w) if frequency else mp.mpf(len(w))
    total = mp.fsum(hi * (wi if frequency else 1) for hi, wi in zip(h, w, strict=True))
    assert abs(total - p) < mp.mpf(10) ** -40
    out, bread = {}, observed**-1
    for kind in ("HC2", "HC3", "HC4", "HC4m", "HC5"):
        meat = mp.zeros(p, p)
        for (D, u, _, _), wi, oi, hi, M in zip(found, w, own, h, WG, strict=True):
            c = -delta(kind, hi * n / p, max(h) * n / p) / 2
            power = mp.matrix([(1 - M[0, 0]) ** c]) if q == 1 else mp.powm(mp.eye(q) - M, c)
            s = oi * (D * (power * u))
            add(meat, (wi if frequency else 1) * (s * s.T))
        V = bread * meat * bread
        out[kind] = {"bse": [float(mp.re(mp.sqrt(V[i, i]))) for i in range(p)],
                     "cov_params": [[float(mp.re(V[i, j])) for j in range(p)] for i in range(p)]}
    facts = {"largest_leverage": float(max(h)), "mean_leverage": float(p / n)}
    return {"params": [float(v) for v in theta], **facts, **out}


if __name__ == "__main__":
    out = {"program": f"mpmath {mp.__version__}, {mp.mp.dps} digits", "values": {name: values(name) for name in CASES}}
    text = re.sub(r"\[\s+([^][]+?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", json.dumps(out, indent=1))
    (ROOT / "leverage/mpmath.json").write_text(text + "\n", encoding="utf-8")
