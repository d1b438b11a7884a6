"""How the runner of this machine reaches the hosts that measure together (docs/roles.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from regatta.fleet.agent import Agent
from regatta.fleet.remote.connect import connect, way_to
from regatta.host.errors import HostError
from regatta.host.values.host import Host, Wish
from regatta.store.folder import Folder


def ways_to(hosts: Sequence[Host], place: Folder, wish: Wish) -> dict[str, dict[str, Any]]:
    """Return host -> command of an agent there, its folder, and its address, as `regatta.host.roles.agents.Way`.

    Raises:
        HostError: a host cannot be reached, or has no address for the others.
    """
    found = {}
    for host in hosts:
        way = way_to(host, wish)
        if way == "local":
            if len(hosts) > 1:
                found[host.name] = _here(host, place)
            continue
        agent = Agent(connect(host, wish))
        # Copies the zipapp if the host lacks it.
        agent.facts()
        # Two experiments of the same name in different folders have different files.
        digest = hashlib.sha256(str(place.path.resolve()).encode()).hexdigest()[:16]
        found[host.name] = {
            "argv": agent.remote.words(agent.argv(["role"])),
            "scratch": f"{host.root}/roles/{digest}",
            "address": address_of(host) if len(hosts) > 1 else "",
        }
    return found


def allocation_of(hosts: Sequence[Host], name: str) -> list[str]:
    """Return the words of a command that executes another one in one exclusive allocation of all nodes of these hosts.

    One allocation, because two experiments could otherwise each hold a node that the other one waits for.

    Nothing is allocated if none of them is a node of Slurm.

    Raises:
        HostError: only some of them are nodes of Slurm, or Slurm has no node for one.
    """
    from regatta.fleet.remote.slurm import SlurmRemote, allocating

    nodes = [remote for host in hosts if isinstance(remote := connect(host, "cluster"), SlurmRemote)]
    if nodes and len(nodes) < len(hosts):
        raise HostError(
            name, "nodes of Slurm for all roles, or for none", "both", "correct `roles` in the spec"
        )
    return allocating(nodes, name) if nodes else []


def _here(host: Host, place: Folder) -> dict[str, Any]:
    from sys import executable

    return {
        "argv": [executable, "-I", str(place.runner), "role"],
        "scratch": str((place.scratch / host.name).resolve()),
        "address": address_of(host),
    }


def address_of(host: Host) -> str:
    """Return the address under which the other hosts reach a host.

    Raises:
        HostError: the inventory has none.
    """
    if not (found := host.reached_at):
        raise HostError(
            f"host {host.name}",
            "an address under which the other hosts reach it",
            "none",
            "set `regatta_address` in the inventory",
        )
    return found
