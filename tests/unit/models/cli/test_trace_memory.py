"""`regatta trace memory`: a real program under valgrind, its trace read again, and folders that are no trace."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from regatta.host.errors import RegattaError
from regatta.models.cli.trace_memory import trace_memory
from regatta.models.page_cache.process import FORKED

MISSING = [program for program in ("valgrind", "gcc") if shutil.which(program) is None]
needs_valgrind = pytest.mark.skipif(
    bool(MISSING), reason=f"NOT TESTED: {', '.join(MISSING)} is not installed"
)
WALK = Path(__file__).parents[3] / "workloads" / "memory_walk.c"
PAGES = 512
#: all files but the data
OTHERS = ("--resident", "/usr/*", "--resident", "/lib*", "--resident", "/etc/*", "--resident", "*/walk")


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(trace_memory, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    place = tmp_path_factory.mktemp("memory")
    data, trace, walk = place / "data", place / "trace", place / "walk"
    data.write_bytes(bytes(4096 * PAGES))
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-o", walk, WALK, "-lm"], check=True)
    # The shell runs one program as its child, and then becomes the other: both are followed.
    script = '"$0" "$1" loop 1024; exec "$0" "$1" loop 1024'
    return trace, run("-o", str(trace), *OTHERS, "--json", "--", "sh", "-c", script, str(walk), str(data))


@needs_valgrind
def test_two_processes_share_the_pages_of_a_file_that_is_touched_four_times(
    recorded: tuple[Path, Any],
) -> None:
    found = recorded[1]
    assert found["first_touches"]["files"] == PAGES
    assert 0 < found["first_touches"]["anonymous"] < PAGES
    whole, half, *_ = found["memories"]
    assert whole["lru_read_again"] == 0
    assert half["lru_read_again"] == 3 * PAGES
    assert half["linux"]["read_again"] > 0
    assert list(found["not_understood"]) == [FORKED]
    assert found["kept"] < found["references"] / 10


@needs_valgrind
def test_a_kept_trace_gives_the_same_faults(recorded: tuple[Path, Any]) -> None:
    assert run("--from", str(recorded[0]), *OTHERS, "--json") == recorded[1]


@needs_valgrind
def test_libraries_count_unless_they_are_resident(recorded: tuple[Path, Any]) -> None:
    found = run("--from", str(recorded[0]), "--json")
    assert found["first_touches"]["files"] > PAGES
    assert found["first_touches"]["anonymous"] == recorded[1]["first_touches"]["anonymous"]


@needs_valgrind
def test_too_little_memory_has_no_faults_instead_of_a_number(recorded: tuple[Path, Any]) -> None:
    found = run("--from", str(recorded[0]), "--memory", "0.01", "--json")
    assert found["memories"] == [{"memory_mib": 3 / 256, "lru_read_again": None, "linux": None}]
    swapped = run("--from", str(recorded[0]), "--memory", "0.01", "--swap", "--json")["memories"]
    assert swapped[0]["lru_read_again"] > 3 * PAGES
    assert swapped[0]["linux"] is None


@needs_valgrind
def test_the_table_and_the_picture_have_a_row_for_each_memory(
    recorded: tuple[Path, Any], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    arguments = [
        "--from",
        str(recorded[0]),
        *OTHERS,
        "--memory",
        "1.5",
        "--memory",
        "8",
        "--picture",
        str(page),
    ]
    done = CliRunner().invoke(trace_memory, arguments, catch_exceptions=False)
    rows = [line.split()[:4] for line in done.stdout.splitlines()[-2:]]
    assert [row[0] for row in rows] == ["8.00", "1.50"]
    assert [row[3] for row in rows] == ["0", "1,536"]
    assert "8.00" in page.read_text()


@needs_valgrind
def test_a_program_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(RegattaError, match="valgrind"):
        CliRunner().invoke(trace_memory, ["--", "/no/such/program"], catch_exceptions=False)


def test_a_folder_that_is_no_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RegattaError, match="a trace of memory"):
        CliRunner().invoke(trace_memory, ["--from", str(tmp_path)], catch_exceptions=False)


@pytest.mark.parametrize("arguments", [[], ["--from", ".", "--", "true"]])
def test_a_command_and_a_trace_exclude_each_other(arguments: list[str]) -> None:
    assert CliRunner().invoke(trace_memory, arguments).exit_code == 2
