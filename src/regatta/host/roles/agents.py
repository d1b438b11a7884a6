"""Start the agents of all roles, lock their hosts in one order, and hear what they tell."""

from __future__ import annotations

import math
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError
from regatta.host.files import parse_object
from regatta.host.journal.record_shape import is_whole
from regatta.host.measure.process import Interrupted, StopSignals
from regatta.host.messages import Ended, Message
from regatta.host.processes import own_words
from regatta.host.roles import network
from regatta.host.roles.link import Link, Lost
from regatta.host.values.from_json import value_from_json
from regatta.host.values.plan_cell import PlanCell

#: a new agent builds nothing, but its host may be in use: the wait for its lock has no limit
_OPEN_S = 300.0
#: how long a host that was there may be away
_PATIENCE_S = 600.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0
_LONGEST_REASON = 1000

#: a host and a role
Seat = tuple[str, str]


@dataclass
class Way:
    """How this machine reaches a host."""

    #: command of an agent there
    argv: list[str]
    #: folder for the files of its programs
    scratch: str
    #: address under which the other hosts reach it
    address: str = ""


@dataclass
class Agents:
    """The agents of all roles of a segment."""

    header: Mapping[str, Any]
    cells: Sequence[PlanCell]
    #: folder of this plan's programs on this machine
    scratch: Path
    segment: int
    stop: StopSignals
    #: host -> how to reach it; a host without an entry is this machine
    ways: Mapping[str, Way] = field(default_factory=dict)
    holder: str = ""
    #: called with the holder of a lock that an agent waits for; None: the wait is over
    waiting: Callable[[dict[str, str] | None], None] = lambda holder: None
    #: ended processes that earlier agents left
    orphans_ended: int = 0
    #: reason why a host has no control group, or empty
    no_accounting: str = ""
    links: dict[Seat, Link] = field(default_factory=dict)

    def seats(self) -> list[Seat]:
        """Return the agents: by host, which is the order of locks, and for the first role of a host first."""
        orders: dict[Seat, int] = {}
        for cell in self.cells:
            for order, role in enumerate(cell["roles"]):
                seat = role["host"], role["name"]
                orders[seat] = min(order, orders.get(seat, order))
        return sorted(orders, key=lambda seat: (seat[0], orders[seat], seat[1]))

    @property
    def apart(self) -> bool:
        """Return whether all roles are on one host, each in its own network namespace."""
        return len({host for host, _ in self.seats()}) == 1

    def _way(self, host: str) -> Way:
        here = Way([sys.executable, *own_words(), "role"], str(self.scratch / "roles"))
        return self.ways.get(host, here)

    def open(self) -> None:
        """Start the agents that do not run. Those of a host end what was left there by earlier ones.

        The locks of all hosts are taken in the order of the hosts' names, so that two experiments never wait for each other.

        Raises:
            HostError: a host cannot be reached, or is unfit.
            Interrupted: the runner received a stop signal.
        """
        if self.links and not any(link.broken for link in self.links.values()):
            return
        # An agent that is replaced alone would not know of the programs of the others on its host.
        self.close()
        try:
            self._open_all()
        except BaseException:
            # Not all of them run.
            self.close()
            raise

    def address(self, host: str, role: str) -> str:
        """Return the address under which the other roles reach a role."""
        return network.address_of(self.seats().index((host, role))) if self.apart else self._way(host).address

    def _open_all(self) -> None:
        seats = self.seats()
        locked: set[str] = set()
        for seat in seats:
            host, role = seat
            link = self.links[seat] = Link(role, host, self._way(host).argv)
            link.send(self._opening(seat, seats, host not in locked))
            locked.add(host)
            answer = self._answer(link, "opened")
            link.pid = _whole(link, answer, "opened")
            self.orphans_ended += _whole(link, answer, "orphans_ended")
            self.no_accounting = str(answer.get("no_accounting", ""))[:_LONGEST_REASON]
        if self.apart:
            first, *others = (self.links[seat] for seat in seats)
            for number, link in enumerate(others, 1):
                self.ask(first, {"do": "join", "number": number, "pid": link.pid}, "joined")
                self.ask(link, {"do": "address", "number": number}, "address")

    def open_patiently(self) -> None:
        """Replace lost agents, again and again while a host does not answer: a network can be away for some minutes."""
        deadline_s = time.monotonic() + _PATIENCE_S
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                self.open()
            except Lost as error:
                if time.monotonic() + pause_s > deadline_s:
                    raise
                print(f"{error}; trying again in {pause_s:g} s", file=sys.stderr, flush=True)
                select.select([self.stop.fd], [], [], pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                return

    def _opening(self, seat: Seat, seats: Sequence[Seat], locks: bool) -> Message:
        host, own = seat
        member = next(member for member in self.header["members"] if member["host"] == host)
        left_out = ("cells", "members", "segments", "stopping")
        header = {key: value for key, value in self.header.items() if key not in left_out} | member
        folder = self._way(host).scratch
        return {
            "experiment": self.header["experiment"],
            "segment": self.segment,
            "holder": self.holder,
            "scratch": f"{folder}/{own}",
            "others": [f"{folder}/{name}" for at, name in seats if at == host and name != own],
            "locks": locks,
            "apart": self.apart,
            "header": header,
            "cells": [
                cell_of(cell, planned, planned["argv"], 0.0)
                for cell in self.cells
                for planned in cell["roles"]
                if (planned["host"], planned["name"]) == seat
            ],
        }

    def close(self) -> None:
        """End all agents, the last role first."""
        for link in reversed(self.links.values()):
            link.end()
        self.links.clear()

    # ---- messages ----------------------------------------------------------------------------------------------------

    def listen(self, links: Iterable[Link], until_s: float) -> Iterator[tuple[Link, Message | None]]:
        """Yield messages as they come; None in place of a message if a link ended. Ends at a time (monotonic, s).

        Raises:
            Interrupted: the runner received a stop signal.
        """
        poll = select.poll()
        poll.register(self.stop.fd, select.POLLIN)
        open_links = list(links)
        for link in open_links:
            poll.register(link.fd, select.POLLIN)
        while open_links:
            # Several messages can have come at once, and the caller may have taken only the first.
            for link in list(open_links):
                yield from self._of(link, open_links, poll)
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            poll.poll(None if left_s == math.inf else left_s * 1000)
            if self.stop.received:
                raise Interrupted

    def _of(
        self, link: Link, open_links: list[Link], poll: select.poll
    ) -> Iterator[tuple[Link, Message | None]]:
        try:
            while (message := link.hear()) is not None:
                yield link, message
        except Ended:
            poll.unregister(link.fd)
            open_links.remove(link)
            yield link, None

    def _answer(self, link: Link, key: str) -> Message:
        """Return the answer of an agent without a running program, however long it waits for the lock of its host."""
        waits = False
        until_s = time.monotonic() + _OPEN_S
        while True:
            for _, message in self.listen([link], until_s):
                if waits:
                    self.waiting(None)
                if message is None:
                    raise link.lost()
                if key in message:
                    return message
                if "waiting" not in message:
                    raise HostError(link.name, f"`{key}`", str(message)[:200])
                self._say_that_it_waits(link, message["waiting"])
                waits, until_s = True, math.inf
                break
            else:
                raise HostError(
                    link.name, f"an answer within {_OPEN_S:g} s", "none", "check that the host is running"
                )

    def _say_that_it_waits(self, link: Link, holder: Any) -> None:
        told = {str(key): str(value) for key, value in holder.items()} if isinstance(holder, dict) else {}
        ours = {str(other.pid): other.host for other in self.links.values() if other.pid}
        same = ours.get(told.get("pid", ""))
        if same is not None and told.get("experiment") == self.header["experiment"]:
            raise HostError(
                f"hosts {same} and {link.host}", "different machines", "the same one", "correct the inventory"
            )
        self.waiting(told)

    def ask(self, link: Link, request: Message, key: str) -> Message:
        link.send(request)
        return self._answer(link, key)


def cell_of(cell: PlanCell, planned: Mapping[str, Any], argv: list[str], timeout_s: float) -> dict[str, Any]:
    """Return the cell as the agent of a role executes it."""
    is_first = planned["name"] == cell["roles"][0]["name"]
    left_out = ("roles", *(() if is_first else ("counters",)))
    return {
        **{key: value for key, value in cell.items() if key not in left_out},
        "argv": argv,
        "environment": planned["environment"],
        "files": planned["files"],
        "timeout_s": timeout_s,
    }


def _whole(link: Link, answer: Message, key: str) -> int:
    value = answer.get(key)
    if not is_whole(value):
        raise HostError(link.name, f"a number as `{key}`", str(value)[:200])
    return int(value or 0)


def read_ways(path: Path | None) -> dict[str, Way]:
    """Read how to reach the hosts, as `regatta segment` writes it. None: all of them are this machine."""
    if path is None:
        return {}
    return {host: value_from_json(Way, way, f"{path}: {host}") for host, way in parse_object(path).items()}
