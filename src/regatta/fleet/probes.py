"""Whether a runtime can run a benchmark at all: asked of the benchmark itself, once for each runtime."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from regatta.errors import HostError
from regatta.fleet.cache import remembered
from regatta.fleet.commands import run_command
from regatta.model.experiment import Benchmark, Experiment, Runtime
from regatta.model.resolved import ResolvedHost
from regatta.model.template import placeholders
from regatta.planner.cells import expand_command, named_files, template_values

#: an interpreter-only JVM on a slow machine needs seconds
_TIMEOUT_S = 120.0


def probe_benchmarks(experiment: Experiment, host: ResolvedHost) -> ResolvedHost:
    """Run the probe of every benchmark on every runtime that is there; what was asked before is remembered.

    Returns:
        The host with `refused_benchmarks`.

    Raises:
        HostError: a probe did not end, or was ended by a signal: nothing is known then.
    """
    refused = {}
    for benchmark in experiment.benchmarks:
        if not benchmark.probe:
            continue
        for runtime in experiment.runtimes:
            if runtime.kind == benchmark.kind and runtime.name in host.runtimes:
                reason = _ask(experiment, host, benchmark, runtime)
                if reason:
                    refused[benchmark.label, runtime.name] = reason
    return replace(host, refused_benchmarks=refused)


def _ask(experiment: Experiment, host: ResolvedHost, benchmark: Benchmark, runtime: Runtime) -> str:
    resolved = host.runtimes[runtime.name]
    named = named_files(benchmark, host)
    values = template_values(experiment, benchmark, named)
    argv = expand_command(benchmark.probe, resolved, runtime.flags, values, host)
    used = sorted({name for argument in benchmark.probe for name in placeholders(argument)} & set(named))
    key = [resolved.identity, argv, [named[name].sha256 for name in used], dict(host.environment)]

    def ask() -> str:
        where = f"probe of {benchmark.label} on {runtime.name}"
        with tempfile.TemporaryDirectory() as folder:
            environment = {**host.environment, **benchmark.environment, "HOME": folder, "TMPDIR": folder}
            done = run_command(argv, where, Path(folder), environment, timeout_s=_TIMEOUT_S, inherited=False)
        if done.returncode == 0:
            return ""
        if done.returncode < 0:
            raise HostError(where, "its end", f"its end by signal {-done.returncode}", "try again")
        lines = [line.strip() for line in done.text.splitlines() if line.strip()]
        return lines[-1] if lines else f"its probe ends with exit code {done.returncode}"

    return str(remembered("probe", key, ask))
