"""What a probe or a mark means: `accept phase process`, `request lock accept-mutex`, `finish transaction 17 order`."""

from __future__ import annotations

from dataclasses import dataclass

from regatta.host.values.events import MARK
from regatta.models.kernel_traces.model import Kind

_KINDS = {"request": Kind.REQUEST, "accept": Kind.ACCEPT, "finish": Kind.FINISH, "wait": Kind.WAIT}


@dataclass(frozen=True)
class Mark:
    """An abstract event that a program reports, or that reaching a function means."""

    kind: Kind
    #: kind and name of the object
    of: str
    name: str
    #: None: pairs with the last open one of the thread
    request: int | None = None
    #: the number is the first argument of the function
    by_argument: bool = False


def parse_mark(text: str) -> Mark | None:
    """Return the mark that a text describes, or None."""
    found = MARK.fullmatch(text)
    if found is None:
        return None
    kind, of, number, name = found.groups()
    if number == "arg1":
        return Mark(_KINDS[kind], of, name, by_argument=True)
    return Mark(_KINDS[kind], of, name, None if number is None else int(number))
