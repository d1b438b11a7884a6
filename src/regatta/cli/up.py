"""`regatta up`: start an InfluxDB and a Grafana for this user."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regatta.services.folder import ServiceFolder
    from regatta.services.stack import StackOptions, Up

_OPEN = (
    "warning: every user of this machine can read the database through its backup port, which requires no password "
    "and cannot be disabled; --docker closes it"
)
_PORTS = click.IntRange(1, 65535)


@click.command()
@click.option(
    "--docker", is_flag=True, help="Use containers (docker/compose.yml) instead of installed programs."
)
@click.option("--port", type=_PORTS, help="Port of InfluxDB. [default: 8086, or a free port]")
@click.option("--grafana-port", type=_PORTS, help="Port of Grafana. [default: 3000, or a free port]")
@click.option("--no-grafana", is_flag=True, help="Start InfluxDB only.")
def up(docker: bool, port: int | None, grafana_port: int | None, no_grafana: bool) -> int:
    """Start InfluxDB, and Grafana with the dashboards if it is installed: on the loopback interface, with generated passwords.

    Every command then also writes its results there, until `regatta down`. Running services stay as they are.

    Grafana is found in /usr/share/grafana, /usr/local/share/grafana or /opt/grafana. If $GF_PATHS_HOME is set, only that
    directory counts: it contains bin/grafana and conf/defaults.ini.

    InfluxDB 1.x has a second port for backups, without a password. It cannot be disabled, so every user of this machine can
    read the database and restore into it. With --docker, that port stays inside the container.
    """
    from regatta.services.stack import StackOptions

    return start(StackOptions(docker, not no_grafana, port, grafana_port))


def start(options: StackOptions) -> int:
    """Start the services and print their addresses; return the exit code."""
    from regatta.services.folder import service_folder
    from regatta.services.stack import up as start_services
    from regatta.spec.home import find_home

    here, home = service_folder(), find_home()
    found = start_services(here, home, options, lambda text: click.echo(text, err=True))
    click.echo(f"InfluxDB: {found.url}{' (already running)' if found.already else ''}")
    if not options.docker:
        click.echo(_OPEN)
    say_where(here, found.url, found.database, found.grafana_url)
    click.echo(f"settings: {here.settings} (all commands use them until `regatta down`)")
    _say_what_is_missing(found, home)
    return 3 if found.failed else 0


def say_where(here: ServiceFolder, url: str, database: str, grafana_url: str | None) -> None:
    """Print the addresses and the location of the passwords."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    reader = shlex.quote(str(here.password("reader")))
    click.echo(f"passwords: {here.passwords}/admin, writer, reader (files readable by you only)")
    click.echo(
        f'client: INFLUX_USERNAME=reader INFLUX_PASSWORD="$(cat {reader})" influx '
        f"-host {parts.hostname} -port {parts.port} -database {database} -precision rfc3339"
    )
    if grafana_url:
        click.echo(f"dashboards: {grafana_url}, user admin, password in {here.password('grafana-admin')}")


def _say_what_is_missing(found: Up, home: Path) -> None:
    from regatta.influx.settings import find_settings
    from regatta.services.folder import service_folder

    if found.no_grafana:
        click.echo(f"no dashboards: {found.no_grafana}", err=True)
    used = find_settings(home)
    if used is None:
        click.echo("not used: $REGATTA_INFLUX disables InfluxDB for all commands", err=True)
    elif used.path != service_folder().settings:
        click.echo(f"not used: commands use {used.path}, which has priority", err=True)
