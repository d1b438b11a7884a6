"""The experiment `file-system` on little data: programs with less memory and on tmpfs, and their predicted times."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.experiment_parts import HOME, measured, regatta
from regatta.host.measure.cgroup import open_accounting
from regatta.models.vectors.files import read_vector, write_vector
from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Count,
    LinearCost,
    PrimitiveCost,
    SystemVector,
    Value,
)

PROGRAMS = HOME / "benchmarks/files/programs.py"
MIB = 24
LIMIT_MIB = 32
BENCHMARKS = [
    {"suite": "files", "benchmark": ["sqlite", "tar"], "parameters": {"mib": MIB}},
    {
        "suite": "lm",
        "benchmark": ["lat_uncached", "lat_fs"],
        "size": "quick",
        "parameters": {"repetitions": 2},
    },
    {
        "suite": "lm",
        "benchmark": "lat_file_io",
        "size": "quick",
        "parameters": {"operation": "read", "repetitions": 2},
    },
]
MODIFIERS = {
    "half": {"isolation": {"kind": "cgroup", "memory_mib": LIMIT_MIB}},
    "tmpfs": {"environment": {"TMPDIR": "/dev/shm"}},
}


def why_not() -> str:
    """Why this machine cannot limit memory or trace, or ""."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    accounting, reason = open_accounting({"memory"})
    if accounting is None:
        return reason
    try:
        found = accounting.limit(None, LIMIT_MIB << 20)
        accounting.limit(None, None)
    finally:
        accounting.close()
    return found


def trace(program: str, directory: Path) -> Path:
    """The trace of a program of the suite, without the preparation of its data."""
    data, found = directory / f"data-{program}", directory / f"{program}.files"
    words = [sys.executable, str(PROGRAMS), program, "--mib", str(MIB), "--directory", str(data), "--only"]
    subprocess.run([*words, "prepare"], check=True, timeout=120)
    done = regatta(
        "trace", "files", "--only", str(data), "-o", str(found), "--", *words, "run", cwd=directory
    )
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := why_not():
        pytest.skip(f"NOT TESTED: {reason}")
    place = tmp_path_factory.mktemp("file-system")
    measured(
        "file-system",
        place,
        BENCHMARKS,
        rounds=2,
        workflow=True,
        modifiers=MODIFIERS,
        modifier_sets=[[], ["half"], ["tmpfs"]],
        exclude=[{"suite": "lm", "modifiers": ["half"]}],
    )
    for program in ("sqlite", "tar"):
        trace(program, place)
    return place


