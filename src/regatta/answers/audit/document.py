"""Serialize an audit to JSON: every comparison and every count."""

from __future__ import annotations

from typing import Any

from regatta.answers.audit.result import Audit, Precision, Tally
from regatta.answers.kit.plain import parts_of, plain
from regatta.answers.spine.parts import HEAP
from regatta.stats.prevalent import CLASSES


def audit_document(audit: Audit) -> dict[str, Any]:
    """Return the audit without samples as JSON values; NaN and infinity become null."""
    return {
        "experiment": audit.experiment,
        "method": audit.method,
        "level": audit.level,
        "factor": audit.factor,
        "thetas_percent": list(audit.thetas_percent),
        "draws": audit.draws,
        "seed": audit.seed,
        "findings": list(audit.findings),
        "left_out": list(audit.left_out),
        "classes": list(CLASSES),
        "comparisons": [plain(pair) for pair in audit.pairs],
        "tallies": [_tally(tally) for tally in audit.tallies],
        "maximum": audit.maximum,
        "precision": [_precision(precision, audit.maximum) for precision in audit.precisions],
    }


def _tally(tally: Tally) -> dict[str, Any]:
    method = tally.method
    return {
        "method": method.name,
        "regime": method.regime,
        "statistic": method.statistic,
        #: null: all invocations
        "invocations": method.invocations or None,
        "iterations": method.iterations or None,
        "group": tally.group,
        "of": tally.of,
        "theta_percent": tally.theta_percent,
        "comparisons": tally.comparisons,
        "percent": {name: round(100.0 * share, 6) for name, share in zip(CLASSES, tally.shares, strict=True)},
        "first_runs": dict(zip(CLASSES, tally.first, strict=True)),
    }


def _precision(precision: Precision, maximum: int) -> dict[str, Any]:
    cell = precision.cell
    names = ("host", "benchmark", "runtime", "collector", "modifiers", *HEAP)
    return {
        "cell_id": cell.cell_id,
        **parts_of(cell.place, names),
        "metric": cell.metric,
        "parameters": dict(cell.parameters),
        "n": cell.estimate.n,
        "widths_percent": plain(precision.widths_percent),
        "needed": [
            {
                "width_percent": width,
                #: null: never that narrow in the measured invocations
                "first_after": until or None,
                #: null: unknown, or more than the maximum
                "invocations": needed if 0 < needed <= maximum else None,
                "more_than_maximum": needed > maximum,
            }
            for width, until, needed in precision.needed
        ],
    }
