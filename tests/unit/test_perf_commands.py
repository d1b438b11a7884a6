"""The commands in perf/ run and print rows. Whether their goals hold is not judged here: other tests share the machine."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from regatta.host.events.tracefs import missing_for_events

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(1800),
]  # each command measures for seconds, or for minutes on a busy machine

ROOT = Path(__file__).parents[2]
KEYS = {"what", "unit", "ours", "peer", "peer_name", "ratio", "goal", "limit", "holds", "details"}


def rows_of(command: str, tmp_path: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [ROOT / "perf" / command, "--quick", "--json"],
        env={**os.environ, "VIRTUAL_ENV": sys.prefix},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode in (0, 1), done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    assert done.returncode == any(row["holds"] is False for row in rows)
    for row in rows:
        assert set(row) == KEYS
        assert isinstance(row["ours"], (int, float))
        # A cost that is a difference of two times may be below 0.
        assert math.isfinite(row["ours"])
        assert (row["goal"] is None) == (row["holds"] is None)
        if row["peer"] is None:
            assert "NOT " in row["peer_name"]
            assert f"{row['what']}: {row['peer_name']}" in done.stderr
    assert list(tmp_path.iterdir()) == []
    return rows


def test_overhead_prints_the_cost_of_an_invocation_and_of_starts_beside_peers(tmp_path: Path) -> None:
    rows = rows_of("overhead", tmp_path)
    whats = [row["what"] for row in rows]
    assert whats[0].startswith("one invocation, ")
    assert "regatta --version" in whats
    assert any(what.startswith("regatta run, planned") for what in whats)
    assert any(what.startswith("CPU of the runner") for what in whats)
    for peer, name in (("hyperfine", "hyperfine -N, nothing recorded"), ("bare", "bare: posix_spawn, wait4")):
        if peer == "bare" or shutil.which(peer):
            (row,) = (row for row in rows if row["peer_name"] == name)
            assert row["peer"] > 0
        else:
            assert any(row["peer_name"].startswith(f"{peer}: NOT INSTALLED") for row in rows)


def test_time_prints_the_start_and_whole_comparisons_beside_hyperfine(tmp_path: Path) -> None:
    rows = rows_of("time", tmp_path)
    assert [row["goal"] for row in rows] == ["at most", "at most 1.3 x hyperfine", None]
    # Two commands, ten runs of each, and a discarded round.
    assert all(count >= 2 * 11 for row in rows[1:] for count in row["details"]["recorded"])
    assert all(row["peer"] is not None for row in rows), "`./regatta test` installs hyperfine"


def test_plan_prints_time_and_memory_beside_peers(tmp_path: Path) -> None:
    rows = rows_of("plan", tmp_path)
    assert {row["unit"] for row in rows} == {"s", "MiB"}
    assert all(row["peer"] is not None for row in rows)


def test_analysis_prints_ours_beside_r_and_scipy(tmp_path: Path) -> None:
    rows = rows_of("analysis", tmp_path)
    assert {row["unit"] for row in rows} == {"s", "ms", "MiB"}
    peers = [row["peer_name"] for row in rows]
    assert sum("scipy" in peer for peer in peers) >= 3
    assert sum(peer.startswith("R") for peer in peers) >= 8
    if shutil.which("Rscript"):
        assert all(row["peer"] is not None for row in rows if row["peer_name"].startswith("R:"))


@pytest.mark.skipif(shutil.which("influxd") is None, reason="NOT TESTED: no influxd")
def test_ingest_prints_a_point_beside_bare_posting_and_memory(tmp_path: Path) -> None:
    point, memory = rows_of("ingest", tmp_path)
    assert (point["unit"], memory["unit"]) == ("us", "MiB")
    assert point["peer_name"].startswith("bare: POST ")
    assert point["peer"] > 0
    # Memory is what it is, whatever else runs.
    assert memory["holds"] is True


def test_a_folder_in_memory_is_refused_because_syncing_costs_nothing_there() -> None:
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        pytest.skip("NOT TESTED: no /dev/shm here")
    done = subprocess.run(
        [ROOT / "perf" / "plan", "--quick", "--directory", memory],
        env={**os.environ, "VIRTUAL_ENV": sys.prefix},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert "got /dev/shm" in done.stderr


@pytest.mark.skipif(
    shutil.which("gcc") is None or shutil.which("make") is None, reason="NOT TESTED: no gcc or make"
)
def test_lm_prints_what_the_harness_finds_beside_what_peers_find(tmp_path: Path) -> None:
    rows = rows_of("lm", tmp_path)
    empty = rows[0]
    assert empty["what"].startswith("an empty loop, ")
    assert rows[-1]["what"].startswith("one latency: ")
    calls = [row for row in rows if row["what"] == "the null call"]
    assert len(calls) == 2
    assert all(row["peer"] is None or row["ratio"] > 0 for row in calls)


@pytest.mark.skipif(bool(missing_for_events()), reason=f"NOT TESTED: no {missing_for_events()}")
def test_events_prints_analysis_export_and_recordings(tmp_path: Path) -> None:
    rows = rows_of("events", tmp_path)
    assert len([row for row in rows if row["what"].startswith("request of Apache")]) >= 4
    assert all(row["peer"] > 0 for row in rows if row["peer_name"] == "bare")


def test_requests_prints_time_and_memory_of_a_model(tmp_path: Path) -> None:
    rows = rows_of("requests", tmp_path)
    assert [row["unit"] for row in rows] == ["s", "MiB"] * 2
    assert all(row["ours"] > 0 for row in rows)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_trace_prints_commands_under_each_tracer_beside_bare_ones(tmp_path: Path) -> None:
    rows = rows_of("trace", tmp_path)
    assert {row["peer_name"] for row in rows} == {"bare"}
    assert len([row for row in rows if row["what"].endswith("under strace -f -c")]) == 3
    assert len([row for row in rows if row["what"].endswith("under strace")]) == 3


def test_micro_prints_operations_beside_jmh(tmp_path: Path) -> None:
    rows = rows_of("micro", tmp_path)
    assert [row["what"] for row in rows] == ["strings/string_equals/128", "strings/string_substring/128"]
    assert all(row["peer_name"] == "JMH 1.37" and row["peer"] > 0 for row in rows)


def test_collections_prints_the_cost_of_profiles_costs_and_predictions(tmp_path: Path) -> None:
    rows = rows_of("collections", tmp_path)
    assert [row["peer_name"] == "without the agent" for row in rows] == [True, True, False, False]
    assert all(row["ours"] > 0 for row in rows)


ACCURACY = sorted(path.name for path in (ROOT / "perf" / "accuracy").glob("*.py") if path.name != "frame.py")


@pytest.mark.parametrize("script", ACCURACY)
def test_a_script_of_accuracy_prints_a_row_per_case_and_is_listed(script: str) -> None:
    """Whether goals hold is not judged here: with few replications, some are missed by chance."""
    done = subprocess.run(
        [sys.executable, ROOT / "perf" / "accuracy" / script, "--quick", "--replications", "20"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode in (0, 1), done.stderr
    assert len(done.stdout.splitlines()) > 5
    assert "nan" not in done.stdout.lower()
    assert f"| `{script}` |" in (ROOT / "perf" / "README.md").read_text()
