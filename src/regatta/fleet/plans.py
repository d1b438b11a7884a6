"""Write plans for the runner and the analysis, and write the runner."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import regatta
from regatta.fleet.zipapp import zipapp_bytes
from regatta.host.values.experiment import Experiment, Stopping
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.plan import HostPlan
from regatta.store.experiment_document import ExperimentDocument
from regatta.store.folder import Folder, replacing, write_json


def write_host_plan(folder: Folder, plan: HostPlan) -> str:
    """Write `rows.i32`, then `plan.json`, which holds the digest of the rows; return the id of the plan."""
    directory = folder.host_plan(plan.host.name)
    digest = hashlib.sha256()
    with replacing(directory / "rows.i32") as temporary, temporary.open("wb") as file:
        for rows in plan.rows():
            data = rows.astype("<i4", copy=False).tobytes()
            digest.update(data)
            file.write(data)
    header = plan.header(digest.hexdigest())
    write_json(directory / "plan.json", header, indent=None)
    return str(header["plan_id"])


def remove_other_plans(folder: Folder, experiment: Experiment) -> None:
    """Remove the plans of hosts that are no longer in the experiment: their records are not expected."""
    named = {host.name for host in experiment.hosts}
    for host in folder.planned_hosts():
        if host not in named:
            shutil.rmtree(folder.host_plan(host))


def write_experiment(
    folder: Folder,
    experiment: Experiment,
    hosts: Mapping[str, ResolvedHost],
    impossible: Sequence[tuple[str, str, str]],
    left_out: Mapping[str, str],
    plan_ids: Mapping[str, str],
    canaries: Mapping[str, str],
) -> None:
    """Write `plan/experiment.json`.

    Args:
        impossible: label of a cell, the reason, and its host.
        left_out: host -> why it has no plan.
        canaries: host -> hash of the frozen program.
    """
    document: ExperimentDocument = {
        "experiment": {
            "name": experiment.name,
            "question": experiment.question,
            "labels": dict(experiment.labels),
            "spec": experiment.spec_path,
            "seed": experiment.seed,
            "order": experiment.order,
            "level": experiment.level,
            "theta_percent": experiment.theta_percent,
            "capacity": [vars(target) for target in experiment.capacity],
            "rounds": experiment.rounds,
            "discarded_rounds": experiment.discarded_rounds,
            "stopping": _stopping(experiment.stopping),
            "compare": list(experiment.compare),
            "steady": vars(experiment.steady),
            "baseline": dict(experiment.baseline),
            "minheaps_of": dict(experiment.kept_minheaps.sources) if experiment.kept_minheaps else {},
            **({"canary": experiment.canary, "canary_programs": dict(canaries)} if experiment.canary else {}),
            **({"predicted": vars(experiment.predicted)} if experiment.predicted else {}),
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
        "runtimes": _versions(hosts),
        "impossible": [list(item) for item in impossible],
        "left_out": dict(left_out),
        "plans": dict(plan_ids),
    }
    write_json(folder.experiment, document)


def _stopping(stopping: Stopping | None) -> dict[str, Any] | None:
    """Return the fields of the rule. Those of one rule alone are absent in others, so that their documents stay the same."""
    if stopping is None:
        return None
    own = ("seconds", "budget_s", "most", "together")
    return {name: value for name, value in vars(stopping).items() if name not in own or value is not None}


def _versions(hosts: Mapping[str, ResolvedHost]) -> dict[str, str]:
    """Return runtime -> version; if hosts differ, each version with its hosts."""
    found: dict[str, dict[str, list[str]]] = {}
    for host in hosts.values():
        for name, runtime in host.runtimes.items():
            found.setdefault(name, {}).setdefault(runtime.version, []).append(host.name)
    return {
        name: next(iter(versions))
        if len(versions) == 1
        else "; ".join(f"{version} ({', '.join(own)})" for version, own in versions.items())
        for name, versions in found.items()
    }


def write_runner(path: Path) -> None:
    """Write the zipapp."""
    with replacing(path) as temporary:
        temporary.write_bytes(zipapp_bytes())
