"""Files that users bring: where they are looked for, what is said when they are not there, and what of them is identified."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from helpers.golden import Golden
from regatta.fleet.user_files import find_user_files, user_file_parts
from regatta.host.contents import contents_sha256
from regatta.host.errors import HostError
from regatta.host.values.experiment import Expectation, Experiment, UserFile
from regatta.host.values.resolved import File

HOME = Path(__file__).resolve().parents[3]
WANTED = UserFile("kit/program.jar", "a shop in Ghent")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REGATTA_FILES", raising=False)


def needing(wanted: UserFile, spec: str = "specs/spec.yml") -> Experiment:
    benchmark = SimpleNamespace(
        label="s/x:default", files={"kit": wanted}, parameters={"n": 7}, expect=Expectation()
    )
    return cast(Experiment, SimpleNamespace(benchmarks=(benchmark,), spec_path=spec, folder="", seed=1))


def find(wanted: UserFile, home: Path, spec: str = "specs/spec.yml") -> dict[str, File]:
    return find_user_files(needing(wanted, spec), home)["s/x:default"]


def put(folder: Path, name: str, text: str = "contents") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_homes_folder_comes_first_then_that_of_the_spec_and_those_of_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGATTA_FILES", os.pathsep.join(["", str(tmp_path / "one"), str(tmp_path / "two")]))
    found = {}
    for place in ("two", "one", "specs", "home/files"):
        path = put(tmp_path / place, WANTED.name, place)
        found = find(WANTED, tmp_path / "home", str(tmp_path / "specs" / "spec.yml"))
        assert found == {"kit": File(str(path), contents_sha256(path))}
    assert found["kit"].path.endswith("home/files/kit/program.jar")


def test_a_missing_file_is_an_error_with_its_place_and_its_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGATTA_FILES", str(tmp_path / "own"))
    with pytest.raises(HostError) as told:
        find(WANTED, tmp_path, str(tmp_path / "specs" / "spec.yml"))
    (problem,) = told.value.problems
    assert (problem.where, problem.expected) == ("file kit of s/x:default", "kit/program.jar")
    assert problem.got == f"none in {tmp_path / 'files'}, {tmp_path / 'specs'}, {tmp_path / 'own'}"
    assert str(tmp_path / "files" / "kit" / "program.jar") in problem.fix
    assert problem.fix.endswith(WANTED.origin)


def test_a_file_that_nobody_supplies_is_made_by_its_command(tmp_path: Path) -> None:
    script = put(tmp_path, "make.py", "import sys; open(sys.argv[2], 'w').write(sys.argv[1])")
    wanted = replace(WANTED, command=(sys.executable, "make.py", "{n}", "{output}"))
    made = find(wanted, tmp_path)["kit"]
    assert Path(made.path).read_text() == "7"
    assert Path(made.path).name == "program.jar"
    assert find(wanted, tmp_path)["kit"] == made
    assert list(user_file_parts(needing(wanted), tmp_path)) == [Path(sys.executable), script]
    own = put(tmp_path / "files", WANTED.name)
    assert find(wanted, tmp_path)["kit"].path == str(own)
    assert list(user_file_parts(needing(wanted), tmp_path)) == [own]


def test_a_broken_link_is_an_error_even_if_a_command_could_make_the_file(tmp_path: Path) -> None:
    link = tmp_path / "files" / WANTED.name
    link.parent.mkdir(parents=True)
    link.symlink_to("/nowhere")
    wanted = replace(WANTED, command=("touch", "{output}"))
    with pytest.raises(HostError, match="fix: remove the link"):
        find(wanted, tmp_path)


def test_a_file_can_be_made_by_the_running_version_of_regatta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The home is the directory of the command, and neither changes which package that is.
    put(tmp_path, "regatta.py", "raise SystemExit('another package')")
    monkeypatch.setenv("PYTHONPATH", "nowhere")
    model = HOME / "configs/loads/shop.yml"
    words = ("regatta", "model", "sessions", str(model), "--sessions", "2", "-o", "{output}")
    made = find(replace(WANTED, command=words), tmp_path)["kit"]
    assert Path(made.path).read_text().startswith("regatta-sessions 1\n")


def test_a_command_that_makes_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HostError) as told:
        find(replace(WANTED, command=(sys.executable, "-c", "", "{output}")), tmp_path)
    (problem,) = told.value.problems
    assert (problem.where, problem.expected) == ("file kit of s/x:default", "the file `{output}`")
    assert "`files.kit.command`" in problem.fix


def test_a_made_file_of_other_contents_is_the_commands_fault(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "open(__import__('sys').argv[1], 'w').write('1')", "{output}")
    with pytest.raises(HostError, match=f"expected SHA-256 {'0' * 64} .* fix: correct the generator"):
        find(replace(WANTED, command=command, sha256="0" * 64), tmp_path)


def test_another_file_than_the_suite_expects_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path / "files", WANTED.name)
    right = contents_sha256(path)
    assert find(replace(WANTED, sha256=right), tmp_path)["kit"].sha256 == right
    with pytest.raises(HostError, match=f"expected SHA-256 {'0' * 64} · got {right}"):
        find(replace(WANTED, sha256="0" * 64), tmp_path)


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (UserFile("kit", "x", holds=("program.jar", "config/a")), "kit/config/a"),
        (replace(WANTED, beside=("data",)), "kit/data"),
    ],
)
def test_what_must_come_with_it_is_missed_too(tmp_path: Path, wanted: UserFile, missing: str) -> None:
    put(tmp_path / "files", "kit/program.jar")
    with pytest.raises(HostError, match=f"{tmp_path / 'files' / missing}, a part of {wanted.name}"):
        find(wanted, tmp_path)
    put(tmp_path / "files", missing)
    assert "kit" in find(wanted, tmp_path)


def test_what_lies_beside_it_is_a_file_of_its_own(tmp_path: Path) -> None:
    jar, data = put(tmp_path / "files", WANTED.name), put(tmp_path / "files", "kit/data/big")
    wanted = replace(WANTED, beside=("data",))
    before = find(wanted, tmp_path)
    assert before.keys() == {"kit", "kit/data"}
    assert before["kit/data"].path == str(data.parent)
    assert set(user_file_parts(needing(wanted), tmp_path)) == {jar, data}
    data.write_text("other contents")
    after = find(wanted, tmp_path)
    assert after["kit"] == before["kit"]
    assert after["kit/data"].sha256 != before["kit/data"].sha256


def test_a_folder_remembered_is_looked_at_again_when_anything_in_it_changed(tmp_path: Path) -> None:
    jar = put(tmp_path / "files", WANTED.name)
    put(tmp_path / "files", "kit/data")
    folder = UserFile("kit", "x")
    digests = [find(folder, tmp_path)["kit"].sha256]
    assert find(folder, tmp_path)["kit"].sha256 == digests[0]
    jar.write_text("CONTENTS")
    digests.append(find(folder, tmp_path)["kit"].sha256)
    put(tmp_path / "files", "kit/more")
    digests.append(find(folder, tmp_path)["kit"].sha256)
    assert len(set(digests)) == 3


@pytest.mark.parametrize(("size", "noticed"), [(1 << 20, True), ((1 << 20) + 1, False)])
def test_of_a_folder_the_bytes_of_small_files_count_and_of_large_ones_the_size(
    tmp_path: Path, size: int, noticed: bool
) -> None:
    path = put(tmp_path / "kit", "config/kit.props", "a" * size)
    before = contents_sha256(tmp_path / "kit")
    path.write_text("b" * size)
    assert (contents_sha256(tmp_path / "kit") != before) == noticed


def test_links_to_folders_are_followed(tmp_path: Path) -> None:
    path = put(tmp_path / "elsewhere", "a")
    put(tmp_path / "files", "kit/b")
    (tmp_path / "files" / "kit" / "data").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "files" / "kit" / "again").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    folder = UserFile("kit", "x")
    before = find(folder, tmp_path)["kit"].sha256
    names = {
        str(part.relative_to(tmp_path / "files" / "kit"))
        for part in user_file_parts(needing(folder), tmp_path)
    }
    assert names == {"b", "data/a", "again/a"}
    path.write_text("CONTENTS")
    assert find(folder, tmp_path)["kit"].sha256 != before


@pytest.mark.parametrize("target", ["pipe", "/dev/zero"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_is_refused(target: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / "files" / WANTED.name
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / target)
    with pytest.raises(HostError, match="not a regular file"):
        find(WANTED, tmp_path)


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    put(tmp_path / "kit", "a")
    alone = contents_sha256(tmp_path / "kit")
    os.mkfifo(tmp_path / "kit" / "pipe")
    assert contents_sha256(tmp_path / "kit") != alone


@pytest.mark.parametrize(("name", "target"), [("no target", "nothing"), ("parent folder", "..")])
def test_a_link_that_leads_nowhere_is_told_with_its_place_and_what_to_do(
    tmp_path: Path, name: str, target: str, golden: Golden
) -> None:
    put(tmp_path / "files", "kit/data/a")
    (tmp_path / "files" / "kit" / "data" / "link").symlink_to(target)
    for told_by in (find_user_files, lambda *given: list(user_file_parts(*given))):
        with pytest.raises(HostError) as told:
            told_by(needing(UserFile("kit", "x")), tmp_path)
        (problem,) = told.value.problems
        assert problem.where == "file kit of s/x:default"
        assert str(tmp_path / "files" / "kit" / "data" / "link") in problem.expected
        golden(name, f"got {problem.got} · fix: {problem.fix}")


def test_what_may_not_be_read_says_whose_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "files", "kit/a")

    def refuse(path: Path) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    # The tests may run as root, who may read everything.
    monkeypatch.setattr("regatta.host.contents.os.listdir", refuse)
    with pytest.raises(HostError, match=r"Permission denied · fix: .* owner"):
        find(UserFile("kit", "x"), tmp_path)


SPEC: dict[str, Any] = {
    "name": "brought",
    "question": "Is it there?",
    "runtimes": ["host-java"],
    "collectors": ["serial"],
    "heap": {"sizes_mib": [64]},
    "benchmarks": [{"suite": "dacapo-23.11", "benchmark": "h2", "size": "small"}],
    "invocations": {"fixed": 2},
}


@pytest.mark.parametrize("verb", ["plan", "build"])
def test_a_suite_whose_jar_is_not_there_ends_with_3_before_anything_is_done(
    tmp_path: Path, verb: str
) -> None:
    (tmp_path / "spec.yml").write_text(json.dumps(SPEC))
    done = subprocess.run(
        [Path(sys.executable).with_name("regatta"), verb, "spec.yml"],
        cwd=tmp_path,
        env={**os.environ, "REGATTA_HOME": str(HOME)},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 3
    assert "file dacapo of dacapo-23.11/h2:small: " in done.stderr
    assert "expected dacapo-23.11-chopin.jar · got none " in done.stderr
    assert "https://download.dacapobench.org/chopin/dacapo-23.11-chopin.zip" in done.stderr
    assert not (tmp_path / "results").exists()
