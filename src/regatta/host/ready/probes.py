"""Check whether a runtime can execute a benchmark. Run the probe of the benchmark once per runtime."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from regatta.host.cache import remembered
from regatta.host.errors import HostError
from regatta.host.printable import with_lines
from regatta.host.ready.commands import run_command
from regatta.host.values.commands import expand_command, named_files, template_values
from regatta.host.values.experiment import Benchmark, Experiment, Runtime
from regatta.host.values.resolved import ResolvedHost
from regatta.host.values.template import placeholders

#: exit code of a probe if the runtime cannot execute the benchmark
_NOT_POSSIBLE = 4
#: message of a JVM that is too old for the classes; it precedes any output of the probe
_TOO_OLD = "UnsupportedClassVersionError"
#: an interpreter-only JVM on a slow machine needs seconds
_TIMEOUT_S = 120.0


def probe_benchmarks(experiment: Experiment, host: ResolvedHost) -> ResolvedHost:
    """Run the probe of every benchmark on every available runtime. Results are cached.

    Returns:
        The host with `refused_benchmarks`.

    Raises:
        HostError: a probe ended with an exit code other than 0 or 4. The result is unknown and not cached.
    """
    refused: dict[str, dict[str, str]] = {}
    for benchmark in experiment.benchmarks:
        if not benchmark.probe:
            continue
        for runtime in experiment.runtimes:
            if runtime.kind == benchmark.kind and runtime.name in host.runtimes:
                reason = _ask(experiment, host, benchmark, runtime)
                if reason:
                    refused.setdefault(benchmark.label, {})[runtime.name] = reason
    return replace(host, refused_benchmarks=refused)


def _ask(experiment: Experiment, host: ResolvedHost, benchmark: Benchmark, runtime: Runtime) -> str:
    resolved = host.runtimes[runtime.name]
    named = named_files(benchmark, host)
    values = template_values(experiment, benchmark, named)
    argv = expand_command(benchmark.probe, resolved, runtime.flags, values, host)
    used = sorted({name for argument in benchmark.probe for name in placeholders(argument)} & set(named))
    environment = {**host.environment, **benchmark.environment}
    programs = [host.programs[benchmark.probe[0]].sha256] if benchmark.probe[0] in host.programs else []
    key = [resolved.identity, argv, [named[name].sha256 for name in used], programs, environment]

    def ask() -> str:
        where = f"probe of {benchmark.label} on {runtime.name}"
        with tempfile.TemporaryDirectory() as folder:
            own = {**environment, "HOME": folder, "TMPDIR": folder}
            done = run_command(argv, where, Path(folder), own, timeout_s=_TIMEOUT_S, inherited=False)
        if done.returncode == 0:
            return ""
        lines = [line.strip() for line in done.text.splitlines() if line.strip()]
        too_old = next((line for line in lines if _TOO_OLD in line), "")
        if done.returncode != _NOT_POSSIBLE and not too_old:
            told = with_lines(f"exit {done.returncode}", lines[-4:])
            expected = f"exit 0, or {_NOT_POSSIBLE} if the runtime is not supported"
            raise HostError(where, expected, told, "correct the reported error and run again")
        return too_old or (lines[-1] if lines else "not supported (the probe gives no reason)")

    return str(remembered("probe", key, ask))
