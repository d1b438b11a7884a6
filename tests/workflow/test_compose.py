"""docker/compose.yml and `regatta up --docker`, with InfluxDB in an image made of Debian's package.

Grafana's image cannot be made without a registry of images: its service is read, not started.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from helpers.docker_engine import DockerEngine
from helpers.experiments.user_services import HOME, POINT, asked, run_here
from helpers.influx_server import free_port
from regatta.host.errors import HostError
from regatta.services.compose import compose_command

IMAGE = "regatta-influxdb:bookworm"


@dataclass
class Containers:
    """Services in containers, of a user who has a cache of their own."""

    engine: DockerEngine
    cache: Path
    said: list[str] = field(default_factory=list)

    def run(self, *words: str, code: int = 0) -> str:
        """Run a command of Regatta's, which must end with `code`; returns what it said."""
        environment = {"REGATTA_CACHE": str(self.cache), "REGATTA_INFLUXDB_IMAGE": IMAGE}
        self.said.append(run_here(words, code, environment))
        return self.said[-1]

    @property
    def state(self) -> dict[str, Any]:
        """What is noted of the containers."""
        noted = json.loads((self.cache / "services" / "compose.json").read_text())
        assert isinstance(noted, dict)
        return noted

    def names(self, *what: str) -> list[str]:
        """Containers, volumes or networks of this project."""
        listed = self.engine.run(
            *what, "--filter", "label=com.docker.compose.project", "--format", "{{json .}}"
        )
        ours = [line for line in listed.splitlines() if self.project in line]
        return sorted(str(json.loads(line).get("Names") or json.loads(line)["Name"]) for line in ours)

    @property
    def project(self) -> str:
        """The name of all that belongs together."""
        from regatta.services.compose import Compose
        from regatta.services.folder import ServiceFolder

        return Compose(ServiceFolder(self.cache / "services"), HOME).project

    def password(self, account: str) -> str:
        """As a user reads it."""
        return (self.cache / "services" / "passwords" / account).read_text().strip()

    def ask(self, path: str, account: str | None, body: str) -> tuple[int, str]:
        """Send a request to InfluxDB; returns the status and what it answers."""
        who = None if account is None else (account, self.password(account))
        return asked(self.state["port"], path, who, body)

    def query(self, query: str, account: str | None) -> tuple[int, str]:
        """Ask InfluxQL."""
        return self.ask("/query?db=regatta", account, urllib.parse.urlencode({"q": query}))


