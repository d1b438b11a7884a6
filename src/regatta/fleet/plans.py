"""Writing plans where the runner and the analysis find them, and the runner itself."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import regatta
from regatta.model.experiment import Experiment
from regatta.model.resolved import ResolvedHost
from regatta.planner.plan import HostPlan
from regatta.store.folder import Folder, replacing, write_json

#: what travels to a host: plain standard library
_RUNNER_PARTS = (
    "__init__.py",
    "errors.py",
    "units.py",
    "adapters/*.py",
    "model/__init__.py",
    "model/invocation_value.py",
    "model/modes.py",
    "model/record.py",
    "model/stopping.py",
    "runner/*.py",
    "store/__init__.py",
    "store/comparison_rounds.py",
    "store/contents.py",
    "store/decisions.py",
    "store/journal.py",
    "store/round_values.py",
    "store/runner_state.py",
)
_MAIN = "import sys\nfrom regatta.runner.__main__ import main\nsys.exit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_host_plan(folder: Folder, plan: HostPlan) -> None:
    """Write `rows.i32`, then `plan.json`, which names the rows' digest. An unchanged plan is left as it is."""
    directory = folder.host_plan(plan.host.name)
    digest = hashlib.sha256()
    with replacing(directory / "rows.i32") as temporary, temporary.open("wb") as file:
        for rows in plan.rows():
            data = rows.astype("<i4", copy=False).tobytes()
            digest.update(data)
            file.write(data)
    write_json(directory / "plan.json", plan.header(digest.hexdigest()), indent=None)


def write_experiment(
    folder: Folder,
    experiment: Experiment,
    hosts: Mapping[str, ResolvedHost],
    impossible: list[tuple[str, str]],
) -> None:
    """Write `plan/experiment.json`: what the analysis must know that no record says."""
    value: dict[str, Any] = {
        "experiment": {
            "name": experiment.name,
            "question": experiment.question,
            "labels": dict(experiment.labels),
            "spec": experiment.spec_path,
            "seed": experiment.seed,
            "order": experiment.order,
            "level": experiment.level,
            "theta_percent": experiment.theta_percent,
            "rounds": experiment.rounds,
            "discarded_rounds": experiment.discarded_rounds,
            "stopping": None if experiment.stopping is None else vars(experiment.stopping),
            "compare": list(experiment.compare),
            "steady": vars(experiment.steady),
            "baseline": vars(experiment.baseline),
            "minheaps_of": dict(experiment.kept_minheaps.sources) if experiment.kept_minheaps else {},
            "runtimes": [r.name for r in experiment.runtimes],
            "collectors": [c.name for c in experiment.collectors],
            "controlled": [
                "+".join(m.name for m in chosen)
                for chosen in experiment.modifiers
                if any(m.controls_compilation for m in chosen)
            ],
        },
        "regatta": regatta.__version__,
        "hosts": {name: dict(host.facts) for name, host in hosts.items()},
        "runtimes": {name: r.version for host in hosts.values() for name, r in host.runtimes.items()},
        "impossible": [list(item) for item in impossible],
    }
    write_json(folder.experiment, value)


def write_runner(path: Path) -> None:
    """Write the zipapp; the same sources give the same bytes."""
    package = Path(regatta.__file__).parent
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", _EPOCH), _MAIN)
        for pattern in _RUNNER_PARTS:
            for source in sorted(package.glob(pattern)):
                name = f"regatta/{source.relative_to(package)}"
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), source.read_bytes(), zipfile.ZIP_DEFLATED)
