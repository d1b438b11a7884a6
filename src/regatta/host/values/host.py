"""A host, and how to reach it. Frozen values, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: how a host is reached: as this machine, by SSH, or as a Slurm node
Way = Literal["local", "ssh", "slurm"]
#: the request of a workflow profile
Wish = Literal["local", "ssh", "cluster"]
WISHES: tuple[Wish, ...] = ("local", "ssh", "cluster")

DEFAULT_ROOT = "/var/lib/regatta"


@dataclass(frozen=True)
class SshPlace:
    """SSH address of a host. Empty values use the configuration of OpenSSH."""

    address: str
    port: int | None = None
    user: str = ""
    key_file: str = ""
    #: further arguments of ssh, from `ansible_ssh_common_args`
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlurmPlace:
    """The node to request from Slurm: by name, or any node with a feature. The experiment then keeps that node."""

    node: str = ""
    constraint: str = ""
    partition: str = ""
    #: time limit of one allocation in minutes; None: the limit of the partition
    time_limit_min: int | None = None


@dataclass(frozen=True)
class Host:
    """One machine, as in the inventory, or several that measure together."""

    name: str
    platform: str
    #: the host is this machine (`ansible_connection: local`)
    is_local: bool = True
    ssh: SshPlace | None = None
    slurm: SlurmPlace | None = None
    #: Python interpreter on the host
    python: str = "python3"
    #: folder on the host for all files of Regatta
    root: str = DEFAULT_ROOT
    #: CPUs to measure on if the spec does not set `cores`; empty: all
    cpus: tuple[int, ...] = ()
    #: CPUs reserved for the runner and the system
    housekeeping_cpus: tuple[int, ...] = ()
    #: address under which other hosts reach it; "": that of `ssh`
    address: str = ""
    #: The hosts that execute the roles of each benchmark together; the runner then works on this machine. Empty: one machine.
    members: tuple[Host, ...] = ()

    @property
    def reached_at(self) -> str:
        """Return the address under which the other hosts reach it; "" if it is unknown."""
        return self.address or (self.ssh.address if self.ssh is not None else "")

    def way(self, wish: Wish) -> Way | None:
        """Return how a profile that asks for `wish` reaches this host; None: not reachable in that profile.

        `cluster` uses Slurm if the inventory configures it, and also for this machine, which Slurm replaces with a node.
        With `cluster`, a host with only an SSH address is reached by SSH. `ssh` uses SSH if there is an address.
        """
        if self.members:
            return "local"
        if wish == "cluster" and (self.slurm is not None or self.is_local):
            return "slurm"
        if self.is_local and (wish == "local" or self.ssh is None):
            return "local"
        return "ssh" if self.ssh is not None and wish != "local" else None
