"""The topic of coverage: the number of completed cells, and the impossible combinations with the reasons reported."""

from __future__ import annotations

from collections.abc import Sequence

from regatta.answers.kit.topic import Lead, Topic, Words
from regatta.answers.spine.context import Context
from regatta.answers.spine.result import CellAnswer, Failure
from regatta.answers.spine.words import counted, listed

#: names of programs, runtimes or configurations in one sentence; with more, their number
_NAMED = 6
_REASON_CHARACTERS = 160
#: statuses of completed invocations, including those on a busy machine
_COMPLETED = ("ok", "perturbed")


def coverage_words(
    cells: Sequence[CellAnswer], failures: Sequence[Failure], impossible: Sequence[tuple[str, str]]
) -> tuple[str, ...]:
    """Report completed cells and impossible combinations; empty if everything planned is possible and completed.

    Args:
        impossible: (label, reason) of cells that cannot exist.
    """
    if not (impossible or failures):
        return ()
    statuses = {(cell.place.host, cell.cell_id): cell.statuses for cell in cells}
    measured = [one for one in statuses.values() if one]
    completed = sum(any(one.get(status) for status in _COMPLETED) for one in measured)
    words = [f"{completed} of {counted(len(measured), 'measured cell')} completed"] if measured else []
    kinds: dict[str, set[str]] = {}
    for failure in failures:
        kinds.setdefault(failure.status, set()).add(f"{failure.host} {failure.cell_id}")
    for status, own in kinds.items():
        outcome = "given up" if status == "skipped" else f"with status {status}"
        words.append(f"{counted(len(own), 'cell')} {outcome}")
    reasons: dict[str, list[str]] = {}
    for label, reason in impossible:
        reasons.setdefault(reason, []).append(label)
    return (*words, *(_impossible(labels, reason) for reason, labels in reasons.items()))


def _impossible(labels: Sequence[str], reason: str) -> str:
    """Return `not possible: javac, temurin-17 and temurin-21: no module jdk.compiler (12 cells)`."""
    parts = [label.split(" · ") for label in labels]
    benchmarks = list(dict.fromkeys(part[0] for part in parts))
    where = _configurations(list(dict.fromkeys(part[1] for part in parts if len(part) > 1)))
    what = _named([name.split("/", 1)[-1] for name in benchmarks], "benchmark")
    why = reason if len(reason) <= _REASON_CHARACTERS else reason[:_REASON_CHARACTERS].rstrip() + " ..."
    place = f", {where}" if where else ""
    return f"not possible: {what}{place}: {why} ({counted(len(labels), 'cell')})"


def _configurations(names: Sequence[str]) -> str:
    """Return only the runtimes if all have the same collectors and modifiers."""
    split = [name.partition(" ") for name in names]
    runtimes = list(dict.fromkeys(runtime for runtime, _, _ in split))
    rest = {others for _, _, others in split}
    alone = len(rest) > 1 and len(names) == len(runtimes) * len(rest)
    return _named(runtimes if alone else list(names), "configuration") if names else ""


def _named(names: Sequence[str], what: str) -> str:
    return listed(names) if len(names) <= _NAMED else counted(len(names), what)


def _headline(sentences: Sequence[str], context: Context, _: Lead) -> Sequence[str] | None:
    """Replace the first sentences if each cell runs once: single values do not show which is faster."""
    once = all(cell.planned - cell.discarded_rounds <= 1 for cell in context.samples.cells)
    return sentences if sentences and once else None


COVERAGE: Topic[tuple[str, ...]] = Topic(
    "coverage",
    title="Coverage",
    empty=(),
    compute=lambda context: coverage_words(context.cells, context.samples.failures, context.impossible),
    words=Words(10, "What ran", lambda sentences, _: sentences),
    headline=_headline,
)
