"""`regatta minheap SPEC`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import Ready, json_option, make_ready, spec_argument, spec_results_option, way_option
from regatta.host.errors import HostError
from regatta.host.values.host import Wish

if TYPE_CHECKING:
    from regatta.host.values.experiment import Benchmark, Runtime
    from regatta.host.values.resolved import ResolvedHost
    from regatta.spec.minheaps import MinheapsFile

#: all attempts for one benchmark and runtime
_LARGEST_FILE_BYTES = 256 << 20


@click.command()
@spec_argument
@spec_results_option
@json_option
@way_option
@click.option(
    "--receipt", type=click.Path(path_type=Path), help="Also write the minheaps to this file, as JSON."
)
@click.option(
    "--keep",
    is_flag=True,
    help="Also write the minheaps to configs/suites/minheap/, for specs with `minheap: {source: kept}`.",
)
@click.option("--replace", is_flag=True, help="With --keep: replace the files instead of adding to them.")
def minheap(
    spec: Path,
    results: Path | None,
    as_json: bool,
    way: Wish,
    receipt: Path | None,
    keep: bool,
    replace: bool,
) -> None:
    """Find the smallest heap (MiB) in which each Java benchmark of SPEC completes on each runtime, under every collector.

    Attempts are recorded and never repeated. A size counts if several runs in a row complete.
    """
    import json

    from regatta.planner.minheaps import summary

    if replace and not keep:
        raise click.UsageError("--replace: expected together with --keep")
    ready = make_ready(spec, results, way)
    if keep:
        reference = _reference_of(ready)
        _check_keeping(ready, reference, replace)
    found, failed = _search_all(ready)
    if as_json:
        click.echo(json.dumps(summary(found)))
    else:
        _show(found)
    if receipt and not failed:
        _write(found, receipt)
    if keep:
        for path in _keep_minheaps(ready, reference, {key[1:]: heap for key, heap in found.items()}, replace):
            click.echo(f"stored in {path}", err=True)
    _raise_last(failed)


def find_minheaps(ready: Ready, receipt: Path) -> None:
    """Find the minheaps that an experiment needs, print them, and write them to the receipt.

    Raises:
        HostError: a search fails. The others are finished first, and the receipt is not written.
        StoreError: the receipt cannot be written.
    """
    found, failed = _search_all(ready)
    _show(found)
    if not failed:
        _write(found, receipt)
    _raise_last(failed)


#: minheaps in MiB by platform, benchmark and runtime
_Found = dict[tuple[str, str, str], int]


def _search_all(ready: Ready) -> tuple[_Found, list[HostError]]:
    """Return the minheaps, and the errors of searches that failed."""
    from regatta.planner.minheaps import searches

    found: _Found = {}
    failed: list[HostError] = []
    for host, benchmark, runtime in searches(ready.experiment, list(ready.hosts.values())):
        try:
            found[host.platform, benchmark.label, runtime.name] = _search(ready, host, benchmark, runtime)
        except HostError as error:
            # Continue with the others: a search takes hours.
            failed.append(error)
            click.echo(f"minheap of {benchmark.label} on {runtime.name}: not found", err=True)
    return found, failed


def _show(found: _Found) -> None:
    several = len({platform for platform, _, _ in found}) > 1
    for (platform, benchmark_label, runtime_name), heap_mib in found.items():
        where = f" on {platform}" if several else ""
        click.echo(f"{heap_mib:6d} MiB  {benchmark_label} on {runtime_name}{where}")
    if not found:
        click.echo("no benchmark of this spec needs a minheap")


def _write(found: _Found, receipt: Path) -> None:
    from regatta.planner.minheaps import summary
    from regatta.store.receipts import write_preparation

    write_preparation(receipt, {"minheaps": summary(found)})


def _raise_last(failed: list[HostError]) -> None:
    """Print all errors but the last, and raise that one."""
    for earlier in failed[:-1]:
        click.echo(f"error: {earlier}", err=True)
    if failed:
        raise failed[-1]


def _search(ready: Ready, host: ResolvedHost, benchmark: Benchmark, runtime: Runtime) -> int:
    """Search here or on the host; record remote attempts here too."""
    from regatta.host.minheap.search import Attempts, NotMeasured
    from regatta.planner.minheaps import minheap_of_platform, search_of
    from regatta.store.folder import minheap_dir

    wanted = search_of(ready.experiment, host, benchmark, runtime)
    directory = minheap_dir(ready.results)

    def search(attempts: Attempts) -> int:
        agent = ready.agents.get(host.name)
        if agent is None:
            from regatta.host.minheap.running import search_here

            return search_here(attempts)
        try:
            return attempts.known()
        except NotMeasured:
            pass
        path = agent.search_minheap(wanted)
        agent.remote.get(path, attempts.path, _LARGEST_FILE_BYTES)
        return Attempts(directory, wanted).known()

    return minheap_of_platform(Attempts(directory, wanted), search)


# Kept minheaps: configs/suites/minheap/


def _reference_of(ready: Ready) -> tuple[ResolvedHost, Runtime]:
    """Return the single host and the single Java runtime of an experiment for kept minheaps.

    Raises:
        SpecError: there are several, a collector is refused, or parameters are chosen; nothing is measured then.
    """
    from regatta.host.errors import Problem, SpecError
    from regatta.planner.minheaps import accepted_collectors

    experiment = ready.experiment
    runtimes = [runtime for runtime in experiment.runtimes if runtime.kind == "java"]
    hosts = list(ready.hosts.values())
    problems = []

    def expect(what: str, got: str, fix: str) -> None:
        problems.append(Problem(f"{experiment.spec_path}: --keep", what, got, fix))

    if len(runtimes) != 1 or len(hosts) != 1:
        got = f"{len(runtimes)} and {len(hosts)}"
        expect("one Java runtime, the reference, and one host", got, "keep one of each in the spec")
    elif len(accepted_collectors(experiment, hosts[0], runtimes[0])) != len(experiment.collectors):
        got = ", ".join(accepted_collectors(experiment, hosts[0], runtimes[0])) or "none"
        expect(f"{runtimes[0].name} with support for all collectors of the spec", got, "remove the others")
    if any(benchmark.chosen for benchmark in experiment.benchmarks):
        expect("the sizes of the suites", "`parameters`", "remove `parameters`")
    if problems:
        raise SpecError(problems)
    return hosts[0], runtimes[0]


def _check_keeping(ready: Ready, reference: tuple[ResolvedHost, Runtime], replace: bool) -> None:
    """Check before measuring that new minheaps can be added to the kept ones.

    Raises:
        SpecError: the kept ones were measured in another way, and replacing was not requested.
    """
    anything = {(benchmark.label, reference[1].name): 1 for benchmark in ready.experiment.benchmarks}
    for new in _files(ready, reference, anything):
        _merged(ready, new, replace)


def _keep_minheaps(
    ready: Ready,
    reference: tuple[ResolvedHost, Runtime],
    found: Mapping[tuple[str, str], int],
    replace: bool,
) -> list[Path]:
    """Write one file per suite; existing entries stay if they were measured in the same way.

    Raises:
        SpecError: they were measured in another way, and replacing was not requested.
    """
    from regatta.spec.home import minheaps_path
    from regatta.spec.minheaps import minheaps_text
    from regatta.store.folder import replacing

    paths = []
    for new in _files(ready, reference, found):
        text = minheaps_text(_merged(ready, new, replace))
        path = minheaps_path(ready.home, new.suite)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _merged(ready: Ready, new: MinheapsFile, replace: bool) -> MinheapsFile:
    from regatta.host.errors import Problem, SpecError
    from regatta.spec.minheaps import merged_minheaps, read_minheaps

    problems: list[Problem] = []
    there = None if replace else read_minheaps(ready.home, new.suite, problems)
    if problems:
        raise SpecError(problems)
    return merged_minheaps(there, new)


def _files(
    ready: Ready, reference: tuple[ResolvedHost, Runtime], found: Mapping[tuple[str, str], int]
) -> Iterator[MinheapsFile]:
    import platform

    from regatta.spec.minheaps import MinheapsFile

    host, runtime = reference
    experiment = ready.experiment
    heaps: dict[str, dict[str, dict[str, int]]] = {}
    outputs: dict[str, dict[str, dict[str, str]]] = {}
    for benchmark in experiment.benchmarks:
        heap_mib = found.get((benchmark.label, runtime.name))
        if heap_mib is None:
            continue
        suite, name, size = benchmark.suite, benchmark.name, benchmark.size
        heaps.setdefault(suite, {}).setdefault(name, {})[size] = heap_mib
        if benchmark.expect.digest:
            outputs.setdefault(suite, {}).setdefault(name, {})[size] = benchmark.expect.digest
    for suite, measured in heaps.items():
        yield MinheapsFile(
            suite=suite,
            runtime=runtime.name,
            build=host.runtimes[runtime.name].version,
            architecture=platform.machine(),
            collectors=[collector.name for collector in experiment.collectors],
            passes=experiment.minheap_passes,
            iterations=experiment.steady.iterations,
            heaps_mib=measured,
            outputs=outputs.get(suite, {}),
        )
