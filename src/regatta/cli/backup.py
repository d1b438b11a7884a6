"""`regatta backup FILE`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.bar import progress_bar
from regatta.cli.options import json_option

if TYPE_CHECKING:
    from regatta.influx.backup_file import Backup
    from regatta.influx.settings import Settings


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--restore", "restoring", is_flag=True, help="Restore FILE to the database.")
@click.option(
    "--patience-s",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Time to retry while InfluxDB is unreachable, in seconds.",
)
@json_option
def backup(file: Path, restoring: bool, patience_s: float, as_json: bool) -> None:
    """Write the whole InfluxDB database to FILE: line protocol, compressed by gzip, with counts and a checksum.

    FILE appears when it is complete; an existing FILE stays until then. --restore validates FILE first, keeps the existing
    points, and verifies the database afterwards.

    Exit codes: 0 complete · 1 points were refused or are missing · 2 wrong settings · 3 InfluxDB is unreachable or refuses
    the account, or FILE is damaged.
    """
    from regatta.cli.options import influx_settings
    from regatta.influx.backup import back_up, patient, restore
    from regatta.influx.client import Client

    settings = patient(influx_settings())
    say = _warn
    reader = Client(settings, "read", patience_s=patience_s, say=say)
    try:
        if restoring:
            writer = Client(settings, "write", patience_s=patience_s, say=say)
            with progress_bar("restoring", of_bytes=True) as progress:
                done = restore(writer, reader, file, progress)
        else:
            with progress_bar("backing up") as progress:
                done = back_up(reader, file, progress)
    finally:
        reader.close()
    _tell(file, settings, done, restoring, as_json)


def _tell(file: Path, settings: Settings, done: Backup, restored: bool, as_json: bool) -> None:
    if as_json:
        import json

        told = {**asdict(done), "file": str(file), "restored": restored, "url": settings.url}
        click.echo(json.dumps({**told, "database": settings.database}))
        return
    series = sum(contents.series for contents in done.measurements.values())
    what = f"{done.points} points in {series} series of {len(done.measurements)} measurements"
    where = f"{settings.database} at {settings.url}"
    if restored:
        click.echo(f"{where}: {what}, from {file}")
    else:
        click.echo(f"{file}: {what}, {file.stat().st_size / 1e6:.1f} MB, from {where}")


def _warn(text: str) -> None:
    click.echo(text, err=True)
