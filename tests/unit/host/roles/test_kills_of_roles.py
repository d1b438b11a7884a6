"""kill -9 of any part of an invocation with roles, again and again: nothing is lost, nothing is doubled, nothing is left."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter

import pytest

from helpers.role_plans import Conductor, client, server, with_roles
from helpers.runner_plans import Runner
from helpers.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.full

SEED = 20070101
KILLS = [5, pytest.param(50, marks=pytest.mark.long)]


@pytest.mark.parametrize("kills", KILLS)
def test_roles_survive_kills_of_any_part(runner: Runner, kills: int) -> None:
    conductor = Conductor(runner)
    # A killed part fails an invocation, which is not given up: the plan says how often a cell may fail.
    rounds = 4 * kills
    conductor.plan(
        with_roles("nap", server(), client(after="time.sleep(0.2)")), rounds=rounds, give_up_after=None
    )
    chance = random.Random(SEED)
    process = runner.start(0, *conductor.options())
    for kill in range(kills):
        wait_until(lambda now=process: conductor.left() or now.poll() is not None, "a program of a role")
        assert process.poll() is None, process.communicate()
        time.sleep(chance.uniform(0, 0.3))
        kind = ("conductor", "agent", "program")[kill % 3]
        victims = {"conductor": [process.pid], "agent": conductor.agents(), "program": conductor.left()}[kind]
        if victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(victims), signal.SIGKILL)
        if kind == "conductor":
            process.communicate(timeout=PATIENCE_S)
            # Half of the new ones start while the agents of the old one still end.
            if chance.random() < 0.5:
                wait_until(lambda: not conductor.agents(), "the end of the agents")
            process = runner.start(0, *conductor.options())
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    records = runner.records()
    assert Counter(record["round"] for record in records) == Counter(range(rounds))
    bad = [record for record in records if record["status"] != "ok"]
    assert len(bad) <= kills
    assert all(record["reason"] for record in bad)
    wait_until(lambda: not conductor.agents(), "the end of the agents")
    assert conductor.left() == []
