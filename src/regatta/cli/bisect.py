"""`regatta bisect SPEC`: find the changes between a good and a bad state, by measurements beside both."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.bisect_spec import Over, States, states_of
from regatta.cli.derived_spec import (
    DIGITS,
    LEAST_ROUNDS,
    derived_spec,
    refuse,
    relevance_of,
    relevance_option,
    run_derived,
)
from regatta.cli.options import json_option, profile_option, spec_argument, spec_results_option
from regatta.host.errors import RegattaError
from regatta.host.printable import printable
from regatta.host.values.digest import digest_of
from regatta.host.values.host import Wish
from regatta.spec.invocations_schema import MAX_ADAPTIVE
from regatta.store.folder import Folder, write_json

if TYPE_CHECKING:
    from regatta.answers.bisect.result import BisectAnswer, Step, Unresolved, Verdict
    from regatta.answers.bisect.search import Between, Compared, Relation
    from regatta.answers.gate.result import GateAnswer
    from regatta.host.values.experiment import Experiment
    from regatta.stats.estimate import Interval

#: in the folder of a search, its answer; in the folder of a step, its spec and its ratios
DOCUMENT, _SPEC, _STEP = "bisect.json", "step.yml", "step.json"
#: rounds of a step at most: halving needs certainty
ROUNDS = 100
EXIT_CODES = {"found": 0, "no difference shown": 5, "undecided": 5}
#: host -> ratio of the middle to another state
Ratios = Mapping[str, "Interval"]


@click.command()
@spec_argument
@spec_results_option
@click.option("--good", metavar="REVISION", help="The last revision that is known to be good.")
@click.option("--bad", metavar="REVISION", help="A later revision that is bad. [default: that of the spec]")
@click.option(
    "--over",
    type=click.Choice(["revisions", "runtimes", "modifiers"]),
    default="revisions",
    show_default=True,
    help="What differs: `revisions` of the runtime with `provider: git`, or the `runtimes` or `modifier_sets` of the spec in order. The first of these is good, and the last is bad.",
)
@relevance_option
@click.option(
    "--rounds",
    type=click.IntRange(LEAST_ROUNDS, MAX_ADAPTIVE),
    default=ROUNDS,
    show_default=True,
    help="Maximum number of rounds of a step.",
)
@profile_option
@json_option
def bisect(
    spec: Path,
    results: Path | None,
    good: str | None,
    bad: str | None,
    over: Over,
    relevance: float | None,
    rounds: int,
    profile: Wish | None,
    as_json: bool,
) -> int:
    """Find the changes that made the benchmark of SPEC slower, or faster, between a good and a bad state.

    Each step measures a state in the same blocks as a better and a worse one. Several causes are found. After an interruption,
    the same command continues.

    Exit codes: 0 found · 1 an invocation failed · 2 error in the spec or the command · 3 unfit host · 5 undecided.
    """
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec

    home = find_home(spec)
    experiment = load_spec(spec, home)
    _check_one_comparison(spec, experiment, over)
    states = states_of(spec, experiment, good, bad, over)
    folder = (results or Path(experiment.results_directory)) / states.name
    steps = _Steps(
        spec, experiment, states, home, folder, profile, rounds, relevance_of(experiment, relevance)
    )
    answer = steps.search()
    document = _document(answer)
    write_json(folder / DOCUMENT, document)
    if as_json:
        click.echo(json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False))
    else:
        _show(answer, folder)
    return EXIT_CODES[answer.verdict]


class _Steps:
    """The steps of one search; each is an experiment in its folder."""

    def __init__(
        self,
        spec: Path,
        experiment: Experiment,
        states: States,
        home: Path,
        folder: Path,
        profile: Wish | None,
        rounds: int,
        relevance_percent: float,
    ) -> None:
        from regatta.answers.bisect.search import level_of_step
        from regatta.fleet.fingerprint import state_of

        self.state = state_of(experiment, home)
        #: of the last step
        self.step_folder = folder
        self.spec, self.experiment, self.states, self.home = spec, experiment, states, home
        self.folder, self.profile, self.rounds = folder, profile, rounds
        self.relevance_percent = relevance_percent
        self.smallest = math.log1p(relevance_percent / 100.0)
        self.level = level_of_step(experiment.level, states.last)
        #: pair of places -> ratio of the right one to the left one
        self.known: dict[tuple[int, int], Ratios] = {}
        self.done: list[Step] = []
        #: of the rows: benchmark, metric and unit
        self.measured = ("", "", "")

    def search(self) -> BisectAnswer:
        """Compare the ends, and search between them if they differ."""
        from regatta.answers.bisect.result import BisectAnswer, Change
        from regatta.answers.bisect.search import Found, search

        last, titles = self.states.last, self.states.titles
        ends = self._measured(0, (last,), self.smallest)
        if ends is None:
            refuse(titles[0], "both ends to be measurable", "a failure", "choose other ends")
        self.known[0, last] = ends[last]
        found = Found()
        verdict: Verdict = "no difference shown"
        relation = self._relation(ends[last], self.smallest)
        self._tell(0, 0, last, "same", relation)
        if relation == "differs":
            found = search(last, self._compare)
            verdict = "undecided" if found.unresolved or not found.changes else "found"
        return BisectAnswer(
            name=self.states.name,
            verdict=verdict,
            states=last + 1,
            good=titles[0],
            bad=titles[last],
            ends=self.known[0, last],
            benchmark=self.measured[0],
            metric=self.measured[1],
            unit=self.measured[2],
            changes=tuple(
                Change(titles[one.first], titles[one.last], self.known[one.first, one.last])
                for one in found.changes
            ),
            unresolved=self._ranges(found.unresolved),
            possible=self._ranges(found.possible),
            skipped=tuple(titles[place] for place in found.skipped),
            steps=tuple(self.done),
            level=self.experiment.level,
            relevance_percent=self.relevance_percent,
        )

    def _ranges(self, found: Sequence[Between]) -> tuple[Unresolved, ...]:
        from regatta.answers.bisect.result import Unresolved

        titles = self.states.titles
        return tuple(
            Unresolved(titles[one.first], titles[one.last], one.last - one.first, one.reason) for one in found
        )

    def _compare(self, left: int, middle: int, right: int) -> Compared | None:
        from regatta.answers.bisect.search import Compared, searched_difference

        known = [ratio for ratio in self.known[left, right].values() if not math.isnan(ratio.point)]
        searched = max(searched_difference(ratio, self.smallest) for ratio in known)
        ratios = self._measured(middle, (left, right), searched)
        if ratios is None:
            click.echo(f"{printable(self.states.titles[middle])}: cannot be measured, skipped", err=True)
            return None
        # The ratio of a state to the one before it: the middle is the baseline of both.
        self.known[left, middle] = {host: _inverse(ratio) for host, ratio in ratios[left].items()}
        self.known[middle, right] = ratios[right]
        to_left, to_right = (self._relation(ratios[place], searched) for place in (left, right))
        self._tell(middle, left, right, to_left, to_right)
        return Compared(to_left, to_right)

    def _tell(self, middle: int, left: int, right: int, to_left: Relation, to_right: Relation) -> None:
        from regatta.answers.bisect.result import Step

        titles = self.states.titles
        step = Step(titles[middle], titles[left], titles[right], to_left, to_right, str(self.step_folder))
        self.done.append(step)
        sides = [
            f"{relation} from {titles[at]}"
            for relation, at in ((to_left, left), (to_right, right))
            if at != middle
        ]
        click.echo(printable(f"step {len(self.done)}: {titles[middle]}: {', '.join(sides)}"), err=True)

    def _relation(self, ratios: Ratios, searched: float) -> Relation:
        """Return the relation over all hosts: a difference on one is a difference."""
        from regatta.answers.bisect.search import relation

        found = {relation(ratio, self.smallest, searched) for ratio in ratios.values()}
        return "differs" if "differs" in found else "same" if found == {"same"} else "unknown"

    def _measured(self, middle: int, others: tuple[int, ...], searched: float) -> dict[int, Ratios] | None:
        """Return the ratios of other states to the middle, by host; None if the middle cannot be measured.

        Raises:
            RegattaError: an end failed, or the workflow did.
        """
        decide = {"relevance_percent": round(100.0 * math.expm1(searched), 9), "maximum": self.rounds}
        sides = self.states.sides(middle, others)
        value = derived_spec(self.spec, self.experiment, sides, {"decide": decide}, self.level, False)
        # Values of an earlier spec, or of earlier sources, are not judged with new ones.
        identity = digest_of([value, self.state])
        value["name"] = f"{value['name']}-{identity[:DIGITS]}"
        self.step_folder = self.folder / str(value["name"])
        kept = self.step_folder / _STEP
        rows = _read_step(kept, identity)
        if rows is None:
            rows = self._run(value, middle)
            if rows is None:
                return None
            write_json(kept, {"spec": identity, **rows})
        self.measured = tuple(rows["measured"])
        return {place: _intervals(rows["ratios"][self.states.alternatives[place]]) for place in others}

    def _run(self, value: Mapping[str, Any], middle: int) -> dict[str, Any] | None:
        """Measure a step; return its rows, or None if the middle cannot be built or fails."""
        answers: list[GateAnswer] = []
        folder = Folder(self.folder / str(value["name"]))

        def show(code: int) -> None:
            from regatta.answers.gate.compute import judge_gate

            if code in (0, 1):
                answers.append(judge_gate(folder))

        try:
            code = run_derived(value, _SPEC, self.home, self.folder, self.profile, False, show)
        except RegattaError as error:
            name = self.states.alternatives[middle]
            if not answers:
                # A state that cannot be built is skipped; anything else is a problem of the host or of an end.
                if any(name in text for text in error.shown()):
                    return None
                raise
            if not all(row.verdict == "failed" for row in answers[0].rows):
                raise
            return None
        if code:
            raise click.exceptions.Exit(code)
        rows = _rows_of(answers[0], self.states.over)
        # A runtime that no host has is not possible there, and has no row.
        others = len(value["modifier_sets" if self.states.over == "modifiers" else "runtimes"]) - 1
        return rows if len(rows["ratios"]) == others else None


def _rows_of(answer: GateAnswer, over: Over) -> dict[str, Any]:
    """Return what a step measured, and the ratio of each other state to the middle, by host."""
    from regatta.answers.kit.plain import plain

    ratios: dict[str, dict[str, Any]] = {}
    for row in answer.rows:
        alternative = row.place.modifiers if over == "modifiers" else row.place.runtime
        ratios.setdefault(alternative, {})[row.place.host] = plain(row.ratio)
    measured = next(([row.title, row.metric, row.unit] for row in answer.rows), [])
    return {"measured": measured, "ratios": ratios}


def _read_step(path: Path, identity: str) -> dict[str, Any] | None:
    """Return the rows of a step that was measured to its end before; None without one, or if the spec has changed."""
    from regatta.host.files import read_object

    found = read_object(path)
    return found if found.get("spec") == identity else None


def _intervals(ratios: Mapping[str, Mapping[str, Any]]) -> Ratios:
    from regatta.stats.estimate import Interval

    def interval(of: Mapping[str, Any]) -> Interval:
        point, low, high = (
            math.nan if of[key] is None else float(of[key]) for key in ("point", "low", "high")
        )
        return Interval(
            int(of["n"]), point, low, high, float(of["level"]), str(of["method"]), str(of["reason"])
        )

    return {host: interval(of) for host, of in ratios.items()}


def _inverse(ratio: Interval) -> Interval:
    from dataclasses import replace

    high = 1.0 / ratio.low if ratio.low else math.inf
    return replace(ratio, point=1.0 / ratio.point, low=1.0 / ratio.high, high=high)


def _check_one_comparison(spec: Path, experiment: Experiment, over: Over) -> None:
    """Raise SpecError unless the states differ in one factor, at one place."""
    counts = {
        "benchmarks": sum(one.label != experiment.canary for one in experiment.benchmarks),
        "collectors": max(1, len(experiment.collectors)),
        "heap": max(1, len(experiment.heaps)),
        "runtimes": 1 if over != "modifiers" else sum(one.provider != "none" for one in experiment.runtimes),
        "modifier_sets": 1 if over == "modifiers" else max(1, len(experiment.modifiers)),
    }
    for key, count in counts.items():
        if count > 1:
            fix = f"write a spec that includes this one and has one entry in `{key}`"
            refuse(f"{spec}: {key}", "one entry, because each step has one answer", str(count), fix)


def _document(answer: BisectAnswer) -> dict[str, Any]:
    from regatta.answers.bisect.words import headline, notes
    from regatta.answers.kit.plain import plain

    return {"headline": headline(answer), **plain(answer), "notes": notes(answer)}


def _show(answer: BisectAnswer, folder: Path) -> None:
    from regatta.answers.bisect.words import changes_table, headline, notes, steps_table
    from regatta.cli.tables import plain_console, show

    console = plain_console()
    console.print(printable(headline(answer)), style="bold")
    show(console, changes_table(answer))
    show(console, steps_table(answer))
    console.print()
    for note in notes(answer):
        console.print(f"• {printable(note)}")
    console.print(f"steps: {folder}")
