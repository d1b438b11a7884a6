"""Files that are replaced whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from regatta.host.files import replaced
from regatta.spec.vector_files import write_vector
from regatta.spec.vectors import ConstantCost, PrimitiveCost, SystemVector, Value
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
