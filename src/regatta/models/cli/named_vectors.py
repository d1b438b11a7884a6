"""Vectors named on the command line: applications or a mix, and systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from regatta.host.errors import RegattaError, SpecError
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.models.predict.predictions import RequestedApplication
    from regatta.models.vectors.sources import Sources, SystemSource
    from regatta.models.vectors.values import ApplicationVector


def named_applications(given: Sequence[str], sources: Sources) -> list[RequestedApplication]:
    """Return each application; one mix of all if they have weights; a mix for each share of one in another.

    `apache-static apache-cgi=5,15,30` are three mixes.
    """
    from regatta.models.predict.mixing import mixed
    from regatta.models.predict.predictions import RequestedApplication

    shares = [text for text in given if _shares(text)]
    if shares:
        return _in_shares(given, shares, sources)
    parts: list[tuple[ApplicationVector, float]] = []
    weighted = 0
    for text in given:
        name, weight = _weight(text)
        vector = sources.application(name)
        weighted += weight is not None
        if vector is None:
            continue
        if any(vector.name == other.name for other, _ in parts):
            sources.refuse("APP", "each application once", f"{vector.name} twice", "add their weights")
            continue
        parts.append((vector, 1.0 if weight is None else weight))
    if not weighted:
        return [RequestedApplication(vector) for vector, _ in parts]
    if weighted < len(given):
        fix = "give each a weight (NAME=WEIGHT) for one mix, or none"
        sources.refuse("APP", "a weight for each application", f"{weighted} of {len(given)}", fix)
    if sources.problems:
        return []
    try:
        return [RequestedApplication(mixed(mix_name(parts), parts), tuple(parts))]
    except RegattaError as error:
        sources.problems += error.problems
        return []


def _in_shares(given: Sequence[str], shares: Sequence[str], sources: Sources) -> list[RequestedApplication]:
    others = [text for text in given if text not in shares]
    name = shares[0].partition("=")[0]
    if len(shares) > 1 or len(others) != 1 or _weight(others[0])[1] is not None:
        expected = "one other application without a weight, which has the rest"
        sources.refuse("APP", expected, " ".join(given), f"APP {name}=5,15,30")
        return []
    found = []
    for share in _shares(shares[0]):
        if not 0.0 < share < 100.0:
            sources.refuse("APP", "shares in per cent, above 0 and below 100", shares[0])
            break
        found += named_applications([f"{others[0]}={100.0 - share!r}", f"{name}={share!r}"], sources)
    return found


def _shares(text: str) -> list[float]:
    """Return the numbers of `apache-cgi=5,15,30`; none of a name or a single weight."""
    name, _, numbers = text.rpartition("=")
    if not name or "," not in numbers:
        return []
    try:
        return [float(number) for number in numbers.split(",")]
    except ValueError:
        return []


def named_systems(given: Sequence[str], sources: Sources) -> list[SystemSource]:
    """Return the distinct systems, even if named twice."""
    found: list[SystemSource] = []
    for source in (source for name in dict.fromkeys(given) for source in sources.systems(name)):
        if all(source.vector != other.vector for other in found):
            found.append(source)
    return found


def _weight(text: str) -> tuple[str, float | None]:
    """Split `apache-cgi=0.3` into name and weight; a name may contain `=` if no number follows."""
    name, equals, number = text.rpartition("=")
    try:
        return (name, float(number)) if equals and name else (text, None)
    except ValueError:
        return text, None


def mix_name(parts: Sequence[tuple[ApplicationVector, float]]) -> str:
    """`70 % apache-static + 30 % apache-cgi`."""
    whole = sum(weight for _, weight in parts)
    return " + ".join(
        f"{100 * weight / whole if whole else 0:.4g} % {vector.name}" for vector, weight in parts
    )


@contextmanager
def incomplete_vectors() -> Iterator[None]:
    """Report incomplete vectors like an invalid spec."""
    try:
        yield
    except RegattaError as error:
        if error.exit_code == RegattaError.exit_code and type(error) is RegattaError:
            raise SpecError(list(error.problems)) from error
        raise


def show_notes(sources: Sources, applications: Iterable[ApplicationVector]) -> None:
    """Print the notes of the sources, except those on primitives that the applications do not use."""
    from regatta.models.predict.times import USER_WORK

    used = {count.primitive for one in applications for count in one.counts}
    others = sources.primitives - used - {USER_WORK}
    for note in dict.fromkeys(sources.notes):
        if not others & set(note.replace(":", " ").split()):
            click.echo(f"note: {printable(note)}", err=True)
