"""The cache: made whole or not at all, and remembered under what was asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from regatta.cache import file_sha256, made_directory, remembered


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))


def test_a_directory_is_made_once(tmp_path: Path) -> None:
    made = []

    def make(directory: Path) -> None:
        made.append(directory)
        (directory / "x").write_text("1")

    path = tmp_path / "a" / "b"
    assert (made_directory(path, make) / "x").read_text() == "1"
    made_directory(path, make)
    assert len(made) == 1


def test_a_directory_that_could_not_be_made_is_made_again_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def half(directory: Path) -> None:
        (directory / "rest").write_text("")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        made_directory(path, half)
    assert not path.exists()
    made_directory(path, lambda directory: None)
    assert list(path.iterdir()) == []


def test_an_answer_is_remembered_for_its_question_alone() -> None:
    assert remembered("q", [1], lambda: "one") == "one"
    assert remembered("q", [1], lambda: "another") == "one"
    assert remembered("q", [2], lambda: "two") == "two"
    assert remembered("r", [1], lambda: "three") == "three"


def test_a_spoiled_answer_is_asked_again(tmp_path: Path) -> None:
    remembered("q", 1, lambda: "one")
    (answer,) = (tmp_path / "cache" / "answers").iterdir()
    answer.write_text("{")
    assert remembered("q", 1, lambda: "two") == "two"


def test_a_file_that_changed_has_another_digest(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("a")
    first = file_sha256(file)
    assert file_sha256(file) == first
    file.write_text("b")
    assert file_sha256(file) != first
