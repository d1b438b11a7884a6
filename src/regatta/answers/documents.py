"""An answer as JSON and as rows: for programs, so undefined numbers are null with their reason."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from regatta.answers.result import Answer, CellAnswer, Comparison, Family
from regatta.answers.topics.hosts.result import HostComparison
from regatta.answers.topics.suites.result import SuiteComparison
from regatta.stats.estimate import Interval

#: columns of `rows_of`, the same for every kind of row
COLUMNS = (
    "kind", "platform", "host", "benchmark", "runtime", "collector", "modifiers", "heap_factor", "heap_mib", "metric", "parameters",
    "a", "b", "n", "value", "low", "high", "unit", "level", "p", "p_holm", "practical", "method", "reason",
)  # fmt: skip


def document_of(answer: Answer) -> dict[str, Any]:
    """The whole answer, samples left out, as values that JSON has; NaN and infinity become null."""
    return {
        "experiment": answer.experiment,
        "question": answer.question,
        "seed": answer.seed,
        "order": answer.order,
        "level": answer.level,
        "planned": answer.planned,
        "recorded": answer.recorded,
        "headline": list(answer.headline),
        "warnings": list(answer.warnings),
        "hosts": {name: dict(facts) for name, facts in answer.hosts.items()},
        "runtimes": dict(answer.runtimes),
        "cells": [_cell(cell) for cell in answer.cells],
        "comparisons": [_comparison(comparison) for comparison in answer.comparisons],
        "families": [_family(family) for family in answer.families],
        "failures": [
            {**vars(failure), "invocation_ids": list(failure.invocation_ids)} for failure in answer.failures
        ],
        "impossible": [{"cell": cell, "reason": reason} for cell, reason in answer.impossible],
        "method": answer.method,
        "theta_percent": answer.theta_percent,
        "findings": plain(answer.findings),
        "compilation": plain(answer.compilation),
        "suites": [{**plain(suite), "generalises": suite.generalises} for suite in answer.suites],
        "scores": [{**plain(score), "of": score.of, "complete": score.complete} for score in answer.scores],
        "over_hosts": plain(answer.over_hosts),
        "effects": plain(answer.effects),
        "levels": [
            {
                **plain(one),
                "spread_percent": plain(one.spread_percent),
                "share_percent": plain(one.share_percent),
            }
            for one in answer.levels
        ],
        "overheads": plain(answer.overheads),
        "scaling": _scaling(answer),
        "chat": _chat(answer),
        "stopping": plain(answer.stopping),
        "steadiness": _steadiness(answer),
        "gates": plain(answer.gates),
        "outliers": plain(answer.outliers),
        "dependences": plain(answer.dependences),
    }


def _steadiness(answer: Answer) -> Any:
    """Without the curves, which are for pictures: `regatta records` gives every iteration."""
    found = plain(answer.steadiness)
    if found is not None:
        del found["curves"]
        for series in found["series"]:
            del series["curve"]
    return found


def _scaling(answer: Answer) -> Any:
    """Without the values of the invocations."""
    found = plain(answer.scaling)
    for curve in found["curves"]:
        for point in curve["points"]:
            del point["values"]
    return found


def _chat(answer: Answer) -> Any:
    """The modes against each other; the curves are among the cells."""
    return {"contrasts": plain(answer.chat.contrasts), "uncounted": plain(answer.chat.uncounted)}


def plain(value: Any) -> Any:
    """Frozen values of the model as values that JSON has: dataclasses by their fields, NaN and infinity as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return _finite(value) if isinstance(value, float) else value


def rows_of(answer: Answer) -> Iterator[dict[str, Any]]:
    """The answer as rows of `COLUMNS`; None is empty.

    Cells (`value` is the mean); comparisons, Dunnett's (where a baseline has several alternatives), Tukey's pairs, suites (for
    these benchmarks, and for benchmarks like these) and comparisons over all hosts (`value` is the ratio a/b); scores of
    benchmarks and of suites (`value` is how many times as fast as machine `b`).
    """
    for cell in answer.cells:
        yield {
            **_place(cell), "kind": "cell", "collector": cell.collector, "unit": cell.unit,
            **_row(cell.estimate), "parameters": _text(cell.parameters),
        }  # fmt: skip
    for comparison in answer.comparisons:
        yield {
            **_place(comparison), "kind": "comparison", "a": comparison.a_name, "b": comparison.b_name,
            **_row(comparison.ratio), "p": _finite(comparison.p), "p_holm": _finite(comparison.p_holm),
            "practical": comparison.practical, "parameters": _text(comparison.parameters),
        }  # fmt: skip
    for comparison in answer.comparisons:
        if comparison.simultaneous is not None:
            yield {
                **_place(comparison), "kind": "dunnett", "a": comparison.a_name, "b": comparison.b_name,
                **_row(comparison.simultaneous), "p": _finite(comparison.p_simultaneous),
                "parameters": _text(comparison.parameters),
            }  # fmt: skip
    for family in answer.families:
        for pair in family.pairs:
            yield {
                **_place(family), "kind": "tukey", "a": pair.a_name, "b": pair.b_name,
                **_row(pair.ratio), "p": _finite(pair.p), "parameters": _text(family.parameters),
            }  # fmt: skip
    yield from _wider_rows(answer)


