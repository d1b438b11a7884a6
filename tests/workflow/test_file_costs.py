"""Costs of files on two file systems of one machine: measured as two systems, and made into vectors."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from helpers.experiments.experiment_parts import HOME, measured, regatta
from regatta.spec.primitives import find_primitives, read_primitives
from regatta.spec.vector_files import read_vector
from regatta.spec.vectors import LinearCost, SystemVector

NAME = "system-vector"
#: measured only if root permits it
COLD = {"stat_cold", "open_cold"}


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="NOT TESTED: there is no /dev/shm")
def test_a_directory_in_the_environment_selects_the_file_system(tmp_path: Path) -> None:
    parts = [
        {"suite": "lm", "benchmark": ["lat_uncached", "lat_fs", "lat_file_io"], "size": "quick"},
        *(
            {"suite": "lm", "benchmark": "lat_syscall", "parameters": {"call": call, "repetitions": 2}}
            for call in ("stat", "open_close")
        ),
    ]
    measured(
        NAME,
        tmp_path,
        parts,
        2,
        modifiers={"in-memory": {"environment": {"TMPDIR": "/dev/shm"}}},
        modifier_sets=[[], ["in-memory"]],
    )
    done = regatta("vector", "system", NAME, "--primitives", "files", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = ["local", "local-in-memory"]
    assert [row["name"] for row in json.loads(done.stdout)] == names
    table = read_primitives(find_primitives("files", HOME)).primitives
    for name in names:
        system = read_vector(tmp_path / "results" / NAME / "vectors/files" / f"{name}.yml")
        assert isinstance(system, SystemVector)
        assert set(system.primitives) == set(table) - COLD
        for primitive in ("disk_read", "disk_write", "file_read", "file_write"):
            cost = system.primitives[primitive].cost
            assert isinstance(cost, LinearCost)
            assert cost.fixed.value + cost.per.value > 0
        assert system.primitives["disk_ahead"].unit == "byte"
        for primitive in COLD:
            assert re.search(rf"{name}: {primitive} excluded: lm/lat_uncached ", done.stderr)
