"""--setup and --cleanup of `regatta time`: for which commands they run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from regatta.cli.time_commands import Alternative
from regatta.cli.time_once import around, for_each_command
from regatta.host.errors import HostError

COMPILERS = [{"c": "gcc"}, {"c": "clang"}]


def filled(
    text: str, chosen: list[dict[str, str]], given: dict[str, list[str]], *excluded: dict[str, object]
) -> list[str]:
    commands = [Alternative(f"command-{number}", [], values) for number, values in enumerate(chosen)]
    return [" ".join(words) for words in for_each_command(text.split(), commands, given, excluded)]


def test_equal_ones_run_once_and_others_with_the_values_of_each_command() -> None:
    levels = {"o": ["0", "2"]}
    assert filled("", [{}], levels) == []
    assert filled("make", [{}, {}], levels) == ["make"]
    assert filled("make O={o}", [{}, {}], levels) == ["make O=0", "make O=2"]
    assert filled("{c} -O{o}", COMPILERS, levels) == ["gcc -O0", "clang -O0", "gcc -O2", "clang -O2"]
    # The third command has no compiler.
    assert filled("{c} x.c", [*COMPILERS, {}], {}) == ["gcc x.c", "clang x.c"]


def test_combinations_that_are_not_measured_have_none() -> None:
    excluded: dict[str, object] = {"parameters": {"o": "2"}, "runtime": "command-1"}
    assert filled("{c} -O{o}", COMPILERS, {"o": ["0", "2"]}, excluded) == ["gcc -O0", "clang -O0", "gcc -O2"]


@contextmanager
def between(folder: Path, setup: str, *cleanups: str) -> Iterator[None]:
    """Run shell commands around the block, in the current directory."""
    words = [["sh", "-c", text] for text in (setup, *cleanups)]
    with around(words[:1], words[1:], {"PLACE": str(folder)}, lambda program: f"/bin/{program}"):
        yield


def test_every_cleanup_runs_whatever_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cleanups = ("exit 5", "touch $PLACE/cleaned", "exit 6")
    cleaned = tmp_path / "cleaned"
    for setup, error, named in (
        ("exit 4", HostError, "--setup"),
        (":", KeyError, "'x'"),
        (":", KeyboardInterrupt, ""),
    ):
        with pytest.raises(error) as caught, between(tmp_path, setup, *cleanups):
            raise error("x") if error is KeyError else KeyboardInterrupt
        assert named in str(caught.value)
        assert "exit 5" in capsys.readouterr().err
        cleaned.unlink()
    with pytest.raises(HostError) as caught, between(tmp_path, ":", *cleanups):
        assert not cleaned.exists()
    assert "exit 5" in str(caught.value)
    assert "exit 6" in capsys.readouterr().err
    assert cleaned.exists()
