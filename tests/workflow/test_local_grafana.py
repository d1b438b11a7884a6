"""How `regatta up` starts a Grafana that is installed. GRAFANA ITSELF CANNOT BE HAD HERE: its place is taken by a program that
notes what it is started with and answers as healthy, so that what is tested is the start and the end of a process, its
settings, and that what Grafana would read in the provisioning has the values that are meant (expanded as Grafana documents it).
"""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from helpers.experiments.user_services import END_S, run_here
from helpers.influx_server import free_port, need_influxd

PROGRAM = """#!{python}
import http.server, json, os, sys
with open({note!r}, "w") as file:
    json.dump({{"argv": sys.argv, "environment": dict(os.environ)}}, file)
if {fails}:
    sys.exit("Failed to start grafana. error: invalid password")

class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/api/health" else 404)
        self.end_headers()

    def do_POST(self):
        with open({asked!r}, "a") as file:
            file.write(json.dumps([self.path, self.headers["Authorization"]]) + "\\n")
        self.send_response({reload})
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass

address = (os.environ["GF_SERVER_HTTP_ADDR"], int(os.environ["GF_SERVER_HTTP_PORT"]))
http.server.HTTPServer(address, Health).serve_forever()
"""


@dataclass
class Machine:
    """A machine with a Grafana, of a sort."""

    folder: Path

    @property
    def services(self) -> Path:
        """Where they lie."""
        return self.folder / "cache" / "services"

    @property
    def noted(self) -> dict[str, Any]:
        """How the program was started."""
        noted = json.loads((self.folder / "started.json").read_text())
        assert isinstance(noted, dict)
        return noted

    @property
    def asked(self) -> list[list[str]]:
        """What was posted to the program: paths and credentials."""
        return [json.loads(line) for line in (self.folder / "asked.jsonl").read_text().splitlines()]

    def install(self, name: str = "grafana", fails: bool = False, reload: int = 200) -> None:
        """Install it, under the name that it has since 9.4, or had. `reload`: its answer when told to read data sources again."""
        home = self.folder / "grafana"
        (home / "bin").mkdir(parents=True, exist_ok=True)
        (home / "conf").mkdir(exist_ok=True)
        (home / "conf" / "defaults.ini").touch()
        program = home / "bin" / name
        note = str(self.folder / "started.json")
        asked = str(self.folder / "asked.jsonl")
        text = PROGRAM.format(python=sys.executable, note=note, fails=fails, asked=asked, reload=reload)
        program.write_text(text)
        program.chmod(0o755)

    def run(self, *words: str, code: int = 0) -> str:
        """Run a command of Regatta's; returns what it said."""
        own = {
            "REGATTA_CACHE": str(self.folder / "cache"), "GF_PATHS_HOME": str(self.folder / "grafana"),
            "GF_AUTH_ANONYMOUS_ENABLED": "true",
        }  # fmt: skip
        return run_here(words, code, own)

    @property
    def pid(self) -> int:
        """Of the program."""
        return int(json.loads((self.services / "grafana.json").read_text())["pid"])


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine on which InfluxDB is up, for all tests of this file."""
    need_influxd()
    print(
        "\nNOT TESTED HERE: Grafana itself, which no registry that is reached holds; a stand-in is started in its place",
        file=sys.__stderr__, flush=True,
    )  # fmt: skip
    made = Machine(tmp_path_factory.mktemp("machine"))
    try:
        made.run("up", "--port", str(free_port()))
        yield made
    finally:
        made.run("down", "--delete")


def runs(pid: int) -> bool:
    """Whether a process runs, and is not only waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def await_end(pid: int) -> None:
    """A process that was killed runs until the kernel has come to it."""
    deadline = time.monotonic() + END_S
    while runs(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not runs(pid)


def provisioned(folder: Path, environment: dict[str, str]) -> dict[str, Any]:
    """The only file of a folder of provisioning, as Grafana understands it."""

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: read(one) for key, one in value.items()}
        if isinstance(value, list):
            return [read(one) for one in value]
        return expanded(value, environment) if isinstance(value, str) else value

    (path,) = sorted(folder.glob("*.y*ml"))
    found = read(YAML(typ="safe").load(path.read_text()))
    assert isinstance(found, dict)
    return found


def expanded(text: str, environment: dict[str, str]) -> str:
    """A value of provisioning as Grafana reads it: variables first, then files (docs: "Configure Grafana", variable expansion)."""
    text = re.sub(r"\$(?:__env)?\{(\w+)\}", lambda match: environment.get(match[1], ""), text)
    return re.sub(r"\$__file\{([^}]+)\}", lambda match: Path(match[1]).read_text().strip(), text)


