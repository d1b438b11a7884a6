"""Interpreters, compilers and revisions as runtimes, from the example specs to paired ratios."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.experiment_parts import HOME, measured, regatta
from helpers.git_repositories import commit

#: their outputs are compared with what the suite expects
SMALL = [{"suite": "interpreters", "benchmark": "all", "size": "small"}]


REPORT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    const char *round = strrchr(getenv("REGATTA_INVOCATION"), 'r');
    FILE *results = fopen(getenv("REGATTA_RESULTS"), "w");
    double value = LEVEL + atoi(round + 1) % 3;
    fprintf(results, "{\"iteration\": 0, \"metric\": \"elapsed\", \"value\": %.1f, \"unit\": \"ns\"}\n", value);
    return fclose(results);
}
"""


def compared(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Runtime -> its comparison with the baseline."""
    return {one["a_name"]: one for one in answer["comparisons"]}


def test_interpreters_of_several_languages_are_paired(tmp_path: Path) -> None:
    there = ["cpython", "perl", "node", "lua"]
    answer = measured("interpreters", tmp_path, SMALL, rounds=3, runtimes=there)
    pairs = {(one["benchmark"], one["a_name"], one["b_name"], one["n"]) for one in answer["comparisons"]}
    names = [f"interpreters/{name}:small" for name in ("sieve", "queens", "mandelbrot")]
    assert pairs == {(name, other, "cpython", 3) for name in names for other in there if other != "cpython"}


def test_two_pythons_are_compared_and_one_that_is_missing_is_listed(tmp_path: Path) -> None:
    # The Python of these tests is another program than the distribution's: the base of a virtual environment is no script.
    own = {"cpython-3.13": {"path": os.path.realpath(sys.executable)}, "gone": {"path": "python-of-nowhere"}}
    own["gone"] |= {"kind": "program", "language": "python", "provider": "path"}
    answer = measured(
        "pythons",
        tmp_path,
        SMALL,
        rounds=3,
        runtimes=["cpython", "cpython-3.13", "gone"],
        define={"runtimes": own},
    )
    ratios = {(one["benchmark"], one["a_name"], one["b_name"], one["n"]) for one in answer["comparisons"]}
    names = [f"interpreters/{name}:small" for name in ("sieve", "queens", "mandelbrot")]
    assert ratios == {(name, "cpython-3.13", "cpython", 3) for name in names}
    missing = {one["cell"]: one["reason"] for one in answer["impossible"]}
    assert len(missing) == 3
    assert all("gone" in cell and "python-of-nowhere" in reason for cell, reason in missing.items())


@pytest.mark.skipif(not shutil.which("clang"), reason="NOT TESTED: clang is not installed")
def test_compilers_build_the_same_programs(tmp_path: Path) -> None:
    sources = {"directory": str(HOME / "benchmarks/spec/c")}
    names = ("gcc-O2", "gcc-O3", "clang-O2", "clang-O3")
    answer = measured(
        "compilers", tmp_path, [{"suite": "compiled", "benchmark": ["matmul"], "size": "test"}], rounds=2,
        define={"runtimes": dict.fromkeys(names, sources)},
    )  # fmt: skip
    assert set(compared(answer)) == set(names) - {"gcc-O2"}
    assert {cell["n"] for cell in answer["cells"]} == {2}


def test_two_revisions_are_compared_and_a_new_commit_runs_only_its_cells(tmp_path: Path) -> None:
    program = tmp_path / "program"
    # Reports a number that depends on the round alone, in which the revisions differ.
    (tmp_path / "own.yml").write_text(
        "suite: own\nbenchmarks: {run: {kind: program, command: ['{runtime}'], adapter: regatta}}\n"
    )
    makefile = "program: program.c\n\tcc -o program program.c\n"
    commit(program, {"program.c": REPORT.replace("LEVEL", "40000"), "Makefile": makefile}, tag="v1")
    commit(program, {"program.c": REPORT.replace("LEVEL", "5000")}, tag="v2")
    # The working tree is not measured.
    (program / "program.c").write_text("broken")
    where = {"repository": str(program)}
    parts = [{"suite": "own", "benchmark": ["run"]}]
    more = {
        "define": {"runtimes": {"before": where, "after": where}},
        "suites": ["own.yml"],
        "metric": "elapsed",
    }
    # A new commit is noticed by the workflow.
    more["workflow"] = True
    found = compared(measured("commits", tmp_path, parts, rounds=5, **more))
    assert found["after"]["high"] < 0.7
    assert found["after"]["practical"] == "yes"

    (program / "program.c").unlink()
    commit(program, {"program.c": REPORT.replace("LEVEL", "1000")}, tag="v2")
    again = measured("commits", tmp_path, parts, rounds=5, **more)
    # The baseline was measured at another time, so that its values have no pairs.
    assert (compared(again)["after"]["method"], compared(again)["after"]["n"]) == ("welch-log", 5 + 5)
    records = (tmp_path / "results" / "commits" / "journal" / "local").glob("*.jsonl")
    lines = sum(path.read_text().count('"cell_id"') for path in records if path.name != "cells.jsonl")
    # one round with cold caches, and five: of v1, of the old and of the new v2
    assert lines == 3 * 6


def test_a_build_that_fails_shows_its_last_lines_before_anything_is_measured(tmp_path: Path) -> None:
    program = tmp_path / "program"
    commit(
        program,
        {"program.c": "int main(void) { return wrong; }\n", "Makefile": "program: program.c\n"},
        tag="v1",
    )
    commit(program, {"program.c": "int main(void) { return 0; }\n"}, tag="v2")
    shutil.copy(HOME / "configs/experiments/commits.yml", tmp_path / "spec.yml")
    done = regatta("run", "spec.yml", cwd=tmp_path)
    assert done.returncode != 0
    assert "runtime before" in done.stderr or "build before" in done.stderr
    assert "wrong" in done.stderr
    assert not list((tmp_path / "results").glob("*/journal/*/*.jsonl"))
    subprocess.run(["git", "-C", program, "tag", "-d", "v1"], check=True, capture_output=True)
    done = regatta("run", "spec.yml", cwd=tmp_path)
    assert done.returncode != 0
    assert re.search(r"got `v1`, .*not exist", done.stderr)
