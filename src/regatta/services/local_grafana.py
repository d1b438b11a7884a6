"""The installed Grafana as a process of the user: loopback only, with the dashboards."""

from __future__ import annotations

import os
from pathlib import Path

import urllib3

from regatta.services.folder import ServiceFolder
from regatta.services.local_service import LocalService
from regatta.services.ports import ADDRESS, port_for

SERVICE = "grafana"
ADMIN = "grafana-admin"
USUAL_PORT = 3000
#: Maximum time without an answer while Grafana reloads its data source.
RELOAD_S = 10.0
#: Folders where packages and archives install the files for browsers.
_HOMES = ("/usr/share/grafana", "/usr/local/share/grafana", "/opt/grafana")

#: `[section] key` in the documentation, as `GF_SECTION_KEY`.
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
    # From 11.3 on, Grafana would download plugins at startup.
    "GF_PLUGINS_PREINSTALL_DISABLED": "true",
}


def installed() -> list[str] | None:
    """Return the program with its first arguments; None if not installed. `$GF_PATHS_HOME` can name its folder."""
    given = os.environ.get("GF_PATHS_HOME")
    for home in map(Path, [given] if given else _HOMES):
        # The second is its name up to Grafana 9.3.
        for name, words in (("grafana", ("server",)), ("grafana-server", ())):
            program = home / "bin" / name
            if os.access(program, os.X_OK) and (home / "conf" / "defaults.ini").is_file():
                return [str(program), *words, "--homepath", str(home)]
    return None


class LocalGrafana(LocalService):
    """The Grafana of a user's services."""

    name = SERVICE
    usual_port = USUAL_PORT
    #: At the first start Grafana creates its database.
    start_s = 180.0
    end_s = 30.0

    def __init__(self, services: ServiceFolder, home: Path) -> None:
        """Initialize from `home`, the folder with `dashboards/`."""
        super().__init__(services)
        self.home = home

    def start(self, program: list[str], wished_port: int | None, influx: dict[str, str]) -> None:
        """Start it and wait until it answers.

        `program`: as from `installed`; `influx`: the variables of the data source.

        Raises:
            HostError: the wished port is in use, or Grafana does not start.
        """
        port = port_for("Grafana", wished_port, self.port, "--grafana-port")
        folder = self.folder
        folder.mkdir(mode=0o700, exist_ok=True)
        password = self.services.password(ADMIN)
        self.services.secret(ADMIN)
        # Empty, because the system's file configures the system's Grafana.
        configuration = folder / "grafana.ini"
        self.services.write(configuration, "# Written by `regatta up`. Settings come from the environment.\n")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GF_")}
        environment |= _SETTINGS | influx | self._own_settings(port, folder, password)
        argv = [*program, "--config", str(configuration)]
        if got := self.run(argv, environment, port, lambda: grafana_answers(port)):
            raise self.not_started("Grafana", port, "a server that starts", got)

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
    """Return whether a healthy Grafana answers on a port."""
    try:
        pool = urllib3.PoolManager(retries=False)
        return pool.request("GET", f"http://{ADDRESS}:{port}/api/health", timeout=2.0).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def reload_data_source(url: str, services: ServiceFolder) -> str:
    """Make Grafana reload its provisioned data source. Return why that failed, or "".

    On the first start of 9.4, Grafana's migration of secrets clears the database name of the data source, and InfluxDB then
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
    """Return Grafana's syntax for "the text of this file", which keeps secrets out of its environment."""
    return f"$__file{{{path}}}"


def data_source(url: str, database: str, reader: str, password: str) -> dict[str, str]:
    """Return the variables of `dashboards/provisioning`. `password`: as from `in_file`."""
    return {
        "REGATTA_INFLUX_URL": url,
        "REGATTA_INFLUX_DATABASE": database,
        "REGATTA_INFLUX_READER": reader,
        "REGATTA_INFLUX_READER_PASSWORD": password,
    }
