"""The Grafana of this machine, where it is installed, as a process of the user's own: loopback only, with the boards."""

from __future__ import annotations

import os
from pathlib import Path

import urllib3

from regatta.host.errors import HostError
from regatta.services.folder import ServiceFolder
from regatta.services.local_service import LocalService
from regatta.services.ports import ADDRESS, port_for

SERVICE = "grafana"
ADMIN = "grafana-admin"
USUAL_PORT = 3000
#: longest silence of Grafana while it reads its data source again
RELOAD_S = 10.0
#: where packages and archives put what it serves to browsers
_HOMES = ("/usr/share/grafana", "/usr/local/share/grafana", "/opt/grafana")

#: what the documentation calls `[section] key`, as `GF_SECTION_KEY`
_SETTINGS = {
    "GF_SERVER_PROTOCOL": "http",
    "GF_SERVER_HTTP_ADDR": ADDRESS,
    "GF_LOG_MODE": "console",
    "GF_LOG_LEVEL": "warn",
    "GF_SECURITY_ADMIN_USER": "admin",
    "GF_SECURITY_DISABLE_GRAVATAR": "true",
    "GF_USERS_ALLOW_SIGN_UP": "false",
    "GF_USERS_ALLOW_ORG_CREATE": "false",
    "GF_AUTH_ANONYMOUS_ENABLED": "false",
    "GF_ANALYTICS_REPORTING_ENABLED": "false",
    "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
    "GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES": "false",
    "GF_ANALYTICS_FEEDBACK_LINKS_ENABLED": "false",
    "GF_NEWS_NEWS_FEED_ENABLED": "false",
    "GF_SNAPSHOTS_EXTERNAL_ENABLED": "false",
    "GF_PLUGINS_PLUGIN_ADMIN_ENABLED": "false",
    # From 11.3 on it would fetch some at its start.
    "GF_PLUGINS_PREINSTALL_DISABLED": "true",
}


def installed() -> list[str] | None:
    """The program with its first arguments; None where there is none. `$GF_PATHS_HOME` names its folder where it lies elsewhere."""
    given = os.environ.get("GF_PATHS_HOME")
    for home in map(Path, [given] if given else _HOMES):
        # The second is what it was called up to Grafana 9.3.
        for name, words in (("grafana", ("server",)), ("grafana-server", ())):
            program = home / "bin" / name
            if os.access(program, os.X_OK) and (home / "conf" / "defaults.ini").is_file():
                return [str(program), *words, "--homepath", str(home)]
    return None


class LocalGrafana(LocalService):
    """The Grafana of a user's services."""

    name = SERVICE
    usual_port = USUAL_PORT
    #: at its first start it makes the tables of its own database
    start_s = 180.0
    end_s = 30.0

    def __init__(self, services: ServiceFolder, home: Path) -> None:
        """`home`: the folder with `dashboards/`."""
        super().__init__(services)
        self.home = home

    def start(self, program: list[str], wished_port: int | None, influx: dict[str, str]) -> None:
        """Start it and wait until it answers.

        Args:
            program: as `installed` gives it.
            wished_port: None: the usual one, or another where that is taken.
            influx: the variables that the data source is made from.

        Raises:
            HostError: the wished port is taken, or it does not start.
        """
        port = port_for("Grafana", wished_port, self.port, "--grafana-port")
        folder = self.folder
        folder.mkdir(mode=0o700, exist_ok=True)
        password = self.services.password(ADMIN)
        self.services.secret(ADMIN)
        # Empty: the system's own file is for the system's own Grafana.
        configuration = folder / "grafana.ini"
        self.services.write(configuration, "# Written by `regatta up`. Settings come from the environment.\n")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GF_")}
        environment |= _SETTINGS | influx | self._own_settings(port, folder, password)
        argv = [*program, "--config", str(configuration)]
        if got := self.run(argv, environment, port, lambda: grafana_answers(port)):
            raise HostError(
                f"Grafana on {ADDRESS}:{port}",
                "a server that starts",
                got,
                f"see {self.services.log(SERVICE)}",
            )

    def _own_settings(self, port: int, folder: Path, password: Path) -> dict[str, str]:
        return {
            "GF_SERVER_HTTP_PORT": str(port),
            "GF_PATHS_DATA": str(folder / "data"),
            "GF_PATHS_LOGS": str(folder / "logs"),
            "GF_PATHS_PLUGINS": str(folder / "plugins"),
            "GF_PATHS_PROVISIONING": str(self.home / "dashboards" / "provisioning"),
            "GF_SECURITY_ADMIN_PASSWORD": in_file(password),
            "REGATTA_BOARDS": str(self.home / "dashboards" / "json"),
        }


def grafana_answers(port: int) -> bool:
    """Whether a Grafana that is healthy answers on a port."""
    try:
        pool = urllib3.PoolManager(retries=False)
        return pool.request("GET", f"http://{ADDRESS}:{port}/api/health", timeout=2.0).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def reload_data_source(url: str, services: ServiceFolder) -> str:
    """Let Grafana read its provisioned data source again, and return why it did not, or nothing.

    On the first start of 9.4, Grafana's migration of secrets empties the name of the data source's database, and InfluxDB then
    refuses every query (grafana/grafana#61697).
    """
    headers = urllib3.make_headers(basic_auth=f"admin:{services.secret(ADMIN)}")
    try:
        response = urllib3.PoolManager(retries=False).request(
            "POST", f"{url}/api/admin/provisioning/datasources/reload", headers=headers, redirect=False,
            timeout=RELOAD_S, preload_content=False,
        )  # fmt: skip
        with response:
            status = response.status
    except urllib3.exceptions.HTTPError as error:
        return type(error).__name__
    return "" if status == 200 else f"status {status}"


def in_file(path: Path) -> str:
    """What Grafana's settings and provisioning say for "the text of this file": no secret is in its environment."""
    return f"$__file{{{path}}}"


def data_source(url: str, database: str, reader: str, password: str) -> dict[str, str]:
    """The variables of `dashboards/provisioning`. `password`: as `in_file` gives it."""
    return {
        "REGATTA_INFLUX_URL": url,
        "REGATTA_INFLUX_DATABASE": database,
        "REGATTA_INFLUX_READER": reader,
        "REGATTA_INFLUX_READER_PASSWORD": password,
    }
