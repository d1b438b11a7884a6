"""Preparing the hosts of an experiment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from regatta.fleet import preparing_remote
from regatta.fleet.ansible import HostOutcome
from regatta.fleet.preparing import make_hosts_ready
from regatta.fleet.remote.here import Here
from regatta.host.cache import made_directory
from regatta.host.errors import HostError
from regatta.host.ready.unpacking import unpack
from regatta.host.values.experiment import Experiment
from regatta.host.values.host import Wish
from regatta.planner.cells import cross
from regatta.spec.load import load_spec


def test_an_experiment_on_this_machine_imports_nothing_for_other_hosts() -> None:
    others = {"regatta.fleet.preparing_remote", "regatta.fleet.ansible", "http.client", "urllib.request"}
    code = f"import sys, regatta.fleet.preparing; print(sorted({others} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SUITE = """\
suite: own
benchmarks:
  b: {kind: program, command: ["{runtime}", one]}
"""
SPEC = """\
name: s
suites: own.yml
platforms: [p]
define:
  runtimes:
    there: {kind: program, provider: path, path: /bin/sh}
    other: {kind: program, provider: path, path: /bin/cat}
RUNTIMES
benchmarks: [{suite: own, benchmark: b}]
invocations: {fixed: 1}
"""
MISSING = {
    "path": "{kind: program, provider: path, path: no-such-program}",
    "apt": "{kind: program, provider: apt, package: regatta-no-such, program: /usr/bin/regatta-no-such}",
    "build": "{kind: program, provider: build, directory: src, command: [cc], needs: [no-such-cc], program: x}",
}


@dataclass
class Home:
    """A home with hosts of one platform, which are all this machine."""

    folder: Path

    def experiment(
        self, runtimes: str, hosts: tuple[str, ...] = ("one", "two"), used: str = ""
    ) -> Experiment:
        entries = {
            name: {"ansible_connection": "local", "regatta_root": str(self.folder / name)} for name in hosts
        }
        inventory = {"all": {"children": {"p": {"hosts": entries}}}}
        (self.folder / "configs/hosts/fleet.yml").write_text(json.dumps(inventory))
        (self.folder / "spec.yml").write_text(SPEC.replace("RUNTIMES", f"    {runtimes}\nruntimes: [{used}]"))
        return load_spec(self.folder / "spec.yml", self.folder)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    for name, text in {
        "configs/runtimes.yml": "runtimes: {}", "own.yml": SUITE, "src/x": "", "configs/hosts/x": "",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return Home(tmp_path)


def _empty(folder: Path) -> None:
    pass


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Nodes of Slurm are this machine, answered by the zipapp; Ansible only copies. Holds whom it was asked for."""
    asked: list[str] = []

    def playbook(
        home: Path, name: str, inventory: Path, hosts: list[str], variables: Any, **_: Any
    ) -> dict[str, HostOutcome]:
        asked.extend(hosts)
        for staged in variables["regatta_supplies"]["runtimes"]["objects"]:
            for host in hosts:
                unpack(
                    Path(staged["staged"]),
                    made_directory(tmp_path / host / "objects" / staged["sha256"], _empty),
                )
        return {host: HostOutcome(True, 0) for host in hosts}

    monkeypatch.setattr("regatta.fleet.remote.connect.connect", lambda host, wish: Here(host))
    monkeypatch.setattr(preparing_remote, "run_playbook", playbook)
    return asked


@pytest.mark.parametrize("provider", MISSING)
@pytest.mark.parametrize("way", ["local", "cluster"])
def test_a_missing_program_makes_its_cells_impossible_and_the_other_runtimes_are_measured(
    home: Home, nodes: list[str], provider: str, way: Wish, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A local package is installed: by an apt-get that has no such package.
    (home.folder / "bin").mkdir()
    apt = home.folder / "bin" / "apt-get"
    apt.write_text('#!/bin/sh\n[ "$1" = update ] || { echo "E: Unable to locate package x"; exit 100; }\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{home.folder}/bin{os.pathsep}{os.environ['PATH']}")
    experiment = home.experiment(f"gone: {MISSING[provider]}", used="there, gone")
    found = make_hosts_ready(experiment, home.folder, way)
    assert list(found.hosts) == ["one", "two"]
    assert not found.left_out
    for host in found.hosts.values():
        crossing = cross(experiment, host, {})
        assert [cell.runtime for cell in crossing.cells] == ["there"]
        ((label, reason),) = crossing.impossible
        assert "gone" in label
        assert "runtime gone: expected" in reason
        assert "no-such" in reason
        if (provider, way) == ("apt", "cluster"):
            # Nobody installs packages on nodes of Slurm.
            assert " `apt-get install regatta-no-such`" in reason
    if way == "cluster":
        assert nodes == ([] if provider == "path" else ["one", "two"])


@pytest.mark.parametrize("provider", MISSING)
@pytest.mark.parametrize("way", ["local", "cluster"])
def test_a_host_without_any_runtime_is_an_error_before_anything_is_measured(
    home: Home, nodes: list[str], provider: str, way: Wish, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == "apt-get" else found(name))
    experiment = home.experiment(f"gone: {MISSING[provider]}", used="gone")
    with pytest.raises(HostError, match="runtime gone: expected") as caught:
        make_hosts_ready(experiment, home.folder, way)
    assert "no-such" in str(caught.value)


@pytest.mark.parametrize("way", ["local", "cluster"])
def test_a_build_that_fails_on_one_host_shows_its_last_lines_and_the_others_go_on(
    home: Home, nodes: list[str], way: Wish, capsys: pytest.CaptureFixture[str]
) -> None:
    # As on the host of another architecture: only one of them compiles it.
    script = f"echo no such instruction; mkdir {home.folder}/first && exit 4; echo >made; chmod +x made"
    built = (
        f"{{kind: program, provider: build, directory: src, command: [sh, -c, '{script}'], program: made}}"
    )
    experiment = home.experiment(f"made: {built}", used="there, made")
    found = make_hosts_ready(experiment, home.folder, way)
    ((name, reason),) = found.left_out.items()
    assert {name, *found.hosts} == {"one", "two"}
    assert "exit 4" in reason
    assert "no such instruction" in reason
    assert f"excluded: {name}: " in capsys.readouterr().err
    (host,) = found.hosts.values()
    assert sorted(host.runtimes) == ["made", "there"]


def test_a_fresh_host_is_provisioned_without_advice_to_provision_it(
    home: Home, nodes: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    true_put = Here.put

    def put(self: Here, source: Path, target: str) -> None:
        if self.host.name not in nodes:
            raise HostError(target, "a writable file", "Permission denied", "prepare the host")
        true_put(self, source, target)

    monkeypatch.setattr(Here, "put", put)
    found = make_hosts_ready(home.experiment("", used="there"), home.folder, "cluster")
    assert set(found.hosts) == set(nodes) == {"one", "two"}
    messages = capsys.readouterr().err
    assert messages.count("Permission denied") == 2
    assert "fix:" not in messages
