"""What every invocation on a host shares, as the runner reads it from `plan.json`."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from regatta.host.values.experiment import Experiment
from regatta.host.values.resolved import ResolvedHost

PLAN_VERSION = 1


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


def with_plan_id(header: dict[str, Any]) -> dict[str, Any]:
    """The header with `plan_id`, a hash of all the rest."""
    text = json.dumps(header, sort_keys=True)
    return {**header, "plan_id": hashlib.sha256(text.encode()).hexdigest()[:16]}
