"""Common parts of the scripts in this folder: their options, and the Monte-Carlo error of a share."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

#: a goal is missed if the measured value is beyond it by more than this number of Monte-Carlo errors
ERRORS = 3.0


@dataclass(frozen=True)
class Options:
    """What the command line asks for. `is_quick`: fewer replications, whose shares are rough."""

    replications: int
    is_quick: bool
    seed: int


def options_of(docstring: str | None, default: int, quick: int, seed: int = 1) -> Options:
    """Parse the command line.

    Args:
        docstring: of the script; shown by --help.
        default: replications of each case.
        quick: the same with --quick.
        seed: default of --seed.
    """
    parser = argparse.ArgumentParser(
        description=docstring, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"{quick:,} replications of each case, in less time"
    )
    parser.add_argument("--replications", type=int, help=f"of each case (default {default:,})")
    parser.add_argument("--seed", type=int, default=seed, help=f"of the random numbers (default {seed})")
    given = parser.parse_args()
    if given.replications is not None and given.replications < 2:
        parser.error("--replications: expected at least 2")
    return Options(given.replications or (quick if given.quick else default), given.quick, given.seed)


def error_of(share: float, count: int) -> float:
    """Return the Monte-Carlo standard error of a share, 0 to 1, of `count` > 0 replications; at least that of one replication."""
    least = max(share * (1.0 - share), 1.0 / count * (1.0 - 1.0 / count))
    return math.sqrt(least / count)
