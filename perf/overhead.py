"""Cost of one invocation and of a start."""

from __future__ import annotations

import sys
from pathlib import Path

from command import run_command
from invocations import measure_invocations
from rows import Row
from starts import measure_first_run, measure_run, measure_version


def measure(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    return [
        *measure_invocations(place, quick),
        measure_version(place, quick),
        *measure_first_run(place, quick),
        *measure_run(place, quick),
    ]


if __name__ == "__main__":
    sys.exit(
        run_command("Costs of an invocation and of a start-up, compared with peers in the same run.", measure)
    )
