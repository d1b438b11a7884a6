"""Start and stop InfluxDB and Grafana, locally or as containers, and write the settings for other commands."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regatta.host.errors import HostError, RegattaError
from regatta.services.accounts import Door
from regatta.services.compose import STATE as COMPOSE
from regatta.services.compose import Compose
from regatta.services.folder import ServiceFolder
from regatta.services.local_grafana import (
    LocalGrafana,
    data_source,
    grafana_answers,
    in_file,
    installed,
    reload_data_source,
)
from regatta.services.local_influx import DATABASE, LocalInflux
from regatta.services.ports import listeners, strangers

Say = Callable[[str], None]

_SETTINGS = """\
# Written by `regatta up`; `regatta down` removes it. configs/influx.example.yml.txt describes all keys.
url: {url}
database: {database}
write: {{user: writer, password_file: passwords/writer}}
read: {{user: reader, password_file: passwords/reader}}
"""


@dataclass(frozen=True)
class StackOptions:
    """The options of the user."""

    docker: bool = False
    grafana: bool = True
    #: None: the usual port, the previous one, or a free one if that is in use.
    port: int | None = None
    grafana_port: int | None = None


@dataclass(frozen=True)
class Up:
    """The running services."""

    url: str
    database: str
    #: Whether it was already up.
    already: bool
    grafana_url: str | None
    #: Why Grafana is not up; "" if it is, or if it was not requested.
    no_grafana: str = ""
    #: Grafana is installed but did not start.
    failed: bool = False


def up(services: ServiceFolder, home: Path, options: StackOptions, say: Say) -> Up:
    """Start the services that are not up, and write the settings.

    Raises:
        HostError: InfluxDB cannot be started (no process is left running), or another host uses its data.
    """
    services.prepare()
    with services.alone():
        LocalInflux(services).refuse_another()
        start = _up_with_docker if options.docker else _up_here
        found = start(services, home, options, say)
        text = _SETTINGS.format(url=json.dumps(found.url), database=json.dumps(found.database))
        if found.grafana_url:
            text += f"grafana_url: {json.dumps(found.grafana_url)}\n"
        services.write(services.settings, text)
    return found


def _up_here(services: ServiceFolder, home: Path, options: StackOptions, say: Say) -> Up:
    if Compose(services, home).is_up:
        raise _other_way("containers that `regatta up --docker` started")
    influx = LocalInflux(services)
    already = influx.process is not None and Door(influx.url).answers()
    if not already:
        if influx.end():
            say("InfluxDB runs but does not answer; restarting it")
        say("starting InfluxDB")
        influx.start(options.port)
    grafana = LocalGrafana(services, home)
    address, why, failed = None, "", False
    if grafana.process is not None:
        address = grafana.url
    elif options.grafana:
        program = installed()
        if program is None:
            why = "Grafana 9.3 or newer is not installed (see grafana.com); `regatta up --docker` provides it"
        else:
            say("starting Grafana")
            password = in_file(services.password("reader"))
            try:
                grafana.start(
                    program, options.grafana_port, data_source(influx.url, DATABASE, "reader", password)
                )
                address = grafana.url
                _reload(address, services, say)
            except RegattaError as error:
                why, failed = str(error), True
    return Up(influx.url, DATABASE, already, address, why, failed)


def _up_with_docker(services: ServiceFolder, home: Path, options: StackOptions, say: Say) -> Up:
    if LocalInflux(services).process is not None:
        raise _other_way("an influxd that `regatta up` started")
    compose = Compose(services, home)
    already = compose.is_up and compose.logs_in()
    if not already:
        say("starting InfluxDB in a container; a missing image is downloaded first")
        compose.start(options.port)
    address, why, failed = None, "", False
    if options.grafana:
        if not grafana_answers(compose.grafana_port) or not already:
            say("starting Grafana in a container; a missing image is downloaded first")
            try:
                compose.start_grafana(options.grafana_port)
                _reload(compose.grafana_url, services, say)
            except RegattaError as error:
                why, failed = str(error), True
        address = None if failed else compose.grafana_url
    return Up(compose.url, DATABASE, already, address, why, failed)


def _reload(url: str, services: ServiceFolder, say: Say) -> None:
    if reason := reload_data_source(url, services):
        say(
            f"warning: Grafana did not reload its data source ({reason}). If dashboards show status 403, run"
            " `regatta down`, then `regatta up`"
        )


def _other_way(got: str) -> HostError:
    return HostError("the services", "none started in another way", got, "run `regatta down` first")


def down(services: ServiceFolder, home: Path, delete: bool) -> list[str]:
    """Stop the services, and remove the settings; with `delete`, also data and passwords. Return those that ran.

    Raises:
        HostError: another host uses the data.
    """
    if not services.root.is_dir():
        return []
    services.prepare()
    with services.alone():
        LocalInflux(services).refuse_another()
        services.settings.unlink(missing_ok=True)
        grafana, influx = LocalGrafana(services, home), LocalInflux(services)
        compose = Compose(services, home)
        ended = {"Grafana": grafana.end(), "InfluxDB": influx.end()}
        ended["the containers"] = (compose.is_up or delete) and compose.end(delete)
        if delete:
            grafana.delete()
            influx.delete()
            for folder in (services.passwords, services.root / "logs"):
                shutil.rmtree(folder, ignore_errors=True)
            for service in (COMPOSE, "influxdb", "grafana"):
                services.state(service).unlink(missing_ok=True)
    return [name for name, was_running in ended.items() if was_running]


def why_not_ours(services: ServiceFolder, port: int) -> str:
    """Return why no password may be sent to loopback `port`; "" if the listener was started by `regatta up`.

    After a crash of influxd or a reboot, any user of the machine can listen on its port.
    """
    if services.read_state(COMPOSE).get("up") is True:
        others = strangers(port)
        return f"a program of user {min(others)} uses port {port}, not Docker" if others else ""
    process = LocalInflux(services).process
    if process is not None and process.listens_on(port):
        return ""
    return "it is not running" + (f", and another program uses port {port}" if listeners(port) else "")
