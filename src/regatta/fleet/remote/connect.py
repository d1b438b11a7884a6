"""Map a host of the inventory to the connection that a profile requests."""

from __future__ import annotations

from regatta.fleet.remote.base import Remote
from regatta.fleet.remote.here import Here
from regatta.fleet.remote.ssh import Ssh
from regatta.host.errors import HostError
from regatta.host.values.host import Host, Way, Wish


def way_to(host: Host, wish: Wish) -> Way:
    """Return the kind of connection to the host in a profile.

    Raises:
        HostError: the profile supports none.
    """
    way = host.way(wish)
    if way is None:
        raise HostError(
            f"host {host.name}",
            "this machine (`ansible_connection: local`), because profile local measures here",
            "another machine",
            "use `--profile ssh`, or `--profile cluster` for a node of Slurm",
        )
    return way


def connect(host: Host, wish: Wish) -> Remote:
    """Return a connection to a host without contacting it.

    Raises:
        HostError: the profile supports none.
    """
    way = way_to(host, wish)
    if way == "slurm":
        from regatta.fleet.remote.slurm import SlurmRemote

        return SlurmRemote(host)
    return Here(host) if way == "local" else Ssh(host)
