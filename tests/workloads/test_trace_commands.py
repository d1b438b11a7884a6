"""`regatta trace` of programs on a JVM: vectors of calls and of the heap, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.workloads.java_runs import QUICK, ROOT, Programs, jvm
from regatta.models.gc.heap_profile import read_heap_profile
from regatta.models.vectors.files import read_vector

PROFILED = Path(__file__).with_name("Profiled.java")


@pytest.fixture(scope="module")
def classes(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Profiled.java is compiled."""
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run(["javac", "--release", "11", "-Xlint:all", "-Werror", "-d", folder, PROFILED], check=True)
    return folder


def trace(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "regatta", "trace", *arguments]
    environment = {**os.environ, "REGATTA_HOME": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_vector_has_the_calls_of_the_source(classes: Path, tmp_path: Path) -> None:
    java = ("java", "-cp", str(classes), "Profiled", "calls")
    done = trace(tmp_path, "java", "--overhead", "1", "--per", "run", "-o", "calls.yml", "--", *java)
    assert done.returncode == 0, done.stderr
    vector = read_vector(tmp_path / "calls.yml")
    counts = {count.primitive: (count.count.value, count.arguments) for count in vector.counts}
    assert counts["builder_append_char"] == (7, {})
    assert counts["builder_append_string"] == (7, {"chars": 3})
    assert counts["array_list_add"] == (1000 + 3 + 2, {})
    assert counts["array_copy"] == (1, {"bytes": 10})
    assert counts["hash_map_put"] == (100, {"chars": 0})
    assert (vector.name, vector.per) == ("java", "run")
    assert "java.util.LinkedList.add 1" in vector.provenance["unknown"]
    assert "one pair of runs" in vector.provenance["overhead"]


def test_the_unit_of_a_program_with_the_harness_is_an_iteration(programs: Programs, tmp_path: Path) -> None:
    command = programs.command("vm/jess", "command", size=1, iterations=3, data_seed=1)
    done = trace(tmp_path, "java", "--overhead", "1", "--warmup", "2", "--configuration", "temurin-21 g1 c1-only", "-o", "jess.yml",
        "--", jvm("21"), "-XX:+UseG1GC", QUICK, *command,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    vector = read_vector(tmp_path / "jess.yml")
    assert (vector.per, vector.provenance["units"]) == ("iteration", "1")
    assert vector.provenance["configuration"] == "temurin-21 g1 c1-only"
    assert vector.provenance["jvm"].startswith("OpenJDK 64-Bit Server VM 21.0.8")
    assert vector.provenance["jvm_flags"].startswith(f"-XX:+UseG1GC {QUICK}")
    assert vector.user_time is not None
    assert vector.user_time.value > 0


def test_a_jvm_that_is_not_that_of_the_configuration_is_refused(classes: Path, tmp_path: Path) -> None:
    java = (jvm("17"), "-XX:+UseG1GC", "-cp", str(classes), "Profiled", "calls")
    done = trace(
        tmp_path,
        "java",
        "--overhead",
        "0",
        "--configuration",
        "temurin-21 g1",
        "-o",
        "calls.yml",
        "--",
        *java,
    )
    assert done.returncode != 0
    assert "JVM of release 21.0.8" in done.stderr
    assert not (tmp_path / "calls.yml").exists()


def test_a_command_that_starts_no_jvm_is_refused(tmp_path: Path) -> None:
    done = trace(tmp_path, "java", "--overhead", "0", "-o", "echo.yml", "--", "echo", "no JVM")
    assert done.returncode != 0
    assert "profile: expected a file" in done.stderr
    assert not (tmp_path / "echo.yml").exists()


def test_a_heap_vector_has_rates_and_profiles(programs: Programs, tmp_path: Path) -> None:
    command = programs.command("vm/db", "command", size=1, iterations=3, data_seed=1)
    options = ("--every", "1m", "--runs", "2", "--overhead", "1", "-o", "db.json", "--name", "db")
    done = trace(tmp_path, "heap", *options, "--", jvm("21"), *command)
    assert done.returncode == 0, done.stderr
    vector = json.loads((tmp_path / "db.json").read_text(encoding="utf-8"))
    head = {key: vector[key] for key in ("heap_vector", "name", "per", "warmup", "level")}
    assert head == {"heap_vector": 2, "name": "db", "per": "iteration", "warmup": 1, "level": 0.95}
    rates = vector["rates"]
    assert rates["bytes"]["value"] > 16 * rates["objects"]["value"] > 0
    assert rates["objects"]["n"] == 2
    profile = tmp_path / "profile.json"
    assert len(vector["profiles"]) == 2
    for each in vector["profiles"]:
        profile.write_text(json.dumps(each), encoding="utf-8")
        assert read_heap_profile(profile).sampling_interval == 8192
    assert "relative" in done.stdout