def _score_rows(answer: Answer) -> Iterator[dict[str, Any]]:
    for score in answer.scores:
        common = {"host": score.host, "metric": score.kind, "a": score.configuration, "b": score.machine}
        for member in score.members:
            yield {**common, "kind": "score", "benchmark": member.benchmark, **_row(member.score)}
        parameters = _text({**score.parameters, "copies": score.copies, "size": score.size})
        yield {
            **common, "kind": "suite-score", "benchmark": score.suite, **_row(score.overall), "parameters": parameters,
        }  # fmt: skip


def _wider_rows(answer: Answer) -> Iterator[dict[str, Any]]:
    yield from _score_rows(answer)
    for suite in answer.suites:
        common = {**_place(suite), "benchmark": suite.suite, "a": suite.a_name, "b": suite.b_name}
        yield {**common, "kind": "suite", **_row(suite.these), "practical": suite.practical}
        yield {**common, "kind": "suite-like-these", **_row(suite.like_these)}
    for one in answer.over_hosts.comparisons:
        yield {
            **_place(one), "kind": "hosts", "a": one.a_name, "b": one.b_name, **_row(one.ratio), "p": _finite(one.p),
            "practical": one.practical, "parameters": _text(one.parameters),
        }  # fmt: skip


def _cell(cell: CellAnswer) -> dict[str, Any]:
    estimate = cell.estimate
    return {
        "cell_id": cell.cell_id,
        **_place(cell),
        "collector": cell.collector,
        "parameters": dict(cell.parameters),
        "summary": cell.summary,
        "n": estimate.n,
        "mean": _finite(estimate.point),
        "low": _finite(estimate.low),
        "high": _finite(estimate.high),
        "unit": cell.unit,
        "better": cell.better,
        "level": estimate.level,
        "method": estimate.method,
        "reason": estimate.reason,
        "statuses": dict(cell.statuses),
        "perturbed": len(cell.perturbed),
        "discarded": len(cell.discarded),
        "planned": cell.planned,
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "a": comparison.a,
        "b": comparison.b,
        "a_name": comparison.a_name,
        "b_name": comparison.b_name,
        **_place(comparison),
        "parameters": dict(comparison.parameters),
        **_ratio(comparison.ratio),
        "p": _finite(comparison.p),
        "p_holm": _finite(comparison.p_holm),
        "simultaneous": None if comparison.simultaneous is None else _ratio(comparison.simultaneous),
        "p_simultaneous": _finite(comparison.p_simultaneous),
        "practical": comparison.practical,
        "words": comparison.words,
    }


def _family(family: Family) -> dict[str, Any]:
    return {
        **_place(family),
        "parameters": dict(family.parameters),
        "names": list(family.names),
        "f": _finite(family.f),
        "df_between": _finite(family.df_between),
        "df_error": _finite(family.df_error),
        "p": _finite(family.p),
        "q": _finite(family.q),
        "method": family.method,
        "reason": family.reason,
        "pairs": [
            {"a": pair.a_name, "b": pair.b_name, **_ratio(pair.ratio), "p": _finite(pair.p)}
            for pair in family.pairs
        ],
        "words": family.words,
    }


def _place(of: CellAnswer | Comparison | Family | SuiteComparison | HostComparison) -> dict[str, Any]:
    names = ("platform", "host", "benchmark", "runtime", "modifiers", "heap_factor", "heap_mib", "metric")
    return {name: getattr(of, name) for name in names if hasattr(of, name)}


def _ratio(ratio: Interval) -> dict[str, Any]:
    return {
        "n": ratio.n,
        "ratio": _finite(ratio.point),
        "low": _finite(ratio.low),
        "high": _finite(ratio.high),
        "level": ratio.level,
        "method": ratio.method,
        "reason": ratio.reason,
    }


def _row(estimate: Interval) -> dict[str, Any]:
    row = _ratio(estimate)
    row["value"] = row.pop("ratio")
    return row


def _text(parameters: Any) -> str:
    return json.dumps(dict(parameters), sort_keys=True) if parameters else ""


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
