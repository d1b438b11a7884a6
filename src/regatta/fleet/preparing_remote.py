"""Prepare remote hosts: query each host, provision missing parts, and query again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from regatta.fleet.agent import Agent
from regatta.fleet.ansible import HostOutcome, run_playbook
from regatta.fleet.preparing import Readiness, reason_of
from regatta.fleet.remote.base import Unreachable
from regatta.fleet.remote.here import Here
from regatta.fleet.supplies import Staged, Stock, no_supplies, stage
from regatta.host.errors import HostError, RegattaError
from regatta.host.values.host import Host
from regatta.host.verbs.questions import Resolve
from regatta.spec.inventory import inventory_path

#: maximum number of concurrent hosts
_AT_ONCE = 32
_PLAYBOOK = "site.yml"
T = TypeVar("T")


def reach(home: Path, stock: Stock, found: Readiness) -> None:
    """Prepare the remote hosts concurrently.

    `found` has the agents; it gets the prepared hosts, and the reasons of excluded ones.
    """
    architectures = _facts(home, found)
    staged = {name: stage(stock, name) for name in sorted(set(architectures.values()))}
    questions = {
        name: _question(staged[architecture], found.agents[name].host)
        for name, architecture in architectures.items()
    }
    answers = _each(found, questions, lambda agent: agent.resolve(questions[agent.host.name]))
    lacking = {name: answer for name, answer in answers.items() if isinstance(answer, list)}
    if lacking:
        for architecture, supplies in staged.items():
            _bring(
                home,
                {name: things for name, things in lacking.items() if architectures[name] == architecture},
                supplies.variables(),
                found,
            )
        again = [name for name in lacking if name not in found.left_out]
        last = {name: _provisioned(questions[name]) for name in again}
        answers |= _each(found, again, lambda agent: agent.resolve(last[agent.host.name]))
    for name, answer in answers.items():
        if name in found.left_out:
            continue
        if isinstance(answer, list):
            found.left_out[name] = f"still missing after provisioning: {', '.join(answer[:4])}"
        else:
            found.hosts[name] = answer


def _facts(home: Path, found: Readiness) -> dict[str, str]:
    """Return the architecture of each reachable host; a new host first gets its folder and the zipapp."""
    new: dict[str, list[str]] = {}

    def ask(agent: Agent) -> str:
        try:
            return agent.facts().architecture
        except Unreachable:
            raise
        except HostError as error:
            # Without the fix, which is to provision the host: that happens now.
            new[agent.host.name] = [str(replace(problem, fix="")) for problem in error.problems]
            return ""

    answers = _each(found, list(found.agents), ask)
    if new:
        _bring(home, new, no_supplies(), found)
        answers |= _each(
            found,
            [name for name in new if name not in found.left_out],
            lambda agent: agent.facts().architecture,
        )
    return {name: answer for name, answer in answers.items() if name not in found.left_out}


def _question(staged: Staged, host: Host) -> Resolve:
    return Resolve(staged.experiment, host, staged.supplies_for(host))


def _provisioned(question: Resolve) -> Resolve:
    """Return the question after provisioning: the host decides which runtimes it does not have."""
    return replace(question, supplies=replace(question.supplies, provisioned=True))


def _bring(
    home: Path, lacking: Mapping[str, Sequence[str]], supplies: Mapping[str, Any], found: Readiness
) -> None:
    """Provision missing resources with Ansible; exclude hosts on which it fails."""
    if not lacking:
        return
    for name, things in lacking.items():
        print(f"{name} lacks {len(things)}: {', '.join(things[:3])}{' ...' if len(things) > 3 else ''}", file=sys.stderr)  # fmt: skip
    nodes = [name for name in lacking if isinstance(found.agents[name].remote, Here)]
    others = [name for name in lacking if name not in nodes]
    inventory = inventory_path(home)
    outcomes: dict[str, HostOutcome] = {}
    if others:
        outcomes |= run_playbook(home, _PLAYBOOK, inventory, others, {"regatta_supplies": supplies})
    if nodes:
        # Files are shared and therefore provided from here; packages of a node are left to its administrator.
        files = {**supplies, "runtimes": {**supplies["runtimes"], "packages": []}}
        outcomes |= run_playbook(
            home,
            _PLAYBOOK,
            inventory,
            nodes,
            {"regatta_supplies": files},
            tags=("runner", "runtimes", "workloads"),
        )
    for name in lacking:
        outcome = outcomes.get(name)
        if outcome is None or not outcome.ok:
            told = outcome.unreachable or outcome.failed if outcome else "no result reported"
            found.left_out[name] = f"{_PLAYBOOK}: {told}"


def _each(found: Readiness, names: Iterable[str], ask: Callable[[Agent], T]) -> dict[str, T]:
    """Query hosts concurrently; exclude failing ones with the reason."""

    def one(name: str) -> T | RegattaError:
        try:
            return ask(found.agents[name])
        except RegattaError as error:
            return error

    wanted = [name for name in names if name not in found.left_out]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = dict(zip(wanted, pool.map(one, wanted), strict=True))
    for name, answer in answers.items():
        if isinstance(answer, RegattaError):
            found.left_out[name] = reason_of(answer)
    return {name: answer for name, answer in answers.items() if not isinstance(answer, RegattaError)}
