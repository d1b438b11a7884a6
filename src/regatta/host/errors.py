"""Every error that Regatta raises on purpose.

    RegattaError                 exit code
    ├── SpecError                2   the spec, a registry or a suite is wrong (holds a list of Problem)
    ├── HostError                3   the host is unfit: a program is missing, a runtime did not arrive
    │   └── NotForThisHostError      there is no such runtime for this host, so that its cells cannot exist
    ├── StoreError               3   the results cannot be read or written (full disk, foreign file)
    └── VerificationError        1   the work is recorded, but something in it failed

A message says where, what was expected, what was found, and how to mend it.
A leaf: standard library only, because the runner carries it to the hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

from regatta.host.printable import printable

#: more problems than anybody reads; a spec can have thousands of one kind
_SHOWN = 50


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where · expected · got · fix.

    Its text is safe to show, whatever is in its parts. A part that has several lines on purpose is `printable.Lines`.
    """

    where: str
    expected: str
    got: str
    fix: str = ""

    def __str__(self) -> str:
        text = f"{printable(self.where)}: expected {printable(self.expected)} · got {printable(self.got)}"
        return f"{text} · fix: {printable(self.fix)}" if self.fix else text


class RegattaError(Exception):
    """Base of all errors that end a command. `exit_code` is what the process returns."""

    exit_code = 3

    def __init__(self, where: str, expected: str, got: str, fix: str = "") -> None:
        self.problems: tuple[Problem, ...] = (Problem(where, expected, got, fix),)
        super().__init__(str(self.problems[0]))

    def shown(self) -> list[str]:
        """Return the texts of the problems, the first 50, and how many more there are."""
        more = len(self.problems) - _SHOWN
        texts = [str(problem) for problem in self.problems[:_SHOWN]]
        return [*texts, f"and {more} more"] if more > 0 else texts


class SpecError(RegattaError):
    """The spec, or a registry or suite it names, is wrong. Carries every problem at once."""

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        Exception.__init__(self, "\n".join(self.shown()))


class HostError(RegattaError):
    """This host cannot do the work: a program, a runtime or a permission is missing."""

    exit_code = 3


class NotForThisHostError(HostError):
    """There is no such thing for this host, now or later: its cells cannot exist here, and the rest goes on."""


class StoreError(RegattaError):
    """Results cannot be read or written."""

    exit_code = 3


class VerificationError(RegattaError):
    """The work is recorded, and something in it failed."""

    exit_code = 1
