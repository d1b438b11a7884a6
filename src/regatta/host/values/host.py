"""A machine, its place in the fleet and the ways it can be reached. Frozen values, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: how a host is reached: it is this machine, by SSH, or as a node that Slurm gives
Way = Literal["local", "ssh", "slurm"]
#: what the profile of a workflow asks for
Wish = Literal["local", "ssh", "cluster"]
WISHES: tuple[Wish, ...] = ("local", "ssh", "cluster")

DEFAULT_ROOT = "/var/lib/regatta"


@dataclass(frozen=True)
class SshPlace:
    """Where OpenSSH finds a host. Empty values are left to its own configuration."""

    address: str
    port: int | None = None
    user: str = ""
    key_file: str = ""
    #: further arguments of ssh, as `ansible_ssh_common_args` has them
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class SlurmPlace:
    """What is asked of Slurm: a node by name, or any node with a feature, which is then kept for the whole experiment."""

    node: str = ""
    constraint: str = ""
    partition: str = ""
    #: minutes that one allocation may last; None: as long as the partition allows
    time_limit_min: int | None = None


@dataclass(frozen=True)
class Host:
    """One machine, as the inventory has it."""

    name: str
    platform: str
    #: it is this machine (`ansible_connection: local`)
    is_local: bool = True
    ssh: SshPlace | None = None
    slurm: SlurmPlace | None = None
    #: the interpreter there
    python: str = "python3"
    #: folder on the host for everything of ours
    root: str = DEFAULT_ROOT
    #: CPUs to measure on, where the spec leaves `cores` open; none: all
    cpus: tuple[int, ...] = ()
    #: CPUs kept for the runner and the system
    housekeeping_cpus: tuple[int, ...] = ()

    def way(self, wish: Wish) -> Way | None:
        """How this host is reached when a profile asks for `wish`; None: it cannot be, in that profile.

        `cluster` takes Slurm where the inventory says how, and for this machine too, in whose place Slurm gives a node; what
        is reached by SSH alone stays so. `ssh` takes SSH where there is an address.
        """
        if wish == "cluster" and (self.slurm is not None or self.is_local):
            return "slurm"
        if self.is_local and (wish == "local" or self.ssh is None):
            return "local"
        return "ssh" if self.ssh is not None and wish != "local" else None
