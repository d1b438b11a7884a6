"""The suites that people own, with stand-ins for their jars: every benchmark is planned as its command line should be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from helpers import in_process

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    "dacapo-2006", "dacapo-9.12", "dacapo-23.11", "scalabench", "renaissance", "specjvm98", "specjvm2008", "specjbb2015",
)  # fmt: skip
SUITES: dict[str, dict[str, Any]] = {
    name: YAML(typ="safe").load((ROOT / "configs" / "suites" / f"{name}.yml").read_text(encoding="utf-8"))
    for name in NAMES
}
#: how many benchmarks each suite's publisher counts
COUNTS = dict(zip(NAMES, (11, 15, 22, 12, 25, 9, 38, 1), strict=True))
#: prints what DaCapo's harness would, of the arguments that it is given
HARNESS = """\
public class Harness {
    public static void main(String[] args) {
        String size = args[1];
        int iterations = Integer.parseInt(args[3]);
        String name = "===== DaCapo 9.12-MR1 " + args[4];
        for (int i = 1; i < iterations; i++) System.err.println(name + " completed warmup " + i + " in 30 msec =====");
        if (size.equals("small")) System.err.println(name + " PASSED in 20 msec =====");
        else System.err.println(name + " FAILED =====");
    }
}
"""


def regatta(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "REGATTA_HOME": str(ROOT),
        "REGATTA_FILES": str(cwd / "own"),
        "REGATTA_HOST_LOCK": str(cwd / "lock"),
    }
    return in_process.regatta(*arguments, cwd=cwd, environment=environment)


def write_spec(folder: Path, benchmarks: list[dict[str, Any]]) -> None:
    spec = {
        "name": "owned",
        "question": "Are they planned?",
        "runtimes": ["host-java"],
        "collectors": ["serial"],
        "heap": {"sizes_mib": [32]},
        "benchmarks": benchmarks,
        "invocations": {"fixed": 1},
        "iterations": {"count": 3, "warmup": 1},
        "perturbation": dict.fromkeys(
            ("steal_percent", "other_cpu_percent", "memory_pressure_percent", "swapped_pages")
        ),
    }
    (folder / "spec.yml").write_text(json.dumps(spec))


def put_stand_ins(folder: Path) -> None:
    for suite in SUITES.values():
        for wanted in suite["files"].values():
            path = folder / wanted["name"]
            path.parent.mkdir(parents=True, exist_ok=True)
            if "holds" in wanted:
                for part in wanted["holds"]:
                    (path / part).mkdir(parents=True)
            else:
                path.write_text(wanted["name"])
            for part in wanted.get("beside", ()):
                (path.parent / part).mkdir()


@pytest.mark.parametrize("name", NAMES)
def test_all_benchmarks_of_a_suite_are_there_and_are_javas(name: str) -> None:
    benchmarks = SUITES[name]["benchmarks"]
    assert len(benchmarks) == COUNTS[name]
    assert all(entry["kind"] == "java" for entry in benchmarks.values())
    assert "-no-validation" not in json.dumps(SUITES[name])


@pytest.mark.skipif(shutil.which("java") is None, reason="OWNED SUITES ARE NOT PLANNED: no java on PATH")
def test_every_benchmark_in_every_size_can_be_planned(tmp_path: Path) -> None:
    put_stand_ins(tmp_path / "own")
    write_spec(
        tmp_path,
        [
            {"suite": suite, "benchmark": name, "size": size}
            for suite, value in SUITES.items()
            for name, entry in value["benchmarks"].items()
            for size in entry.get("sizes", {"default": {}})
        ],
    )
    done = regatta(tmp_path, "plan", "spec.yml", "--write")
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "results" / "owned" / "plan" / "local" / "plan.json").read_text())
    own = tmp_path / "own"
    commands = {cell["benchmark"]: cell["argv"][4:] for cell in plan["cells"]}
    assert len(commands) > 250
    assert commands["dacapo-2006/antlr:large"] == [
        "-jar",
        f"{own}/dacapo-2006-10-MR2.jar",
        "-s",
        "large",
        "-n",
        "3",
        "antlr",
    ]
    assert commands["dacapo-23.11/h2:vlarge"] == [
        "-jar",
        f"{own}/dacapo-23.11-chopin.jar",
        "-s",
        "vlarge",
        "-n",
        "3",
        "h2",
    ]
    assert commands["specjvm98/db:s100"] == [
        "-cp",
        f"{own}/SPECjvm98",
        "SpecApplication",
        "-a",
        "-m3",
        "-M3",
        "-s100",
        "_209_db",
    ]
    assert commands["renaissance/als:test"][2:] == [
        "--json",
        "renaissance.json",
        "-r",
        "3",
        "-c",
        "test",
        "als",
    ]
    assert commands["specjvm2008/compress:short"] == [
        f"-Dspecjvm.home.dir={own}/SPECjvm2008", "-jar", f"{own}/SPECjvm2008/SPECjvm2008.jar", "-ikv", "-ict",
        "-wt", "5s", "-it", "5s", "-i", "3", "compress",
    ]  # fmt: skip
    assert commands["specjbb2015/composite:default"] == [
        "-jar",
        f"{own}/SPECjbb2015/specjbb2015.jar",
        "-m",
        "COMPOSITE",
    ]
    arranged = {cell["benchmark"]: cell["arrange"] for cell in plan["cells"]}
    assert arranged["specjvm98/db:s1"] == {"spec": f"{own}/SPECjvm98/spec", "props": f"{own}/SPECjvm98/props"}
    files = {file["path"] for cell in plan["cells"] for file in cell["files"]}
    assert {f"{own}/dacapo-23.11-chopin", f"{own}/SPECjvm98"} <= files


@pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("java", "javac", "jar")),
    reason="A STAND-IN FOR DACAPO IS NOT RUN: java, javac or jar is not on PATH",
)
def test_a_stand_in_for_dacapo_is_measured_and_its_failure_recorded(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "Harness.java").write_text(HARNESS)
    subprocess.run(["javac", "Harness.java"], cwd=own, check=True)
    jar = SUITES["dacapo-9.12"]["files"]["dacapo"]["name"]
    subprocess.run(
        ["jar", "--create", "--file", jar, "--main-class", "Harness", "Harness.class"], cwd=own, check=True
    )
    write_spec(
        tmp_path,
        [{"suite": "dacapo-9.12", "benchmark": "fop", "size": size} for size in ("small", "default")],
    )
    planned = regatta(tmp_path, "plan", "spec.yml", "--write")
    assert planned.returncode == 0, planned.stderr
    done = regatta(
        tmp_path, "segment", "results/owned", "--host", "local", "--segment", "0", "--receipt", "receipt"
    )
    assert done.returncode == 0, done.stderr
    lines = regatta(tmp_path, "records", "owned", "--json").stdout.splitlines()
    told = {record["status"]: record for record in map(json.loads, lines)}
    assert [row[1:4] for row in told["ok"]["iterations"]] == [
        ["elapsed", 30, "ms"], ["elapsed", 30, "ms"], ["elapsed", 20, "ms"],
    ]  # fmt: skip
    assert told["failed"]["reason"] == "iteration 3 FAILED: wrong output"
