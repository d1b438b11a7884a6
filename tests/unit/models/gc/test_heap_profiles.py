"""Files of the heap profiler become rates; wrong files are refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from regatta.cli.main import cli
from regatta.host.errors import RegattaError
from regatta.models.gc.heap_profile import (
    HeapProfile,
    rates_per_iteration,
    read_heap_profile,
    survival,
    with_heap_profile,
)
from regatta.models.gc.heap_vector import heap_vector, read_heap_vector, write_heap_vector

#: each iteration allocates ten objects of 100 bytes between two checkpoints, of which some live
WINDOWS = ["startup", "iteration 0", "before 1", "iteration 1", "before 2", "iteration 2", "rest"]


def checkpoint(index: int, window: int, ends: bool, cohorts: dict[int, int], born: int) -> dict[str, Any]:
    """A checkpoint at 1000 bytes per index, with the live objects of each cohort."""
    objects = sum(cohorts.values())
    return {
        "window": window,
        "ends_window": ends,
        "clock_bytes": 1000 * index,
        "allocated": [[1, born, 100 * born]] if born else [],
        "samples": born,
        "walk_ns": 5,
        "live": [[1, objects, 100 * objects]] if objects else [],
        "roots": 3,
        "fan_in": [[0, objects]],
        "fan_out": [[2, objects]],
        "cohorts": [[key, count, 100 * count, 2 * count, 0] for key, count in cohorts.items() if count],
        "unmoved_objects": objects // 2,
        "jumps": objects // 4,
        "loaded_classes": 400,
        "compiled_methods": 7,
        "code_bytes": 7000,
    }


def written(**changed: Any) -> dict[str, Any]:
    return {
        "heap_profile": 3,
        "java": "OpenJDK 64-Bit Server VM 21",
        "sampling_interval": 0,
        "every_bytes": 1000,
        "object_alignment": 8,
        "compressed_references": True,
        "windows": WINDOWS,
        "missing": [],
        "collections_at": [10, 10, 4000],
        "sizes": [64, 128],
        "checkpoints": [
            checkpoint(0, 0, False, {0: 1}, 0),
            checkpoint(1, 0, True, {0: 1}, 10),
            checkpoint(2, 1, True, {0: 1, 2: 6}, 10),
            checkpoint(3, 3, False, {0: 1, 2: 2, 3: 8}, 10),
            checkpoint(4, 3, True, {0: 1, 3: 4, 4: 10}, 10),
            checkpoint(5, 5, True, {0: 1, 3: 4, 4: 2, 5: 10}, 10),
            checkpoint(6, 6, True, {0: 1, 4: 0, 5: 5, 6: 1}, 10),
        ],
    } | changed


def profile_of(folder: Path, **changed: Any) -> HeapProfile:
    path = folder / "heap.json"
    path.write_text(json.dumps(written(**changed)), encoding="utf-8")
    return read_heap_profile(path)


def test_allocation_is_a_mean_over_the_iterations_after_warmup(tmp_path: Path) -> None:
    allocated = rates_per_iteration(profile_of(tmp_path), 0)
    assert allocated["objects"].n == 3
    assert allocated["objects"].point == pytest.approx(40 / 3)
    assert allocated["bytes"].point == pytest.approx(4000 / 3)
    # Student's t for 2 degrees of freedom is 4.302653. The interval is on a log scale, because it would reach below 0.
    half = 4.302653 * (1000 / math.sqrt(3)) / math.sqrt(3)
    assert allocated["bytes"].high == pytest.approx(4000 / 3 * math.exp(half / (4000 / 3)), rel=1e-6)
    assert rates_per_iteration(profile_of(tmp_path), 2)["bytes"].point == 1000
    with pytest.raises(RegattaError, match="--warmup"):
        rates_per_iteration(profile_of(tmp_path), 3)


def test_live_objects_are_those_at_the_ends_of_iterations(tmp_path: Path) -> None:
    live = rates_per_iteration(profile_of(tmp_path), 1)
    assert [live[name].point for name in ("live_objects", "live_bytes", "references_per_object")] == [
        16,
        1600,
        2,
    ]


def test_survival_follows_the_cohorts(tmp_path: Path) -> None:
    profile = profile_of(tmp_path)
    # A cohort is born 500 bytes before its checkpoint, on average.
    assert survival(profile, 0).point == pytest.approx(1)
    assert survival(profile, 500, warmup=2).point == pytest.approx(1)
    assert survival(profile, 1500, warmup=2).point == pytest.approx(0.5)
    assert survival(profile, 1000, warmup=2).point == pytest.approx(0.75)
    # Cohorts 3 and 4 are of one iteration.
    assert survival(profile, 1500, warmup=1).point == pytest.approx(((4 + 2) / 20 + 5 / 10) / 2)
    # Cohort 5 is not seen at this age; cohorts 3 and 4 have 4 and none of 20.
    assert survival(profile, 2500, warmup=1).point == pytest.approx(4 / 20)
    too_old = survival(profile, 1e6)
    assert (math.isnan(too_old.point), too_old.reason != "") == (True, True)


def test_without_the_harness_the_run_is_one_unit(tmp_path: Path) -> None:
    checkpoints = [checkpoint(i, 0, i == 3, {0: 1}, 10 * bool(i)) for i in range(4)]
    profile = profile_of(tmp_path, windows=["rest"], checkpoints=checkpoints)
    allocated = rates_per_iteration(profile, 1)
    assert (allocated["objects"].point, allocated["objects"].n) == (30, 1)
    assert heap_vector([profile], "x").per == "run"


def test_the_agent_is_the_first_option(tmp_path: Path) -> None:
    command = with_heap_profile(
        ("java", "-cp", "x"), Path("/a.so"), Path("/f"), interval=5, every=7, warmup=2
    )
    assert command == ["java", "-agentpath:/a.so=heap,interval=5,every=7,warmup=2,/f", "-cp", "x"]


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"heap_profile": 1}, "heap_profile"),
        ({"checkpoints": []}, "checkpoints"),
        ({"sizes": [64, 64]}, "sizes"),
        ({"sizes": [64]}, "live"),
        ({"collections_at": [5, 4]}, "collections_at"),
        ({"windows": WINDOWS[:3]}, "window"),
        ({"every_bytes": -1}, "every_bytes"),
        ({"java": 3}, "java"),
    ],
)
def test_a_wrong_file_names_the_key(tmp_path: Path, changed: dict[str, Any], where: str) -> None:
    with pytest.raises(RegattaError, match=where):
        profile_of(tmp_path, **changed)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cohorts", [[9, 1, 100, 2, 0]]),
        ("cohorts", [[0, 5, 100, 2, 0]]),
        ("live", [[1, 1]]),
        ("live", [[1, -1, 1]]),
        ("fan_in", [[2, 1], [1, 1]]),
        ("unmoved_objects", 1000),
        ("jumps", 1000),
    ],
)
def test_a_wrong_row_names_the_checkpoint(tmp_path: Path, key: str, value: object) -> None:
    checkpoints = written()["checkpoints"]
    checkpoints[1][key] = value
    with pytest.raises(RegattaError, match=r"checkpoints\[1\]"):
        profile_of(tmp_path, checkpoints=checkpoints)


def test_messages_about_files_name_a_fix(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "heap.json"
    with pytest.raises(RegattaError) as missing:
        read_heap_profile(path)
    path.write_text(json.dumps(written())[:-20], encoding="utf-8")
    with pytest.raises(RegattaError) as truncated:
        read_heap_profile(path)
    with pytest.raises(RegattaError) as other:
        profile_of(tmp_path, heap_profile=1)
    golden("missing", str(missing.value))
    golden("truncated", str(truncated.value))
    golden("other_version", str(other.value))


def test_a_written_vector_has_rates_and_the_profile(tmp_path: Path) -> None:
    profile = profile_of(tmp_path)
    path = tmp_path / "vector.json"
    write_heap_vector(heap_vector([profile], "x", benchmark="vm/x", warmup=2), path)
    vector = json.loads(path.read_text(encoding="utf-8"))
    assert vector["profiles"] == [written()]
    assert vector["rates"]["objects"] == {
        "value": 10, "low": None, "high": None, "n": 1, "reason": vector["rates"]["objects"]["reason"],
    }  # fmt: skip
    assert {key for key in vector["rates"] if key.startswith("survival")} == {
        "survival_1_mib", "survival_4_mib", "survival_16_mib", "survival_64_mib",
    }  # fmt: skip
    assert vector["rates"]["survival_1_mib"]["value"] is None


def test_a_vector_of_several_runs_has_their_means(tmp_path: Path) -> None:
    profile = profile_of(tmp_path)
    other = profile_of(tmp_path, checkpoints=written()["checkpoints"][:-2])
    path = tmp_path / "vector.json"
    write_heap_vector(heap_vector([profile, other], "x", warmup=1), path)
    vector = read_heap_vector(path)
    assert [run.profile for run in vector.runs] == [profile, other]
    each = [rates_per_iteration(one, 1)["objects"].point for one in (profile, other)]
    assert (vector.rates["objects"].n, vector.rates["objects"].point) == (2, pytest.approx(sum(each) / 2))
    assert each[0] != each[1]
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | {"profiles": []}))
    with pytest.raises(RegattaError, match="profiles"):
        read_heap_vector(path)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--cell", "vm/db", "--", "java"],
        ["--cell", "vm/db"],
        ["--configuration", "x", "--", "java"],
        ["--interval", "1x", "--", "java"],
        ["--interval", "3g", "--", "java"],
        ["--every", "-1", "--", "java"],
    ],
)
def test_wrong_options_run_nothing(tmp_path: Path, arguments: list[str]) -> None:
    done = CliRunner().invoke(cli, ["trace", "heap", "-o", str(tmp_path / "v.json"), *arguments])
    assert done.exit_code == 2
    assert list(tmp_path.iterdir()) == []
