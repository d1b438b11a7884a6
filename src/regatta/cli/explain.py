"""`regatta explain CELL`."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.options import json_option, results_option
from regatta.host.errors import StoreError
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.store.folder import Folder

#: Commands are shown in full, so that they can be run.
_LONGEST_COMMAND = 1 << 20


@click.command()
@click.argument("cell")
@results_option
@click.option("--experiment", help="Look only in this experiment.")
@json_option
def explain(cell: str, results: Path, experiment: str | None, as_json: bool) -> None:
    """Print the exact command, environment, pinning and limits of CELL (an id, its beginning, or part of a label), and a summary of its records."""
    from regatta.store.folder import find_folders

    found = [
        (f, h, header, c)
        for f in find_folders(experiment, results)
        for h, header in ((host, f.host_header(host)) for host in f.planned_hosts())
        for c in header["cells"]
        if _means(c, cell)
    ]
    if not found:
        raise StoreError(
            str(results), f"a planned cell like {cell!r}", "none", "list the cells: `regatta plan SPEC`"
        )
    values = [_explanation(folder, host, header, entry) for folder, host, header, entry in found]
    if as_json:
        click.echo(json.dumps(values))
        return
    for value in values:
        _show(value)


def _means(cell: dict[str, Any], wanted: str) -> bool:
    identity = wanted.split("-r")[0] if wanted.split("-r")[0] else wanted
    return bool(cell["cell_id"].startswith(identity) or wanted in cell["label"])


_LIMITS = {
    "address_space_mib": ("--as", 1 << 20),
    "open_files": ("--nofile", 1),
    "processes": ("--nproc", 1),
    "core_mib": ("--core", 1 << 20),
}
#: shown keys of the isolation of a cell
_ISOLATION = ("kind", "image", "memory_mib", "processors", "cpu_quota", "capabilities")
#: commands before and after the measured one
_AROUND = {"prepare": "before each run", "check": "output check", "conclude": "after each run"}
#: variables that the runner derives from its directory, as a shell expression
_PLACES = ['REGATTA_RESULTS="$PWD/results.jsonl"', 'HOME="$PWD"', 'TMPDIR="$PWD"']


def command_by_hand(header: dict[str, Any], cell: dict[str, Any], cores: list[int] | None) -> str:
    """Return one shell line equivalent to the runner: empty directory, copies, environment, pins, limits, timeout."""

    def assigned(variables: dict[str, str]) -> list[str]:
        return [shlex.quote(f"{name}={value}") for name, value in sorted(variables.items())]

    # Later values win, as in the runner.
    where = ["-C", shlex.quote(cell["directory"])] if cell.get("directory") else []
    words = ["env", "-i", *where, *assigned(header["environment"]["set"])]
    words += [*_PLACES, f"REGATTA_SEED={header['seed']}", "REGATTA_INVOCATION=by-hand"]
    words += assigned(cell["environment"])
    if cores:
        words += ["taskset", "-c", ",".join(map(str, cores))]
    limits = {_LIMITS[name]: int(value) for name, value in header["rlimits"].items() if value is not None}
    if limits:
        words += ["prlimit", *(f"{option}={value * unit}:" for (option, unit), value in limits.items())]
    words += ["timeout", "-k", "1", f"{cell['timeout_s']:g}", *map(shlex.quote, cell["argv"])]
    for sign, stream in (("<", "input"), (">", "output")):
        if name := cell.get(stream):
            words += [sign, shlex.quote(str(Path(cell.get("directory", "")) / name))]
    copies = [f"cp {shlex.quote(source)} {shlex.quote(name)}" for name, source in cell["arrange"].items()]
    return " && ".join(['cd "$(mktemp -d)"', *copies, " ".join(words)])


def _explanation(folder: Folder, host: str, header: dict[str, Any], cell: dict[str, Any]) -> dict[str, Any]:
    from regatta.host.journal.attempts import status_under
    from regatta.host.journal.journal import read_records

    records = [r for r in read_records(folder.path) if r["cell_id"] == cell["cell_id"] and r["host"] == host]
    limits = header.get("limits")
    statuses = [status_under(r["status"], r.get("perturbation"), limits) for r in records]
    judged = list(zip(records, statuses, strict=True))
    cores = records[-1].get("cores") if records else None
    wanted = header["cores"]
    chosen = wanted["use"] != "all" or wanted["housekeeping"] or wanted["count"]
    pinned = cores if chosen or cell.get("isolation", {}).get("processors") else None
    return {
        "experiment": folder.name,
        "host": host,
        "cell": cell,
        "order": header["order"],
        "seed": header["seed"],
        "cores": cores,
        "rlimits": header["rlimits"],
        "padding_bytes": header["environment"]["padding_bytes"],
        "command": command_by_hand(header, cell, pinned),
        "roles": [
            {
                "name": role["name"],
                "host": role["host"],
                "command": command_by_hand(header, {**cell, **role}, pinned),
            }
            for role in cell.get("roles", ())
        ],
        "statuses": dict(Counter(statuses)),
        # A record that is valid under the present limits keeps the reason for which it was not.
        "reasons": dict(Counter(r["reason"] for r, status in judged if status != "ok" and r.get("reason"))),
        "elapsed_s": sorted(r["elapsed_ns"] / 1e9 for r, status in judged if status == "ok"),
        "last": records[-1] if records else None,
    }


def _show(value: dict[str, Any]) -> None:
    import statistics

    cell = value["cell"]
    click.echo(f"{printable(cell['label'])}  [{cell['cell_id']}]")
    click.echo(
        f"  experiment {value['experiment']} on {value['host']}; order {value['order']}, seed {value['seed']}"
    )
    click.echo(
        f"  cores {value['cores'] or 'not measured yet'}; limits {value['rlimits']}; timeout {cell['timeout_s']:g} s"
    )
    if isolation := {key: v for key, v in cell.get("isolation", {}).items() if v and key in _ISOLATION}:
        told = ", ".join(f"{key} {v}" for key, v in isolation.items())
        click.echo(f"  isolation: {told}; the command below applies only the processors")
    if counters := cell.get("counters"):
        told = ", ".join([*counters["names"], *counters["raw"]])
        click.echo(f"  counted: {told}; the command below counts nothing")
    if (summary := cell.get("summary", "mean")) != "mean":
        click.echo(f"  value of an invocation: {summary} of its repetitions after warm-up")
    for file in cell["files"]:
        click.echo(f"  {file['sha256'][:16]}  {file['path']}")
    for key, called in _AROUND.items():
        if command := cell.get(key):
            click.echo(f"  {called}: {printable(shlex.join(command), _LONGEST_COMMAND)}")
    if value["padding_bytes"]:
        click.echo(
            f"  padding: REGATTA_PADDING of 0 to {value['padding_bytes']} bytes per invocation, drawn from the seed"
        )
    order = ", in this order, with the addresses of the hosts and what earlier roles print"
    click.echo(f"run by hand{order if value['roles'] else ''}:")
    for role in value["roles"] or [value]:
        if "name" in role:
            click.echo(f"  {role['name']} on {printable(role['host'])}:")
        # Do not indent the lines of a multi-line argument: this would change it.
        for line in f"  {role['command']}".split("\n"):
            click.echo(printable(line, _LONGEST_COMMAND))
    counts = ", ".join(f"{count} {status}" for status, count in value["statuses"].items()) or "none"
    click.echo(f"records: {counts}")
    for reason, count in value["reasons"].items():
        click.echo(f"  {count}x {printable(reason)}")
    if value["elapsed_s"]:
        times = value["elapsed_s"]
        click.echo(
            f"  wall time per process: median {statistics.median(times):.3f} s, range {times[0]:.3f} to {times[-1]:.3f} s"
        )
