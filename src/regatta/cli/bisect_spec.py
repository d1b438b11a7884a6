"""The states between which `regatta bisect` searches: revisions, runtimes or sets of modifiers, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from regatta.cli.derived_spec import (
    DIGITS,
    OF_EXPERIMENT,
    only_git_runtime,
    refuse,
    revision_entry,
)
from regatta.host.values.experiment import Experiment, Runtime

Over = Literal["revisions", "runtimes", "modifiers"]
#: between more states, a search would take days
MOST_STATES = 10_000


@dataclass(frozen=True)
class States:
    """At least two states in order; the first is `good`, the last `bad`.

    `name`: of the search. `titles`: of each, for sentences. `alternatives`: name of each in its experiments.
    """

    name: str
    over: Over
    titles: tuple[str, ...]
    alternatives: tuple[str, ...]
    #: of revisions: the runtime, with its revision as a commit
    runtimes: tuple[Runtime, ...] = ()
    #: of sets of modifiers: the names of each
    sets: tuple[tuple[str, ...], ...] = ()
    #: keys of the user's baseline, which the middle replaces
    factors: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """Return the place of the last state."""
        return len(self.titles) - 1

    def sides(self, middle: int, others: Sequence[int]) -> dict[str, Any]:
        """Return name, alternatives and baseline of the experiment that compares the middle with the others."""
        places = (middle, *others)
        baseline: dict[str, Any] = dict.fromkeys(self.factors)
        found: dict[str, Any] = {"name": "-".join(["step", *map(str, sorted(places))])}
        names = [self.alternatives[place] for place in places]
        if self.over == "modifiers":
            sets = [list(self.sets[place]) for place in places]
            return {**found, "modifier_sets": sets, "baseline": {**baseline, "modifiers": sets[0]}}
        if self.over == "revisions":
            entries = [
                revision_entry(self.runtimes[place], self.runtimes[place].revision) for place in places
            ]
            # Two revisions can have equal files.
            found["define"] = {
                "runtimes": {name: {**entry, "aa": True} for name, entry in zip(names, entries, strict=True)}
            }
        return {**found, "runtimes": names, "baseline": {**baseline, "runtime": names[0]}}


def states_of(spec: Path, experiment: Experiment, good: str | None, bad: str | None, over: Over) -> States:
    """Return the states of a spec.

    Args:
        spec: of the user.
        experiment: its model.
        good, bad: revisions; None: of other states, which the spec lists in order.
        over: what differs between the states.

    Raises:
        SpecError: there are fewer than two states, or `good` is not an ancestor of `bad`.
        HostError: a revision does not exist, or git fails.
    """
    if over == "revisions":
        if good is None:
            refuse("--good", "a revision", "none", "name the last good revision, or use --over")
        return _revisions(experiment, good, bad)
    if good is not None or bad is not None:
        option = "--bad" if good is None else "--good"
        refuse(option, f"no revision with `--over {over}`", "one", f"list the {over} in order in the spec")
    name = f"{experiment.name[:OF_EXPERIMENT]}-bisect-{over}"
    factors = tuple(experiment.baseline)
    if over == "runtimes":
        names = tuple(one.name for one in experiment.runtimes if one.provider != "none")
        _check_states(f"{spec}: runtimes", len(names))
        return States(name, over, names, names, factors=factors)
    sets = tuple(tuple(one.name for one in one_set) for one_set in experiment.modifiers)
    names = tuple("+".join(one) or "none" for one in sets)
    _check_states(f"{spec}: modifier_sets", len(names))
    return States(name, over, names, names, sets=sets, factors=factors)


def _check_states(where: str, count: int) -> None:
    if not 2 <= count <= MOST_STATES:
        refuse(where, f"2 to {MOST_STATES:,} states", str(count), "the first is good, the last is bad")


def _revisions(experiment: Experiment, good: str, bad: str | None) -> States:
    from regatta.fleet.fetching import revision_commit, revisions_between

    runtime = only_git_runtime(experiment, f"--good {good}")
    first, last = (revision_commit(replace(runtime, revision=one)) for one in (good, bad or runtime.revision))
    between = revisions_between(replace(runtime, revision=last), first, last, MOST_STATES)
    if not between:
        fix = "exchange --good and --bad, or choose revisions of one branch"
        refuse("--good", f"an ancestor of {bad or runtime.revision}", good, fix)
    commits = [(first, good), *between]
    _check_states("--good", len(commits))
    return States(
        name=f"{experiment.name[:OF_EXPERIMENT]}-bisect-{first[:DIGITS]}-{last[:DIGITS]}",
        over="revisions",
        titles=tuple(f"{commit[:DIGITS]} {subject}".strip() for commit, subject in commits),
        alternatives=tuple(commit[:12] for commit, _ in commits),
        runtimes=tuple(replace(runtime, revision=commit) for commit, _ in commits),
        factors=tuple(experiment.baseline),
    )
