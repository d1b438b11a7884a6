"""`segment`: measure one segment of a plan on this host."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regatta.host.errors import RegattaError
from regatta.host.measure.host_lock import DEFAULT_LOCK
from regatta.host.measure.measurers import PairMeasurer, Paths, RoleMeasurer
from regatta.host.measure.pauses import Pauses
from regatta.host.measure.process import Interrupted
from regatta.host.measure.segment import SegmentRun, write_receipt

INTERRUPTED_EXIT = 130


def parser() -> argparse.ArgumentParser:
    """Return the argument parser of a segment."""
    found = argparse.ArgumentParser(
        prog="regatta-runner segment", description="Measure one segment of a plan on this host."
    )
    found.add_argument("--plan", type=Path, required=True, help="folder with plan.json and rows.i32")
    found.add_argument("--segment", type=int, required=True)
    found.add_argument("--journal", type=Path, required=True, help="folder of the journal files of this host")
    found.add_argument("--state", type=Path, required=True, help="file with the current state of the runner")
    found.add_argument("--scratch", type=Path, required=True, help="folder for the working directories")
    found.add_argument("--receipt", type=Path, required=True, help="file to write after the segment")
    found.add_argument("--retry-failed", action="store_true", help="retry failed invocations once")
    found.add_argument(
        "--stop-at-failed-command", action="store_true", help="stop when `prepare` or `conclude` fails"
    )
    found.add_argument("--pauses", type=int, help="socket descriptor of a process that works between blocks")
    found.add_argument("--ways", type=Path, help="file that says how to reach the hosts of roles")
    found.add_argument("--holder", default="", help="name of this run for runs that wait for the host")
    return found


def run_segment(argv: Sequence[str]) -> int:
    """Run one segment. Return the exit code."""
    arguments = parser().parse_args(argv)
    paths = Paths(
        plan=arguments.plan.resolve(),
        journal=arguments.journal.resolve(),
        state=arguments.state.resolve(),
        scratch=arguments.scratch.resolve(),
        lock=Path(os.environ.get("REGATTA_HOST_LOCK", DEFAULT_LOCK)),
        holder=arguments.holder,
        ways=arguments.ways.resolve() if arguments.ways else None,
    )
    receipt = arguments.receipt.resolve()
    try:
        pauses = Pauses(arguments.pauses)
        run = SegmentRun(
            paths, arguments.segment, arguments.retry_failed, _with_roles, _in_pairs, pauses,
            arguments.stop_at_failed_command,
        )  # fmt: skip
        write_receipt(receipt, run.run())
    except RegattaError as error:
        return tell(str(error), error.exit_code)
    except (Interrupted, KeyboardInterrupt):
        # The command that started this runner says whether its records stay, and how to continue.
        return INTERRUPTED_EXIT
    except OSError as error:
        return tell(f"{error.filename or 'the host'}: {error.strerror}", RegattaError.exit_code)
    return 0


def _with_roles(*arguments: Any) -> RoleMeasurer:
    # Imported here because most plans have no roles.
    from regatta.host.roles.conductor import conduct

    return conduct(*arguments)


def _in_pairs(*arguments: Any) -> PairMeasurer:
    # Imported here because most plans have no pairs.
    from regatta.host.duet.pairs import Duet

    return Duet(*arguments)


def tell(text: str, exit_code: int) -> int:
    """Print an error and pass it to `regatta run`, because the workflow hides the exit codes of its jobs."""
    print(f"error: {text}", file=sys.stderr)
    path = os.environ.get("REGATTA_ERRORS")
    if path:
        # If this fails, the error is still in the log of the job, unless the disk is full.
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"exit_code": exit_code, "problems": [text]}) + "\n")
    return exit_code
