"""The number of runs of `regatta time`, as the part of its spec."""

from __future__ import annotations

from typing import Any

import click

#: runs before the number is decided, and the measuring time of each command without --runs and --precision
LEAST_RUNS, SECONDS = 10, 3.0
#: default maximum: a run of a program that does nothing takes a millisecond or more, with the work of the runner and the sync of its
#: record
MOST_RUNS = 3000
#: the default maximum of all commands: the runner holds the plan of all possible runs in memory
_MOST_ROWS = 300_000
#: with --precision: the default maximum, and the smallest pilot
_MOST_PRECISE, _LEAST_PILOT = 100, 3


def invocations_of(
    runs: int | None,
    least: int | None,
    most: int | None,
    precision: float | None,
    warmup: int | None,
    commands: int,
) -> dict[str, Any]:
    """Return `invocations` and `segment` of the spec.

    Args:
        runs: exact number; None: decided while measuring.
        least, most: bounds of a number that is decided; None: the defaults.
        precision: target half-width in percent; None: as many runs as `SECONDS` allow.
        warmup: runs of each command before the measured ones; None: the default of the spec.
        commands: how many are measured, with all values of their parameters.

    Raises:
        UsageError: the options exclude each other.
    """
    rounds, maximum = _rounds_of(runs, least, most, precision, commands)
    if warmup is not None:
        rounds["discarded"] = warmup
    return {"invocations": rounds, "segment": {"rounds": maximum}}


def _rounds_of(
    runs: int | None, least: int | None, most: int | None, precision: float | None, commands: int
) -> tuple[dict[str, Any], int]:
    """Return `invocations` of the spec, and the largest number of rounds."""
    if runs is not None:
        given = {"--min-runs": least, "--max-runs": most, "--precision": precision}
        others = [name for name, value in given.items() if value is not None]
        if others:
            fix = "; for a maximum, use --max-runs" if others == ["--precision"] else ""
            raise click.UsageError(f"--runs is an exact number: expected it without {', '.join(others)}{fix}")
        return {"fixed": runs}, runs
    usual = min(MOST_RUNS, _MOST_ROWS // commands) if precision is None else _MOST_PRECISE
    pilot, maximum = _bounds(least, most, usual)
    if precision is None:
        return {"fixed": pilot, "seconds": SECONDS, "maximum": maximum}, maximum
    from regatta.spec.invocations_schema import MAX_ADAPTIVE

    if pilot < _LEAST_PILOT or maximum > MAX_ADAPTIVE:
        raise click.UsageError(
            f"--precision: expected between {_LEAST_PILOT} and {MAX_ADAPTIVE} runs, got {pilot} to {maximum}"
        )
    return {"adaptive": {"target_percent": precision, "pilot": pilot, "maximum": maximum}}, maximum


def _bounds(least: int | None, most: int | None, usual: int) -> tuple[int, int]:
    """Return both bounds. A default gives way to the bound that is given."""
    pilot = least or min(LEAST_RUNS, most or LEAST_RUNS)
    maximum = most or max(usual, pilot)
    if maximum < pilot:
        raise click.UsageError(f"--max-runs: expected at least {pilot} (--min-runs), got {maximum}")
    return pilot, maximum
