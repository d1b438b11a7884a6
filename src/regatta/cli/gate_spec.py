"""The spec that `regatta gate` measures: the spec of the user, with the two sides, the rule `decide` and an A/A test."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regatta.cli.derived_spec import (
    DIGITS,
    OF_EXPERIMENT,
    ROUNDS,
    derived_spec,
    only_git_runtime,
    own_rule,
    refuse,
    relevance_of,
    revision_entry,
    revision_name,
)
from regatta.host.files import read_object
from regatta.host.values.digest import digest_of
from regatta.host.values.experiment import Experiment

#: the spec of a gate in the folder of its experiment
SPEC = "gate.yml"


@dataclass(frozen=True)
class Wanted:
    """Options of the command. `relevance_percent` and `rounds`: None for those of the spec, or else the defaults."""

    baseline: str | None
    candidate: str | None
    relevance_percent: float | None
    rounds: int | None
    budget: str | None
    aa: bool


def gate_spec(spec: Path, experiment: Experiment, home: Path, wanted: Wanted) -> dict[str, Any]:
    """Return the spec of the gate. It includes the spec of the user, and overrides what a gate needs.

    Args:
        spec: of the user.
        experiment: its model.
        home: as of `find_home`.

    Raises:
        SpecError: the sides are not named, equal, or on different machines.
        HostError: a revision does not exist, or git fails.
    """
    if "platform" in experiment.baseline:
        refuse(
            f"{spec}: baseline.platform",
            "both sides on the same machines, in the same blocks",
            "a baseline on another machine",
            "name a runtime or a revision: a change of the code cannot be separated from a difference of machines",
        )
    sides = _sides(spec, experiment, home, wanted)
    rule = own_rule(experiment)
    decide: dict[str, Any] = {
        "relevance_percent": relevance_of(experiment, wanted.relevance_percent),
        "maximum": wanted.rounds or (rule.maximum if rule else max(ROUNDS, experiment.invocations)),
    }
    if wanted.budget:
        decide["budget"] = wanted.budget
    return derived_spec(spec, experiment, sides, {"decide": decide}, experiment.level, wanted.aa)


def _sides(spec: Path, experiment: Experiment, home: Path, wanted: Wanted) -> dict[str, Any]:
    """Return name, runtimes and baseline of the gate."""
    runtimes = [one.name for one in experiment.runtimes if one.provider != "none"]
    asked = wanted.baseline
    if asked is None:
        if wanted.candidate is not None:
            fix = "name the revision to compare with: --baseline REV"
            refuse("--candidate", "`--baseline` with it", "none", fix)
        if not experiment.baseline:
            fix = "add `baseline: {runtime: NAME}` to the spec, or use --baseline REVISION|RUNTIME"
            refuse(f"{spec}: baseline", "the side that the others are compared with", "none", fix)
        return {"name": _name(experiment, home, "")}
    if wanted.candidate is None and asked in {*runtimes, *_known_runtimes(home)}:
        others = [one for one in runtimes if one != asked]
        if not others:
            expected = "a runtime that differs from those of the spec"
            refuse("--baseline", expected, asked, "add the other to `runtimes`")
        return {
            "name": _name(experiment, home, asked),
            "runtimes": [asked, *others],
            "baseline": {**dict.fromkeys(experiment.baseline), "runtime": asked},
        }
    if not asked or Path(asked).is_file():
        fix = "name the revision or the runtime: it is measured again, because machines differ, and one machine differs from day to day"
        refuse(
            "--baseline",
            "something to measure with the candidate",
            f"the file {asked}" if asked else "nothing",
            fix,
        )
    return _revisions(experiment, asked, wanted.candidate)


def _name(experiment: Experiment, home: Path, asked: str) -> str:
    """Return the name of the gate: another one if anything has changed, so that no earlier values are judged with new ones."""
    from regatta.fleet.fingerprint import state_of

    return f"{experiment.name[:OF_EXPERIMENT]}-gate-{digest_of([state_of(experiment, home), asked])[:DIGITS]}"


def _revisions(experiment: Experiment, asked: str, candidate: str | None) -> dict[str, Any]:
    from regatta.fleet.fetching import revision_commit, revision_tree

    runtime = only_git_runtime(experiment, f"--baseline {asked}")
    base = replace(runtime, revision=_stored_revision(Path(asked) / SPEC) or asked)
    other = replace(runtime, revision=candidate or runtime.revision)
    commits = [revision_commit(side) for side in (base, other)]
    # Of a known commit, the tree is known without asking a server again.
    if len({revision_tree(replace(runtime, revision=commit)) for commit in commits}) == 1:
        got = f"the same files in {base.revision} and {other.revision}"
        refuse("--baseline", "two revisions that differ", got, "name another revision")
    sides: dict[str, Any] = {}
    for side, commit in zip((base, other), commits, strict=True):
        sides[revision_name(side, commit, sides)] = revision_entry(side, commit)
    short = [commit[:DIGITS] for commit in commits]
    return {
        "name": f"{experiment.name[:OF_EXPERIMENT]}-gate-{'-'.join(short)}",
        "define": {"runtimes": sides},
        "runtimes": list(sides),
        "baseline": {**dict.fromkeys(experiment.baseline), "runtime": next(iter(sides))},
        "labels": {**experiment.labels, "commit": short[1]},
    }


def _stored_revision(path: Path) -> str:
    """Return the commit of the candidate of an earlier gate, to measure it again as the baseline; "" if it is no such gate."""
    value = read_object(path)
    runtimes, define = value.get("runtimes"), value.get("define")
    entries = define.get("runtimes") if isinstance(define, dict) else None
    # A spec of the user can have the same name, and revisions that move.
    if "paths_from" not in value or not isinstance(runtimes, list) or not isinstance(entries, dict):
        return ""
    entry = entries.get(str(runtimes[-1])) if runtimes else None
    revision = str(entry.get("revision")) if isinstance(entry, dict) else ""
    return revision if re.fullmatch("[0-9a-f]{40}([0-9a-f]{24})?", revision) else ""


def _known_runtimes(home: Path) -> set[str]:
    from regatta.spec.registries import read_registries

    return set(read_registries(home, []).runtimes)
