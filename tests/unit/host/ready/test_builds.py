"""Builds and inputs: named by what they are made from, made in a copy, never half there."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from regatta.host.errors import HostError
from regatta.host.ready.builds import build, generate_input
from regatta.host.ready.sources import MOST_SOURCE_BYTES
from regatta.host.values.experiment import Benchmark, Build, Expectation, Input

COPY = Build("b", "sources", ("cp", "in.txt", "out.txt"), {"out": "out.txt"}, needs=("cp",))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    (tmp_path / "home" / "sources").mkdir(parents=True)
    (tmp_path / "home" / "sources" / "in.txt").write_text("one")
    return tmp_path / "home"


def benchmark(**parameters: int) -> Benchmark:
    return Benchmark(
        suite="s", name="n", size="z", kind="native", command=("true",), adapter="process", adapter_options={}, metric="elapsed",
        better="lower", parameters=parameters, environment={}, arrange={}, check=(), expect=Expectation(), builds={}, inputs={},
    )  # fmt: skip


def test_a_build_happens_in_a_copy(home: Path) -> None:
    output = build(COPY, home)["out"]
    assert Path(output.path).read_text() == "one"
    assert sorted(p.name for p in (home / "sources").iterdir()) == ["in.txt"]


def test_changed_sources_are_another_build_and_the_old_one_stays(home: Path) -> None:
    first = build(COPY, home)["out"]
    (home / "sources" / "in.txt").write_text("two")
    second = build(COPY, home)["out"]
    assert Path(first.path).read_text() == "one"
    assert Path(second.path).read_text() == "two"
    assert first.sha256 != second.sha256


def test_a_build_or_an_input_without_one_of_its_files_is_made_again(home: Path) -> None:
    two = replace(
        COPY,
        command=("sh", "-c", "cp in.txt out.txt; cp in.txt more.txt"),
        outputs={"out": "out.txt", "more": "more.txt"},
    )
    first = build(two, home)
    Path(first["more"].path).unlink()
    assert build(two, home) == first
    assert Path(first["more"].path).read_text() == "one"

    source = Input("numbers", ("sh", "-c", "echo 1 > $0", "{output}"))
    made = generate_input(source, benchmark(), home, 1)
    Path(made.path).unlink()
    assert generate_input(source, benchmark(), home, 1) == made
    assert Path(made.path).read_text() == "1\n"


def test_what_builds_leave_behind_is_no_source(home: Path) -> None:
    first = build(COPY, home)["out"]
    (home / "sources" / "target").mkdir()
    (home / "sources" / "target" / "x").write_text("")
    assert build(COPY, home)["out"] == first


@pytest.mark.parametrize("target", ["pipe", "/dev/zero", "/nowhere"])
def test_a_source_that_is_no_regular_file_is_named_and_not_read(target: str, home: Path) -> None:
    os.mkfifo(home / "pipe")
    (home / "sources" / "odd").symlink_to(home / target)
    with pytest.raises(HostError) as caught:
        build(COPY, home)
    assert caught.value.problems[0].where == str(home / "sources/odd")


def test_sources_that_are_far_too_large_are_refused(home: Path) -> None:
    with (home / "sources" / "data").open("wb") as file:
        file.truncate(MOST_SOURCE_BYTES + 1)
    with pytest.raises(HostError, match="at most"):
        build(COPY, home)


def test_a_failing_build_tells_its_last_words_and_leaves_nothing(home: Path) -> None:
    failing = replace(COPY, command=("cp", "no-such-file", "out.txt"))
    with pytest.raises(HostError, match="no-such-file"):
        build(failing, home)
    assert not [
        p for p in (home.parent / "cache" / "builds").iterdir() if p.is_dir() and not p.name.endswith(".tmp")
    ]


def test_a_build_that_makes_something_else_is_an_error(home: Path) -> None:
    with pytest.raises(HostError, match=r"other\.txt"):
        build(replace(COPY, outputs={"out": "other.txt"}), home)


def test_a_missing_tool_is_named_before_anything_runs(home: Path) -> None:
    with pytest.raises(HostError, match="no-such-compiler"):
        build(replace(COPY, needs=("no-such-compiler",)), home)


def test_an_input_is_generated_once_for_its_parameters(home: Path) -> None:
    script = "import sys; open(sys.argv[2], 'w').write(sys.argv[1])"
    source = Input("i", (sys.executable, "-c", script, "{n}", "{output}"))
    first = generate_input(source, benchmark(n=1), home, seed=1)
    assert Path(first.path).read_text() == "1"
    assert generate_input(source, benchmark(n=1), home, seed=2) == first
    assert generate_input(source, benchmark(n=2), home, seed=1) != first


def test_a_changed_generator_makes_its_inputs_again(home: Path) -> None:
    (home / "make.py").write_text("import sys; open(sys.argv[1], 'w').write('a')")
    source = Input("i", (sys.executable, "make.py", "{output}"))
    first = generate_input(source, benchmark(), home, seed=1)
    (home / "make.py").write_text("import sys; open(sys.argv[1], 'w').write('b')")
    assert generate_input(source, benchmark(), home, seed=1).sha256 != first.sha256


def test_a_changed_part_of_a_directory_that_python_runs_makes_its_inputs_again(home: Path) -> None:
    (home / "make").mkdir()
    (home / "make/__main__.py").write_text("import part, sys; open(sys.argv[1], 'w').write(part.TEXT)")
    (home / "make/part.py").write_text("TEXT = 'a'")
    source = Input("i", (sys.executable, "-B", "make", "{output}"))
    first = generate_input(source, benchmark(), home, seed=1)
    assert generate_input(source, benchmark(), home, seed=1) == first
    (home / "make/part.py").write_text("TEXT = 'b'")
    assert generate_input(source, benchmark(), home, seed=1).sha256 != first.sha256


def test_an_input_that_is_another_file_than_the_suite_expects_is_refused(home: Path) -> None:
    source = Input("i", (sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('a')", "{output}"))
    right = hashlib.sha256(b"a").hexdigest()
    expecting = replace(benchmark(), expect=Expectation(inputs={"i": right}))
    assert generate_input(source, expecting, home, seed=1).sha256 == right
    wrong = replace(benchmark(), expect=Expectation(inputs={"i": "0" * 64}))
    with pytest.raises(HostError, match=rf"(?s)input i of s/n:z.*SHA-256 {'0' * 64}.*{right}"):
        generate_input(source, wrong, home, seed=1)
