"""Fake benchmarks: run programs of the suite `lm` with the code of the runner, to check the host.

The idea is from Krun (E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017): check a host with
processes that are started as measured ones are.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from regatta.host.adapters import regatta_lines
from regatta.host.adapters.result import RunOutput
from regatta.host.errors import HostError, SpecError
from regatta.host.measure.host_lock import DEFAULT_LOCK
from regatta.host.measure.host_state import HostState
from regatta.host.measure.perturbation import find_perturbation
from regatta.host.measure.process import (
    Interrupted,
    Launch,
    Outcome,
    StopSignals,
    become_subreaper,
    keep_descriptors,
    run_process,
)
from regatta.host.measure.scratch import results_of, work_of
from regatta.host.measure.segment import lock_host
from regatta.host.ready.resolving import MEASURED_PATH
from regatta.host.values.experiment import Benchmark, Scalar
from regatta.host.values.resolved import File
from regatta.host.values.template import fill, scalar_text
from regatta.spec.registries import read_registry
from regatta.spec.suites import check_suite, resolve_benchmark

SUITE = "lm"
#: program -> values that replace those of its size `quick`
_PROGRAMS: dict[str, dict[str, Scalar]] = {
    "cpu_noise": {},
    "clock_order": {"repetitions": 5},
    "lat_usleep": {"requested_us": "100", "repetitions": 5},
    "mhz": {},
    "line": {},
}
#: total time of `cpu_noise` over all CPUs; the median of its repetitions counts
_NOISE_MS = 5000
_NOISE_REPETITIONS = 5
_LEAST_PERIOD_MS = 20
_LONGEST_PERIOD_MS = 200
#: for all programs together; on a quiet host they take about 10 s
BUDGET_S = 20.0
_OUTPUT_BYTES = 8192
_MAXIMUM_RESULTS_BYTES = 1 << 22
#: limits in percent of the time; all are exceeded, so that each measured value is reported
_TELL_ALL = {"steal_percent": -1, "other_cpu_percent": -1, "memory_pressure_percent": -1}
#: part of the error of a program that could not be pinned to its CPU
CANNOT_BE_USED = "cannot be used"


@dataclass(frozen=True)
class Answer:
    """Result of a program: `rows` as in adapters; `error` is empty after success."""

    error: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[tuple[Any, ...], ...] = ()

    def values(self, metric: str) -> list[float]:
        """Return all values of a metric, in the reported unit."""
        return [row[2] for row in self.rows if row[1] == metric]

    def parameters(self, name: str) -> list[Any]:
        """Return the distinct values of a parameter."""
        return list(dict.fromkeys(row[5][name] for row in self.rows if row[5] and name in row[5]))


def host_benchmarks(home: Path, cpus: int) -> dict[str, Benchmark]:
    """Return the benchmarks of the suite that check a host.

    `cpus`: number of CPUs on which `cpu_noise` runs in sequence; >= 1.

    Raises:
        SpecError: the suite is invalid.
        HostError: the suite does not exist.
    """
    problems: list[Any] = []
    path = home / "configs" / "suites" / f"{SUITE}.yml"
    document = read_registry(path, problems)
    suite = document and check_suite(document, problems, SUITE)
    if problems:
        raise SpecError(problems)
    if not suite:
        raise HostError(str(path), "the suite of micro-benchmarks", "no such file", "use a complete clone")
    period_ms = min(max(_NOISE_MS // (_NOISE_REPETITIONS * cpus), _LEAST_PERIOD_MS), _LONGEST_PERIOD_MS)
    noise: dict[str, Scalar] = {"repetitions": _NOISE_REPETITIONS, "period_ms": period_ms}
    found: dict[str, Benchmark] = {}
    for name, chosen in _PROGRAMS.items():
        spec = suite.model.benchmarks.get(name)
        if spec is None or "quick" not in spec.sizes:
            continue
        known = spec.sizes["quick"].parameters
        wanted = noise if name == "cpu_noise" else chosen
        taken = {key: value for key, value in wanted.items() if key in known}
        found[name] = resolve_benchmark(suite, name, "quick", problems, taken)
    if problems:
        raise SpecError(problems)
    return found


def command_line(benchmark: Benchmark, builds: Mapping[str, Mapping[str, File]]) -> list[str]:
    """Return the command of the benchmark with its parameters and built files."""
    values = {name: scalar_text(value) for name, value in benchmark.parameters.items()}
    values |= {
        f"{name}.{output}": file.path for name, files in builds.items() for output, file in files.items()
    }
    return [fill(argument, values) for argument in benchmark.command]


def read_answer(results: bytes | None, refused: str, failed: str) -> Answer:
    """Read the result of a program.

    Args:
        results: contents of REGATTA_RESULTS; None: no file.
        refused: why the results were not read; empty: they were.
        failed: why the program failed; empty: it succeeded.
    """
    reported = regatta_lines.read(RunOutput(0, 0.0, 0.0, None, results, refused, b"", False), {})
    error = reported.error.removeprefix("the workload reports: ")
    if failed and (not error or error.startswith("no result")):
        error = failed
    return Answer(error, reported.info, tuple(tuple(row) for row in reported.iterations))


@dataclass
class ProgramResults:
    """Results of the programs: `noise` per CPU, `others` by program, and the host state during the noise measurement."""

    noise: dict[int, Answer] = field(default_factory=dict)
    others: dict[str, Answer] = field(default_factory=dict)
    shares: dict[str, float | None] = field(default_factory=dict)
    load1: float | None = None

    @property
    def infos(self) -> list[Mapping[str, float]]:
        """Return the clock information of each successful program."""
        answers = [*self.noise.values(), *self.others.values()]
        return [answer.info for answer in answers if not answer.error and "interval_trusted" in answer.info]


class HostRunner:
    """A context that runs fake benchmarks and holds the lock of the host."""

    def __init__(
        self,
        benchmarks: Mapping[str, Benchmark],
        builds: Mapping[str, Mapping[str, File]],
        cpus: list[int],
        budget_s: float = BUDGET_S,
    ) -> None:
        self._benchmarks = benchmarks
        self._builds = builds
        self._cpus = cpus
        self._budget_s = budget_s
        self._stack = ExitStack()

    def __enter__(self) -> HostRunner:
        # The runner changes the working directory for each process.
        self._stack.callback(os.chdir, os.getcwd())
        self._scratch = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="regatta-check-")))
        self._work = work_of(self._scratch)
        self._results = results_of(self._scratch)
        for folder in (self._work, self._results.parent):
            folder.mkdir()
        lock = lock_host(
            Path(os.environ.get("REGATTA_HOST_LOCK", DEFAULT_LOCK)), self._scratch, "check-host", 0
        )
        self._stack.callback(lock.release)
        become_subreaper()
        keep_descriptors()
        self._stop = self._stack.enter_context(StopSignals())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def steps(self, noisy: list[int]) -> int:
        """Return the number of programs that `run` starts."""
        noises = len(noisy) if "cpu_noise" in self._benchmarks else 0
        return noises + len(self._benchmarks.keys() - {"cpu_noise"})

    def run(self, noisy: list[int], told: Callable[[], None]) -> ProgramResults:
        """Run all programs in sequence.

        `noisy`: the CPUs to check for noise; `told`: called after each program.

        Raises:
            KeyboardInterrupt: a stop was requested.
        """
        heard = ProgramResults()
        self._deadline_s = time.monotonic() + self._budget_s
        if "cpu_noise" in self._benchmarks:
            self._listen(heard, noisy, told)
        for name in self._benchmarks:
            if name != "cpu_noise":
                # Checks of a single CPU use the last one: interrupts go to the first.
                cores = self._cpus if name == "clock_order" else self._cpus[-1:]
                heard.others[name] = self._run(name, cores)[0]
                told()
        return heard

    def _listen(self, heard: ProgramResults, noisy: list[int], told: Callable[[], None]) -> None:
        state = HostState(noisy)
        before, began_s, own_s = state.read(), time.monotonic(), _own_cpu_s()
        for cpu in noisy:
            heard.noise[cpu], cpu_s = self._run("cpu_noise", [cpu])
            own_s -= cpu_s
            told()
        after, elapsed_s = state.read(), time.monotonic() - began_s
        spent_s = _own_cpu_s() - own_s
        found = find_perturbation(_TELL_ALL, before, after, elapsed_s, spent_s, os.cpu_count() or 1)
        known = {
            "steal_percent": before["steal_s"],
            "other_cpu_percent": before["busy_s"],
            "memory_pressure_percent": before["psi_memory_some_us"],
        }
        # Values below the threshold of evidence count as zero.
        heard.shares = {limit: None if value is None else 0.0 for limit, value in known.items()}
        heard.shares.update({each["limit"]: each["measured"] for each in found})
        heard.load1 = before["load1"]

    def _run(self, name: str, cores: list[int]) -> tuple[Answer, float]:
        """Run one program on these CPUs; return its result and its CPU time in s."""
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            return Answer(
                f"not run: the time limit of {self._budget_s:g} s for all programs was reached"
            ), 0.0
        results = self._results
        results.unlink(missing_ok=True)
        launch = Launch(
            argv=command_line(self._benchmarks[name], self._builds),
            environment={
                "PATH": MEASURED_PATH,
                "LC_ALL": "C.UTF-8",
                "REGATTA_RESULTS": str(results),
                "REGATTA_SEED": "1",
            },
            directory=str(self._work),
            timeout_s=left_s,
            output_bytes=_OUTPUT_BYTES,
            cores=frozenset(cores),
        )
        try:
            outcome = run_process(launch, self._stop)
        except Interrupted:
            raise KeyboardInterrupt from None
        except OSError as error:
            # CPU affinity could not be set.
            return Answer(f"{CANNOT_BE_USED}: {error.strerror}"), 0.0
        text, refused = None, ""
        if results.is_file():
            if results.stat().st_size > _MAXIMUM_RESULTS_BYTES:
                refused = "its results exceed the size limit"
            else:
                text = results.read_bytes()
        spent_s = outcome.usage.ru_utime + outcome.usage.ru_stime
        return read_answer(text, refused, _how_it_failed(outcome)), spent_s


def _own_cpu_s() -> float:
    """Return the CPU time of this process in s."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _how_it_failed(outcome: Outcome) -> str:
    if outcome.start_error:
        return outcome.start_error
    if outcome.timed_out:
        return (
            f"terminated after {outcome.elapsed_ns / 1e9:.1f} s: the time limit for all programs was reached"
        )
    if outcome.signal is not None:
        return f"killed by signal {outcome.signal}"
    if outcome.exit_code:
        said = outcome.stderr.kept.decode("utf-8", "replace").strip().splitlines()
        return said[-1] if said else f"exit code {outcome.exit_code}"
    return ""
