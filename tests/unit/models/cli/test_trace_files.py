"""`regatta trace files`: a real program under strace, its trace read again, and files that are no trace."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from regatta.host.errors import RegattaError
from regatta.models.cli.trace_files import trace_files

PAGE = 4096
PAGES = 64
needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="NOT TESTED: strace is not installed"
)
#: reads a file of 64 pages twice, in order
TWICE = f"import sys\nfor _ in range(2):\n    with open(sys.argv[1], 'rb', buffering=0) as file:\n        while file.read({PAGE}):\n            pass\n"


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(trace_files, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    place = tmp_path_factory.mktemp("files")
    data, trace = place / "data", place / "trace"
    data.write_bytes(bytes(PAGE * PAGES))
    program = [sys.executable, "-I", "-S", "-c", TWICE, str(data)]
    found = run("-o", str(trace), "--memory", "64", "--memory", "0.125", "--json", "--", *program)
    return trace, found


@needs_strace
def test_a_file_that_is_read_twice_is_found_in_a_large_cache_only(recorded: tuple[Path, Any]) -> None:
    large, small = recorded[1]["caches"]
    assert large["memory_mib"] == 64
    assert large["evictions"] == 0
    assert small["memory_mib"] == 0.125
    assert (
        small["read_ahead"] + small["read_misses"] >= large["read_ahead"] + large["read_misses"] + PAGES / 2
    )
    assert large["read_hits"] >= PAGES


@needs_strace
def test_a_kept_trace_gives_the_same_counts(recorded: tuple[Path, Any]) -> None:
    trace, found = recorded
    assert run("--from", str(trace), "--memory", "64", "--memory", "0.125", "--json") == found


@needs_strace
def test_no_read_ahead_makes_each_first_page_a_miss(recorded: tuple[Path, Any]) -> None:
    trace, found = recorded
    (cache,) = run("--from", str(trace), "--memory", "64", "--read-ahead", "0", "--json")["caches"]
    assert cache["read_ahead"] == 0
    assert cache["read_misses"] >= PAGES > found["caches"][0]["read_misses"]


@needs_strace
def test_without_sizes_parts_of_the_touched_pages_are_simulated(recorded: tuple[Path, Any]) -> None:
    caches = run("--from", str(recorded[0]), "--json")["caches"]
    memories = [cache["memory_mib"] for cache in caches]
    assert len(memories) == 4
    assert memories == sorted(memories, reverse=True)
    assert memories[1] == pytest.approx(memories[0] / 2, rel=0.01)


def test_a_file_that_is_no_trace_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a trace\n")
    with pytest.raises(RegattaError, match=r"notes\.txt"):
        CliRunner().invoke(trace_files, ["--from", str(path)], catch_exceptions=False)


@pytest.mark.parametrize("arguments", [[], ["--from", ".", "--", "true"]])
def test_a_command_and_a_trace_exclude_each_other(arguments: list[str]) -> None:
    assert CliRunner().invoke(trace_files, arguments).exit_code == 2
