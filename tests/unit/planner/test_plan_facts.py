"""What the plan tells the analysis of its hosts: versions by host where they differ, and who refuses a cell."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from regatta.answers.spine.facts import read_facts
from regatta.fleet.plans import write_experiment
from regatta.host.errors import StoreError
from regatta.host.values.experiment import CapacityTarget, Experiment
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.plan import constant_header
from regatta.store.folder import Folder


@pytest.fixture
def hosts(host: ResolvedHost) -> dict[str, ResolvedHost]:
    newer = {name: replace(one, version="9.9") for name, one in host.runtimes.items() if name == "a"}
    return {
        "xeon": replace(host, name="xeon"),
        "ryzen": replace(host, name="ryzen"),
        "pi": replace(host, name="pi", runtimes={**host.runtimes, **newer}),
    }


def test_versions_refusals_and_hosts_left_out_come_back_as_facts(
    tmp_path: Path, experiment: Experiment, hosts: dict[str, ResolvedHost]
) -> None:
    refused = [("x · a z", "no z", "xeon"), ("x · a z", "no z", "pi"), ("y · b z", "too old", "pi")]
    folder = Folder(tmp_path)
    with_canary = replace(experiment, canary="canary/mixed:default")
    write_experiment(
        folder, with_canary, hosts, refused, {"gone": "unreachable"}, {"local": "1"}, {"pi": "hash"}
    )
    facts = read_facts(tmp_path)
    assert (facts.canary, facts.canary_programs) == ("canary/mixed:default", {"pi": "hash"})
    own = hosts["xeon"].runtimes["a"].version
    assert facts.runtimes["a"] == f"{own} (xeon, ryzen); 9.9 (pi)"
    assert facts.runtimes["b"] == hosts["xeon"].runtimes["b"].version
    assert facts.impossible == (("x · a z", "no z", ("xeon", "pi")), ("y · b z", "too old", ("pi",)))
    assert list(facts.hosts) == ["xeon", "ryzen", "pi"]


def test_targets_come_back_as_facts_and_are_not_part_of_a_plan(
    tmp_path: Path, experiment: Experiment, hosts: dict[str, ResolvedHost]
) -> None:
    targets = (
        CapacityTarget("rate", "latency", 10.0, "ms", {"percentile": 99.9, "kind": "read"}),
        CapacityTarget("users", "elapsed", 2.0, "s"),
    )
    asked = replace(experiment, capacity=targets)
    write_experiment(Folder(tmp_path), asked, hosts, [], {}, {"local": "1"}, {})
    assert read_facts(tmp_path).capacity == targets
    for host in hosts.values():
        assert constant_header(asked, host) == constant_header(experiment, host)


@pytest.mark.parametrize(
    ("key", "value"),
    [("level", 1e308), ("theta_percent", -1.0), ("steady", {"method": 3}), ("steady", {"method": []})],
)
def test_a_damaged_plan_is_named(
    tmp_path: Path, experiment: Experiment, hosts: dict[str, ResolvedHost], key: str, value: object
) -> None:
    folder = Folder(tmp_path)
    write_experiment(folder, experiment, hosts, [], {}, {"local": "1"}, {})
    document = json.loads(folder.experiment.read_text())
    own = document["experiment"]
    own[key] = {**own[key], **value} if isinstance(value, dict) else value
    folder.experiment.write_text(json.dumps(document))
    with pytest.raises(StoreError, match=r"experiment\.json"):
        read_facts(tmp_path)
