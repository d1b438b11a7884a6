"""`regatta plan SPEC`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.options import Ready, json_option, make_ready, spec_argument, spec_results_option, way_option
from regatta.host.errors import Problem, SpecError
from regatta.host.printable import printable
from regatta.host.values.host import Wish

if TYPE_CHECKING:
    from regatta.host.values.cell import Cell
    from regatta.planner.plan import HostPlan

_LONG_S = 2.0


@click.command()
@spec_argument
@spec_results_option
@json_option
@way_option
@click.option("--write", is_flag=True, help="Write the plan for the runner.")
@click.option(
    "--rows",
    "shown_rows",
    type=int,
    default=12,
    show_default=True,
    help="Number of rows of the order to show.",
)
def plan(spec: Path, results: Path | None, as_json: bool, way: Wish, write: bool, shown_rows: int) -> None:
    """Show the cells of SPEC, their order, the recorded invocations and the remaining time.

    Runtimes and programs decide which cells are possible, so this fetches and builds them first.
    """
    ready = make_ready(spec, results, way)
    planned = plan_hosts(ready)
    if write:
        click.echo(write_plans(ready, planned), err=True)
        if not as_json:
            return
    value = _describe(ready, planned)
    value["series"] = series_of(
        ready, [cell for host_plan in planned.plans.values() for cell in host_plan.cells]
    )
    if as_json:
        click.echo(json.dumps(value))
    else:
        _show(value, planned.plans, shown_rows)


@dataclass(frozen=True)
class Planned:
    """The plans of an experiment, and the cells that cannot exist or are excluded."""

    plans: Mapping[str, HostPlan]
    #: label of a cell, the reason, and its host
    impossible: list[tuple[str, str, str]]
    excluded: int


def plan_hosts(ready: Ready) -> Planned:
    """Make the plans of all hosts that are ready.

    Raises:
        SpecError: a minheap is missing, or two alternatives are equal.
        HostError: a training run fails on this machine.
    """
    from regatta.planner.plan import plan_host

    with _said_when_long(ready):
        crossings = ready.crossings()
        plans = {
            name: plan_host(ready.experiment, ready.hosts[name], crossing)
            for name, crossing in crossings.items()
        }
    impossible = [
        (label, reason, name) for name, crossing in crossings.items() for label, reason in crossing.impossible
    ]
    return Planned(plans, impossible, sum(crossing.excluded for crossing in crossings.values()))


@contextmanager
def _said_when_long(ready: Ready) -> Iterator[None]:
    """Print the size of the plan to stderr if the work takes longer than a few seconds."""
    from regatta.spec.plan_size import count_cells

    cells = count_cells(ready.experiment)
    hosts = len(ready.hosts)
    text = f"planning {cells:,} cells and {cells * ready.experiment.rounds:,} invocations per host, {hosts} hosts"
    timer = threading.Timer(_LONG_S, click.echo, [text], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def write_plans(ready: Ready, planned: Planned) -> str:
    """Write the plans for the runner, and return their size in words."""
    from regatta.answers.spine.words import counted
    from regatta.fleet.plans import remove_other_plans, write_experiment, write_host_plan, write_runner
    from regatta.store.cells import describe_older_records
    from regatta.store.so_far import forget_so_far

    plans = planned.plans
    with _said_when_long(ready):
        ready.folder.refuse_newer_plans()
        describe_older_records(ready.folder)
        forget_so_far(ready.folder)
        plan_ids = {name: write_host_plan(ready.folder, host_plan) for name, host_plan in plans.items()}
        remove_other_plans(ready.folder, ready.experiment)
        write_runner(ready.folder.runner)
        write_experiment(
            ready.folder, ready.experiment, ready.hosts, planned.impossible, ready.left_out, plan_ids,
            {name: host_plan.canary for name, host_plan in plans.items()},
        )  # fmt: skip
    total = sum(p.row_count for p in plans.values())
    most = "at most " if ready.experiment.stopping else ""
    cells = sum(len(p.cells) for p in plans.values())
    return f"planned {most}{counted(total, 'invocation')} of {counted(cells, 'cell')}"


def _describe(ready: Ready, planned: Planned) -> dict[str, Any]:
    from regatta.answers.spine.proposal import propose_rounds
    from regatta.host.journal.decisions import groups_of, planned_rounds, read_decisions, undecided_groups
    from regatta.store.progress import at_once, recorded_cells

    plans = planned.plans
    limits = vars(ready.experiment.limits)
    recorded = recorded_cells(ready.folder, limits=dict.fromkeys(plans, limits))
    cells = []
    remaining_s = 0.0
    unknown = 0
    all_rounds: list[int] = []
    to_repeat = 0
    undecided = adaptive = 0
    for host, host_plan in plans.items():
        header = host_plan.header("")
        decisions = read_decisions(ready.folder.decisions(host)) if groups_of(header) else {}
        adaptive += len(groups_of(header))
        undecided += len(undecided_groups(header, decisions))
        rounds_of = planned_rounds(header, decisions)
        all_rounds += rounds_of
        for cell, rounds in zip(host_plan.cells, rounds_of, strict=True):
            done = recorded.get((cell.host, cell.cell_id))
            count = min(done.invocations, rounds) if done else 0
            if done is None:
                unknown += rounds
            else:
                again = done.to_repeat(rounds) if limits["retries"] else 0
                to_repeat += again
                remaining_s += (rounds - count + again) * done.median_elapsed_s
            cells.append(
                {
                    "cell_id": cell.cell_id,
                    "label": cell.label,
                    "host": cell.host,
                    "benchmark": cell.benchmark.label,
                    "runtime": cell.runtime,
                    "collector": cell.collector,
                    "modifiers": cell.modifiers,
                    "heap_factor": cell.heap.factor,
                    "heap_mib": cell.heap.mib,
                    "recorded": count,
                    "planned": rounds,
                }
            )
    invocations = sum(all_rounds)
    measured = invocations - unknown
    if unknown and measured:
        known_s = [r.median_elapsed_s for r in recorded.values()]
        remaining_s += unknown * sum(known_s) / len(known_s)
    # All hosts have the order of the experiment.
    remaining_s /= at_once(ready.experiment.order)
    return {
        "experiment": ready.experiment.name,
        "order": ready.experiment.order,
        "seed": ready.experiment.seed,
        "hosts": list(plans),
        "cells": cells,
        "invocations": invocations,
        "recorded": sum(c["recorded"] for c in cells),
        #: recorded, but perturbed
        "to_repeat": to_repeat,
        #: block groups with an adaptive number of rounds, and the undecided ones: with any of these, the planned totals
        #: and the remaining time are upper bounds
        "adaptive": adaptive,
        "undecided": undecided,
        "discarded_rounds": ready.experiment.discarded_rounds,
        "proposal": propose_rounds(ready.experiment, plans, ready.folder),
        "segments": ready.experiment.segments,
        "blocks_a_round": {name: len(p.group_sizes) for name, p in plans.items()},
        "excluded": planned.excluded,
        # Once for all hosts with the same reason.
        "impossible": [list(item) for item in dict.fromkeys(cell[:2] for cell in planned.impossible)],
        "remarks": remarks_on(ready),
        #: null before the first measured cell
        "remaining_s": remaining_s if measured or not unknown else None,
    }


def remarks_on(ready: Ready) -> list[str]:
    """Return each remark on a runtime of the hosts once."""
    runtimes = [runtime for host in ready.hosts.values() for runtime in host.runtimes.values()]
    return list(dict.fromkeys(runtime.remark for runtime in runtimes if runtime.remark))


def series_of(ready: Ready, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the number of series in InfluxDB, and the configured limit (null: no InfluxDB).

    Raises:
        SpecError: the limit is exceeded, or the settings are invalid.
    """
    from regatta.answers.spine.words import counted
    from regatta.influx.series import estimate_series, measured_series
    from regatta.influx.settings import find_settings

    estimate = estimate_series(cells, measured_series(ready.folder))
    settings = find_settings(ready.home)
    if settings is not None and estimate.series > settings.series_limit:
        raise SpecError(
            [
                Problem(
                    settings.where("series_limit"),
                    f"at most {settings.series_limit} series",
                    f"about {estimate.series} of {counted(len(cells), 'cell')} on {counted(len(ready.hosts), 'host')}",
                    "plan fewer cells, or raise the limit; each series uses memory of InfluxDB permanently",
                )
            ]
        )
    return {
        "estimate": estimate.series,
        "known_cells": estimate.known_cells,
        "limit": None if settings is None else settings.series_limit,
    }


