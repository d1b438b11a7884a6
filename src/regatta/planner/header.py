"""What every invocation on a host shares, as the runner reads it from `plan.json`."""

from __future__ import annotations

from typing import Any

from regatta.host.journal.plan_files import PLAN_VERSION
from regatta.host.values.experiment import Experiment
from regatta.host.values.resolved import ResolvedHost


def constant_header(experiment: Experiment, host: ResolvedHost) -> dict[str, Any]:
    """The part of `plan.json` that does not depend on cells, rows or segments."""
    return {
        "v": PLAN_VERSION,
        "experiment": experiment.name,
        "host": host.name,
        "platform": host.platform,
        "host_fingerprint": dict(host.fingerprint),
        "seed": experiment.seed,
        "order": experiment.order,
        "limits": vars(experiment.limits),
        "environment": {
            "set": dict(host.environment),
            "padding_bytes": experiment.environment.padding_bytes,
        },
        "rlimits": vars(experiment.rlimits),
        "cores": {**vars(host.cores), "cpus": list(host.cores.cpus)},
        "output_kib": experiment.output_kib,
        "give_up_after": experiment.give_up_after,
    }
