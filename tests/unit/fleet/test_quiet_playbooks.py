"""quiesce.yml and restore.yml, by the real Ansible, on another root of this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import regatta
from helpers.quiet_machines import INTEL, build, snapshot
from regatta.cli.quiesce import quiesce as command
from regatta.fleet.ansible import HostOutcome, run_playbook
from regatta.fleet.zipapp import zipapp_bytes

pytestmark = pytest.mark.full  # Ansible takes seconds for each playbook

_HOME = Path(regatta.__file__).parents[2]
#: what a tree of plain files cannot answer as a kernel does
_LEFT = ["services", "swap", "units", "interrupts"]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A folder with an inventory of one host, whose `proc` and `sys` are a tree of files."""
    if os.geteuid() != 0:
        pytest.skip("THE PLAYBOOKS ARE NOT TRIED HERE: they become root, and this user is not")
    build(tmp_path / "system", INTEL)
    for name in ("enabled", "defrag"):
        (tmp_path / "system/sys/kernel/mm/transparent_hugepage" / name).write_text("always\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "regatta-0123456789abcdef.pyz").write_bytes(zipapp_bytes())
    host = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "/usr/bin/python3",
        "regatta_root": str(tmp_path / "root"),
        "regatta_cpus": [2, 3],
        "base_packages": [],
        "quiet_host_system": str(tmp_path / "system"),
        "quiet_host_leave": _LEFT,
        "quiet_host_bin": str(tmp_path / "bin"),
    }
    inventory = {"all": {"children": {"lab": {"hosts": {"one": host}}}}}
    (tmp_path / "hosts.yml").write_text(json.dumps(inventory))
    return tmp_path


def play(
    bench: Path, playbook: str, variables: Mapping[str, Any] | None = None, **further: Any
) -> HostOutcome:
    variables = {"regatta_zipapp": str(bench / "regatta-0123456789abcdef.pyz"), **(variables or {})}
    return run_playbook(_HOME, playbook, bench / "hosts.yml", ["one"], variables, **further)["one"]


def files(bench: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in bench.rglob("*") if path.is_file()}


def quiesce(bench: Path, *words: str) -> str:
    """Return what `regatta quiesce` prints."""
    done = CliRunner().invoke(command, words, env={"REGATTA_INVENTORY": str(bench / "hosts.yml")})
    assert done.exit_code == 0, done.output
    return done.output


def test_a_host_is_made_quiet_once_and_put_back(bench: Path) -> None:
    system = bench / "system"
    before = snapshot(system)
    first = play(bench, "quiesce.yml")
    assert first.ok, first.failed
    assert (system / "proc/sys/kernel/randomize_va_space").read_text() == "0\n"
    assert (bench / "root/quiet/before.json").is_file()
    assert play(bench, "restore.yml").changed == 1
    assert snapshot(system) == before


def test_the_user_who_logs_in_cannot_exchange_the_program_that_root_runs(bench: Path) -> None:
    first = play(bench, "quiesce.yml")
    assert first.ok, first.failed
    program = bench / "bin/regatta-0123456789abcdef.pyz"
    assert not (bench / "root/bin").exists()
    for path, mode in ((program, 0o644), (program.parent, 0o755)):
        seen = path.stat()
        assert (seen.st_uid, seen.st_gid, seen.st_mode & 0o7777) == (0, 0, mode)
    os.chown(program, 61_613, 61_613)
    program.chmod(0o666)
    assert play(bench, "restore.yml").ok
    assert (program.stat().st_uid, program.stat().st_mode & 0o7777) == (0, 0o644)


@pytest.mark.parametrize("playbook", ["quiesce.yml", "restore.yml"])
def test_a_folder_above_the_program_that_others_can_change_is_refused(bench: Path, playbook: str) -> None:
    theirs = bench / "theirs"
    theirs.mkdir()
    os.chown(theirs, 61_613, 61_613)
    outcome = play(bench, playbook, {"quiet_host_bin": str(theirs / "bin")})
    assert not outcome.ok
    assert f"{theirs} of user 61613 with mode" in outcome.failed
    assert not (bench / "root/quiet").exists()


@pytest.mark.long
def test_a_second_run_changes_nothing_and_check_mode_sees_what_somebody_changed(bench: Path) -> None:
    swappiness = bench / "system/proc/sys/vm/swappiness"
    assert play(bench, "quiesce.yml").ok
    assert play(bench, "quiesce.yml").changed == 0
    assert play(bench, "quiesce.yml", check=True).changed == 0
    swappiness.write_text("30\n")
    checked = play(bench, "quiesce.yml", check=True)
    assert checked.changed == 1
    assert "swappiness: /proc/sys/vm/swappiness: 30 -> 1" in checked.notes
    assert swappiness.read_text() == "30\n"
    assert play(bench, "restore.yml").changed == 1
    assert play(bench, "restore.yml") == HostOutcome(ok=True, changed=0)


def test_check_mode_lists_the_changes_of_a_fresh_host_and_leaves_no_file(bench: Path) -> None:
    before = files(bench)
    invoked = quiesce(bench, "one", "--check")
    assert "  swappiness: /proc/sys/vm/swappiness: 60 -> 1\n" in invoked
    assert "  page_cache: page_cache -> dropped\n" in invoked
    assert files(bench) == before


def test_check_mode_lists_what_is_put_back(bench: Path) -> None:
    assert play(bench, "quiesce.yml").ok
    quiet = files(bench)
    invoked = quiesce(bench, "one", "--restore", "--check")
    assert "  swappiness: /proc/sys/vm/swappiness: 1 -> 60\n" in invoked
    assert files(bench) == quiet


@pytest.mark.long
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"quiet_host_leave": ["swap", "units", "interrupts"]}, "expected yes · got no"),
        ({"regatta_cpus": [99]}, "CPUs (0-7) · got CPU 99"),
    ],
)
def test_a_host_that_does_not_become_quiet_is_named_with_the_reason(
    bench: Path, variables: dict[str, Any], words: str
) -> None:
    outcome = play(bench, "quiesce.yml", variables)
    assert not outcome.ok
    assert words in outcome.failed
