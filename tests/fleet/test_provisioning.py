"""Hosts are made ready by the real Ansible over SSH: two x86-64 ones, an aarch64 one, and one that is away."""

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.hosts.host_containers import TestHost
from regatta.fleet.ansible import HostOutcome, run_playbook
from regatta.fleet.zipapp import zipapp_file

ROOT = Path(__file__).parents[2]
#: of the test's own, so that what other tests bring to the same hosts does not matter
FOLDER = "/var/lib/regatta-provisioning"
BIG_MIB = 64
#: Ansible where it has not got what ssh said
BROKEN_PIPE = "Make sure this host can be reached over SSH"
#: A way to a host that takes a part of a big file and then no more, until ssh ends.
RELAY = """
import os, socket, sys, threading, time

parent, peer = os.getppid(), socket.create_connection((sys.argv[1], int(sys.argv[2])))

def back():
    while data := peer.recv(65536):
        while data:
            data = data[os.write(1, data):]
    os._exit(0)

threading.Thread(target=back, daemon=True).start()
left = 24 << 20
while left and (data := os.read(0, min(65536, left))):
    peer.sendall(data)
    left -= len(data)
while os.getppid() == parent and not left:
    time.sleep(0.5)
"""


def staged_folder(folder: Path, name: str, *architectures: str) -> dict[str, Any]:
    """A folder with one file `name`, staged as the controller does it."""
    file = folder / name
    file.write_text(f"{name}\n")
    archive = folder / f"{name}.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(file, f"inside/{name}")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    found = {"name": name, "kind": "folder", "sha256": digest, "staged": str(archive)}
    return {**found, "architectures": list(architectures)} if architectures else found


def staged_file(folder: Path, name: str, contents: bytes) -> dict[str, Any]:
    (folder / name).write_bytes(contents)
    digest = hashlib.sha256(contents).hexdigest()
    return {"name": name, "kind": "file", "sha256": digest, "staged": str(folder / name)}


def supplies_in(folder: Path) -> dict[str, Any]:
    runner = zipapp_file()
    runtimes = [staged_folder(folder, "for-x86", "x86_64"), staged_folder(folder, "for-arm", "aarch64")]
    jar = staged_file(folder, "a.jar", b"a jar" * 1000)
    sources = staged_folder(folder, "sources")
    return {
        "zipapp": {"path": str(runner), "sha256": hashlib.sha256(runner.read_bytes()).hexdigest()},
        "runtimes": {"packages": [], "objects": runtimes},
        "workloads": {
            "packages": [],
            "objects": [jar],
            "sources": {key: sources[key] for key in ("sha256", "staged")},
        },
    }


def there(host: TestHost) -> dict[str, str]:
    """Every file of the folder with its contents, by its path below it."""
    command = f"cd {FOLDER} 2>/dev/null || exit 0; find . -type f -print0 | xargs -0r sha256sum"
    lines = host.exec(["sh", "-c", command]).stdout.splitlines()
    return {path.removeprefix("./"): digest for digest, path in (line.split("  ") for line in lines)}


@dataclass
class Fleet:
    """The hosts, and what was told of them in a dry run, a first run and a second one."""

    inventory: Path
    supplies: dict[str, Any]
    hosts: dict[str, TestHost]
    dry: dict[str, HostOutcome]
    after_dry: dict[str, str]
    first: dict[str, HostOutcome]
    second: dict[str, HostOutcome]

    def run(self, *limit: str, supplies: dict[str, Any] | None = None, **more: Any) -> dict[str, HostOutcome]:
        """Run the playbook with supplies, the fleet's own or others."""
        variables = {"regatta_supplies": supplies or self.supplies}
        return run_playbook(ROOT, "site.yml", self.inventory, limit, variables, **more)


