"""`regatta explain CELL`."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.options import json_option, results_option
from regatta.errors import StoreError

if TYPE_CHECKING:
    from regatta.store.folder import Folder


@click.command()
@click.argument("cell")
@results_option
@click.option("--experiment", help="Look only in this experiment.")
@json_option
def explain(cell: str, results: Path, experiment: str | None, as_json: bool) -> None:
    """Print the exact command, environment, pins and limits of CELL (an id, its beginning, or part of a label), and what its records say."""
    from regatta.store.folder import Folder, find_folder

    folders = (
        [find_folder(experiment, results)]
        if experiment
        else [Folder(p.parent) for p in sorted(results.glob("*/plan"))]
    )
    found = [
        (f, h, header, c)
        for f in folders
        for h, header in _headers(f)
        for c in header["cells"]
        if _means(c, cell)
    ]
    if not found:
        raise StoreError(
            str(results), f"a planned cell like {cell!r}", "none", "`regatta plan SPEC` lists the cells"
        )
    values = [_explanation(folder, host, header, entry) for folder, host, header, entry in found]
    if as_json:
        click.echo(json.dumps(values))
        return
    for value in values:
        _show(value)


def _headers(folder: Folder) -> list[tuple[str, dict[str, Any]]]:
    return [(host, folder.host_header(host)) for host in folder.planned_hosts()]


def _means(cell: dict[str, Any], wanted: str) -> bool:
    identity = wanted.split("-r")[0] if wanted.split("-r")[0] else wanted
    return bool(cell["cell_id"].startswith(identity) or wanted in cell["label"])


def command_by_hand(header: dict[str, Any], cell: dict[str, Any], cores: list[int] | None) -> list[str]:
    """One argument vector that does by hand what the runner does: empty directory's environment, pins, limits, timeout."""
    argv = ["env", "-i"]
    environment = {**header["environment"]["set"], **cell["environment"]}
    # The allow-listed ones are the host's own; a shell fills them in.
    argv += [f"{name}={value}" for name, value in sorted(environment.items())]
    argv += [f"REGATTA_SEED={header['seed']}", "REGATTA_RESULTS=results.jsonl", "HOME=.", "TMPDIR=."]
    if cores:
        argv += ["taskset", "-c", ",".join(map(str, cores))]
    limits = {"address_space_mib": ("--as", 1 << 20), "open_files": ("--nofile", 1), "processes": ("--nproc", 1), "core_mib": ("--core", 1 << 20)}  # fmt: skip
    set_limits = [
        f"{limits[k][0]}={int(v) * limits[k][1]}:" for k, v in header["rlimits"].items() if v is not None
    ]
    if set_limits:
        argv += ["prlimit", *set_limits]
    return [*argv, "timeout", "-k", "1", f"{cell['timeout_s']:g}", *cell["argv"]]


def _explanation(folder: Folder, host: str, header: dict[str, Any], cell: dict[str, Any]) -> dict[str, Any]:
    from regatta.store.journal import read_records

    records = [r for r in read_records(folder.path) if r["cell_id"] == cell["cell_id"] and r["host"] == host]
    cores = records[-1]["cores"] if records else None
    wanted = header["cores"]
    pinned = cores if wanted["use"] != "all" or wanted["housekeeping"] or wanted["count"] else None
    allowed = " ".join(f'{name}="${name}"' for name in header["environment"]["allow"])
    by_hand = shlex.join(command_by_hand(header, cell, pinned))
    return {
        "experiment": folder.name,
        "host": host,
        "cell": cell,
        "order": header["order"],
        "seed": header["seed"],
        "cores": cores,
        "rlimits": header["rlimits"],
        "command": 'cd "$(mktemp -d)" && ' + by_hand.replace("env -i ", f"env -i {allowed} ", 1),
        "statuses": dict(Counter(r["status"] for r in records)),
        "reasons": dict(Counter(r["reason"] for r in records if r["reason"])),
        "elapsed_s": sorted(r["elapsed_ns"] / 1e9 for r in records if r["status"] == "ok"),
        "last": records[-1] if records else None,
    }


def _show(value: dict[str, Any]) -> None:
    import statistics

    cell = value["cell"]
    click.echo(f"{cell['label']}  [{cell['cell_id']}]")
    click.echo(
        f"  experiment {value['experiment']} on {value['host']}; order {value['order']}, seed {value['seed']}"
    )
    click.echo(
        f"  cores {value['cores'] or 'not measured yet'}; limits {value['rlimits']}; timeout {cell['timeout_s']:g} s"
    )
    for name, source in cell["arrange"].items():
        click.echo(f"  before it, {source} is copied to {name}")
    for file in cell["files"]:
        click.echo(f"  {file['sha256'][:16]}  {file['path']}")
    if cell["check"]:
        click.echo(f"  checked afterwards by: {shlex.join(cell['check'])}")
    click.echo("run by hand:")
    click.echo(f"  {value['command']}")
    counts = ", ".join(f"{count} {status}" for status, count in value["statuses"].items()) or "none"
    click.echo(f"records: {counts}")
    for reason, count in value["reasons"].items():
        click.echo(f"  {count} x {reason}")
    if value["elapsed_s"]:
        times = value["elapsed_s"]
        click.echo(
            f"  wall time of a process: median {statistics.median(times):.3f} s, {times[0]:.3f} to {times[-1]:.3f} s"
        )
