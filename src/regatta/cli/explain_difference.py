"""`regatta explain-difference A B`: profile both sides of a comparison again, and divide their difference into kinds of work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.derived_spec import DIGITS, LEAST_ROUNDS, OF_EXPERIMENT, derived_spec, run_derived
from regatta.cli.options import json_option, profile_option, results_option
from regatta.host.errors import RegattaError, StoreError, VerificationError
from regatta.host.printable import printable
from regatta.host.values.digest import digest_of
from regatta.host.values.host import Wish
from regatta.store.folder import Folder, find_folders, read_json, write_json

if TYPE_CHECKING:
    from regatta.answers.explanation.result import Explanation
    from regatta.answers.spine.context import Context
    from regatta.host.values.experiment import Experiment, Heap
    from regatta.host.values.plan_cell import PlanCell
    from regatta.stats.estimate import Interval

DOCUMENT, PAGE, _SPEC = "difference.json", "difference.html", "difference.yml"
ROUNDS = 10
#: exit code without a difference to explain
NO_DIFFERENCE = 5
#: what is counted in the profiled runs; counters that a host lacks are listed with the reason
_COUNTERS = (
    "task-clock", "context-switches", "migrations", "page-faults", "major-faults", "cycles", "instructions", "branch-misses",
    "llc-misses", "program-profile",
)  # fmt: skip
#: names of compiled methods of Java programs; others run as usual
_FOR_JAVA = "perf-map"
_NO_MODIFIERS = "none"
#: parts on the screen; the page has all
_SHOWN = 12


@dataclass(frozen=True)
class Side:
    """One side: its name, and its level of each factor."""

    name: str
    levels: Mapping[str, str]
    benchmark: str

    @property
    def modifiers(self) -> tuple[str, ...]:
        """Return the names of its modifiers."""
        names = self.levels.get("modifiers", _NO_MODIFIERS)
        return () if names == _NO_MODIFIERS else tuple(names.split("+"))


@click.command("explain-difference")
@click.argument("a")
@click.argument("b")
@results_option
@click.option("--experiment", help="Look only in this experiment.")
@click.option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS),
    default=ROUNDS,
    show_default=True,
    help="Number of rounds with the profiler.",
)
@profile_option
@json_option
def explain_difference(
    a: str,
    b: str,
    results: Path,
    experiment: str | None,
    rounds: int,
    profile: Wish | None,
    as_json: bool,
) -> int:
    """Explain why cell B of an experiment differs from cell A.

    A and B are ids, their beginnings, or parts of labels. Both run again with a profiler, in an experiment of their own. Their
    difference is divided into system calls, page faults, collections, functions and other work, each with an interval.

    Exit codes: 0 explained · 1 an invocation failed · 2 error in the command · 3 unfit host · 5 no difference was shown.
    """
    folder, sides = _find_sides(a, b, results, experiment)
    measured = _measured(folder, sides)
    different = {host: found for host, found in measured.items() if found.low > 0.0 or found.high < 0.0}
    if not different:
        told = ", ".join(f"{host}: {_words(found)}" for host, found in measured.items())
        click.echo(
            printable(f"No difference between {sides[1].name} and {sides[0].name} was shown ({told})."),
            err=True,
        )
        return NO_DIFFERENCE
    spec, asked, home = _spec_of(folder)
    value = _profiled_spec(spec, asked, sides, rounds)
    place = Folder(folder.path.parent / str(value["name"]))
    done: list[int] = []

    def show(code: int) -> None:
        if code in (0, VerificationError.exit_code):
            done.append(code)
            _explain(place, sides, different, as_json)

    try:
        code = run_derived(value, _SPEC, home, folder.path.parent, profile, False, show)
    except RegattaError as error:
        if error.exit_code != VerificationError.exit_code or not done:
            raise
        code = error.exit_code
    return code


def _words(found: Interval) -> str:
    from regatta.answers.explanation.words import share_words

    return share_words(found)


def _find_sides(a: str, b: str, results: Path, experiment: str | None) -> tuple[Folder, tuple[Side, Side]]:
    """Return the experiment that has both cells. Raises StoreError: none has, or a name means several cells."""
    from regatta.host.values.levels import levels_of_planned

    found: list[tuple[Folder, tuple[Side, Side]]] = []
    unclear: list[str] = []
    for folder in find_folders(experiment, results):
        cells: list[PlanCell] = [
            cell for host in folder.planned_hosts() for cell in folder.host_header(host)["cells"]
        ]
        labels = {cell["label"]: cell for cell in cells if not cell["twin_of"]}
        chosen = [_matching(list(labels.values()), wanted) for wanted in (a, b)]
        if not all(chosen):
            continue
        several = next((names for names in chosen if len(names) > 1), None)
        if several is not None:
            unclear = [cell["label"] for cell in several]
            continue
        pair = [one[0] for one in chosen]
        if pair[0]["label"] == pair[1]["label"]:
            raise StoreError(f"{a} and {b}", "two different cells", pair[0]["label"], "name two sides")
        levels = [levels_of_planned(cell) for cell in pair]
        differ = [
            factor for factor in {**levels[0], **levels[1]} if levels[0].get(factor) != levels[1].get(factor)
        ]
        sides = [
            Side(
                " ".join(one.get(factor, "") for factor in differ).strip() or cell["label"],
                one,
                cell["benchmark"],
            )
            for one, cell in zip(levels, pair, strict=True)
        ]
        found.append((folder, (sides[0], sides[1])))
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(folder.name for folder, _ in found)
        raise StoreError(f"{a} and {b}", "cells of one experiment", names, "choose one with --experiment")
    if unclear:
        raise StoreError(
            f"{a} and {b}",
            "one cell each",
            f"{len(unclear)} cells, such as {unclear[0]}",
            "name more of the label, or the id",
        )
    raise StoreError(
        str(results),
        f"an experiment with cells like {a!r} and {b!r}",
        "none",
        "list the cells: `regatta plan SPEC`",
    )


def _matching(cells: list[PlanCell], wanted: str) -> list[PlanCell]:
    """Return the cells that a text means: an id or its beginning, a whole label or its last part, or a part of it."""
    ways = (
        lambda cell: cell["cell_id"].startswith(wanted) or cell["label"] == wanted,
        lambda cell: cell["label"].endswith(f" {wanted}"),
        lambda cell: wanted in cell["label"],
    )
    for means in ways:
        if wanted and (found := [cell for cell in cells if means(cell)]):
            return found
    return []


def _measured(folder: Folder, sides: tuple[Side, Side]) -> dict[str, Interval]:
    """Return host -> relative difference of B from A, as a share.

    Raises:
        StoreError: the values of the sides cannot be compared.
    """
    from regatta.answers.spine.comparisons import contrasts_of
    from regatta.answers.spine.context import Options, make_context
    from regatta.answers.spine.facts import read_facts
    from regatta.answers.spine.pairs import Pair
    from regatta.store.database import open_database

    facts = read_facts(folder.path)
    if facts.steady.method == "replay":
        raise StoreError(
            folder.name, "one value per invocation", "replay compilation", "measure startup or steady state"
        )
    with open_database(folder.path) as connection:
        context = make_context(folder.path, connection, facts, Options())
        found = {}
        for host, (first, second) in _cells_of(context, sides).items():
            series = [context.samples.own(cell) for cell in (first, second)]
            if first.better != "lower" or any(len(one) != 1 for one in series):
                continue
            pair = Pair(second, first, series[1][0], series[0][0])
            ratio = contrasts_of([pair], facts.level, context.stops)[0].contrast.interval
            found[host] = ratio.mapped(lambda value: value - 1.0)
    if not found:
        raise StoreError(
            folder.name,
            f"measured times of {sides[0].name} and {sides[1].name}",
            "none, or a metric that is no single time",
            "run the experiment first: `regatta run SPEC`",
        )
    return found


def _cells_of(context: Context, sides: tuple[Side, Side]) -> dict[str, Any]:
    """Return host -> the cells of both sides."""
    by_host: dict[str, dict[int, Any]] = {}
    for cell in context.samples.cells:
        for at, side in enumerate(sides):
            if dict(cell.place.levels) == dict(side.levels):
                by_host.setdefault(cell.place.host, {})[at] = cell
    return {host: (cells[0], cells[1]) for host, cells in by_host.items() if len(cells) == 2}


def _spec_of(folder: Folder) -> tuple[Path, Experiment, Path]:
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec

    document = read_json(folder.experiment, "run the experiment again")
    spec = Path(str(document.get("experiment", {}).get("spec", "")))
    if not spec.is_file():
        raise StoreError(
            str(folder.experiment),
            "the spec of the experiment",
            f"no file {spec}",
            "run this where `regatta run` ran",
        )
    home = find_home(spec)
    return spec, load_spec(spec, home), home


def _profiled_spec(
    spec: Path, experiment: Experiment, sides: tuple[Side, Side], rounds: int
) -> dict[str, Any]:
    """Return the spec of the profiled runs: only the two cells, with counters and a profile."""
    kinds = {one.name: one.kind for one in experiment.runtimes}
    java = any(kinds.get(side.levels.get("runtime", "")) == "java" for side in sides)
    sets = list(dict.fromkeys((*side.modifiers, *([_FOR_JAVA] if java else [])) for side in sides))

    def used(factor: str) -> list[str]:
        return list(dict.fromkeys(side.levels[factor] for side in sides if factor in side.levels))

    runtimes = [name for name in used("runtime") if name != "native"]
    lists = {"runtimes": runtimes, "collectors": used("collector")}
    found: dict[str, Any] = {
        **{key: names for key, names in lists.items() if names},
        "modifier_sets": [list(names) for names in sets],
        "baseline": dict.fromkeys(experiment.baseline),
        "counters": list(_COUNTERS),
        "exclude": _others(experiment, sides, sets),
    }
    identity = digest_of([found, [dict(side.levels) for side in sides], rounds])[:DIGITS]
    found["name"] = f"{experiment.name[:OF_EXPERIMENT]}-difference-{identity}"
    return derived_spec(spec, experiment, found, {"fixed": rounds}, experiment.level, False)


def _others(
    experiment: Experiment, sides: tuple[Side, Side], sets: Sequence[tuple[str, ...]]
) -> list[dict[str, Any]]:
    """Return the excludes of all cells but those of the sides."""
    from regatta.host.values.levels import heap_level

    labels = {side.benchmark for side in sides}
    found = [
        _benchmark(one.label)
        for one in experiment.benchmarks
        if one.label not in labels and one.label != experiment.canary
    ]
    heaps = {heap_level(heap): heap for heap in experiment.heaps}
    conditions = {level: _heap(heap) for level, heap in heaps.items()}
    asked = {side.levels.get("heap") for side in sides}
    found += [condition for level, condition in conditions.items() if level not in asked]
    # Where the sides differ in several factors, the other combinations.
    own = [
        {
            **_benchmark(side.benchmark),
            **{name: side.levels[name] for name in ("runtime", "collector") if name in side.levels},
            **conditions.get(side.levels.get("heap", ""), {}),
            "modifiers": list(chosen),
        }
        for side, chosen in zip(sides, sets if len(sets) == 2 else (sets[0], sets[0]), strict=True)
    ]
    differ = [key for key in {**own[0], **own[1]} if own[0].get(key) != own[1].get(key)]
    if len(differ) > 1:
        for choice in product((0, 1), repeat=len(differ)):
            if 0 < sum(choice) < len(differ):
                chosen_values = {key: own[at].get(key) for key, at in zip(differ, choice, strict=True)}
                found.append({key: value for key, value in chosen_values.items() if value is not None})
    return found


def _benchmark(label: str) -> dict[str, Any]:
    from regatta.host.values.benchmark_label import parts_of_label

    parts = parts_of_label(label)
    found: dict[str, Any] = {"suite": parts.suite, "benchmark": parts.name, "size": parts.size}
    return {**found, **({"parameters": dict(parts.chosen)} if parts.chosen else {})}


def _heap(heap: Heap) -> dict[str, Any]:
    return {"heap_mib": heap.mib} if heap.factor is None else {"heap_factor": heap.factor}


def _explain(
    place: Folder, sides: tuple[Side, Side], measured: Mapping[str, Interval], as_json: bool
) -> None:
    """Explain what was profiled, and show and write it."""
    from regatta.answers.explanation.compute import explain
    from regatta.answers.explanation.document import explanation_document
    from regatta.answers.explanation.page import write_explanations
    from regatta.answers.spine.context import Options, make_context
    from regatta.answers.spine.facts import read_facts
    from regatta.store.database import open_database

    names = (sides[0].name, sides[1].name)
    with open_database(place.path) as connection:
        context = make_context(place.path, connection, read_facts(place.path), Options())
        profiled = (_as_profiled(sides[0]), _as_profiled(sides[1]))
        cells = {**_cells_of(context, sides), **_cells_of(context, profiled)}
        found = []
        for host, difference in measured.items():
            if host in cells:
                first, second = cells[host]
                found.append(explain(context, first, second, names, difference))
    if not found:
        raise StoreError(str(place.path), "profiled runs of both sides on one host", "none", "see its report")
    document = explanation_document(found)
    write_json(place.path / DOCUMENT, document)
    write_explanations(found, place.path / PAGE)
    if as_json:
        click.echo(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False))
        return
    for one in found:
        _show(one)
    click.echo(f"flame graphs: {place.path / PAGE}")


def _as_profiled(side: Side) -> Side:
    return replace(side, levels={**side.levels, "modifiers": "+".join((*side.modifiers, _FOR_JAVA))})


def _show(one: Explanation) -> None:
    from regatta.answers.explanation.words import counters_table, headline, notes, parts_table
    from regatta.cli.tables import plain_console, show

    console = plain_console()
    console.print(printable(headline(one)), style="bold")
    show(console, parts_table(one, _SHOWN))
    if one.counters:
        show(console, counters_table(one))
    console.print()
    for note in notes(one):
        console.print(f"• {printable(note)}")
