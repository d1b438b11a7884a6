"""`regatta hosts`: the hosts of the inventory, their facts, and changes."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option, way_option
from regatta.host.printable import Lines, printable
from regatta.host.values.host import Wish

if TYPE_CHECKING:
    from regatta.fleet.census import HostEntry


@click.command()
@click.argument("names", nargs=-1)
@way_option
@json_option
def hosts(names: tuple[str, ...], way: Wish, as_json: bool) -> int:
    """List the hosts of the inventory (all, or the named hosts and groups): facts, fitness, and changes since the last time. Exit code 3 if one is unreachable or not prepared."""
    from regatta.fleet.census import take_census
    from regatta.spec.home import find_home
    from regatta.spec.inventory import inventory_path

    home = find_home()
    entries = take_census(home, names, way)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(entry) for entry in entries]))
    elif not entries:
        click.echo(f"no host in {inventory_path(home)}")
    else:
        _show(entries)
    return 3 if any(entry.problem for entry in entries) else 0


def _show(entries: list[HostEntry]) -> None:
    from regatta.cli.tables import plain_console, show_table

    header = ("host", "platforms", "way", "processor", "CPUs", "memory", "system", "fitness")
    rows = []
    for entry in entries:
        facts = entry.facts
        system = " · ".join(filter(None, [facts.get("architecture"), facts.get("os"), facts.get("kernel")]))
        rows.append(
            (
                entry.name, ", ".join(entry.platforms), entry.way, facts.get("cpu", ""), facts.get("cpus", ""),
                facts.get("memory", ""), system, entry.fitness,
            )
        )  # fmt: skip
    console = plain_console()
    show_table(console, f"hosts: {len(entries)}", header, rows, left=header)
    told: dict[str, list[str]] = {}
    for entry in entries:
        for line in _lines(entry):
            told.setdefault(line, []).append(entry.name)
    for line, names in told.items():
        console.print(f"{', '.join(names)}: {printable(Lines(line))}", soft_wrap=True)


def _lines(entry: HostEntry) -> list[str]:
    if entry.problem:
        return [entry.problem]
    lines = [f"{level}: {sentence}" for level, sentence in entry.findings if level != "good"]
    lines += [f"changed: {sentence}" for sentence in entry.changed]
    if entry.jvms:
        lines.append(f"JVMs: {', '.join(sorted(set(entry.jvms.values())))}")
    if abs(entry.clock_off_s) > 1:
        lines.append(f"clock offset from this machine: {entry.clock_off_s:+.1f} s")
    return lines
