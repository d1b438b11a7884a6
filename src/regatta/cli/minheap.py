"""`regatta minheap SPEC`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import Ready, json_option, make_ready, spec_argument, spec_results_option, way_option
from regatta.host.values.host import Wish

if TYPE_CHECKING:
    from regatta.host.values.experiment import Benchmark, Runtime
    from regatta.host.values.resolved import ResolvedHost

#: of all attempts for one benchmark and runtime
_LARGEST_FILE_BYTES = 256 << 20


@click.command()
@spec_argument
@spec_results_option
@json_option
@way_option
@click.option(
    "--receipt", type=click.Path(path_type=Path), help="Also write the answer to this file, as JSON."
)
@click.option(
    "--keep",
    is_flag=True,
    help="Also write them to configs/suites/minheap/, for specs that say `minheap: {source: kept}`.",
)
@click.option("--replace", is_flag=True, help="With --keep: begin the files anew instead of adding to them.")
def minheap(
    spec: Path,
    results: Path | None,
    as_json: bool,
    way: Wish,
    receipt: Path | None,
    keep: bool,
    replace: bool,
) -> None:
    """Find the least heap (MiB) in which each Java benchmark of SPEC completes on each runtime, under every collector.

    Every attempt is recorded; what was tried before is not tried again. A size counts when several passes in a row complete.
    """
    import json

    from regatta.host.errors import HostError
    from regatta.planner.minheaps import searches, summary
    from regatta.store.receipts import write_preparation

    if replace and not keep:
        raise click.UsageError("--replace: expected --keep beside it")
    ready = make_ready(spec, results, way)
    if keep:
        from regatta.cli.minheap_keeping import check_keeping, reference_of

        reference = reference_of(ready)
        check_keeping(ready, reference, replace)
    found: dict[tuple[str, str, str], int] = {}
    failed: list[HostError] = []
    for host, benchmark, runtime in searches(ready.experiment, list(ready.hosts.values())):
        try:
            found[host.platform, benchmark.label, runtime.name] = _search(ready, host, benchmark, runtime)
        except HostError as error:
            # The others are measured all the same: a night is long.
            failed.append(error)
            click.echo(f"minheap  {benchmark.label} on {runtime.name}: none", err=True)
    if as_json:
        click.echo(json.dumps(summary(found)))
    else:
        several = len({platform for platform, _, _ in found}) > 1
        for (platform, benchmark_label, runtime_name), heap_mib in found.items():
            where = f" on {platform}" if several else ""
            click.echo(f"{heap_mib:6d} MiB  {benchmark_label} on {runtime_name}{where}")
        if not found:
            click.echo("no benchmark of this spec needs one")
    if receipt:
        write_preparation(receipt, {"minheaps": summary(found)})
    if keep:
        from regatta.cli.minheap_keeping import keep_minheaps

        for path in keep_minheaps(ready, reference, {key[1:]: heap for key, heap in found.items()}, replace):
            click.echo(f"kept in {path}", err=True)
    for earlier in failed[:-1]:
        click.echo(f"error: {earlier}", err=True)
    if failed:
        raise failed[-1]


def _search(ready: Ready, host: ResolvedHost, benchmark: Benchmark, runtime: Runtime) -> int:
    """The search, here or on its host; what was tried there is recorded here too."""
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
