"""Files that are replaced whole or not at all, locks, and bounded reads."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from regatta.host.files import (
    locked,
    parse_json,
    parse_object,
    read_bounded,
    read_object,
    replaced,
    write_first,
    write_object,
)
from regatta.models.vectors.files import write_vector
from regatta.models.vectors.values import ConstantCost, PrimitiveCost, SystemVector, Value
from regatta.store.folder import write_json


@pytest.fixture(params=[0o077, 0o022, 0o002], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_of_results_follow_the_umask_as_their_folders_do(umask: int, tmp_path: Path) -> None:
    result, vector = tmp_path / "results" / "answer.json", tmp_path / "vectors" / "v.yml"
    write_json(result, {})
    write_vector(
        SystemVector(
            "s",
            "ns",
            {"p": PrimitiveCost("operation", ConstantCost(Value(3, n=1, reason="one invocation")))},
        ),
        vector,
    )
    for path in (result, vector):
        assert _mode(path.parent) == 0o777 & ~umask
        assert _mode(path) == 0o666 & ~umask


def test_a_block_that_fails_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")

    def fail() -> None:
        with replaced(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "before"


def test_of_several_that_write_a_file_first_one_wins_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "key"
    for content in (b"one", b"two"):
        write_first(path, content, 0o600)
    assert path.read_bytes() == b"one"
    assert _mode(path) == 0o600
    assert os.listdir(tmp_path) == ["key"]


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def test_a_lock_is_held_by_one_and_who_waits_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regatta.host.files.time", Clock())
    path, said = tmp_path / "lock", []
    with locked(path), pytest.raises(BlockingIOError), locked(path, 0.15, lambda: said.append("waits")):
        pass
    assert said == ["waits"]
    with locked(path, 0, lambda: said.append("again")):
        pass
    assert said == ["waits"]


def test_a_lock_is_no_link_to_another_file(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"), locked(tmp_path / "lock"):
        pass


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b"{", b"\xff", b'{"a":' * 100_000, b'{"long": "' + b"x" * 100 + b'"}']
)
def test_what_is_no_small_object_is_read_as_nothing(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "object.json"
    path.write_bytes(content)
    assert read_object(path, 100 if content.startswith(b'{"long') else 1 << 20) == {}
    write_object(path, {"a": 1})
    assert read_object(path) == {"a": 1}


def test_a_pipe_in_the_place_of_a_file_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "plan.json")
    assert read_object(tmp_path / "plan.json") == {}
    with pytest.raises(OSError, match="not a regular file"):
        read_bounded(tmp_path / "plan.json", 100)


def test_a_file_above_the_limit_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(257 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match="sparse"):
            read_bounded(tmp_path / "sparse", 256 << 20)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_small_object_is_read_where_memory_is_short(tmp_path: Path) -> None:
    write_object(tmp_path / "plan.json", {"a": 1})
    code = (
        "import resource, sys; from pathlib import Path; from regatta.host.files import parse_object;"
        "resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20));"
        "print(parse_object(Path(sys.argv[1])))"
    )
    argv = [sys.executable, "-c", code, str(tmp_path / "plan.json")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("{'a': 1}\n", "")


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '[{"b": {"a": 1, "c": 2, "a": 1}}]', "[" * 100_000])
def test_json_with_a_repeated_key_or_too_many_brackets_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"occurs twice|nested too deeply"):
        parse_json(text)
    (tmp_path / "object.json").write_text(text)
    with pytest.raises(ValueError, match=r"occurs twice|nested too deeply"):
        parse_object(tmp_path / "object.json")


def test_numbers_that_are_not_json_are_refused_unless_they_are_unused() -> None:
    assert parse_json('{"a": 1}') == {"a": 1}
    for name in ("NaN", "Infinity", "-Infinity"):
        with pytest.raises(ValueError, match=f"{name} is not a number"):
            parse_json(f"[{name}]")
    assert str(parse_json('{"unused": NaN}', finite=False)["unused"]) == "nan"
