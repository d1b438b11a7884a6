"""How the tests are shared among processes (`-n 2 --dist loadgroup --no-loadscope-reorder`): what stays together, what starts first.

The tests of a file stay together, for they share what the file has made. Files that need a Docker engine or a Slurm stay
together, too: one process starts it, and stops it. Long files start first, or one of them would end alone.
"""

import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
#: files of a minute and more, the longest first; the others follow as they are
LONG_FILES = (
    "workloads/test_java_matrix.py",
    "workflow/test_kill_and_resume.py",
    "workloads/test_java_programs.py",
    "workflow/test_plans_again.py",
    "workflow/test_only_new_cells.py",
    "workflow/test_demo.py",
    "workflow/test_adaptive_runs.py",
    "workflow/test_java_experiments.py",
    "workflow/test_native_experiments.py",
    "workloads/test_lm_programs.py",
    "workflow/test_full_disk.py",
    "workflow/test_readme.py",
)
#: fixtures of what a machine has once
ONE_OF_A_KIND = {"docker_engine", "slurm_cluster"}


def is_one_of_several() -> bool:
    """Whether this process runs a part of the tests, and another one the rest."""
    return "PYTEST_XDIST_WORKER" in os.environ


def share(items: list[pytest.Item]) -> None:
    """Put the items into the order in which they are given out, and mark which stay together."""
    fleet = {item.path for item in items if ONE_OF_A_KIND & set(getattr(item, "fixturenames", ()))}
    places = {TESTS / name: place for place, name in enumerate(LONG_FILES)}
    for item in items:
        item.add_marker(pytest.mark.xdist_group("fleet" if item.path in fleet else item.path.stem))
    items.sort(key=lambda item: -1 if item.path in fleet else places.get(item.path, len(places)))
