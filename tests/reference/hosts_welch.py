"""Makes hosts_welch.json from the rows of hosts.json. Run: python hosts_welch.py > hosts_welch.json

An independent derivation of what `regatta.stats.hosts` gives, by other means than it: sums in exact fractions, Welch's F by
scipy's `f_oneway`, the test of all alternatives from the dense matrices of the stacked linear model (all observations of all
hosts at once, contrasts by a matrix of nulls instead of normal equations). Only distributions are shared: scipy's.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import linalg, stats

Rows = list[list[float]]


def exact(values: list[float]) -> tuple[Fraction, Fraction, int]:
    """Mean, variance of the mean, and number."""
    numbers = [Fraction(value) for value in values]
    n = len(numbers)
    mean = sum(numbers) / n
    return mean, sum((x - mean) ** 2 for x in numbers) / (n - 1) / n, n


def pooled(groups: list[list[float]]) -> dict[str, float]:
    """The mean of the groups' means, and the test that they are equal."""
    parts = [exact(group) for group in groups]
    hosts = len(parts)
    point = sum(mean for mean, _, _ in parts) / hosts
    variance = sum(v for _, v, _ in parts) / hosts**2
    df = variance**2 / sum((v / hosts**2) ** 2 / (n - 1) for _, v, n in parts)
    t = stats.t(float(df))
    error = float(variance) ** 0.5
    half = float(t.ppf(0.975)) * error
    f = stats.f_oneway(*groups, equal_var=False)
    lack = sum((1 - 1 / v / sum(1 / w for _, w, _ in parts)) ** 2 / (n - 1) for _, v, n in parts)
    return {
        "point": float(point),
        "low": float(point) - half,
        "high": float(point) + half,
        "df": float(df),
        "p": float(2 * t.sf(abs(float(point)) / error)),
        "f": float(f.statistic),
        "f_df": hosts - 1,
        "f_df_error": float((hosts**2 - 1) / (3 * lack)),
        "f_p": float(f.pvalue),
    }


def all_alternatives(rows: Rows) -> dict[str, float]:
    """The test of host x alternative, each host with its own error variance."""
    k = 3
    contrasts, covariances, sources = [], [], []
    for host in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == host]
        blocks = sorted({row[1] for row in own})
        design = np.zeros((len(own), len(blocks) + k - 1))
        y = np.array([row[3] for row in own])
        for i, (_, block, alternative, _) in enumerate(own):
            design[i, blocks.index(block)] = 1
            if alternative > 1:
                design[i, len(blocks) + int(alternative) - 2] = 1
        beta, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
        assert rank == design.shape[1], "every host ties all alternatives here"
        df = len(own) - rank
        square = float(((y - design @ beta) ** 2).sum()) / df
        contrasts.append(beta[-(k - 1) :])
        covariances.append(square * np.linalg.inv(design.T @ design)[-(k - 1) :, -(k - 1) :])
        sources.append(df)
    hosts = len(contrasts)
    v = linalg.block_diag(*covariances)
    # what is 0 when all hosts agree: each host's contrasts less the first's
    null = np.hstack([-np.tile(np.eye(k - 1), (hosts - 1, 1)), np.eye((hosts - 1) * (k - 1))])
    differences = null @ np.concatenate(contrasts)
    statistic = float(differences @ np.linalg.solve(null @ v @ null.T, differences))
    root = linalg.sqrtm(v).real
    q = root @ null.T @ np.linalg.solve(null @ v @ null.T, null @ root)
    f = (hosts - 1) * (k - 1)
    b = c = 0.0
    for h, df in enumerate(sources):
        part = q[h * (k - 1) : (h + 1) * (k - 1), h * (k - 1) : (h + 1) * (k - 1)]
        b += float(np.trace(part @ part)) / df
        c += float(np.trace(part)) ** 2 / df
    df_error = f * (f + 2) / (2 * b + c)
    value = statistic / (f + 2 * b - 2 * (2 * b + c) / (f + 2))
    return {"f": value, "df": f, "df_error": df_error, "p": float(stats.f(f, df_error).sf(value))}


def differences(rows: Rows) -> list[list[float]]:
    """Second alternative less the first, of each host's blocks that hold both."""
    found = []
    for host in sorted({row[0] for row in rows}):
        values = {(row[1], row[2]): row[3] for row in rows if row[0] == host}
        both = sorted({block for block, _ in values if {(block, 1), (block, 2)} <= set(values)})
        found.append([values[block, 2] - values[block, 1] for block in both])
    return found


if __name__ == "__main__":
    data = json.loads((Path(__file__).parent / "hosts.json").read_text())
    answers = {
        name: {"all": all_alternatives(one["rows"]), "pooled": pooled(differences(one["rows"]))}
        for name, one in data.items()
    }
    print(json.dumps(answers, indent=1))
