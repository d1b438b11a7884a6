"""Benchmarks that are run for what they tell of the host: which programs of the suite `lm`, and what they said.

The idea of Krun (E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017): a host is checked by
what it will be used for, processes that are started as measured ones are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.host.adapters import regatta_lines
from regatta.host.adapters.result import Left
from regatta.host.errors import HostError, SpecError
from regatta.host.values.experiment import Benchmark, Scalar
from regatta.host.values.resolved import File
from regatta.host.values.template import fill, scalar_text
from regatta.spec.registries import read_registry
from regatta.spec.suites import check_suite, resolve_benchmark

SUITE = "lm"
#: program -> values in place of those of its size `quick`
_PROGRAMS: dict[str, dict[str, Scalar]] = {
    "cpu_noise": {},
    "clock_order": {"repetitions": 5},
    "lat_usleep": {"requested_us": "100", "repetitions": 5},
    "mhz": {},
    "line": {},
}
#: `cpu_noise` on all CPUs together, in repetitions of which the median counts
_NOISE_MS = 5000
_NOISE_REPETITIONS = 5
_LEAST_PERIOD_MS = 20
_LONGEST_PERIOD_MS = 200


@dataclass(frozen=True)
class Answer:
    """What a program said: `rows` as adapters give them; `error` is empty when it succeeded."""

    error: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[tuple[Any, ...], ...] = ()

    def values(self, metric: str) -> list[float]:
        """All values of a metric, in the unit that the program reports it in."""
        return [row[2] for row in self.rows if row[1] == metric]

    def parameters(self, name: str) -> list[Any]:
        """The values that a parameter has, each once."""
        return list(dict.fromkeys(row[5][name] for row in self.rows if row[5] and name in row[5]))


def host_benchmarks(home: Path, cpus: int) -> dict[str, Benchmark]:
    """The benchmarks that the suite has of those that look at a host.

    Args:
        home: folder with `configs/`.
        cpus: on how many CPUs `cpu_noise` is to run, one after the other; >= 1.

    Raises:
        SpecError: the suite is wrong.
        HostError: there is no such suite.
    """
    problems: list[Any] = []
    path = home / "configs" / "suites" / f"{SUITE}.yml"
    document = read_registry(path, problems)
    suite = document and check_suite(document, problems, SUITE)
    if problems:
        raise SpecError(problems)
    if not suite:
        raise HostError(str(path), "the suite of micro-benchmarks", "no such file", "take a whole clone")
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
    """The benchmark's command with its parameters and the files that were built."""
    values = {name: scalar_text(value) for name, value in benchmark.parameters.items()}
    values |= {
        f"{name}.{output}": file.path for name, files in builds.items() for output, file in files.items()
    }
    return [fill(argument, values) for argument in benchmark.command]


def read_answer(results: bytes | None, refused: str, failed: str) -> Answer:
    """What a program left.

    Args:
        results: what it wrote to REGATTA_RESULTS; None: nothing.
        refused: why that was not read; empty: it was.
        failed: how it ended, if not with success.
    """
    reported = regatta_lines.read(Left(0, 0.0, 0.0, None, results, refused, b"", False), {})
    error = reported.error.removeprefix("the workload says: ")
    if failed and (not error or error.startswith("no result")):
        error = failed
    return Answer(error, reported.info, tuple(tuple(row) for row in reported.iterations))
