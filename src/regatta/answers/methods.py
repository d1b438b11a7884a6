"""The methods that can answer an experiment."""

from __future__ import annotations

import difflib

from regatta.host.errors import Problem, SpecError

#: ratios of logarithms, paired by block
REGATTA = "regatta"
#: differences of means as in Georges et al. (OOPSLA 2007), section 3
GEORGES_2007 = "georges2007"
METHODS = (REGATTA, GEORGES_2007)


def check_method(method: str) -> None:
    """Reject an unknown method.

    Raises:
        SpecError: the message suggests the nearest name.
    """
    if method not in METHODS:
        near = difflib.get_close_matches(method, METHODS, 1, 0.4)
        raise SpecError([Problem("method", f"one of {', '.join(METHODS)}", method, near[0] if near else "")])
