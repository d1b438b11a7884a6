"""Serialize the result of `regatta compare` to JSON: full precision, undefined numbers null with a reason."""

from __future__ import annotations

import math
from typing import Any

from regatta.answers.compare.compute import RESAMPLES, ForeignAnswer, PairAnswer
from regatta.answers.kit.plain import plain
from regatta.stats.estimate import Interval


def document_of_comparison(answer: ForeignAnswer) -> dict[str, Any]:
    """Return the result as JSON values. Infinite degrees of freedom (normal distribution) become null, too."""
    table = answer.table
    document = {
        "file": table.file,
        "value": table.value,
        "by": table.by.column,
        "block": table.block.column if table.block else None,
        "factors": list(table.order),
        "counts": table.counts,
        "level": answer.level,
        "method": answer.method,
        "seed": answer.seed,
        "resamples": RESAMPLES,
        "rows": table.rows,
        "left_out": table.left_out,
        "means": {
            name: {
                "n": mean.interval.n,
                "mean": mean.interval.point,
                "sd": mean.deviation,
                "low": mean.interval.low,
                "high": mean.interval.high,
                "method": mean.interval.method,
                "reason": mean.interval.reason,
            }
            for name, mean in answer.means.items()
        },
        "welch": [_pair(pair) for pair in answer.welch],
        "paired": [{**_pair(pair), "n": pair.difference.interval.n} for pair in answer.paired],
        "anova": _anova(answer),
        "simultaneous": [
            {**_pair(pair), "method": pair.difference.interval.method, "n": pair.difference.interval.n}
            for pair in answer.simultaneous
        ],
        "median": {name: _value(interval) for name, interval in answer.medians.items()},
        "bca": {name: _value(interval) for name, interval in answer.bca.items()},
        "notes": list(answer.notes),
    }
    result: dict[str, Any] = plain(document)
    return result


def _pair(pair: PairAnswer) -> dict[str, Any]:
    interval = pair.difference.interval
    return {
        "a": pair.a,
        "b": pair.b,
        "difference": interval.point,
        "low": interval.low,
        "high": interval.high,
        "df": pair.difference.df,
        "p": pair.difference.p,
        "ratio": pair.ratio.point,
        "ratio_low": pair.ratio.low,
        "ratio_high": pair.ratio.high,
        "reason": interval.reason or pair.ratio.reason,
    }


def _value(interval: Interval) -> dict[str, Any]:
    return {
        "n": interval.n,
        "value": interval.point,
        "low": interval.low,
        "high": interval.high,
        "reason": interval.reason,
    }


def _anova(answer: ForeignAnswer) -> dict[str, Any]:
    fit, several = answer.anova, answer.factorial
    if fit is not None:
        known = not math.isnan(fit.between)
        return {
            "F": fit.f,
            "df": [fit.df_between, fit.df_error] if known else [None, None],
            "p": fit.p,
            "method": fit.method,
            "reason": fit.reason,
        }
    assert several is not None
    return {
        "type": several.kind,
        "factors": [
            {
                "factor": row.source,
                "stratum": row.stratum,
                "df": row.df,
                "df_error": row.df_error,
                "df_approx": row.df_approx,
                "df_error_approx": row.df_error_approx,
                "ss": row.ss,
                "ms_error": row.ms_error,
                "F": row.f,
                "p": row.p,
                "eta2": row.eta2_partial,
                "omega2": row.omega2_partial,
                "reason": row.reason or row.note,
            }
            for row in several.rows
        ],
        "strata": several.strata,
        "method": several.method,
        "reason": several.reason,
    }
