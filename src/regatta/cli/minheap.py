"""`regatta minheap SPEC`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.options import json_option, make_ready, spec_argument, spec_results_option

if TYPE_CHECKING:
    from regatta.fleet.minheaps import Attempts
    from regatta.planner.minheap import Attempt


@click.command()
@spec_argument
@spec_results_option
@json_option
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
    spec: Path, results: Path | None, as_json: bool, receipt: Path | None, keep: bool, replace: bool
) -> None:
    """Find the least heap (MiB) in which each Java benchmark of SPEC completes on each runtime, under every collector.

    Every attempt is recorded; what was tried before is not tried again. A size counts when several passes in a row complete.
    """
    import json

    from regatta.errors import HostError
    from regatta.fleet.minheaps import Attempts, pairs, summary
    from regatta.store.folder import minheap_dir, write_json

    if replace and not keep:
        raise click.UsageError("--replace: expected --keep beside it")
    ready = make_ready(spec, results)
    if keep:
        from regatta.cli.minheap_keeping import check_keeping, reference_of

        reference = reference_of(ready)
        check_keeping(ready, reference, replace)
    found: dict[tuple[str, str], int] = {}
    failed: list[HostError] = []
    for host in ready.hosts.values():
        for benchmark, runtime in pairs(ready.experiment, host):
            attempts = Attempts(minheap_dir(ready.results), ready.experiment, host, benchmark, runtime)
            try:
                found[benchmark.label, runtime.name] = _measure(attempts)
            except HostError as error:
                # The others are measured all the same: a night is long.
                failed.append(error)
                click.echo(f"minheap  {benchmark.label} on {runtime.name}: none", err=True)
    if as_json:
        click.echo(json.dumps(summary(found)))
    else:
        for (benchmark_label, runtime_name), heap_mib in found.items():
            click.echo(f"{heap_mib:6d} MiB  {benchmark_label} on {runtime_name}")
        if not found:
            click.echo("no benchmark of this spec needs one")
    if receipt:
        write_json(receipt, summary(found))
    if keep:
        from regatta.cli.minheap_keeping import keep_minheaps

        for path in keep_minheaps(ready, reference, found, replace):
            click.echo(f"kept in {path}", err=True)
    for earlier in failed[:-1]:
        click.echo(f"error: {earlier}", err=True)
    if failed:
        raise failed[-1]


def _measure(attempts: Attempts) -> int:
    """The search, with attempts made where none is recorded."""
    from regatta.fleet.minheaps import NotMeasured

    try:
        return attempts.known()
    except NotMeasured:
        pass
    from regatta.cli.minheap_runs import AttemptRunner

    with AttemptRunner(attempts) as runner:

        def ask(collector: str, heap_mib: int, nth: int) -> Attempt:
            from regatta.fleet.minheaps import attempt_of

            record: dict[str, Any] | None = attempts.remembered(collector, heap_mib, nth)
            if record is None:
                runner.run(collector, heap_mib)
                record = attempts.remembered(collector, heap_mib, nth)
                assert record is not None
                _tell(attempts, collector, heap_mib, record)
            return attempt_of(record)

        return attempts.search(ask)


def _tell(attempts: Attempts, collector: str, heap_mib: int, record: dict[str, Any]) -> None:
    what = f"{attempts.benchmark.label} on {attempts.runtime.name} {collector}"
    print(
        f"minheap  {what}  {heap_mib} MiB: {record['status']} ({record['elapsed_ns'] / 1e9:.1f} s)",
        file=sys.stderr,
        flush=True,
    )
