"""Serialize an answer to JSON and to rows. Undefined numbers are null with their reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from regatta.answers.kit.plain import finite, pair_row, place_of, plain, ratio_of, row_of, text_of
from regatta.answers.report.registry import findings_in_order, in_order
from regatta.answers.spine.families.result import Family
from regatta.answers.spine.families.words import leaders, ranking, winner
from regatta.answers.spine.result import Answer, CellAnswer, Comparison
from regatta.answers.spine.verdicts import VERDICT

#: columns of `rows_of`, the same for all kinds of rows
COLUMNS = (
    "kind", "platform", "host", "benchmark", "runtime", "collector", "modifiers", "heap_factor", "heap_mib", "metric", "parameters",
    "a", "b", "n", "value", "low", "high", "unit", "level", "p", "p_holm", *VERDICT, "method", "reason",
)  # fmt: skip


def document_of(answer: Answer) -> dict[str, Any]:
    """Return the answer without samples as JSON values; NaN and infinity become null."""
    return {
        "experiment": answer.experiment,
        "question": answer.question,
        "seed": answer.seed,
        "order": answer.order,
        "level": answer.level,
        "planned": answer.planned,
        "recorded": answer.recorded,
        "statuses": dict(sorted(answer.statuses.items())),
        "headline": list(answer.headline),
        "warnings": list(answer.warnings),
        "hosts": {name: dict(facts) for name, facts in answer.hosts.items()},
        "runtimes": dict(answer.runtimes),
        "cells": [cell_document(cell) for cell in answer.cells],
        "comparisons": [comparison_document(comparison) for comparison in answer.comparisons],
        "families": [_family(family) for family in answer.families],
        "failures": [
            {**vars(failure), "invocation_ids": list(failure.invocation_ids)} for failure in answer.failures
        ],
        "impossible": [{"cell": cell, "reason": reason} for cell, reason in answer.impossible],
        "method": answer.method,
        "theta_percent": answer.theta_percent,
        "findings": {words.key: list(found) for _, words, found in findings_in_order(answer.findings)},
        **{
            document.key: document.of(topic.of(answer))
            for topic, document in in_order(lambda topic: topic.document)
        },
    }


def rows_of(answer: Answer) -> Iterator[dict[str, Any]]:
    """Yield the answer as rows of `COLUMNS`; None is empty.

    Cells first (`value` is the mean). Then comparisons, simultaneous ones (for a baseline with several alternatives) and all
    pairs of families (`value` is the ratio a/b). Then the rows of the topics.
    """
    for cell in answer.cells:
        yield {
            **place_of(cell),
            "kind": "cell",
            "collector": cell.place.collector,
            "unit": cell.unit,
            **row_of(cell.estimate),
            "parameters": text_of(cell.parameters),
        }
    for one in answer.comparisons:
        further = {"p_holm": finite(one.p_holm), "parameters": text_of(one.parameters)}
        tested = (one.a_name, one.b_name, one.ratio, one.p)
        yield pair_row(one, "comparison", *tested, verdict=one.verdict, **further)
    for one in answer.comparisons:
        if one.simultaneous is not None:
            tested = (one.a_name, one.b_name, one.simultaneous, one.p_simultaneous)
            yield pair_row(one, "simultaneous", *tested, parameters=text_of(one.parameters))
    for family in answer.families:
        shared = {"collector": family.place.collector, "parameters": text_of(family.parameters)}
        for pair in family.pairs:
            tested = (pair.a_name, pair.b_name, pair.ratio, pair.p)
            yield pair_row(family, "pair", *tested, verdict=pair.verdict, **shared)
    for topic, rows in in_order(lambda topic: topic.rows):
        yield from rows.of(topic.of(answer))


def cell_document(cell: CellAnswer) -> dict[str, Any]:
    """Return an entry of `cells` in the document: an estimate with its place."""
    estimate = cell.estimate
    return {
        "cell_id": cell.cell_id,
        **place_of(cell),
        "collector": cell.place.collector,
        "parameters": dict(cell.parameters),
        "summary": cell.summary,
        "n": estimate.n,
        "mean": finite(estimate.point),
        "low": finite(estimate.low),
        "high": finite(estimate.high),
        "cv_percent": finite(cell.dispersion.cv_percent),
        "minimum": finite(cell.dispersion.minimum),
        "maximum": finite(cell.dispersion.maximum),
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


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return an entry of `comparisons` in the document."""
    return {
        "a": comparison.a,
        "b": comparison.b,
        "a_name": comparison.a_name,
        "b_name": comparison.b_name,
        **place_of(comparison),
        "parameters": dict(comparison.parameters),
        **ratio_of(comparison.ratio),
        "p": finite(comparison.p),
        "p_holm": finite(comparison.p_holm),
        "simultaneous": None if comparison.simultaneous is None else ratio_of(comparison.simultaneous),
        "p_simultaneous": finite(comparison.p_simultaneous),
        **plain(comparison.verdict),
        "factors": list(comparison.factors),
        "words": comparison.words,
    }


def _family(family: Family) -> dict[str, Any]:
    return {
        **place_of(family),
        "collector": family.place.collector,
        "factor": family.factor,
        "parameters": dict(family.parameters),
        "names": list(family.names),
        "f": finite(family.f),
        "df_between": finite(family.df_between),
        "df_error": finite(family.df_error),
        "p": finite(family.p),
        "p_pairs": finite(family.p_pairs),
        "q": finite(family.q),
        "method": family.method,
        "reason": family.reason,
        "pairs": [
            {
                "a": pair.a_name,
                "b": pair.b_name,
                **ratio_of(pair.ratio),
                "p": finite(pair.p),
                **plain(pair.verdict),
            }
            for pair in family.pairs
        ],
        "winner": winner(family.pairs, family.names, family.better),
        "leaders": leaders(ranking(family.names, family.pairs, family.better), family.pairs),
        "words": family.words,
    }
