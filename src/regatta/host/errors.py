"""All errors that Regatta raises deliberately.

    RegattaError                 exit code
    ├── SpecError                2   the spec, a registry or a suite is invalid (holds a list of Problem)
    ├── HostError                3   the host is unfit: a program or a runtime is missing
    │   └── NotForThisHostError      the runtime is not available on this host, so its cells cannot exist
    ├── FullDisk                 3   a disk for output or temporary files is full
    ├── StoreError               3   the results cannot be read or written (full disk, foreign file)
    │   └── NewerVersion             a newer version of Regatta wrote the results
    └── VerificationError        1   the work is recorded, but part of it failed

A message states the location, the expected value, the actual value and the fix.
Standard library only and no imports of other layers: the runner carries this module to the hosts.
"""

from __future__ import annotations

from dataclasses import dataclass

from regatta.host.printable import printable

#: limit of reported problems; a spec can have thousands of one kind
_SHOWN = 50


@dataclass(frozen=True)
class Problem:
    """One problem: where · expected · got · fix.

    The text is safe to show, regardless of the content of its parts. A part with intentional line breaks is `printable.Lines`.
    """

    where: str
    expected: str
    got: str
    fix: str = ""

    def __str__(self) -> str:
        text = f"{printable(self.where)}: expected {printable(self.expected)} · got {printable(self.got)}"
        return f"{text} · fix: {printable(self.fix)}" if self.fix else text


class RegattaError(Exception):
    """Base of all errors that end a command. `exit_code` is the exit code of the process."""

    exit_code = 3

    def __init__(self, where: str, expected: str, got: str, fix: str = "") -> None:
        self.problems: tuple[Problem, ...] = (Problem(where, expected, got, fix),)
        super().__init__(str(self.problems[0]))

    def shown(self) -> list[str]:
        """Return the texts of the first 50 problems, and the number of the rest."""
        more = len(self.problems) - _SHOWN
        texts = [str(problem) for problem in self.problems[:_SHOWN]]
        return [*texts, f"and {more} more"] if more > 0 else texts


class SpecError(RegattaError):
    """The spec, or a registry or suite that it names, is invalid. Holds all problems at once."""

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = tuple(problems)
        Exception.__init__(self, "\n".join(self.shown()))

    @classmethod
    def of(cls, where: str, expected: str, got: str, fix: str = "") -> SpecError:
        """Return the error of one problem."""
        return cls([Problem(where, expected, got, fix)])


class HostError(RegattaError):
    """The host cannot do the work: a program, a runtime or a permission is missing."""

    exit_code = 3


class NotForThisHostError(HostError):
    """The runtime does not exist for this host, or its program is not installed. Its cells cannot exist here; the rest continues."""


class FullDisk(RegattaError):
    """A disk is full. `where` is the output, or the folder of temporary files."""

    exit_code = 3

    def __init__(self, where: str, fix: str) -> None:
        """Name the file or folder without room, and the fix."""
        super().__init__(where, "free disk space", "No space left on device", fix)
        self._arguments = where, fix

    def __reduce__(self) -> tuple[type[FullDisk], tuple[str, str]]:
        """Let a process of a pool pass the error to its parent."""
        return FullDisk, self._arguments


class StoreError(RegattaError):
    """Results cannot be read or written."""

    exit_code = 3


class NewerVersion(StoreError):
    """A newer version of Regatta wrote the results. This version neither reads them in part nor adds to them."""

    def __init__(self, where: str, known: int, got: int) -> None:
        """Say which version of the format is known here, and which one was found at `where`."""
        self.known, self.got = known, got
        super().__init__(
            where,
            f"format version {known}",
            f"format version {got}, written by a newer version of Regatta",
            "use that version of Regatta for this experiment",
        )

    def at(self, where: str) -> NewerVersion:
        """Return the same error at a more precise place."""
        return NewerVersion(where, self.known, self.got)


class VerificationError(RegattaError):
    """The work is recorded, but part of it failed."""

    exit_code = 1
