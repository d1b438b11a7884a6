"""The spec that `regatta gate` measures: the spec of the user, with the two sides, the rule `decide` and an A/A test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Experiment, Runtime
from regatta.spec.fields import NAME

#: the spec of a gate in the folder of its experiment
SPEC = "gate.yml"
RELEVANCE_PERCENT, ROUNDS = 2.0, 30
#: Fewer rounds cannot tell a change from noise.
LEAST_ROUNDS = 3
#: digits of a commit in the names of experiments and runtimes
_DIGITS = 8
#: characters of the user's names in derived names, which have at most 64
_OF_EXPERIMENT, _OF_RUNTIME, _OF_REVISION = 40, 30, 24
#: keys of a runtime that two revisions share
_SHARED = ("kind", "language", "command", "needs", "program", "flags", "image", "architectures")


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
    where = str(spec)
    if "platform" in experiment.baseline:
        raise SpecError(
            [
                Problem(
                    f"{where}: baseline.platform",
                    "both sides on the same machines, in the same blocks",
                    "a baseline on another machine",
                    "name a runtime or a revision: a change of the code cannot be told from a difference of machines",
                )
            ]
        )
    sides = _sides(where, experiment, home, wanted)
    rule = experiment.stopping
    decided = rule if rule is not None and rule.rule == "decide" else None
    decide: dict[str, Any] = {
        "relevance_percent": wanted.relevance_percent
        or (decided.target_percent if decided else None)
        or RELEVANCE_PERCENT,
        "maximum": wanted.rounds or (decided.maximum if decided else max(ROUNDS, experiment.invocations)),
    }
    if wanted.budget:
        decide["budget"] = wanted.budget
    # Each host decides alone. Together they may give as many false alarms as one experiment of the user may.
    hosts = max(1, len(experiment.hosts))
    return {
        "include": str(spec.absolute()),
        "paths_from": experiment.folder,
        **sides,
        "level": round(experiment.level ** (1.0 / hosts), 9),
        "invocations": {
            **dict.fromkeys(("fixed", "adaptive", "seconds", "maximum", "each_counter")),
            "decide": decide,
        },
        "aa": wanted.aa,
    }


def _sides(where: str, experiment: Experiment, home: Path, wanted: Wanted) -> dict[str, Any]:
    """Return name, runtimes and baseline of the gate."""
    name = f"{experiment.name[:_OF_EXPERIMENT]}-gate"
    runtimes = [one.name for one in experiment.runtimes if one.provider != "none"]
    of_git = [one for one in experiment.runtimes if one.provider == "git"]
    if wanted.baseline is None:
        if wanted.candidate is not None:
            _refuse(
                "--candidate",
                "--baseline beside it",
                "none",
                "name the revision to compare with: --baseline REV",
            )
        if not experiment.baseline:
            fix = "add `baseline: {runtime: NAME}` to the spec, or use --baseline REVISION|RUNTIME"
            _refuse(f"{where}: baseline", "the side that the others are compared with", "none", fix)
        return {"name": name}
    if wanted.candidate is None and wanted.baseline in {*runtimes, *_known_runtimes(home)}:
        others = [one for one in runtimes if one != wanted.baseline]
        if not others:
            _refuse(
                "--baseline",
                "a runtime that differs from those of the spec",
                wanted.baseline,
                "add the other to `runtimes`",
            )
        return {
            "name": name,
            "runtimes": [wanted.baseline, *others],
            "baseline": {**dict.fromkeys(experiment.baseline), "runtime": wanted.baseline},
        }
    if Path(wanted.baseline).is_file():
        got = f"the file {wanted.baseline}"
        fix = "name the revision or the runtime: it is measured again, because machines differ, and one machine differs from day to day"
        _refuse("--baseline", "something to measure beside the candidate", got, fix)
    if len(of_git) != 1:
        got = f"`{wanted.baseline}`, and {len(of_git)} runtimes with `provider: git` in the spec"
        fix = "use the name of a runtime (`regatta list runtimes`), or a spec with one runtime from a git repository"
        _refuse("--baseline", "a runtime, or a revision of the only runtime from git", got, fix)
    return _revisions(of_git[0], runtimes, experiment, wanted)


def _revisions(
    of_git: Runtime, runtimes: list[str], experiment: Experiment, wanted: Wanted
) -> dict[str, Any]:
    from regatta.fleet.fetching import revision_commit, revision_tree

    if len(runtimes) != 1:
        fix = "remove the other runtimes, or name one of them with --baseline"
        _refuse("--baseline", "no other runtime than the one from git", ", ".join(runtimes), fix)
    asked = wanted.baseline or ""
    stored = Path(asked) / SPEC
    base = replace(of_git, revision=_stored_revision(stored) if stored.is_file() else asked)
    candidate = replace(of_git, revision=wanted.candidate or of_git.revision)
    if revision_tree(base) == revision_tree(candidate):
        got = f"the same files in {base.revision} and {candidate.revision}"
        _refuse("--baseline", "two revisions that differ", got, "name another revision")
    sides = {}
    commits = []
    for side in (base, candidate):
        commit = revision_commit(side)
        commits.append(commit[:_DIGITS])
        label = _label(side.revision, commit)
        own = f"{of_git.name[:_OF_RUNTIME]}-{label}"
        if own in sides:
            own = f"{of_git.name[:_OF_RUNTIME]}-{commit[:_DIGITS]}"
        sides[own] = _entry(side, commit)
    first, *_ = sides
    return {
        "name": f"{experiment.name[:_OF_EXPERIMENT]}-gate-{'-'.join(commits)}",
        "define": {"runtimes": sides},
        "runtimes": list(sides),
        "baseline": {**dict.fromkeys(experiment.baseline), "runtime": first},
        "labels": {**experiment.labels, "commit": commits[1]},
    }


def _entry(side: Runtime, commit: str) -> dict[str, Any]:
    """Return the definition of one side; the commit is written, so that a branch that moves changes nothing."""
    found: dict[str, Any] = {"provider": "git", "repository": side.repository, "revision": commit}
    for key in _SHARED:
        if value := getattr(side, key):
            found[key] = list(value) if isinstance(value, tuple) else value
    return found


def _label(revision: str, commit: str) -> str:
    """Return the name of a revision that a reader knows, such as a tag, or the start of its commit."""
    if commit.startswith(revision.lower()):
        return commit[:_DIGITS]
    text = re.sub(r"[^A-Za-z0-9._+-]+", "-", revision).strip("-")
    return (
        text if NAME.fullmatch(text) and ".." not in text and len(text) <= _OF_REVISION else commit[:_DIGITS]
    )


def _stored_revision(path: Path) -> str:
    """Return the commit of the candidate of an earlier gate, to measure it again as the baseline."""
    from regatta.spec.yaml_lines import read_yaml

    value = read_yaml(path, str(path)).value
    try:
        runtimes: Mapping[str, Any] = value["define"]["runtimes"]
        return str(runtimes[str(value["runtimes"][-1])]["revision"])
    except (KeyError, TypeError, IndexError):
        _refuse(
            str(path), "a gate of two revisions", "another one", "name the revision or the runtime itself"
        )
        raise AssertionError from None


def _known_runtimes(home: Path) -> set[str]:
    from regatta.spec.registries import read_registries

    return set(read_registries(home, []).runtimes)


def _refuse(where: str, expected: str, got: str, fix: str) -> None:
    raise SpecError([Problem(where, expected, got, fix)])