def predicted(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    applications = [f"files/{program}={folder / program}.files" for program in ("sqlite", "tar")]
    done = regatta("predict", "files", *applications, "--on", "file-system", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def system(folder: Path) -> SystemVector:
    """The costs of the disk without a limit of memory."""
    done = regatta("vector", "system", "file-system", "--primitives", "files", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = read_vector(folder / "results/file-system/vectors/files/local.yml")
    assert isinstance(found, SystemVector)
    return found


def cost(system: SystemVector, primitive: str, count: float, size: float = 0.0) -> float:
    found = system.primitives[primitive].cost
    one = found.fixed.value + found.per.value * size if isinstance(found, LinearCost) else found.cost.value
    return count * one


def of_disk(system: SystemVector, counts: dict[str, int]) -> float:
    """The time in ns that the disk takes for these counts."""
    reads = counts["waits"] + counts["background_windows"]
    writes = counts["writing_syncs"] + math.ceil(counts["pressed"] / 1024)
    written = 4096 * (counts["synced"] + counts["pressed"])
    fetched = counts["read_misses"] + counts["map_misses"] + counts["write_misses"] + counts["read_ahead"]
    return (
        cost(system, "disk_read", reads, 4096 * counts["waited_pages"] / reads)
        + cost(system, "disk_ahead", 4096 * (fetched - counts["waited_pages"]))
        + (cost(system, "disk_write", writes, written / writes) if writes else 0.0)
    )


def test_each_time_is_the_measured_one_and_what_other_misses_cost(folder: Path, system: SystemVector) -> None:
    document: dict[str, Any] = json.loads(predicted(folder, "--json").stdout)

    def misses(counts: dict[str, int]) -> float:
        return (
            of_disk(system, counts)
            + cost(system, "file_read", max(0, counts["read_hits"] - counts["read_ahead_used"]), 4096)
            + cost(system, "create", counts["creates"])
            + cost(system, "unlink", counts["unlinks"])
        )

    times = {(one["benchmark"], one["disk"], one["memory_mib"]): one for one in document["times"]}
    assert len(times) == 6
    for program in ("files/sqlite", "files/tar"):
        base, half = times[program, "none", None], times[program, "none", LIMIT_MIB]
        assert base["base"]
        assert base["predicted"]["value"] == base["measured"]["value"] > 0
        assert half["measured"]["value"] > 0
        more = misses(half["counts"]) - misses(base["counts"])
        assert half["predicted"]["value"] == pytest.approx(base["measured"]["value"] + more, rel=1e-6)
        assert times[program, "tmpfs", None]["counts"] == base["counts"]
    # tar reads its tree twice and its archive once: with half of the memory, it must read them from the disk again.
    tar = [times["files/tar", "none", memory]["counts"] for memory in (None, LIMIT_MIB)]
    assert tar[1]["read_misses"] > 1.5 * tar[0]["read_misses"]
    assert tar[0]["evictions"] == 0 < tar[1]["evictions"]
    assert {one["verdict"] for one in document["orders"]} <= {"right", "wrong", "open", "same"}


def test_waits_for_the_disk_are_a_part_of_a_predicted_time(folder: Path, system: SystemVector) -> None:
    """A program that copies files: its own code and system calls here, and the waits with less memory than its files have."""
    own = ApplicationVector("tar", "run", (Count("a", Value.exact(1000.0)),), user_time=Value.exact(20e6))
    write_vector(own, folder / "tar.yml")
    here = {key: system.provenance[key] for key in ("host", "configuration", "fingerprint")}
    calls = {"a": PrimitiveCost("operation", ConstantCost(Value.exact(1e4)))}
    write_vector(SystemVector("here", "us", calls, provenance=here), folder / "here.yml")
    words = (
        "predict",
        "tar.yml",
        "--on",
        "here.yml",
        "--json",
        "--files",
        "tar.files",
        "--costs",
        "file-system",
    )
    done = regatta(*words, "--memory", f"{LIMIT_MIB}m", cwd=folder)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["applications"][0]["systems"]
    times = json.loads(predicted(folder, "--json").stdout)["times"]
    (counts,) = (
        one["counts"] for one in times if (one["benchmark"], one["memory_mib"]) == ("files/tar", LIMIT_MIB)
    )
    cached = cost(system, "file_read", counts["read_misses"] + counts["read_ahead_used"], 4096)
    waits = max(of_disk(system, counts) - cached, 0.0)
    rows = {row["primitive"]: row["time"]["value"] for row in found["prediction"]["contributions"]}
    assert rows == {"a": pytest.approx(1e10), "waits for the disk": pytest.approx(waits)}
    assert found["elapsed"]["value"] == pytest.approx(1e10 + 20e6 + waits)
    assert found["kernel"]["value"] == pytest.approx(1e10)
    assert found["user"]["value"] == pytest.approx(20e6)
    assert found["provenance"]["waits for the disk"] in done.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--memory", "64m", "--costs", "nothing"), "nothing"),
        (("--memory", "64m"), "--costs"),
        (("--costs", "file-system"), "--memory"),
    ],
)
def test_waits_without_what_they_need_are_refused(folder: Path, options: tuple[str, ...], named: str) -> None:
    done = regatta(
        "predict", "apache-static", "--on", "xeon-vm", "--files", "tar.files", *options, cwd=folder
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr


def test_each_disk_has_the_costs_of_its_files(folder: Path) -> None:
    done = regatta("vector", "system", "file-system", "--primitives", "files", cwd=folder)
    assert done.returncode == 0, done.stderr
    for name in ("local", "local-tmpfs"):
        system = read_vector(folder / "results/file-system/vectors/files" / f"{name}.yml")
        assert isinstance(system, SystemVector)
        assert set(system.primitives) == {
            "disk_read",
            "disk_ahead",
            "disk_write",
            "file_read",
            "create",
            "unlink",
        }
        assert system.primitives["disk_ahead"].unit == "byte"
        # Only root may drop names from memory, and only if the experiment asks for it.
        assert f"{name}: stat_cold excluded" in done.stderr


def test_the_page_has_a_figure_for_each_program(folder: Path) -> None:
    told = predicted(folder, "--html", "files.html").stdout
    assert "predicted times, off by" in told
    page = (folder / "files.html").read_text(encoding="utf-8")
    assert page.count("files/sqlite on local") >= 1
    assert page.count("files/tar on local") >= 1
