"""InfluxDB and Grafana are set up on a host by the real Ansible, with TLS by an authority of the test's own.

Grafana itself cannot be had without a network: a package that has its name and starts nothing stands in for it, so that
installing and provisioning are tested, and that Grafana takes what is provisioned is not.
"""

import base64
import configparser
import contextlib
import http.server
import json
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.hosts import host_images
from helpers.hosts.certificates import certified
from helpers.hosts.host_containers import HostMaker, TestHost
from regatta.fleet.ansible import HostOutcome, run_playbook
from regatta.host.errors import StoreError
from regatta.influx.client import Client
from regatta.influx.settings import Settings, read_settings

ROOT = Path(__file__).parents[2]
BACKUPS = "/var/backups/influxdb"
CONFIGURATION = Path("/etc/influxdb/influxdb.conf")
MOST_VALUES = 50
SECRETS = {
    name: f"{name}' \\\" {{{{ 7 * 7 }}}} $HOME pass:wörd" for name in ("admin", "writer", "reader", "grafana")
}
RENEWED = "another ' \\ password"
STAND_IN = """\
Package: grafana
Version: 9.3.0
Architecture: all
Maintainer: tests <tests@localhost>
Description: stands in for Grafana, and does nothing
"""
#: the user and the folders that the real package makes
AFTER_INSTALLING = """\
#!/bin/sh
set -e
getent group grafana >/dev/null || groupadd --system grafana
mkdir -p /etc/grafana/provisioning/datasources /etc/grafana/provisioning/dashboards /etc/grafana/provisioning/alerting
"""


def stand_in(folder: Path) -> Path:
    """A package by the name of Grafana's."""
    parts = folder / "package" / "DEBIAN"
    parts.mkdir(parents=True)
    (parts / "control").write_text(STAND_IN)
    (parts / "postinst").write_text(AFTER_INSTALLING)
    (parts / "postinst").chmod(0o755)
    package = folder / "grafana_9.3.0_all.deb"
    subprocess.run(
        ["dpkg-deb", "--build", "--root-owner-group", parts.parent, package], check=True, capture_output=True
    )
    return package


def one_board(folder: Path) -> Path:
    """A folder with one of the boards: each costs seconds here."""
    boards = folder / "boards"
    boards.mkdir()
    shutil.copy(min((ROOT / "dashboards" / "json").glob("*.json")), boards)
    return boards


