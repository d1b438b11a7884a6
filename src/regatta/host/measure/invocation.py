"""Run one invocation and make its record: the process, its measurements and the host's state."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import regatta
from regatta.host.contents import place
from regatta.host.errors import HostError, VerificationError
from regatta.host.journal.plan_files import Row
from regatta.host.measure.cgroup import TreeAccounting
from regatta.host.measure.host_state import HostState
from regatta.host.measure.kept import keep_files
from regatta.host.measure.limits import cores_of, isolation_kind, limits_asked, set_limits
from regatta.host.measure.other_processes import OtherProcesses
from regatta.host.measure.process import Launch, Outcome, StopSignals, run_process
from regatta.host.measure.record_making import (
    Observed,
    Run,
    cpu_s_of,
    describe,
    not_started,
    oom_kills_of,
    peak_rss_kib,
    readable,
    settle,
    unmeasured,
    with_operations,
)
from regatta.host.measure.scratch import EmptyDirectory, NotPlain, results_of, work_of
from regatta.host.measure.verdict import adapter_file, judge, last_words, report_of
from regatta.host.printable import with_lines
from regatta.host.processes import end_orphans
from regatta.host.values.counters import BORDERS
from regatta.host.values.events import events_from_json
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Record, State

if TYPE_CHECKING:
    from regatta.host.counters.counting import Counters, Counting
    from regatta.host.events.recorder import Recorder
    from regatta.host.measure.containers.container import Containers

_MAXIMUM_RESULTS_BYTES = 64 * 1024 * 1024
_PADDING_LETTER = "x"
#: of the output of a failed command
_FIRST_LINES = 5
#: starting a container and checking it for programs takes less than a second
_TRIAL_S = 60.0

_RLIMITS = {
    "address_space_mib": (resource.RLIMIT_AS, 1 << 20),
    "open_files": (resource.RLIMIT_NOFILE, 1),
    "processes": (resource.RLIMIT_NPROC, 1),
    "core_mib": (resource.RLIMIT_CORE, 1 << 20),
}


def in_containers(cells: Iterable[PlanCell]) -> list[PlanCell]:
    """Return the cells that run in containers."""
    return [cell for cell in cells if isolation_kind(cell) == "docker"]


def _throttled(accounting: TreeAccounting, cell: PlanCell) -> dict[str, Any]:
    """Return how long a quota throttled the invocation, for a cell with a quota."""
    return {"throttled_ns": accounting.throttled_ns()} if "cpu_quota" in limits_asked(cell) else {}


class Partner(Protocol):
    """The program that another process measures at the same time, on another half of the host."""

    def ready(self) -> str:
        """Wait until both programs can start. Return why the partner does not, or ""."""
        ...

    def ended(self, cpu_s: float) -> float:
        """Wait until both programs have ended. Return the processor time of the partner in s while the own program ran.

        Args:
            cpu_s: processor time of the own program.
        """
        ...


class Bench:
    """Shared by all invocations of a segment: empty directory, environment, cores, accounting, host state."""

    def __init__(
        self,
        header: Mapping[str, Any],
        scratch: Path,
        measured: list[int] | None,
        accounting: TreeAccounting | None,
        stop: StopSignals,
        kept: Path | None = None,
    ) -> None:
        self.header = header
        #: folder of the files that are kept next to records; None: no files are kept
        self.kept = kept
        self.cores = measured
        self.cpus = os.cpu_count() or 1
        self.all_cores = sorted(os.sched_getaffinity(0))
        told_of_the_tree = (
            accounting is not None
            and accounting.tells_oom_kills
            and all(isolation_kind(cell) != "none" for cell in header.get("cells", ()))
        )
        self.state = HostState(measured or self.all_cores, oom_kills=not told_of_the_tree)
        self.accounting = accounting
        self.containers: Containers | None = None
        self._counters: Counters | None = None
        self.others = OtherProcesses()
        #: None: nothing else is measured at the same time
        self.partner: Partner | None = None
        self.stop = stop
        self.directory = work_of(scratch)
        #: whether processes that leave their group are lost; `become_subreaper` gave the reason
        self.strays = False
        #: why a command before or after an invocation failed; None: all of them succeeded
        self.failed_command: VerificationError | None = None
        #: processes of the runner itself that live while a cell runs
        self.helpers: set[int] = set()
        self._scratch = scratch
        self.work = EmptyDirectory(self.directory)
        results_path = results_of(scratch)
        self._results = EmptyDirectory(results_path.parent)
        self.results_name = str(results_path)
        self._rlimits = [
            (_RLIMITS[name][0], int(value) * _RLIMITS[name][1])
            for name, value in header["rlimits"].items()
            if value is not None
        ]
        environment = header["environment"]
        self._environment = dict(environment["set"])
        self._environment.update(
            HOME=str(self.directory),
            TMPDIR=str(self.directory),
            REGATTA_RESULTS=self.results_name,
            REGATTA_SEED=str(header["seed"]),
        )
        self._padding_bound = environment["padding_bytes"]
        scratch.mkdir(parents=True, exist_ok=True)

    def cores_of(self, cell: PlanCell) -> list[int]:
        """Return the CPUs that a cell's processes may use."""
        return cores_of(cell, self.cores if self.cores is not None else self.all_cores)

    def clear(self) -> None:
        """Empty the working directory and the folder of the results file."""
        self._results.make()
        self.work.make()

    def close(self) -> None:
        """Close the descriptors of both folders and of the host's state."""
        self._results.close()
        self.work.close()
        self.state.close()

    def environment_for(self, cell: PlanCell, invocation_id: str, attempt: int) -> dict[str, str]:
        """Return the environment of an invocation; its padding is drawn from seed, invocation and attempt."""
        environment = {**self._environment, **cell["environment"], "REGATTA_INVOCATION": invocation_id}
        if self._padding_bound:
            draw = random.Random(f"{self.header['seed']} {self.header['host']} {invocation_id} {attempt}")
            environment["REGATTA_PADDING"] = _PADDING_LETTER * draw.randrange(self._padding_bound + 1)
        return environment

    def read_results(self, file: str = "") -> tuple[bytes | None, str]:
        """Return the output of the workload, or None and why it is refused ("": the file does not exist).

        Args:
            file: name of a file in the working directory; "": the file that `REGATTA_RESULTS` names.
        """
        called = file or "REGATTA_RESULTS"
        folder, name = (self.work, file) if file else (self._results, os.path.basename(self.results_name))
        try:
            with open(folder.open_file(name), "rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size > _MAXIMUM_RESULTS_BYTES:
                    allowed_mib = _MAXIMUM_RESULTS_BYTES >> 20
                    return None, f"{called}: expected at most {allowed_mib} MiB, got {size >> 20} MiB"
                return stream.read(_MAXIMUM_RESULTS_BYTES), ""
        except FileNotFoundError:
            return None, ""
        except NotPlain:
            return None, f"{called}: expected a regular file, got another kind of file"
        except OSError as error:
            return None, f"{called}: {error.strerror}"

    def contain(self, cells: list[PlanCell], segment: int) -> None:
        """Prepare for cells in containers: check the engine, their images and their requirements.

        Raises:
            HostError: a requirement is not met.
            Interrupted: the runner received a stop signal.
        """
        # Imported here because it loads an HTTP client.
        from regatta.host.measure.containers.container import Containers

        cores = self.cores if self.cores is not None else self.all_cores
        self.containers = Containers(self.header, self._scratch, segment, cores, self.stop)
        self.clear()
        self.containers.check(
            cells,
            lambda argv: Launch(argv, self._environment, str(self.directory), _TRIAL_S, 8192, self._rlimits),
        )

    def directory_of(self, cell: PlanCell) -> str:
        """Return the folder in which the commands of a cell run."""
        return cell.get("directory") or str(self.directory)

    def path_of(self, cell: PlanCell, stream: Literal["input", "output"]) -> str:
        """Return the absolute path of a file for the cell's standard input or output; "" without one."""
        name = cell.get(stream, "")
        return os.path.join(self.directory_of(cell), name) if name else ""

    def counting(self, cell: PlanCell, place: int) -> Counting | None:
        """Return what counts an invocation of the cell in a round; None if the cell asks for no counters."""
        if "counters" not in cell:
            return None
        # Imported here because most cells have no counters.
        from regatta.host.counters.counting import Counters

        if self._counters is None:
            self._counters = Counters(self.header["seed"], self.header["host"], self.kept is not None)
        return self._counters.of(cell["counters"], place, self.cores_of(cell))

    def measure(self, row: Row, attempt: int, segment: int) -> Record:
        """Run an invocation and make its record (without `sequence`, which the journal adds).

        Raises:
            Interrupted: the runner received a stop signal; no record is made.
            OSError: the working directory cannot be prepared.
        """
        entered_ns = time.monotonic_ns()
        cell, header = row.cell, self.header
        invocation_id = row.invocation_id
        if header["limits"].get("other_cpu_percent") is not None:
            self.others.look()
        self.clear()
        for name, source in cell.get("arrange", {}).items():
            place(Path(source), self.directory / name)
        environment = self.environment_for(cell, invocation_id, attempt)
        if cell.get("prepare") and (problem := self.prepare(cell, environment)):
            return not_started(unmeasured(header, row, attempt, segment), problem, entered_ns)
        with _recorder(self, cell) as recorder:
            if isinstance(recorder, str):
                return not_started(unmeasured(header, row, attempt, segment), recorder, entered_ns)
            if self.partner is not None:
                if isolation_kind(cell) == "cgroup":
                    # A memory limit drops files, which takes a while; both programs start at once.
                    set_limits(cell, self.accounting)
                if problem := self.partner.ready():
                    return not_started(unmeasured(header, row, attempt, segment), problem, entered_ns)
            counting = self.counting(cell, row.round)
            with sampling(self, counting):
                run = self.run(cell, environment, counting)
            partner_s = self.partner.ended(cpu_s_of(run)) if self.partner is not None else 0.0
            lost_trace = _end(recorder)
        outcome = run.outcome
        results, refused = self.read_results(adapter_file(cell))
        max_rss_kib = peak_rss_kib(outcome.usage) if run.rusage is None else None
        reported = report_of(cell, outcome, results, refused, max_rss_kib)
        counts, told = counting.end() if counting else ([], {})
        status, reason = judge(cell, outcome, reported, oom_kills_of(run))
        if status == "ok" and lost_trace:
            status, reason = "failed", lost_trace
        if status == "ok" and cell.get("check"):
            wrong = self.check(cell, environment)
            if wrong:
                status, reason = "failed", wrong
        if cell.get("conclude") and (problem := self.conclude(cell, environment)):
            status, reason = ("failed", problem) if status == "ok" else (status, f"{reason}; {problem}")
        used_s = cpu_s_of(run) + partner_s
        observed = Observed(run.before, run.after, outcome.elapsed_ns / 1e9, used_s, self.cpus)
        record = unmeasured(header, row, attempt, segment)
        describe(record, run, reported, max_rss_kib, with_operations(counts, reported, cell["metric"]))
        record["info"] = {**reported.info, **told}
        record["cores"] = self.cores_of(cell)
        record["padding_bytes"] = len(environment.get("REGATTA_PADDING", ""))
        settle(record, header, cell, (status, reason), [observed])
        self.others.name_in(record)
        record["runner"] = {
            "version": regatta.__version__,
            "before_ns": outcome.started_monotonic_ns - entered_ns,
            "after_ns": time.monotonic_ns() - run.ended_ns,
        }
        own = counting.files if counting else {}
        if (cell.get("keep") or own) and self.kept is not None:
            folder = self.kept / f"{invocation_id}-a{attempt}"
            record["kept"] = keep_files(self.work, cell.get("keep", []), folder, own)
        return readable(record, header, row, attempt, segment)

    def run(
        self,
        cell: PlanCell,
        environment: dict[str, str],
        counting: Counting | None = None,
        adapt: Callable[[Launch], None] = lambda launch: None,
    ) -> Run:
        """Run the cell's command once, measured and counted. `adapt` changes its launch."""
        cores = self.cores_of(cell)
        launch = Launch(
            argv=cell["argv"],
            environment=environment,
            directory=self.directory_of(cell),
            timeout_s=cell["timeout_s"],
            output_bytes=self.header["output_kib"] * 1024,
            rlimits=self._rlimits,
            # If all CPUs are to be used, no affinity is set.
            cores=frozenset(cores) if self.cores is not None or cores != self.all_cores else None,
            hash_stdout=bool(cell["expect"].get("stdout_sha256")),
            input=self.path_of(cell, "input"),
            output=self.path_of(cell, "output"),
            helpers=self.helpers,
            count=counting.begin if counting else None,
            started=[counting.started] if counting else [],
        )
        borders = counting.follow(self._results.path / "counters") if counting else None
        if borders is not None:
            launch.requests = [borders]
            launch.environment = {**environment, BORDERS: str(borders.path)}
        adapt(launch)
        kind = isolation_kind(cell)
        if kind == "docker":
            return self._run_contained(cell, launch)
        accounting = self.accounting if kind == "cgroup" else None
        if kind == "cgroup":
            set_limits(cell, accounting)
        before = self.state.read()
        if accounting is None:
            outcome, tree = run_process(launch, self.stop), None
        else:
            outcome = run_process(
                launch, self.stop, accounting.begin, accounting.started, accounting.limits_memory
            )
            tree = accounting.finish()
        ended_ns = time.monotonic_ns()
        if self.strays:
            # Without a subreaper, strays do not return to the runner, so search the environments of all
            # processes.
            outcome.left_behind += end_orphans(self.results_name)
        isolation: dict[str, Any] = {"kind": kind, **limits_asked(cell)}
        if kind == "cgroup" and accounting is None:
            isolation.update(kind="none", asked=kind)
        if accounting is not None:
            isolation.update(_throttled(accounting, cell))
        return Run(outcome, tree, before, self.state.read(), ended_ns, isolation)

    def _run_contained(self, cell: PlanCell, launch: Launch) -> Run:
        assert self.containers is not None  # `contain` sets it
        states: list[State] = []
        ends: list[int] = []

        def ended() -> None:
            ends.append(time.monotonic_ns())
            states.append(self.state.read())

        done = self.containers.run(cell, launch, lambda: states.append(self.state.read()), ended)
        before, after = states
        return Run(done.outcome, done.tree, before, after, ends[0], done.isolation, done.rusage)

    def prepare(self, cell: PlanCell, environment: dict[str, str]) -> str:
        """Run the cell's command before an invocation, not measured; return why it failed, or "".

        A memory limit is set before, which drops the files that the group still holds from earlier
        invocations: files that this command reads are then cached for the runner's own group.
        """
        if isolation_kind(cell) == "cgroup":
            set_limits(cell, self.accounting)
        return self._beside(cell, cell["prepare"], environment, "prepare")

    def conclude(self, cell: PlanCell, environment: dict[str, str]) -> str:
        """Run the cell's command after an invocation, not measured; return why it failed, or ""."""
        return self._beside(cell, cell["conclude"], environment, "conclude")

    def _beside(self, cell: PlanCell, argv: list[str], environment: dict[str, str], called: str) -> str:
        outcome, problem = self._unmeasured(cell, argv, environment, called)
        if not problem:
            return ""
        # A command that cannot start has its own words.
        problem += "" if outcome.start_error else last_words(outcome)
        self.failed_command = VerificationError(
            f"{called}: {shlex.join(argv)}",
            "exit code 0",
            with_lines(_ending(outcome), _first_lines(outcome)),
        )
        return problem

    def check(self, cell: PlanCell, environment: dict[str, str]) -> str:
        """Run the cell's check command, not measured; return why the output is wrong, or ""."""
        outcome, problem = self._unmeasured(cell, cell["check"], environment, "the check")
        if problem:
            return f"wrong output: {problem}"
        expected = cell["expect"].get("check_sha256")
        if expected and outcome.stdout.sha256 != expected:
            return (
                f"wrong output: the check printed {str(outcome.stdout.sha256)[:16]}, expected {expected[:16]}"
            )
        return ""

    def _unmeasured(
        self, cell: PlanCell, argv: list[str], environment: dict[str, str], called: str
    ) -> tuple[Outcome, str]:
        launch = Launch(argv, environment, self.directory_of(cell), cell["timeout_s"], 8192, hash_stdout=True)
        if isolation_kind(cell) == "docker" and self.containers is not None:
            outcome = self.containers.run(cell, launch).outcome
        else:
            outcome = run_process(launch, self.stop)
        if outcome.timed_out:
            return outcome, f"{called} timed out after {cell['timeout_s']:g} s"
        if outcome.exit_code != 0:
            return outcome, f"{called} ended with {_ending(outcome)}"
        return outcome, ""


def _ending(outcome: Outcome) -> str:
    if outcome.timed_out:
        return "a timeout"
    how = f"signal {outcome.signal}" if outcome.signal else f"exit code {outcome.exit_code}"
    return outcome.start_error or how


def _first_lines(outcome: Outcome) -> list[str]:
    """Return the first lines of the standard error, or of the standard output if there is no other."""
    text = outcome.stderr.kept.strip() or outcome.stdout.kept.strip()
    return text.decode(errors="replace").splitlines()[:_FIRST_LINES]


@contextlib.contextmanager
def _recorder(bench: Bench, cell: PlanCell) -> Iterator[Recorder | str | None]:
    """Record the host's events into the working directory; yield why it cannot, or None for no events."""
    if "events" not in cell:
        yield None
        return
    # Imported here because most cells record no events.
    from regatta.host.events.recorder import Recorder

    with Recorder(bench.directory, events_from_json(cell["events"])) as recorder:
        try:
            recorder.prepare()
            recorder.begin()
        except HostError as error:
            yield str(error)
            return
        bench.helpers.add(recorder.pid)
        try:
            yield recorder
        finally:
            bench.helpers.clear()


@contextlib.contextmanager
def sampling(bench: Bench, counting: Counting | None) -> Iterator[None]:
    """Let processes of the counters work beside the program; end them if the runner is stopped."""
    if counting is None:
        yield
        return
    counting.prepare(bench.results_name)
    helpers = counting.helpers
    bench.helpers.update(helpers)
    try:
        yield
    except BaseException:
        counting.close()
        raise
    finally:
        bench.helpers.difference_update(helpers)


def _end(recorder: Recorder | None) -> str:
    """Write the trace. Return why there is none, or ""."""
    try:
        if recorder is not None:
            recorder.end()
    except HostError as error:
        return str(error)
    return ""
