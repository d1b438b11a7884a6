"""The files behind an experiment's workloads, for the workflow's graph: when one is newer, what was built is made again."""

from __future__ import annotations

import os
from pathlib import Path

from regatta.model.experiment import Experiment

#: folders that builds leave behind, and that are no sources
NOT_SOURCES = frozenset({"target", "build", "__pycache__", ".git"})


def source_files(home: Path, directory: str) -> list[Path]:
    """Files of a build's directory in a stable order, without what builds leave there."""
    found = []
    for current, directories, names in os.walk(home / directory):
        directories[:] = sorted(d for d in directories if d not in NOT_SOURCES)
        found += [Path(current) / name for name in sorted(names)]
    return found


def source_paths(experiment: Experiment, home: Path) -> list[str]:
    """All files that the builds of an experiment are made from, and its suites."""
    directories = {build.directory for b in experiment.benchmarks for build in b.builds.values()}
    paths = [str(path) for directory in sorted(directories) for path in source_files(home, directory)]
    suites = {home / "configs" / "suites" / f"{b.suite}.yml" for b in experiment.benchmarks}
    return paths + [str(path) for path in sorted(suites) if path.exists()]
