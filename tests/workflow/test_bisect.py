"""`regatta bisect` on a real repository: two causes, a revision that cannot be built, kill -9 in the middle."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import SmallExperiment
from helpers.git_repositories import commit
from helpers.waiting import wait_until

#: Reports a number that depends on the round, the cell and LEVEL alone: a noise of 0.02 % around the level.
PROGRAM = f"""#!{sys.executable} -IS
import json, math, os
cell, _, number = os.environ["REGATTA_INVOCATION"].rpartition("-r")
# Never the same in two cells, and never a difference on average.
noise = 0.02 * math.sin(1.7 * int(number) + int(cell, 16) % 100_003)
with open(os.environ["REGATTA_RESULTS"], "w") as file:
    file.write(json.dumps({{"iteration": 0, "metric": "elapsed", "value": 1e4 * (LEVEL + noise), "unit": "ns"}}) + "\\n")
"""
#: of each revision, in percent; the middle one cannot be built
LEVELS = (100, 100, 106, 106, 106, 106, 114, 114)
BROKEN = 3


@pytest.fixture
def small(tmp_path: Path) -> SmallExperiment:
    """A repository with a revision for each level, and a spec of its last one."""
    runtime = {"kind": "program", "provider": "git", "repository": "repo", "revision": "main"}
    found = SmallExperiment(
        tmp_path,
        define={"runtimes": {"prog": {**runtime, "command": ["sh", "build"], "program": "prog"}}},
        runtimes=["prog"],
        modifiers={},
        invocations={"fixed": 1},
        metric="elapsed",
    )
    found.suite["benchmarks"] = {"run": {"kind": "program", "command": ["{runtime}"], "adapter": "regatta"}}
    found.write()
    for place, level in enumerate(LEVELS):
        build = "false" if place == BROKEN else "chmod +x prog"
        files = {"prog": PROGRAM.replace("LEVEL", str(level)), "build": f"{build} # {place}\n"}
        commit(tmp_path / "repo", files, tag=f"r{place}")
    return found


def document(small: SmallExperiment) -> tuple[Path, dict[str, Any]]:
    (path,) = (small.root / "results").glob("small-bisect-*/bisect.json")
    return path.parent, json.loads(path.read_text())


def test_both_causes_are_found_beside_a_revision_that_cannot_be_built(small: SmallExperiment) -> None:
    # It is ended without warning once its first step is over, and goes on.
    process = small.start("bisect", "spec.yml", "--good", "r0", "--rounds", "20")
    try:
        wait_until(
            lambda: list(small.root.glob("results/small-bisect-*/step-0-7-*/step.json")), "the first step"
        )
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    first = next(small.root.glob("results/small-bisect-*/step-0-7-*"))
    kept = {path: path.read_bytes() for path in first.glob("journal/*/*.jsonl")}
    assert kept
    done = small.regatta("bisect", "spec.yml", "--good", "r0", "--rounds", "20")
    assert done.returncode == 0, done.stderr
    folder, found = document(small)
    assert found["verdict"] == "found"
    blamed = [one["after"].split()[0] for one in found["changes"]]
    expected = [revision(small, f"r{place}")[:8] for place in (2, 6)]
    assert blamed == expected
    ratios = [one["ratios"]["local"]["point"] for one in found["changes"]]
    assert ratios == pytest.approx([1.06, 114 / 106], rel=0.01)
    assert [one.split()[0] for one in found["skipped"]] == [revision(small, f"r{BROKEN}")[:8]]
    assert not found["unresolved"]
    assert {path: path.read_bytes() for path in kept} == kept
    # Once more measures nothing.
    records = {path: path.stat().st_mtime_ns for path in folder.glob("*/journal/*/*.jsonl")}
    again = small.regatta("bisect", "spec.yml", "--good", "r0", "--bad", "r7", "--rounds", "20", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["changes"] == found["changes"]
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*/journal/*/*.jsonl")} == records


def test_ends_that_do_not_differ_are_not_searched(small: SmallExperiment) -> None:
    done = small.regatta("bisect", "spec.yml", "--good", "r2", "--bad", "r5", "--rounds", "20")
    assert done.returncode == 5, done.stderr
    _, found = document(small)
    assert (found["verdict"], found["changes"], len(found["steps"])) == ("no difference shown", [], 1)


def revision(small: SmallExperiment, tag: str) -> str:
    return (small.root / "repo" / ".git" / "refs" / "tags" / tag).read_text().strip()


def test_runtimes_are_searched_in_order_and_one_that_is_missing_is_passed_by(tmp_path: Path) -> None:
    programs = {
        name: {"kind": "program", "provider": "path", "path": str(tmp_path / name)}
        for name in ("first", "second", "gone", "third")
    }
    for name, level in (("first", 100), ("second", 100), ("third", 120)):
        (tmp_path / name).write_text(PROGRAM.replace("LEVEL", str(level)) + f"# {name}\n")
        (tmp_path / name).chmod(0o755)
    small = SmallExperiment(
        tmp_path,
        define={"runtimes": programs},
        runtimes=list(programs),
        modifiers={},
        invocations={"fixed": 1},
        metric="elapsed",
    )
    small.suite["benchmarks"] = {"run": {"kind": "program", "command": ["{runtime}"], "adapter": "regatta"}}
    small.write()
    done = small.regatta("bisect", "spec.yml", "--over", "runtimes", "--rounds", "20", "--json")
    assert done.returncode == 5, done.stderr
    found = json.loads(done.stdout)
    assert found["skipped"] == ["gone"]
    assert [(one["before"], one["after"], one["states"]) for one in found["unresolved"]] == [
        ("second", "third", 2)
    ]
    assert found["ends"]["local"]["point"] == pytest.approx(1.2, rel=0.01)


def test_sets_of_modifiers_are_searched_in_order(tmp_path: Path) -> None:
    program = PROGRAM.replace("LEVEL", "(100 + 8 * int(os.environ.get('SLOW', '0')))")
    (tmp_path / "program").write_text(program)
    (tmp_path / "program").chmod(0o755)
    small = SmallExperiment(
        tmp_path,
        modifiers={name: {"environment": {name: "1"}} for name in ("CALM", "SLOW", "LATE")},
        modifier_sets=[[], ["CALM"], ["CALM", "SLOW"], ["CALM", "SLOW", "LATE"]],
        invocations={"fixed": 1},
    )
    small.suite["benchmarks"] = {"run": {"command": [str(tmp_path / "program")], "adapter": "regatta"}}
    small.write()
    done = small.regatta("bisect", "spec.yml", "--over", "modifiers", "--rounds", "20", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(one["before"], one["after"]) for one in found["changes"]] == [("CALM", "CALM+SLOW")]