def test_without_one_that_is_said_loudly_and_influxdb_is_up(machine: Machine) -> None:
    assert "no dashboards: Grafana" in machine.run("up")
    assert "grafana_url" not in (machine.services / "influx.yml").read_text()


def test_it_is_started_for_this_machine_alone_with_its_own_settings_and_no_calls_home(
    machine: Machine,
) -> None:
    machine.install()
    port = free_port()
    said = machine.run("up", "--grafana-port", str(port))
    assert (
        f"dashboards: http://127.0.0.1:{port}, user admin, password in {machine.services}/passwords/grafana-admin"
        in said
    )
    assert f'grafana_url: "http://127.0.0.1:{port}"' in (machine.services / "influx.yml").read_text()
    argv, environment = machine.noted["argv"], machine.noted["environment"]
    assert argv[1:4] == ["server", "--homepath", str(machine.folder / "grafana")]
    assert argv[4:] == ["--config", str(machine.services / "grafana" / "grafana.ini")]
    assert environment["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
    off = (
        "USERS_ALLOW_SIGN_UP",
        "AUTH_ANONYMOUS_ENABLED",
        "ANALYTICS_REPORTING_ENABLED",
        "ANALYTICS_CHECK_FOR_UPDATES",
    )
    assert {environment[f"GF_{name}"] for name in off} == {"false"}
    assert environment["GF_PATHS_DATA"].startswith(str(machine.services))
    assert "already running" in machine.run("up")
    pid = machine.pid
    machine.run("up")
    assert machine.pid == pid


def test_it_reads_its_data_source_again_once_it_is_up(machine: Machine) -> None:
    ((path, credentials),) = machine.asked
    assert path == "/api/admin/provisioning/datasources/reload"
    password = (machine.services / "passwords" / "grafana-admin").read_text().strip()
    assert base64.b64decode(credentials.removeprefix("Basic ")).decode() == f"admin:{password}"


def test_no_password_is_in_its_environment_or_on_its_command_line(machine: Machine) -> None:
    told = json.dumps(machine.noted)
    for account in ("admin", "writer", "reader", "grafana-admin"):
        assert (machine.services / "passwords" / account).read_text().strip() not in told
    admin = machine.noted["environment"]["GF_SECURITY_ADMIN_PASSWORD"]
    assert admin == f"$__file{{{machine.services}/passwords/grafana-admin}}"
    assert expanded(admin, {}) == (machine.services / "passwords" / "grafana-admin").read_text().strip()


def test_it_comes_back_after_kill_9_on_the_same_port_and_goes_with_down(machine: Machine) -> None:
    pid = machine.pid
    os.kill(pid, signal.SIGKILL)
    await_end(pid)
    first = machine.noted["environment"]["GF_SERVER_HTTP_PORT"]
    machine.run("up")
    assert machine.pid != pid
    assert machine.noted["environment"]["GF_SERVER_HTTP_PORT"] == first
    pid = machine.pid
    assert "stopped: Grafana, InfluxDB" in machine.run("down")
    await_end(pid)


def test_a_data_source_that_is_not_read_again_is_a_warning_and_no_redirect_gets_the_password(
    machine: Machine,
) -> None:
    machine.install(reload=307)
    asked = len(machine.asked)
    said = machine.run("up")
    assert re.search(r"warning: Grafana .*\(.*status 307.*\)", said)
    assert "dashboards: http://127.0.0.1:" in said
    assert [path for path, _ in machine.asked[asked:]] == ["/api/admin/provisioning/datasources/reload"]
    machine.run("down")


def test_one_that_fails_is_told_and_influxdb_is_up_all_the_same(machine: Machine) -> None:
    (machine.folder / "grafana" / "bin" / "grafana").unlink()
    machine.install("grafana-server", fails=True)
    said = machine.run("up", code=3)
    assert "no dashboards: " in said
    assert "invalid password" in said
    assert "InfluxDB: http://127.0.0.1:" in said
    assert machine.noted["argv"][1] == "--homepath"
    machine.run("up", "--no-grafana")


def test_the_data_source_is_the_readers_and_the_boards_are_found(machine: Machine) -> None:
    environment = machine.noted["environment"]
    folder = Path(environment["GF_PATHS_PROVISIONING"])
    (source,) = provisioned(folder / "datasources", environment)["datasources"]
    settings = YAML(typ="safe").load((machine.services / "influx.yml").read_text())
    assert source["type"] == "influxdb"
    assert source["url"] == settings["url"]
    assert source["user"] == "reader"
    assert (
        source["secureJsonData"]["password"]
        == (machine.services / "passwords" / "reader").read_text().strip()
    )
    assert settings["database"] in (source.get("database"), source.get("jsonData", {}).get("dbName"))
    (provider,) = provisioned(folder / "dashboards", environment)["providers"]
    assert list(Path(provider["options"]["path"]).glob("*.json"))