def _show(value: dict[str, Any], plans: Mapping[str, HostPlan], shown_rows: int) -> None:
    from regatta.answers.spine.words import counted
    from regatta.cli.tables import plain_console, show_table
    from regatta.figures.text import show_heap
    from regatta.host.values.cell import configuration_name
    from regatta.host.values.experiment import Heap

    console = plain_console()
    header = ("cell", "benchmark", "configuration", "heap", "recorded")
    rows = [
        (
            cell["cell_id"],
            cell["benchmark"],
            configuration_name(cell["runtime"], cell["collector"], cell["modifiers"]),
            show_heap(Heap(cell["heap_factor"], cell["heap_mib"])),
            f"{cell['recorded']}/{cell['planned']}",
        )
        for cell in value["cells"]
    ]
    show_table(
        console, f"{value['experiment']}: {counted(len(rows), 'cell')}", header, rows, left=header[:-1]
    )
    console.print()
    for label, reason in value["impossible"]:
        console.print(f"impossible: {printable(label)}: {printable(reason)}")
    for remark in value["remarks"]:
        console.print(f"note: {printable(remark)}")
    if value["excluded"]:
        console.print(f"cells excluded by the spec: {value['excluded']}")
    for host, host_plan in plans.items():
        console.print(f"order on {host} ({value['order']}, seed {value['seed']}), first {shown_rows} rows:")
        order = next(host_plan.rows(), None)
        for round_, block, position, cell in order[:shown_rows].tolist() if order is not None else []:
            label = printable(host_plan.cells[cell].label)
            console.print(f"  round {round_} block {block} position {position}  {label}")
    left = value["invocations"] - value["recorded"]
    again = f" and {value['to_repeat']} perturbed to repeat" if value["to_repeat"] else ""
    time = (
        "unknown (no measurements yet)" if value["remaining_s"] is None else _duration(value["remaining_s"])
    )
    most = "at most " if value["undecided"] else ""
    if value["adaptive"]:
        decided = value["adaptive"] - value["undecided"]
        console.print(f"rounds decided for {decided} of {value['adaptive']} block groups")
    console.print(value["proposal"]["words"])
    series = value["series"]
    limit = "" if series["limit"] is None else f" (limit {series['limit']:,})"
    console.print(f"series in InfluxDB: about {series['estimate']:,}{limit}")
    console.print(
        f"{most}{counted(value['invocations'], 'invocation')} in {counted(value['segments'], 'segment')} "
        f"on {counted(len(value['hosts']), 'host')}; "
        f"{value['recorded']} recorded, {most}{left} to run{again}; time: {most}{time}"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
