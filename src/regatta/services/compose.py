"""The services as containers: `docker/compose.yml`, with `docker compose` or the older docker-compose."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from regatta.host.errors import HostError
from regatta.services.accounts import ACCOUNTS, ADMIN, Door, Refused
from regatta.services.folder import START_AFRESH, ServiceFolder
from regatta.services.local_grafana import ADMIN as GRAFANA_ADMIN
from regatta.services.local_grafana import USUAL_PORT as GRAFANA_PORT
from regatta.services.local_grafana import grafana_answers
from regatta.services.local_influx import USUAL_PORT as INFLUX_PORT
from regatta.services.local_service import last_of
from regatta.services.ports import ADDRESS, noted_port, port_for, strangers

STATE = "compose"
START_S = 180.0
#: Long enough to pull images.
_COMMAND_S = 1800.0
_POLL_S = 0.2
_WITHOUT_REGISTRY = (
    "if no registry of images is reachable, run `docker/influx/image`, "
    "then set REGATTA_INFLUXDB_IMAGE=regatta-influxdb:bookworm"
)


class Compose:
    """The containers of a user's services."""

    def __init__(self, services: ServiceFolder, home: Path) -> None:
        """Initialize from `home`, the folder with `docker/` and `dashboards/`."""
        self.services = services
        noted = services.read_state(STATE)
        file = noted.get("file")
        self.file = Path(file) if isinstance(file, str) else home / "docker" / "compose.yml"
        self.is_up = noted.get("up") is True
        #: Whether containers or volumes can exist.
        self.is_known = bool(noted)
        self.port = noted_port(noted.get("port"), INFLUX_PORT)
        self.grafana_port = noted_port(noted.get("grafana_port"), GRAFANA_PORT)
        # An engine can have several users, and a user several caches.
        self.project = f"regatta-{hashlib.sha256(str(services.root).encode()).hexdigest()[:8]}"

    @property
    def url(self) -> str:
        """Return the URL of InfluxDB on this machine."""
        return f"http://{ADDRESS}:{self.port}"

    @property
    def grafana_url(self) -> str:
        """Return the URL of Grafana on this machine."""
        return f"http://{ADDRESS}:{self.grafana_port}"

    def start(self, wished_port: int | None) -> None:
        """Start InfluxDB, and wait until its accounts can log in.

        Raises:
            HostError: Docker or Compose is missing, the image cannot be pulled, or InfluxDB does not start.
        """
        command = compose_command()
        self.port = port_for("InfluxDB", wished_port, self.port, "--port")
        passwords = {name: self.services.secret(name) for name in (*ACCOUNTS, GRAFANA_ADMIN)}
        self._note(up=True)
        try:
            done = self._run(command, "up", "-d", "influxdb")
            if done.returncode != 0:
                no_engine = "daemon" in done.stderr.lower()
                fix = "start the Docker engine (dockerd)" if no_engine else _WITHOUT_REGISTRY
                raise HostError(f"{self.file}:influxdb", "a container that starts", _last(done.stderr), fix)
            self._wait(command, passwords)
        except BaseException:
            self._run(command, "down")
            self._note(up=False)
            raise

    def start_grafana(self, wished_port: int | None) -> None:
        """Start Grafana, and wait until it answers.

        Raises:
            HostError: its image cannot be pulled, or it does not start.
        """
        command = compose_command()
        self.grafana_port = port_for("Grafana", wished_port, self.grafana_port, "--grafana-port")
        self._note(up=True)
        done = self._run(command, "up", "-d", "grafana")
        if done.returncode != 0:
            raise HostError(f"{self.file}:grafana", "a container that starts", _last(done.stderr))
        deadline = time.monotonic() + START_S
        while not grafana_answers(self.grafana_port):
            if time.monotonic() > deadline:
                fix = f"read `docker logs` of the container grafana of {self.project}"
                raise HostError(f"{self.file}:grafana", "a reachable server", "none", fix)
            time.sleep(_POLL_S)

    def logs_in(self) -> bool:
        """Return whether InfluxDB is up and accepts its administrator."""
        if strangers(self.port):
            return False
        return self._can_log_in(ADMIN, self.services.secret(ADMIN), "SHOW USERS")

    def _wait(self, command: list[str], passwords: dict[str, str]) -> None:
        containers = self._run(command, "ps", "-q", "influxdb").stdout.split()
        deadline = time.monotonic() + START_S
        while not all(self._can_log_in(name, passwords[name]) for name in ACCOUNTS):
            if time.monotonic() > deadline or _has_ended(containers):
                done = self._run(command, "logs", "--no-color", "--tail", "3", "influxdb")
                where, expected = f"{self.file}:influxdb", "a database that accepts its accounts"
                raise HostError(where, expected, _last(done.stdout), START_AFRESH)
            time.sleep(_POLL_S)

    def _can_log_in(self, account: str, password: str, query: str = "SHOW DATABASES") -> bool:
        try:
            Door(self.url).ask(query, (account, password))
        except (Refused, HostError):
            return False
        return True

    def end(self, delete: bool) -> bool:
        """Stop and remove the containers, and with `delete` the volumes. Return whether there were any."""
        if not self.is_known:
            return False
        done = self._run(compose_command(), "down", *(["--volumes"] if delete else []))
        if done.returncode != 0:
            raise HostError(str(self.file), "stopped containers", _last(done.stderr))
        was_up = self.is_up
        self._note(up=False)
        return was_up

    def _note(self, up: bool) -> None:
        self.is_up = up
        noted = {"up": up, "port": self.port, "grafana_port": self.grafana_port, "file": str(self.file)}
        self.services.write_state(STATE, noted)

    def _run(self, command: list[str], *words: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "REGATTA_SECRETS": str(self.services.passwords),
            "REGATTA_INFLUXDB_PORT": str(self.port),
            "REGATTA_GRAFANA_PORT": str(self.grafana_port),
            "REGATTA_UID": str(os.geteuid()),
        }
        return subprocess.run(
            [*command, "-f", str(self.file), "-p", self.project, *words],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=_COMMAND_S,
        )  # fmt: skip


def compose_command() -> list[str]:
    """Return the command `docker compose`, or the older docker-compose.

    Raises:
        HostError: neither is installed.
    """
    if shutil.which("docker"):
        command = ["docker", "compose", "version"]
        asked = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
        )
        if asked.returncode == 0:
            return ["docker", "compose"]
        if shutil.which("docker-compose"):
            return ["docker-compose"]
    raise HostError(
        "this machine",
        "Docker with Compose",
        "none",
        "run `apt-get install docker.io docker-compose`, or `regatta up` without --docker",
    )


def _has_ended(containers: list[str]) -> bool:
    """Return whether one of the containers has exited, even if it was restarted."""
    told = subprocess.run(
        ["docker", "inspect", "--format", "{{.RestartCount}} {{.State.Running}}", *containers],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return any(line != "0 true" for line in told.stdout.splitlines())


def _last(text: str) -> str:
    return last_of(text.splitlines()) or "no output"