@dataclass
class Observability:
    """The host, its variables, and what was told of it in a dry run, a first run and a second one."""

    host: TestHost
    address: str
    folder: Path
    entry: dict[str, Any]
    outcomes: dict[str, HostOutcome]
    #: what is there of it, before and after the dry run
    found: list[str]

    def run(
        self, name: str, groups: dict[str, dict[str, dict[str, Any]]] | None = None, **more: Any
    ) -> dict[str, HostOutcome]:
        """Run the playbook for hosts with their variables by group; its words go to the file `NAME.log`."""
        groups = groups or {group: {"one": self.entry} for group in ("influxdb", "grafana")}
        inventory = self.folder / f"{name}.yml"
        children = {group: {"hosts": hosts} for group, hosts in groups.items()}
        inventory.write_text(json.dumps({"all": {"children": children}}))
        return run_playbook(ROOT, "observability.yml", inventory, [], {}, log=self.log(name), **more)

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def ask(self, query: str, account: str | None = "admin", password: str = "") -> tuple[int, Any]:
        """Ask InfluxDB over the network; returns the status and the answer."""
        headers = {}
        if account:
            pair = f"regatta-{account}:{password or SECRETS[account]}".encode()
            headers["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        form = urllib.parse.urlencode({"q": query, "db": "regatta"}).encode()
        request = urllib.request.Request(f"https://{self.address}:8086/query", form, headers)
        trusted = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        try:
            with urllib.request.urlopen(request, timeout=120, context=trusted) as response:
                result = json.load(response)["results"][0]
                assert "error" not in result, result
                return response.status, result.get("series", [])
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["error"]

    def settings(self, writer: str = "writer", **more: Any) -> Settings:
        """The settings by which Regatta reaches it."""
        accounts = {
            purpose: {"user": f"regatta-{name}", "password_file": f"{name}.password"}
            for purpose, name in (("write", writer), ("read", "reader"))
        }
        path = self.folder / "influx.yml"
        settings = {"url": f"https://{self.address}:8086", "ca_file": "ca.pem", **accounts, **more}
        path.write_text(json.dumps(settings))
        return read_settings(path)

    def write(self, lines: str, **how: Any) -> Client:
        client = Client(self.settings(**how), "write", patience_s=120)
        client.write([lines.encode()])
        return client


@pytest.fixture(scope="module")
def observability(hosts: HostMaker, tmp_path_factory) -> Iterator[Observability]:
    folder = tmp_path_factory.mktemp("observability")
    try:
        (host,) = hosts.start(["observability"], host_images.x86())
    except host_images.CannotMakeError as error:
        pytest.skip(f"NOT TESTED HERE: no host for InfluxDB: {error}")
    form = "{{.NetworkSettings.IPAddress}}"
    shown = subprocess.run(
        [host.docker, "inspect", "--format", form, host.container], capture_output=True, text=True
    )
    address = shown.stdout.strip()
    files = certified(folder, address, "127.0.0.1")
    entry = host.inventory_entry("bench") | {
        "influxdb_address": "0.0.0.0",
        "influxdb_name": address,
        "influxdb_certificate_file": str(files.certificate),
        "influxdb_key_file": str(files.key),
        "influxdb_ca_file": str(files.ca),
        "influxdb_max_values_per_tag": MOST_VALUES,
        "influxdb_backup": True,
        "influxdb_backup_keep": 2,
        "grafana_package_file": str(stand_in(folder)),
        "grafana_boards": str(one_board(folder)),
        "grafana_admin_password_file": str(folder / "grafana.password"),
        "grafana_influxdb_reader_password_file": str(folder / "reader.password"),
        "grafana_influxdb_url": f"https://{address}:8086",
        "grafana_influxdb_ca_file": str(files.ca),
    }
    for name, secret in SECRETS.items():
        (folder / f"{name}.password").write_text(f"{secret}\n")
        (folder / f"{name}.password").chmod(0o600)
        if name != "grafana":
            entry[f"influxdb_{name}_password_file"] = str(folder / f"{name}.password")
    # An InfluxDB that somebody has set up, for the dry run alone.
    host.exec(["sh", "-c", f"mkdir {CONFIGURATION.parent}; echo '[data]' >{CONFIGURATION}"])
    hosts_there = {"one": entry | {"influxdb_take_over": True}, "foreign": entry}
    made = Observability(host, address, folder, entry, {}, [there(host)])
    seconds = {}
    with pytest.MonkeyPatch.context() as patch:
        # As much is told as can be: no secret may be in it.
        patch.setenv("ANSIBLE_VERBOSITY", "3")
        for name, check in (("dry", True), ("first", False), ("second", False)):
            began = time.monotonic()
            groups = {"influxdb": hosts_there, "grafana": {"one": entry}} if check else None
            outcomes = made.run(name, groups, check=check)
            made.outcomes[name] = outcomes.pop("one")
            seconds[name] = f"{time.monotonic() - began:.0f} s"
            if check:
                made.outcomes |= outcomes
                made.found.append(there(host))
                host.exec(["rm", "-r", str(CONFIGURATION.parent)])
    print(f"setting up InfluxDB and a stand-in for Grafana: {seconds}", file=sys.__stderr__, flush=True)
    print(
        "\nNOT TESTED HERE: Grafana itself, which no registry here has; a stand-in was installed and provisioned."
        "\nNOT TESTED HERE: systemd, which no container here runs: units and timers are looked at, not started.",
        file=sys.__stderr__, flush=True,
    )  # fmt: skip
    yield made
    hosts.remove([host])


def there(host: TestHost) -> str:
    return host.exec(
        ["find", "/etc/influxdb", "/etc/grafana", "/var/lib/influxdb", BACKUPS], check=False
    ).stdout


def test_a_dry_run_changes_nothing_and_says_that_it_would(observability):
    assert observability.outcomes["dry"].ok, observability.outcomes
    assert observability.outcomes["dry"].changed >= 2
    before, after = observability.found
    assert before == after == f"{CONFIGURATION.parent}\n{CONFIGURATION}\n"


def test_an_influxdb_that_somebody_else_has_set_up_is_refused_until_it_is_said_to_take_it_over(observability):
    refused = observability.outcomes["foreign"]
    assert "InfluxDB: expected none, " in refused.failed
    assert "got another configuration without" in refused.failed
    assert "set influxdb_take_over: true" in refused.failed


def test_the_first_run_sets_up_and_the_second_changes_nothing(observability):
    assert observability.outcomes["first"].ok, observability.outcomes
    assert observability.outcomes["second"] == HostOutcome(True, 0)


def test_each_account_may_do_what_it_is_for_and_no_more(observability):
    observability.write("m,host=a value=1 1\n")
    read = "SELECT value FROM m"
    assert observability.ask(read, "reader")[1][0]["values"] == [["1970-01-01T00:00:00.000000001Z", 1]]
    assert observability.ask(read, "writer")[0] == 403
    with pytest.raises(StoreError, match="403"):
        observability.write("m,host=a value=2 2\n", writer="reader")
    for account in ("writer", "reader"):
        assert observability.ask("SHOW USERS", account)[0] == 403
        assert observability.ask("DROP DATABASE regatta", account)[0] == 403
    assert observability.ask("SHOW USERS")[0] == 200


def test_nobody_comes_in_with_a_wrong_password_or_none(observability):
    assert observability.ask("SHOW DATABASES", None)[0] == 401
    assert observability.ask("SHOW DATABASES", "reader", "wrong")[0] == 401


def test_it_is_reached_by_tls_alone_and_its_certificate_is_checked(observability, tmp_path):
    others = certified(tmp_path, observability.address)
    with pytest.raises(StoreError, match="certificate"):
        observability.write("m value=1 1\n", ca_file=str(others.ca))
    # A server of TLS says 400 to who speaks without, and does nothing more.
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(f"http://{observability.address}:8086/ping", timeout=120)


def test_until_there_was_an_administrator_nobody_else_could_reach_it(observability):
    log = observability.host.exec(["cat", "/var/log/influxdb/influxd.log"]).stdout
    listened = [line.rpartition("addr=")[2] for line in log.splitlines() if "Listening on HTTP" in line]
    assert listened[0] == "127.0.0.1:8086 https=false"
    assert [where.partition(" ")[2] for where in listened[1:]] == ["https=true"]


def test_it_is_configured_as_asked_and_the_index_is_on_the_disk(observability):
    configuration = tomllib.loads(observability.host.exec(["cat", "/etc/influxdb/influxdb.conf"]).stdout)
    assert configuration["data"]["max-values-per-tag"] == MOST_VALUES
    assert configuration["bind-address"] == "127.0.0.1:8088"
    # In a shard with tsi1 the index is a folder.
    assert observability.host.exec(
        ["sh", "-c", "ls -d /var/lib/influxdb/data/regatta/autogen/*/index"]
    ).stdout
    listening = observability.host.exec(["ss", "-Hltn"]).stdout
    assert {line.split()[3].rpartition(":")[2] for line in listening.splitlines()} == {"22", "8086", "8088"}


def test_no_password_is_told_or_lies_where_others_can_read_it(observability):
    told = "".join(observability.log(name).read_text() for name in ("dry", "first", "second"))
    for name, secret in SECRETS.items():
        assert secret not in told
        # Ansible shows JSON, which escapes.
        assert json.dumps(secret)[1:-1] not in told
        found = observability.host.exec(
            [
                "grep",
                "-rlF",
                "-e",
                secret,
                "/etc",
                "/var/lib",
                "/var/log",
                "/tmp",
                "/home",
                "/root",
                "/usr/local",
            ],
            check=False,
        )
        own = {"reader": "reader", "grafana": "admin"}.get(name)
        assert found.stdout.split() == ([f"/etc/grafana/regatta/{own}.password"] if own else [])
    listed = "find /etc/influxdb /etc/grafana/regatta -type f -perm /o+r"
    assert observability.host.exec(["sh", "-c", listed]).stdout.split() == [
        path
        for path in observability.host.exec(["sh", "-c", listed]).stdout.split()
        if path.endswith("ca.pem") or "influxdb.conf." in path
    ]


def test_the_backup_of_the_timer_is_restored_and_old_ones_go(observability):
    host = observability.host
    observability.write('kept,host=a value=1.5,text="x" 1\nkept,host=b value=2 2\n')
    unit = host.exec(["cat", "/etc/systemd/system/regatta-influxdb-backup.service"]).stdout
    (command,) = (
        shlex.split(line.partition("=")[2]) for line in unit.splitlines() if line.startswith("ExecStart=")
    )
    for name in ("2024-of-mine", "20240101T000000Z", "20240102T000000Z"):
        host.exec(["install", "-d", "-o", "influxdb", f"{BACKUPS}/{name}"])
    host.exec([*["setpriv", "--reuid=influxdb", "--regid=influxdb", "--clear-groups"], *command])
    mine, *backups = sorted(host.exec(["ls", BACKUPS]).stdout.split())
    assert mine == "2024-of-mine"
    assert len(backups) == 2
    assert backups[0] == "20240102T000000Z"
    host.exec(
        ["influxd", "restore", "-portable", "-db", "regatta", "-newdb", "again", f"{BACKUPS}/{backups[-1]}"]
    )
    deadline = time.monotonic() + 300
    restored = []
    while not restored:  # first the database is there, its points a moment later
        assert time.monotonic() < deadline
        with contextlib.suppress(AssertionError):
            restored = observability.ask("SELECT * FROM again..kept")[1]
        time.sleep(0.1)
    assert restored == observability.ask("SELECT * FROM regatta..kept")[1] != []


def test_the_timer_is_well_formed(observability):
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read_string(
        observability.host.exec(["cat", "/etc/systemd/system/regatta-influxdb-backup.timer"]).stdout
    )
    assert unit["Timer"]["OnCalendar"] == "daily"
    assert unit["Install"]["WantedBy"] == "timers.target"


def test_boards_and_data_source_are_provisioned_for_grafana(observability):
    host = observability.host
    for source, target in (
        (observability.folder / "boards", "/etc/grafana/regatta/boards"),
        (ROOT / "dashboards/provisioning", "/etc/grafana/provisioning"),
    ):
        files = [file for file in source.rglob("*") if file.is_file()]
        assert files
        for file in files:
            assert host.exec(["cat", f"{target}/{file.relative_to(source)}"]).stdout == file.read_text()
    environment = dict(
        line.split("=", 1)
        for line in host.exec(["cat", "/etc/grafana/regatta/regatta.env"]).stdout.splitlines()
        if not line.startswith("#")
    )
    assert environment["REGATTA_INFLUX_URL"] == f'"https://{observability.address}:8086"'
    assert environment["GF_PLUGINS_PREINSTALL_DISABLED"] == '"true"'
    assert environment["GF_SECURITY_ADMIN_PASSWORD"] == '"$__file{/etc/grafana/regatta/admin.password}"'
    assert host.exec(["cat", "/etc/grafana/regatta/admin.password"]).stdout == SECRETS["grafana"]
    unit = host.exec(["cat", "/etc/systemd/system/grafana-server.service.d/regatta.conf"]).stdout
    assert "[Service]\nEnvironmentFile=/etc/grafana/regatta/regatta.env\n" in unit
    assert "no systemd: Grafana " in observability.log("first").read_text()


REFUSED = {
    "no-password": "influxdb_reader_password_file: expected a file",
    "half": "influxdb_certificate_file and influxdb_key_file",
    "plain": r"influxdb_address: .* got 0\.0\.0\.0",
    "no-grafana": "grafana_package_file, grafana_package_url and grafana_repository",
}


@pytest.fixture(scope="module")
def later(observability) -> dict[str, HostOutcome]:
    """One more run: the host, on which somebody has changed things by hand, and the same with what cannot work."""
    for statement in (
        "CREATE DATABASE others",
        'GRANT ALL ON others TO "regatta-reader"',
        'GRANT ALL ON regatta TO "regatta-writer"',
        'GRANT ALL PRIVILEGES TO "regatta-reader"',
    ):
        assert observability.ask(statement)[0] == 200
    (observability.folder / "writer.password").write_text(RENEWED)
    observability.host.exec(["dpkg", "--purge", "--force-all", "grafana"])
    entry = observability.entry | {"influxdb_retention_days": 30, "influxdb_backup": False}
    hosts = {
        "one": entry,
        "no-password": entry | {"influxdb_reader_password_file": ""},
        "half": entry | {"influxdb_key_file": ""},
        "plain": entry | {"influxdb_certificate_file": "", "influxdb_key_file": ""},
    }
    grafana = {"no-grafana": entry | {"grafana_package_file": ""}}
    return observability.run("later", {"influxdb": hosts, "grafana": grafana})


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_with_what_was_expected_and_how_to_mend_it(later, name):
    assert not later[name].ok
    assert re.search(REFUSED[name], later[name].failed)
    assert "fix: " in later[name].failed


def test_what_was_changed_by_hand_is_mended_and_a_new_password_holds(observability, later):
    assert later["one"].ok, later["one"]
    assert observability.ask("SHOW DATABASES", "writer")[0] == 401
    assert observability.ask("SHOW DATABASES", "writer", RENEWED)[0] == 200
    assert observability.ask("SELECT * FROM m", "writer", RENEWED)[0] == 403
    assert observability.ask("SHOW USERS", "reader")[0] == 403
    assert observability.ask("SHOW MEASUREMENTS ON others", "reader")[0] == 403
    assert observability.ask("SHOW MEASUREMENTS", "reader")[0] == 200
    (policy,) = observability.ask("SHOW RETENTION POLICIES")[1][0]["values"]
    assert policy[:3] == ["autogen", "720h0m0s", "24h0m0s"]
    left = observability.host.exec(["sh", "-c", "ls /etc/systemd/system /usr/local/sbin"]).stdout
    assert "regatta-influxdb-backup" not in left
    assert len(observability.host.exec(["ls", BACKUPS]).stdout.split()) == 3


def test_where_another_administrator_is_what_was_taken_over_is_as_it_was(observability, later):
    host = observability.host
    host.exec(["rm", "/var/lib/influxdb/regatta-accounts"])
    host.exec(["sed", "-i", "1s/.*/# of somebody else/", str(CONFIGURATION)])
    host.exec(["chmod", "0644", str(CONFIGURATION)])
    shown = ["sh", "-c", f"cat {CONFIGURATION}; stat -c '%a %U %G' {CONFIGURATION}"]
    before = host.exec(shown).stdout
    other = observability.entry["influxdb_reader_password_file"]
    entry = observability.entry | {"influxdb_take_over": True, "influxdb_admin_password_file": other}
    outcome = observability.run("taken", {"influxdb": {"one": entry}})["one"]
    assert "account regatta-admin: " in outcome.failed
    assert "got another password" in outcome.failed
    assert "previous state is restored" in outcome.failed
    assert host.exec(shown).stdout == before
    deadline = time.monotonic() + 300
    while True:  # it was started a moment ago
        try:
            assert observability.ask("SHOW USERS")[0] == 200
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


class Logins(http.server.BaseHTTPRequestHandler):
    """Answers as Grafana does: as healthy, and to who logs in."""

    accounts: dict[str, str]

    def do_POST(self):
        # The data source is read again.
        self.do_GET()

    def do_GET(self):
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        user, _, password = base64.b64decode(given).decode().partition(":")
        body = b'{"database": "ok"}' if self.path == "/api/health" else b"{}"
        known = self.path == "/api/health" or (password and self.accounts.get(user) == password)
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


VERIFYING = """\
- hosts: grafana
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: grafana, tasks_from: verify.yml}
      vars: {grafana_become: false}
"""
#: what the administrator is called, and who Grafana lets in
LETS_IN = {
    "right": ("admin", {"admin": SECRETS["grafana"]}),
    "another-password": ("admin", {"admin": "changed"}),
    "known-to-all": ("root", {"root": SECRETS["grafana"], "admin": "admin"}),
}


def test_a_grafana_is_refused_whose_administrator_has_another_password_or_the_one_that_everybody_knows(
    tmp_path,
):
    (tmp_path / "playbooks").mkdir()
    for path in (ROOT / "playbooks").iterdir():
        (tmp_path / "playbooks" / path.name).symlink_to(path)
    (tmp_path / "playbooks" / "verify.yml").write_text(VERIFYING)
    secret = tmp_path / "password"
    secret.write_text(SECRETS["grafana"] + "\n")
    with contextlib.ExitStack() as servers:
        hosts = {}
        for name, (admin, accounts) in LETS_IN.items():
            handler = type(name, (Logins,), {"accounts": accounts})
            server = servers.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
            threading.Thread(target=server.serve_forever).start()
            servers.callback(server.shutdown)
            hosts[name] = {
                "ansible_connection": "local", "ansible_python_interpreter": sys.executable,
                "grafana_port": server.server_port, "grafana_admin": admin,
                "grafana_admin_password_file": str(secret),
            }  # fmt: skip
        inventory = tmp_path / "inventory.yml"
        inventory.write_text(json.dumps({"all": {"children": {"grafana": {"hosts": hosts}}}}))
        outcomes = run_playbook(tmp_path, "verify.yml", inventory, [], {}, log=tmp_path / "log")
    assert {name: outcome.ok for name, outcome in outcomes.items()} == {
        name: name == "right" for name in LETS_IN
    }, (tmp_path / "log").read_text()
    assert "got another password: " in outcomes["another-password"].failed
    assert re.search(r"got .*login as admin\b", outcomes["known-to-all"].failed)
    assert "admin reset-admin-password --password-from-stdin" in outcomes["known-to-all"].failed
    assert SECRETS["grafana"] not in (tmp_path / "log").read_text()
