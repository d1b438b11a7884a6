"""Prepare hosts for an experiment: query each host, provision what is missing, and query again."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from regatta.fleet.agent import Agent
from regatta.fleet.ansible import HostOutcome, run_playbook
from regatta.fleet.remote.base import Unreachable
from regatta.fleet.remote.connect import connect, way_to
from regatta.fleet.remote.here import Here
from regatta.fleet.staging import Staged, no_supplies, stage
from regatta.fleet.supplying import Stock, make_stock
from regatta.host.errors import HostError, RegattaError
from regatta.host.printable import Lines, printable
from regatta.host.ready.resolving import resolve
from regatta.host.values.experiment import Experiment
from regatta.host.values.host import Host, Wish
from regatta.host.values.resolved import ResolvedHost
from regatta.host.verbs.questions import Resolve
from regatta.spec.inventory import inventory_path

#: maximum number of concurrent hosts
_AT_ONCE = 32
_PLAYBOOK = "site.yml"
T = TypeVar("T")


@dataclass
class Readiness:
    """Prepared hosts of an experiment."""

    hosts: dict[str, ResolvedHost] = field(default_factory=dict)
    #: host -> why it is excluded now; the others continue
    left_out: dict[str, str] = field(default_factory=dict)
    #: agents of remote hosts
    agents: dict[str, Agent] = field(default_factory=dict)


def make_hosts_ready(experiment: Experiment, home: Path, wish: Wish) -> Readiness:
    """Prepare all possible hosts of an experiment.

    Args:
        experiment: the experiment.
        home: result of `find_home`.
        wish: settings of the profile.

    Raises:
        HostError: no host is ready, a local build fails, or this machine is a host and fails.
    """
    stock = make_stock(experiment, home)
    found = Readiness()
    for host in experiment.hosts:
        try:
            if way_to(host, wish) == "local":
                found.hosts[host.name] = resolve(experiment, host, stock.supplies_here(platform.machine()))
            else:
                found.agents[host.name] = Agent(connect(host, wish))
        except HostError as error:
            if len(experiment.hosts) == 1:
                raise
            found.left_out[host.name] = _why(error)
    if found.agents:
        _reach(experiment, home, stock, found)
    if not found.hosts:
        raise HostError(
            experiment.spec_path, "at least one host that is ready",
            Lines("\n  ".join(f"{name}: {reason}" for name, reason in found.left_out.items())), "see above",
        )  # fmt: skip
    # In inventory order, independent of the order of answers.
    found.hosts = {host.name: found.hosts[host.name] for host in experiment.hosts if host.name in found.hosts}
    for name, reason in found.left_out.items():
        print(f"left out: {name}: {printable(Lines(reason))}", file=sys.stderr, flush=True)
    return found


def _reach(experiment: Experiment, home: Path, stock: Stock, found: Readiness) -> None:
    """Connect to the remote hosts concurrently."""
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
        answers |= _each(found, again, lambda agent: agent.resolve(questions[agent.host.name]))
    for name, answer in answers.items():
        if name in found.left_out:
            continue
        if isinstance(answer, list):
            found.left_out[name] = f"it still lacks {', '.join(answer[:4])}"
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
            new[agent.host.name] = [_why(error)]
            return ""

    answers = _each(found, list(found.agents), ask)
    if new:
        _bring(home, new, no_supplies(), found)
        answers |= _each(
            found, [name for name in new if name not in found.left_out],
            lambda agent: agent.facts().architecture,
        )  # fmt: skip
    return {name: answer for name, answer in answers.items() if name not in found.left_out}


def _question(staged: Staged, host: Host) -> Resolve:
    return Resolve(staged.experiment, host, staged.supplies_for(host))


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
            told = outcome.unreachable or outcome.failed if outcome else "no word of it"
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
            found.left_out[name] = _why(answer)
    return {name: answer for name, answer in answers.items() if not isinstance(answer, RegattaError)}


def _why(error: RegattaError) -> str:
    return "; ".join(str(problem) for problem in error.problems)
