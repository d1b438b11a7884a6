"""`regatta minheap --keep`: what was measured is written where another spec finds it, and is the heap of its cells there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from helpers.experiments.small_experiments import SmallExperiment

#: a JVM that needs 20 MiB, or 24 under G1, and fails as one does when it gets less
JVM = """#!/bin/sh
case "$*" in *-version*) exec {java} "$@";; *Bad*) echo java.lang.OutOfMemoryError >&2; exit 1;; esac
needs=20
for word; do case $word in -Xmx*) heap=${{word#-Xmx}}; heap=${{heap%m}};; *UseG1GC) needs=24;; esac; done
[ "$heap" -ge $needs ] && exit 0
echo java.lang.OutOfMemoryError: Java heap space >&2
exit 1
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    (root / "configs" / "suites").mkdir(parents=True)
    java = shutil.which("java")
    if java is None:
        pytest.skip("NO JAVA ON PATH: keeping minheaps is not tried")
    program = root / "jvm"
    program.write_text(JVM.format(java=java))
    program.chmod(0o755)
    runtimes = {
        "runtimes": {
            name: {"provider": "path", "path": str(program), "flags": flags}
            for name, flags in {"ours": [], "other": ["-Dx=1"]}.items()
        }
    }
    collectors = {
        "collectors": {"serial": {"flags": ["-XX:+UseSerialGC"]}, "g1": {"flags": ["-XX:+UseG1GC"]}}
    }
    programs = {
        name: {"kind": "java", "command": ["{runtime}", main]}
        for name, main in (("bad", "Bad"), ("run", "Main"))
    }
    suite = {"suite": "toy", "benchmarks": programs}
    for name, value in {"runtimes": runtimes, "collectors": collectors, "suites/toy": suite}.items():
        (root / "configs" / f"{name}.yml").write_text(json.dumps(value))
    (root / "configs" / "hosts").mkdir()
    (root / "configs" / "hosts" / "local.yml").write_text(
        "all: {children: {local: {hosts: {local: {ansible_connection: local}}}}}"
    )
    return root


def test_kept_minheaps_are_the_heaps_of_another_spec_on_every_runtime(tmp_path: Path, home: Path) -> None:
    experiment = SmallExperiment(tmp_path)
    experiment.environment["REGATTA_HOME"] = str(home)
    base = {
        "name": "small", "platforms": ["local"], "benchmarks": [{"suite": "toy", "benchmark": "run"}], "invocations": {"fixed": 1},
        "collectors": ["g1", "serial"], "heap": {"factors": [1, 1.5]}, "timeout_s": 20,
    }  # fmt: skip
    spec = experiment.root / "spec.yml"
    spec.write_text(json.dumps(base | {"runtimes": ["ours", "other"]}))
    refused = experiment.regatta("minheap", "spec.yml", "--keep")
    assert refused.returncode == 2
    assert "one Java runtime" in refused.stderr
    spec.write_text(json.dumps(base | {"runtimes": ["ours"], "minheap": {"passes": 1}}))
    done = experiment.regatta("minheap", "spec.yml", "--keep")
    assert done.returncode == 0, done.stderr
    kept = YAML(typ="safe").load((home / "configs" / "suites" / "minheap" / "toy.yml").read_text())
    assert (kept["suite"], kept["runtime"], kept["passes"]) == ("toy", "ours", 1)
    assert kept["heaps_mib"] == {"run": {"default": 24}}
    assert kept["collectors"] == ["g1", "serial"]
    spec.write_text(json.dumps(base | {"runtimes": ["ours", "other"], "minheap": {"source": "kept"}}))
    plan = experiment.regatta("plan", "spec.yml", "--write")
    assert plan.returncode == 0, plan.stderr
    cells = experiment.header()["cells"]
    heaps = {(cell["runtime"], cell["heap_factor"]): cell["heap_mib"] for cell in cells}
    assert heaps == {("ours", 1): 24, ("ours", 1.5): 36, ("other", 1): 24, ("other", 1.5): 36}
    told = experiment.regatta("analyze", "small", "--all").stderr
    (factors,) = (line for line in told.splitlines() if "heap factors of toy" in line)
    assert " ours under g1, serial (" in factors
    assert "(1 iteration, " in factors
    # Measured in another way, it does not go into the same file.
    spec.write_text(json.dumps(base | {"runtimes": ["ours"], "minheap": {"passes": 2}}))
    other = experiment.regatta("minheap", "spec.yml", "--keep")
    assert other.returncode == 2
    assert "--replace" in other.stderr
    assert experiment.regatta("minheap", "spec.yml", "--keep", "--replace").returncode == 0


def test_one_that_completes_in_no_heap_does_not_keep_the_others_from_being_kept(
    tmp_path: Path, home: Path
) -> None:
    experiment = SmallExperiment(tmp_path)
    experiment.environment["REGATTA_HOME"] = str(home)
    spec = {
        "name": "small", "platforms": ["local"], "benchmarks": [{"suite": "toy", "benchmark": "all"}], "invocations": {"fixed": 1},
        "runtimes": ["ours"], "collectors": ["serial"], "heap": {"factors": [1]}, "minheap": {"passes": 1}, "timeout_s": 20,
    }  # fmt: skip
    (experiment.root / "spec.yml").write_text(json.dumps(spec))
    done = experiment.regatta("minheap", "spec.yml", "--keep")
    assert done.returncode == 3
    assert "of toy/bad:default on ours: " in done.stderr
    assert "completed invocation" in done.stderr
    kept = YAML(typ="safe").load((home / "configs" / "suites" / "minheap" / "toy.yml").read_text())
    assert kept["heaps_mib"] == {"run": {"default": 20}}
