"""A host that is no longer what the plan was made for is not measured on."""

from __future__ import annotations

import os

from helpers.runner_plans import Runner, cell, write_plan
from regatta.host.facts import fingerprint, local_facts

TRUE = cell("true", ["/bin/true"])


def test_a_kernel_that_was_updated_since_the_plan_was_made_is_named_and_nothing_is_measured(
    runner: Runner,
) -> None:
    planned = {**fingerprint(local_facts()), "kernel": "5.10.0-planned"}
    write_plan(runner.folder, [TRUE], host_fingerprint=planned)
    done = runner.run()
    assert done.returncode == 3
    assert f"kernel: {os.uname().release}, before 5.10.0-planned" in done.stderr
    assert runner.records() == []


def test_a_host_that_is_as_planned_is_measured_on(runner: Runner) -> None:
    assert runner.one(TRUE, host_fingerprint=fingerprint(local_facts()))["status"] == "ok"