def need_compose() -> None:
    """Skip the test, loudly, where there is no Compose."""
    try:
        compose_command()
    except HostError as error:
        print(f"\nNOT TESTED HERE: docker/compose.yml: {error}", file=sys.__stderr__, flush=True)
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def up(docker_engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    """Services that are up; nothing of them is left at the end."""
    need_compose()
    made = subprocess.run(
        [HOME / "docker/influx/image"], capture_output=True, text=True, check=False, timeout=600
    )
    assert made.returncode == 0, made.stderr
    print(
        "\nNOT TESTED HERE: Grafana's container of docker/compose.yml: no registry of images can be reached",
        file=sys.__stderr__, flush=True,
    )  # fmt: skip
    containers = Containers(docker_engine, tmp_path_factory.mktemp("cache"))
    try:
        containers.run("up", "--docker", "--no-grafana", "--port", str(free_port()))
        yield containers
    finally:
        containers.run("down", "--delete")
        left = [
            *containers.names("ps", "--all"),
            *containers.names("volume", "ls"),
            *containers.names("network", "ls"),
        ]
        assert left == []


def test_each_account_may_do_what_it_is_for_and_nothing_else(up: Containers) -> None:
    assert [up.ask("/write?db=regatta", who, POINT)[0] for who in ("writer", "reader", None)] == [
        204,
        403,
        401,
    ]
    assert up.query("SELECT * FROM event", "reader")[0] == 200
    assert "not authorized" in up.query("SELECT * FROM event", "writer")[1]
    for account in ("writer", "reader"):
        assert "requires admin privilege" in up.query("SHOW USERS", account)[1]
    status, told = up.query("SHOW USERS", "admin")
    assert (status, json.loads(told)["results"][0]["series"][0]["values"]) == (
        200, [["admin", True], ["writer", False], ["reader", False]],
    )  # fmt: skip


def test_it_is_published_on_the_loopback_only_and_becomes_healthy(up: Containers) -> None:
    (name,) = up.names("ps")
    told = json.loads(up.engine.run("inspect", name))[0]
    assert {entry["HostIp"] for entry in told["HostConfig"]["PortBindings"]["8086/tcp"]} == {"127.0.0.1"}
    up.engine.run("exec", name, "/bin/sh", "/regatta/start", "healthy")


def test_no_password_is_in_what_the_engine_or_the_log_shows(up: Containers) -> None:
    (name,) = up.names("ps")
    logs = subprocess.run([up.engine.docker, "logs", name], capture_output=True, text=True, check=True)
    shown = [up.engine.run("inspect", name), logs.stdout, logs.stderr, *up.said, up.engine.run("top", name)]
    secrets = [up.password(account) for account in ("admin", "writer", "reader", "grafana-admin")]
    assert len(set(secrets)) == 4
    assert not [text for text in shown for secret in secrets if secret in text]


@pytest.fixture
def stand_in(up: Containers) -> Iterator[str]:
    """An image in the place of Grafana's, which only waits, as somebody who is not root."""
    name = f"regatta-tests-grafana-{os.getpid()}"
    (container,) = up.engine.run("create", IMAGE).split()
    try:
        changes = ["--change", 'CMD ["sleep", "600"]', "--change", "USER 472"]
        up.engine.run("commit", *changes, container, name)
        yield name
    finally:
        up.engine.run("rm", container)
        up.engine.run("rmi", name)


def test_grafanas_container_waits_for_influxdb_and_can_read_what_it_is_given(
    up: Containers, stand_in: str
) -> None:
    services = up.cache / "services"
    environment = {
        **os.environ, "REGATTA_INFLUXDB_IMAGE": IMAGE, "REGATTA_GRAFANA_IMAGE": stand_in,
        "REGATTA_SECRETS": str(services / "passwords"), "REGATTA_INFLUXDB_PORT": str(up.state["port"]),
        "REGATTA_GRAFANA_PORT": str(free_port()), "REGATTA_UID": str(os.geteuid()),
    }  # fmt: skip
    command = [*compose_command(), "-f", str(HOME / "docker" / "compose.yml"), "-p", up.project]
    done = subprocess.run(
        [*command, "up", "-d", "grafana"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    try:
        (name,) = [name for name in up.names("ps") if "grafana" in name]
        (influxdb,) = [name for name in up.names("ps") if "influxdb" in name]
        assert up.engine.run("inspect", "--format", "{{.State.Health.Status}}", influxdb).strip() == "healthy"
        look = 'echo "$GF_SECURITY_ADMIN_PASSWORD"; cat /run/secrets/grafana_admin /run/secrets/influxdb_reader; ls /run/secrets'
        admin, first, second, *secrets = up.engine.run("exec", name, "sh", "-c", look).split()
        assert admin == "$__file{/run/secrets/grafana_admin}"
        assert (first, second) == (up.password("grafana-admin"), up.password("reader"))
        assert secrets == ["grafana_admin", "influxdb_reader"]
        look = 'ls "$GF_PATHS_PROVISIONING"; ls "$REGATTA_BOARDS" | grep -c json; touch "$REGATTA_BOARDS/x" || echo kept'
        *folders, boards, kept = up.engine.run("exec", name, "sh", "-c", look).split()
        assert {"alerting", "dashboards", "datasources"} <= set(folders)
        assert int(boards) > 0
        assert kept == "kept"
    finally:
        for name in up.names("ps", "--all"):
            if "grafana" in name:
                up.engine.run("rm", "--force", name)


def test_data_and_accounts_outlive_the_containers_and_a_changed_password_counts(up: Containers) -> None:
    assert up.ask("/write?db=regatta", "writer", POINT)[0] == 204
    assert "already running" in up.run("up", "--docker", "--no-grafana")
    refused = up.run("up", "--no-grafana", code=3)
    assert "`regatta up --docker` started" in refused
    assert "run `regatta down` first" in refused
    assert "stopped: the containers" in up.run("down")
    assert not (up.cache / "services" / "influx.yml").exists()
    assert up.names("ps", "--all") == []
    (up.cache / "services" / "passwords" / "writer").write_text("a" * 32)
    up.run("up", "--docker", "--no-grafana")
    assert up.ask("/write?db=regatta", "writer", POINT)[0] == 204
    _, told = up.query("SELECT count(planned) FROM event", "reader")
    assert json.loads(told)["results"][0]["series"][0]["values"][0][1] == 1


def test_a_volume_with_another_administrator_is_told_and_nothing_is_left_running(up: Containers) -> None:
    up.run("down")
    (up.cache / "services" / "passwords" / "admin").write_text("b" * 32)
    told = up.run("up", "--docker", "--no-grafana", code=3)
    assert re.search(r"of admin .*this volume", told)
    assert up.names("ps", "--all") == []


# ---- what can be seen without starting anything ----------------------------------------------------------------------


def compose_file() -> dict[str, Any]:
    """The file, as YAML."""
    read = YAML(typ="safe").load(HOME / "docker" / "compose.yml")
    assert isinstance(read, dict)
    return read


def test_without_a_folder_of_passwords_compose_refuses_to_start() -> None:
    need_compose()
    environment = {key: value for key, value in os.environ.items() if not key.startswith("REGATTA_")}
    command = [
        *compose_command(),
        "-f",
        str(HOME / "docker" / "compose.yml"),
        "-p",
        "regatta-tests",
        "config",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert {"admin", "writer", "reader", "grafana-admin"} <= set(re.findall(r"[\w-]+", done.stderr))
    done = subprocess.run(
        command,
        env={**environment, "REGATTA_SECRETS": "/a folder"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "/a folder/admin" in done.stdout


def test_no_service_has_a_password_in_its_environment_or_is_open_to_the_network() -> None:
    for name, service in compose_file()["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"]), name
        assert "healthcheck" in service, name
        assert service["volumes"][0].startswith(f"{name}:"), name
        for key, value in service["environment"].items():
            if re.search("PASSWORD|TOKEN|SECRET", key):
                assert re.fullmatch(r"\$\$__file\{/run/secrets/(\w+)\}", value), key
                assert value[len("$$__file{/run/secrets/") : -1] in service["secrets"]


def test_containers_and_this_machines_grafana_are_set_up_the_same() -> None:
    from regatta.services.local_grafana import _SETTINGS, data_source

    service = compose_file()["services"]["grafana"]["environment"]
    differing = {"GF_SERVER_PROTOCOL", "GF_SERVER_HTTP_ADDR", "GF_LOG_MODE", "GF_LOG_LEVEL"}
    assert {key: service[key] for key in _SETTINGS.keys() - differing} == {
        key: value for key, value in _SETTINGS.items() if key not in differing
    }
    assert {*data_source("", "", "", ""), "REGATTA_BOARDS", "GF_PATHS_PROVISIONING"} <= service.keys()


def test_no_grafana_asks_the_internet_at_startup() -> None:
    from regatta.services.local_grafana import _SETTINGS

    role = (HOME / "playbooks/roles/grafana/templates/regatta.env.j2").read_text()
    settings = dict(re.findall(r'^(GF_\w+)="([^"]*)"$', role, re.MULTILINE))
    asking = {
        key
        for key in _SETTINGS
        if key.startswith(("GF_ANALYTICS_REPORTING", "GF_ANALYTICS_CHECK", "GF_PLUGINS_PREINSTALL"))
    }
    assert len(asking) == 4
    assert {key: settings[key] for key in asking} == {key: _SETTINGS[key] for key in asking}


def test_shellcheck_passes_on_what_runs_in_the_container() -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    shellcheck = str(beside) if beside.exists() else shutil.which("shellcheck")
    assert shellcheck, "expected shellcheck in .venv or on the PATH"
    scripts = [HOME / "docker/influx/start", HOME / "docker/influx/image"]
    done = subprocess.run([shellcheck, *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
