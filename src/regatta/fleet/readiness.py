"""Prepare the hosts of an experiment."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from regatta.fleet.supplying import make_stock
from regatta.host.errors import HostError, RegattaError
from regatta.host.printable import Lines, printable
from regatta.host.ready.resolving import resolve
from regatta.host.values.experiment import Experiment
from regatta.host.values.host import Wish
from regatta.host.values.resolved import ResolvedHost

if TYPE_CHECKING:
    from regatta.fleet.agent import Agent


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
            if host.way(wish) == "local":
                found.hosts[host.name] = resolve(experiment, host, stock.supplies_here(platform.machine()))
            else:
                # Only here: an experiment on this machine starts sooner without them.
                from regatta.fleet.agent import Agent
                from regatta.fleet.remote.connect import connect

                found.agents[host.name] = Agent(connect(host, wish))
        except HostError as error:
            if len(experiment.hosts) == 1:
                raise
            found.left_out[host.name] = reason_of(error)
    if found.agents:
        from regatta.fleet.reaching import reach

        reach(home, stock, found)
    if not found.hosts:
        raise HostError(
            experiment.spec_path, "at least one ready host",
            Lines("\n  ".join(f"{name}: {reason}" for name, reason in found.left_out.items())), "correct the reasons above",
        )  # fmt: skip
    # In inventory order, independent of the order of answers.
    found.hosts = {host.name: found.hosts[host.name] for host in experiment.hosts if host.name in found.hosts}
    for name, reason in found.left_out.items():
        print(f"excluded: {name}: {printable(Lines(reason))}", file=sys.stderr, flush=True)
    return found


def reason_of(error: RegattaError) -> str:
    """Return all problems of an error in one line."""
    return "; ".join(str(problem) for problem in error.problems)
