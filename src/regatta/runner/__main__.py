"""The zipapp's command: `runner.pyz --plan DIR --segment N --journal DIR ...`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path

from regatta.errors import RegattaError
from regatta.runner.host_lock import DEFAULT_LOCK
from regatta.runner.process import Interrupted
from regatta.runner.segment import Paths, SegmentRun, write_receipt

INTERRUPTED_EXIT = 130


def main() -> int:
    """Run one segment; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="regatta-runner", description="Measures one segment of a plan on this host."
    )
    parser.add_argument("--plan", type=Path, required=True, help="folder with plan.json and rows.i32")
    parser.add_argument("--segment", type=int, required=True)
    parser.add_argument("--journal", type=Path, required=True, help="folder of this host's journal files")
    parser.add_argument(
        "--state", type=Path, required=True, help="file that tells what is being measured now"
    )
    parser.add_argument("--scratch", type=Path, required=True, help="folder for the empty working directory")
    parser.add_argument("--receipt", type=Path, required=True, help="written when the segment is done")
    parser.add_argument("--retry-failed", action="store_true", help="run failed invocations once more")
    arguments = parser.parse_args()
    paths = Paths(
        plan=arguments.plan.resolve(),
        journal=arguments.journal.resolve(),
        state=arguments.state.resolve(),
        scratch=arguments.scratch.resolve(),
        lock=Path(os.environ.get("REGATTA_HOST_LOCK", DEFAULT_LOCK)),
    )
    receipt = arguments.receipt.resolve()
    try:
        write_receipt(receipt, SegmentRun(paths, arguments.segment, arguments.retry_failed).run())
    except RegattaError as error:
        return _tell(str(error), error.exit_code)
    except (Interrupted, KeyboardInterrupt):
        print("stopped; what was measured is recorded, and the same command goes on", file=sys.stderr)
        return INTERRUPTED_EXIT
    except OSError as error:
        return _tell(f"{error.filename or 'the host'}: {error.strerror}", RegattaError.exit_code)
    return 0


def _tell(text: str, exit_code: int) -> int:
    """Print an error, and tell it to `regatta run`: the workflow hides its jobs' exit codes."""
    print(f"error: {text}", file=sys.stderr)
    path = os.environ.get("REGATTA_ERRORS")
    if path:
        # What cannot be told is in the job's log at least, unless the disk is full.
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"exit_code": exit_code, "problems": [text]}) + "\n")
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
