"""Whatever a foreign file does to its reader becomes an error about this file, and a line is read with a limit."""

from __future__ import annotations

import errno
import io
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from regatta.host.errors import RegattaError, SpecError
from regatta.host.files import bounded_lines
from regatta.host.foreign import foreign

FAILURES = [
    IndexError("x"), KeyError("x"), OverflowError("x"), MemoryError(), RecursionError(), AttributeError("x"), RuntimeError("loop"),
    duckdb.InvalidInputException("x"), pa.ArrowInvalid("x"), UnicodeDecodeError("utf-8", b"x", 0, 1, "x"), ValueError(""),
]  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES, ids=lambda one: type(one).__name__)
def test_a_failure_of_any_type_is_an_error_about_the_file(failure: Exception) -> None:
    with pytest.raises(RegattaError) as caught, foreign(Path("a.json"), "a heap vector", "make it again"):
        raise failure
    (problem,) = caught.value.problems
    assert (problem.where, problem.expected, problem.fix) == ("a.json", "a heap vector", "make it again")
    assert problem.got
    assert caught.value.__cause__ is failure


def test_an_error_of_regatta_passes_unchanged() -> None:
    for error in (RegattaError("a", "b", "c"), SpecError([])):
        with pytest.raises(RegattaError) as caught, foreign(Path("x"), "a file"):
            raise error
        assert caught.value is error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EMFILE])
def test_a_full_disk_is_not_a_fault_of_the_file(number: int) -> None:
    with pytest.raises(OSError, match="full") as caught, foreign(Path("x"), "a file"):
        raise OSError(number, "full")
    assert caught.value.errno == number


def test_a_stop_by_the_user_passes() -> None:
    with pytest.raises(KeyboardInterrupt), foreign(Path("x"), "a file"):
        raise KeyboardInterrupt


def test_lines_are_cut_at_a_limit() -> None:
    text = "ab\nabcd\nabcde\n\nabcdefghijk\nx"
    assert list(bounded_lines(io.StringIO(text), 5)) == ["ab\n", "abcd\n", "abcde\n", "\n", "abcdef", "x"]


def test_a_file_without_lines_is_given_up(tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    with sparse.open() as text, pytest.raises(ValueError, match="characters"):
        list(bounded_lines(text, 1 << 16))
