"""What hosts are brought: files named by their contents, and the same paths as the host will have."""

from __future__ import annotations

import os
import signal
import tarfile
from pathlib import Path

import pytest

from regatta.fleet.remote.base import Unreachable
from regatta.fleet.remote.here import run_bounded
from regatta.fleet.supplies import make_stock, stage
from regatta.host.errors import HostError
from regatta.host.ready.unpacking import unpack
from regatta.host.values.host import Host
from regatta.spec.load import load_spec

SUITE = """\
suite: own
builds:
  here: {directory: c, command: [cp, a.txt, made], outputs: {made: made}}
  once: {directory: jars, command: [cp, b.txt, jar], outputs: {jar: jar}, portable: true}
inputs:
  text: {command: [sh, -c, 'echo "$0" > "$1"', "{seed}", "{output}"]}
files:
  data: {name: brought/main.dat, from: a friend, beside: [more]}
benchmarks:
  b: {command: [cat, "{here.made}", "{once.jar}", "{input.text}", "{file.data}"]}
"""
SPEC = "name: s\nsuites: own.yml\nbenchmarks: [{suite: own, benchmark: b}]\ninvocations: {fixed: 1}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("REGATTA_FILES", str(tmp_path / "files"))
    for name, text in {
        "configs/runtimes.yml": "runtimes: {}",
        "configs/hosts/local.yml": "all: {children: {local: {hosts: {local: {ansible_connection: local}}}}}",
        "own.yml": SUITE, "spec.yml": SPEC, "c/a.txt": "a", "jars/b.txt": "b",
        "files/brought/main.dat": "main", "files/brought/more/part": "part",
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def unpacked(staged: str, target: Path) -> list[str]:
    target.mkdir()
    unpack(Path(staged), target)
    return sorted(str(path.relative_to(target)) for path in target.rglob("*") if path.is_file())


def test_what_is_portable_is_made_once_and_the_rest_goes_as_sources(home: Path, tmp_path: Path) -> None:
    staged = stage(make_stock(load_spec(Path("spec.yml"), home), home), "aarch64")
    supplies = staged.supplies_for(Host("n", "p", root="/r"))
    assert list(supplies.builds) == ["once"]
    jar = supplies.builds["once"]["jar"]
    assert jar.path == f"/r/objects/{jar.sha256}/jar"
    assert staged.sources is not None
    assert supplies.home == f"/r/objects/{staged.sources.sha256}"
    assert unpacked(staged.sources.staged, tmp_path / "unpacked") == ["here/a.txt"]
    (benchmark,) = staged.experiment.benchmarks
    assert benchmark.builds["here"].directory == "here"
    assert not supplies.may_install


def test_what_must_lie_beside_a_file_travels_with_it(home: Path, tmp_path: Path) -> None:
    staged = stage(make_stock(load_spec(Path("spec.yml"), home), home), "x86_64")
    files = staged.supplies_for(Host("n", "p", root="/r")).files["own/b:default"]
    assert Path(files["data"].path).parent == Path(files["data/more"].path).parent
    (thing,) = {
        thing.sha256: thing for named in staged.files.values() for thing, _, _ in named.values()
    }.values()
    assert unpacked(thing.staged, tmp_path / "unpacked") == ["main.dat", "more/part"]


def test_the_same_things_are_staged_under_the_same_names(home: Path) -> None:
    experiment = load_spec(Path("spec.yml"), home)
    first = stage(make_stock(experiment, home), "x86_64").variables()
    os.utime(home / "c" / "a.txt", (1, 1))
    assert stage(make_stock(experiment, home), "x86_64").variables() == first


def test_what_is_staged_brings_no_privileges(home: Path, tmp_path: Path) -> None:
    (home / "files/brought/more/part").chmod(0o6777)
    staged = stage(make_stock(load_spec(Path("spec.yml"), home), home), "x86_64")
    ((thing, _, _),) = {
        file[0].sha256: file for named in staged.files.values() for file in named.values()
    }.values()
    with tarfile.open(thing.staged) as archive:
        assert {member.mode & 0o7022 for member in archive} == {0}


def test_a_pipe_in_a_brought_folder_is_refused(home: Path) -> None:
    os.mkfifo(home / "files/brought/more/pipe")
    with pytest.raises(HostError, match="more/pipe"):
        stage(make_stock(load_spec(Path("spec.yml"), home), home), "x86_64")


def test_a_command_that_prints_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regatta.fleet.remote.here.MAXIMUM_ANSWER_BYTES", 1 << 20)
    with pytest.raises(HostError, match="at most 1 MiB"):
        run_bounded("n", ["cat", "/dev/zero"], b"", 300)


def test_messages_without_end_are_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regatta.fleet.remote.here.MAXIMUM_TOLD_BYTES", 1 << 20)
    with pytest.raises(HostError, match=r"messages .* 1 MiB"):
        run_bounded("n", ["sh", "-c", "exec cat /dev/zero >&2"], b"", 300)


def test_of_many_messages_the_end_is_kept_and_who_keeps_them_open_is_not_waited_for(tmp_path: Path) -> None:
    script = 'sleep 600 >/dev/null & echo $! >"$0"; head -c 300000 /dev/zero >&2; echo last >&2; echo said'
    answer = run_bounded("n", ["sh", "-c", script, str(tmp_path / "pid")], b"", 500)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert (answer.returncode, answer.stdout) == (0, b"said\n")
    assert answer.stderr.endswith("\0last\n")
    assert len(answer.stderr) == 65_536


def test_a_command_that_does_not_end_makes_its_host_unreachable() -> None:
    with pytest.raises(Unreachable, match=r"within 0\.2 s"):
        run_bounded("n", ["sleep", "600"], b"", 0.2)


def test_a_command_reads_what_it_is_given_and_its_error_is_told(tmp_path: Path) -> None:
    answer = run_bounded("n", ["sh", "-c", "cat; echo bad >&2; exit 4"], b"given", 300)
    assert (answer.returncode, answer.stdout, answer.last_line()) == (4, b"given", "bad")
