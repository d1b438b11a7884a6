"""Plan and measure on this machine without a workflow, with a runner that starts early."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

import regatta
from regatta.cli.stopping import stop_session

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from regatta.cli.options import Ready
    from regatta.store.folder import Folder

_LOOK_S = 1.0
#: A runner that has loaded its modules and waits for its arguments, a line of JSON. It is not the zipapp of the plan: it has the
#: same modules, for this package made the plan, and those of the package are already compiled. It ends with this process,
#: because no other process reads its records. If this process is killed before it has given the arguments, the line is empty.
_RUNNER = (
    f"import json, sys; sys.path.insert(0, {str(Path(regatta.__file__).parents[1])!r}); "
    "from regatta.host.processes import die_with_parent; die_with_parent(); "
    "from regatta.host.__main__ import main; import regatta.host.verbs.segment_command; "
    "line = sys.stdin.readline(); sys.exit(main(json.loads(line)) if line else 0)"
)


@contextmanager
def started_runner() -> Iterator[subprocess.Popen[bytes]]:
    """Start a runner, which loads its modules while this process plans."""
    # A separate session: Ctrl-C reaches only this process, which then ends the runner.
    with subprocess.Popen(
        [sys.executable, "-I", "-c", _RUNNER], stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            yield process
        except BaseException:
            # Without arguments it ends by itself.
            if process.stdin is None or process.stdin.closed:
                stop_session(process)
            raise


def measure(spec: Path, results: Path, runner: subprocess.Popen[bytes]) -> tuple[Ready, bool]:
    """Plan, and measure on this machine without a workflow. Return whether all segments ended.

    Raises:
        Exit: a command before or after an invocation failed. The runner has printed why.
    """
    from regatta.cli.options import make_ready
    from regatta.cli.plan import plan_hosts, write_plans

    ready = make_ready(spec, results, "local")
    write_plans(ready, plan_hosts(ready))
    (name,) = ready.hosts
    for number in range(ready.experiment.segments):
        with (
            nullcontext(runner) if number == 0 else started_runner() as process,
            _progress(ready.folder, name, number) as progress,
        ):
            if not _run_segment(ready, name, number, progress, process):
                return ready, False
    return ready, True


@contextmanager
def _progress(folder: Folder, host: str, segment: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows the runs that are due before a row of the plan."""
    if not sys.stderr.isatty():
        yield lambda row: None
        return
    from regatta.cli.bar import progress_bar
    from regatta.host.journal.stopping import UNTIL_DECIDED

    header, path = folder.host_header(host), folder.decisions(host)
    due = due_before(folder, host, segment)
    what = "measuring; more runs may follow" if len(due) <= int(header["rows"]) else "measuring"
    if (header.get("stopping") or {}).get("rule") == UNTIL_DECIDED:
        what = "measuring as long as needed"

    def seen() -> int:
        with suppress(OSError):
            return path.stat().st_mtime_ns
        return 0

    with progress_bar(what) as progress:
        known = seen()

        def show(row: int) -> None:
            nonlocal due, known
            # `decide` expects another number of runs after each look.
            if (changed := seen()) != known:
                known, due = changed, due_before(folder, host, segment)
            progress(int(due[min(row, len(due) - 1)]), int(due[-1]))

        yield show


def due_before(folder: Folder, host: str, segment: int) -> npt.NDArray[np.int64]:
    """Return the number of runs before each row of a plan, and of all rows, as far as a segment knows or expects them.

    Rows that the stopping rule left out do not count. Before its decision, only the rows of the first segment are certain.
    """
    import numpy as np

    from regatta.host.journal.decisions import expected_rounds, groups_of, read_decisions

    header = folder.host_header(host)
    rows = np.fromfile(folder.host_plan(host) / "rows.i32", dtype="<i4").reshape(-1, 4)
    if segment == 0 and groups_of(header):
        rows = rows[: header["segments"][0][1]]
    rounds = np.array(expected_rounds(header, read_decisions(folder.decisions(host))))
    return np.concatenate(([0], np.cumsum(rows[:, 0] < rounds[rows[:, 3]])))


def _run_segment(
    ready: Ready, name: str, number: int, progress: Callable[[int], None], runner: subprocess.Popen[bytes]
) -> bool:
    """Give a runner its arguments, and wait for it. Return whether the segment ended."""
    from regatta.cli.segment import runner_arguments
    from regatta.host.errors import HostError, VerificationError
    from regatta.host.journal.runner_state import read_state
    from regatta.host.verbs.segment_command import INTERRUPTED_EXIT

    state = ready.folder.state / f"{name}.json"

    def look() -> None:
        # Without an index, the runner starts or ends.
        if (row := (read_state(state) or {}).get("index")) is not None:
            progress(int(row))

    receipt = ready.folder.receipts / name / f"{number:05}.json"
    words = [*runner_arguments(ready.folder, name, number, receipt), "--stop-at-failed-command"]
    try:
        assert runner.stdin is not None
        # A runner that died does not read; its exit code says so below.
        with suppress(BrokenPipeError), runner.stdin:
            runner.stdin.write(json.dumps(words).encode() + b"\n")
        code = _wait(runner, look)
    except KeyboardInterrupt:
        stop_session(runner)
        return False
    if code == VerificationError.exit_code:
        raise click.exceptions.Exit(code)
    if code and code != INTERRUPTED_EXIT:
        raise HostError(
            f"segment {number}", "measurements", f"exit {code} of the runner", "see the message above"
        )
    return code == 0


def _wait(process: subprocess.Popen[bytes], look: Callable[[], None]) -> int:
    """Wait for the end of a process without polling it; call `look` from time to time on a terminal."""
    if not sys.stderr.isatty():
        return process.wait()
    ended = os.pidfd_open(process.pid)
    try:
        while not select.select([ended], [], [], _LOOK_S)[0]:
            look()
    finally:
        os.close(ended)
    return process.wait()
