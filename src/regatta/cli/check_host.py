"""`regatta check-host`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option

if TYPE_CHECKING:
    from regatta.fleet.fake_benchmarks import ProgramResults
    from regatta.fleet.host_checks import Check

#: on a larger host noise is measured on this many CPUs, evenly spread, to limit the time
MOST_NOISY_CPUS = 32


@click.command(name="check-host")
@click.option("--cpus", metavar="LIST", help="CPUs for measuring, such as 2-5,8. [default: all]")
@json_option
def check_host(cpus: str | None, as_json: bool) -> None:
    """Check that this host is fit for measuring: pinning, clock, noise, frequency, cache line, sleeps, counters.

    Build the micro-benchmarks and run some of them for at most 20 s. Exit code 3 if a verdict is unfit.
    """
    from regatta.fleet.fake_benchmarks import HostRunner, host_benchmarks
    from regatta.fleet.host_checks import exit_code
    from regatta.host.ready.builds import build
    from regatta.spec.home import find_home

    chosen = _chosen_cpus(cpus)
    noisy = _spread(chosen, MOST_NOISY_CPUS)
    home = find_home()
    benchmarks = host_benchmarks(home, len(noisy))
    wanted = {name: b for benchmark in benchmarks.values() for name, b in benchmark.builds.items()}
    builds = {name: build(b, home) for name, b in wanted.items()}
    with HostRunner(benchmarks, builds, chosen) as runner, _checking_progress(runner.steps(noisy)) as told:
        heard = runner.run(noisy, told)
    checks = _judge(heard, chosen)
    if as_json:
        click.echo(json.dumps({"cpus": chosen, "checks": [check.to_json() for check in checks]}))
    else:
        _show(checks)
    click.get_current_context().exit(exit_code(checks))


def _chosen_cpus(text: str | None) -> list[int]:
    from regatta.host.values.cpu_list import parse_cpu_list

    allowed = sorted(os.sched_getaffinity(0))
    if text is None:
        return allowed
    try:
        chosen = sorted(set(parse_cpu_list(text)))
    except ValueError:
        raise click.BadParameter(
            f"expected CPU numbers and ranges, such as 2-5,8, got {text!r}", param_hint="--cpus"
        ) from None
    if not chosen or not set(chosen) <= set(allowed):
        wrong = ", ".join(map(str, sorted(set(chosen) - set(allowed)))) or "none"
        raise click.BadParameter(
            f"expected available CPUs ({', '.join(map(str, allowed))}), got {wrong}", param_hint="--cpus"
        )
    return chosen


def _spread(cpus: list[int], most: int) -> list[int]:
    """Return at most `most` of the CPUs, evenly spread, including the first."""
    return cpus if len(cpus) <= most else [cpus[i * len(cpus) // most] for i in range(most)]


def _judge(heard: ProgramResults, cpus: list[int]) -> list[Check]:
    from regatta.fleet import host_checks
    from regatta.fleet.kernel_figures import clock_source, kernel_frequency, kernel_line_bytes
    from regatta.host.counters.offering import offer
    from regatta.host.values.counters import NAMES, Counted
    from regatta.spec.process_schema import PerturbationSpec

    return [
        host_checks.check_pinning(heard.noise),
        *host_checks.check_clock(heard.infos, clock_source()),
        host_checks.check_order(heard.others.get("clock_order"), len(cpus)),
        *host_checks.check_noise(heard.noise),
        *host_checks.check_load(heard.shares, PerturbationSpec().model_dump(), heard.load1),
        *host_checks.check_frequency(heard.others.get("mhz"), kernel_frequency(cpus[-1])),
        host_checks.check_line(heard.others.get("line"), kernel_line_bytes(cpus[-1])),
        host_checks.check_sleep(heard.others.get("lat_usleep")),
        *host_checks.check_counters(offer(Counted(NAMES))),
    ]


def _show(checks: list[Check]) -> None:
    from regatta.cli.tables import plain_console, show_table

    console = plain_console()
    rows = [[check.name, check.verdict, check.expected, check.got] for check in checks]
    header = ["check", "verdict", "expected", "got"]
    show_table(console, "this host", header, rows, left=header)
    advised: dict[str, list[str]] = {}
    for check in checks:
        if check.advice:
            advised.setdefault(check.advice, []).append(check.name)
    if advised:
        console.print()
    for advice, names in advised.items():
        console.print(f"fix {', '.join(names)}: {advice}", soft_wrap=True)
    counts = {verdict: sum(c.verdict == verdict for c in checks) for verdict in ("unfit", "doubtful")}
    console.print()
    if any(counts.values()):
        console.print(" · ".join(f"{count} {verdict}" for verdict, count in counts.items() if count))
    else:
        console.print("this host is fit for measuring")


@contextmanager
def _checking_progress(steps: int) -> Iterator[Callable[[], None]]:
    """Yield a progress bar with ETA on a terminal; elsewhere a function that does nothing."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("checking", total=steps)

        def advance() -> None:
            bar.update(task, advance=1)
            bar.refresh()

        yield advance