@pytest.fixture(scope="module")
def fleet(x86_hosts: list[TestHost], arm_host: TestHost, tmp_path_factory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("provisioning")
    one, two = x86_hosts
    hosts = {"one": one, "two": two, "arm": arm_host}
    with socket.socket() as closed:  # bound and not listening: nobody else gets the port, and nobody answers
        closed.bind(("127.0.0.1", 0))
        away = {**one.inventory_entry(), "ansible_port": closed.getsockname()[1]}
        entries = {
            "one": one.inventory_entry("root"),
            # A compiler here, where it is quick: bench becomes root for everything that does not say otherwise, and owns the folder.
            "two": two.inventory_entry("bench") | {"toolchain_packages": ["bzip2", "gcc", "libc6-dev"]},
            # What is installed here is installed by an emulated processor.
            "arm": arm_host.inventory_entry("root") | {"toolchain_packages": ["gcc", "make"]},
            "away": away,
        }
        entries["one"]["toolchain_packages"] = ["bzip2"]
        entries["two"]["ansible_become"] = True
        entries["arm"]["base_packages"] = ["python3", "tar"]
        shared = {"regatta_root": FOLDER}
        inventory = folder / "hosts.yml"
        inventory.write_text(json.dumps({"all": {"hosts": entries, "vars": shared}}))
        made = Fleet(inventory, supplies_in(folder), hosts, {}, {}, {}, {})
        made.dry = made.run("one", check=True)
        made.after_dry = there(one)
        seconds = {}
        # What the others show the second time would take the emulated one twenty seconds more.
        for name, limit in (("first", []), ("second", ["one", "two", "away"])):
            start = time.monotonic()
            setattr(made, name, made.run(*limit))
            seconds[name] = f"{time.monotonic() - start:.0f} s"
        print(
            f"provisioning four hosts at once, one of them away: {seconds}", file=sys.__stderr__, flush=True
        )
        yield made


def test_a_dry_run_says_what_it_would_change_and_changes_nothing(fleet):
    assert fleet.dry["one"].ok
    assert fleet.dry["one"].changed >= 4
    assert fleet.after_dry == {}


def test_hosts_are_made_ready_while_one_is_away_and_is_named(fleet):
    assert {name: outcome.ok for name, outcome in fleet.first.items()} == {
        "one": True, "two": True, "arm": True, "away": False,
    }  # fmt: skip
    told = fleet.first["away"].unreachable
    # Where ssh is gone before Ansible has written to it, Ansible tells of the broken pipe and not what ssh said.
    assert "Connection refused" in told or BROKEN_PIPE in told


def test_a_second_run_changes_nothing(fleet):
    assert {name: outcome.changed for name, outcome in fleet.second.items()} == dict.fromkeys(fleet.second, 0)
    assert [name for name, outcome in fleet.second.items() if not outcome.ok] == ["away"]


def test_a_host_holds_what_is_for_its_architecture_and_nothing_else(fleet):
    runner, jar = fleet.supplies["zipapp"]["sha256"], fleet.supplies["workloads"]["objects"][0]["sha256"]
    sources = fleet.supplies["workloads"]["sources"]["sha256"]
    for_machine = {entry["architectures"][0]: entry for entry in fleet.supplies["runtimes"]["objects"]}
    for host in fleet.hosts.values():
        runtime = for_machine[host.architecture]
        assert there(host) == {
            f"bin/regatta-{runner[:16]}.pyz": runner,
            f"objects/{jar}/a.jar": jar,
            f"sources/{sources}/inside/sources": sources,
            f"objects/{runtime['sha256']}/inside/{runtime['name']}": runtime["sha256"],
        }


def test_the_folder_belongs_to_the_one_who_logs_in(fleet):
    for name, user in (("one", "root"), ("two", "bench"), ("arm", "root")):
        listed = fleet.hosts[name].exec(["find", FOLDER, "-printf", "%u\n"]).stdout
        assert set(listed.split()) == {user}


def test_a_compiler_is_installed_by_who_has_to_become_root_for_it(fleet):
    program = "echo 'int main(void) { return 7; }' | gcc -x c - -o /tmp/seven; /tmp/seven; echo $?"
    assert fleet.hosts["two"].exec(["sh", "-c", program]).stdout == "7\n"


def test_a_package_that_the_distribution_lacks_is_left_out_and_the_rest_comes(fleet):
    supplies = json.loads(json.dumps(fleet.supplies))
    supplies["runtimes"]["packages"] = ["regatta-no-such-package", "xz-utils"]
    one = fleet.run("one", supplies=supplies, tags=["runtimes"])["one"]
    assert (one.ok, one.changed) == (True, 1), one
    assert fleet.hosts["one"].exec(["xz", "--version"]).returncode == 0


def test_an_unfit_host_is_refused_with_what_was_expected_and_found_and_the_rest_goes_on(fleet, tmp_path):
    inventory = json.loads(fleet.inventory.read_text())
    inventory["all"]["hosts"]["one"]["base_room_mib"] = 1 << 40
    fleet.inventory.with_name("unfit.yml").write_text(json.dumps(inventory))
    outcomes = run_playbook(ROOT, "site.yml", fleet.inventory.with_name("unfit.yml"), ["one", "two"], {})
    assert f"{FOLDER}: expected {1 << 40} MiB free · got " in outcomes["one"].failed
    assert "fix: free disk space" in outcomes["one"].failed
    assert outcomes["two"].ok


def test_an_altered_runner_is_replaced(fleet):
    host, runner = fleet.hosts["two"], fleet.supplies["zipapp"]["sha256"]
    path = f"{FOLDER}/bin/regatta-{runner[:16]}.pyz"
    host.exec(["sh", "-c", f"echo 'import evil' >>{path}"])
    assert fleet.run("two", tags=["runner"])["two"].changed == 1
    assert there(host)[f"bin/regatta-{runner[:16]}.pyz"] == runner


def test_a_copy_that_is_killed_leaves_nothing_under_its_name_and_the_next_run_makes_it_whole(
    fleet, tmp_path, request
):
    host = fleet.hosts["one"]
    big = staged_file(tmp_path, "big", os.urandom(1 << 20) * BIG_MIB)
    supplies = {**fleet.supplies, "workloads": {"packages": [], "objects": [big], "sources": None}}
    (tmp_path / "supplies.json").write_text(json.dumps(supplies))
    (tmp_path / "relay.py").write_text(RELAY)
    inventory = json.loads(fleet.inventory.read_text())
    relay = f"{sys.executable} {tmp_path / 'relay.py'} %h %p"
    inventory["all"]["hosts"]["one"]["ansible_ssh_common_args"] += f" -o ProxyCommand='{relay}'"
    (tmp_path / "hosts.yml").write_text(json.dumps(inventory))
    program = (
        "import json, sys; from pathlib import Path; from regatta.fleet.ansible import run_playbook; "
        "print(run_playbook(Path(sys.argv[1]), 'site.yml', Path(sys.argv[2]), ['one'], "
        "{'regatta_supplies': json.loads(Path(sys.argv[3]).read_text())}, tags=['workloads']))"
    )
    arguments = [str(ROOT), str(tmp_path / "hosts.yml"), str(tmp_path / "supplies.json")]
    # What a killed run leaves goes with it. The path is short, for the socket of ssh is below it.
    temporary = tempfile.mkdtemp()
    request.addfinalizer(lambda: shutil.rmtree(temporary, ignore_errors=True))
    run = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        start_new_session=True,
        env={**os.environ, "TMPDIR": temporary},
    )
    place = f"objects/{big['sha256']}/big"
    try:
        wait_until(lambda: "incoming/" in " ".join(there_by_size(host)) or run.poll() is not None)
        assert run.poll() is None
    finally:
        run.send_signal(signal.SIGINT)
        run.wait(300)
    assert place not in there(host)
    assert fleet.run("one", supplies=supplies, tags=["workloads"])["one"].changed == 1
    assert there(host)[place] == big["sha256"]
    assert not [path for path in there(host) if path.startswith("incoming/")]
    host.exec(["rm", "-r", f"{FOLDER}/objects/{big['sha256']}"])


def there_by_size(host: TestHost) -> list[str]:
    return host.exec(["find", FOLDER, "-type", "f", "-size", "+0", "-printf", "%P\n"]).stdout.split()


def wait_until(condition):
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
