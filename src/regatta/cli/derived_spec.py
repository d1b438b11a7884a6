"""Specs that commands make from the spec of the user: other sides, and another rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from regatta.cli.options import Percentage
from regatta.cli.run import run_and_show
from regatta.host.errors import Problem, SpecError
from regatta.host.journal.looks import FIRST
from regatta.host.values.benchmark_label import parts_of_label
from regatta.host.values.experiment import DUET, Experiment, Runtime, Stopping
from regatta.host.values.host import Wish
from regatta.spec.fields import NAME
from regatta.store.folder import Folder, write_json

RELEVANCE_PERCENT, ROUNDS = 2.0, 30
#: Fewer rounds cannot tell a change from noise.
LEAST_ROUNDS = 3
#: digits of a commit in the names of experiments and runtimes
DIGITS = 8
#: characters of the user's names in derived names, which have at most 64
OF_EXPERIMENT, _OF_RUNTIME, _OF_REVISION = 40, 30, 24
#: keys of a runtime that two revisions share
_SHARED = ("kind", "language", "command", "needs", "program", "flags", "image", "architectures")


relevance_option = click.option(
    "--relevance",
    type=Percentage(),
    metavar="PERCENT",
    help=f"Largest irrelevant change. [default: that of `decide` in the spec, or {RELEVANCE_PERCENT:g}]",
)


def relevance_of(experiment: Experiment, asked: float | None) -> float:
    """Return the largest irrelevant change in percent: that of the option, or of the spec, or the default."""
    rule = own_rule(experiment)
    return asked or (rule.target_percent if rule else None) or RELEVANCE_PERCENT


def derived_spec(
    spec: Path,
    experiment: Experiment,
    sides: Mapping[str, Any],
    rule: Mapping[str, Any],
    level: float,
    aa: bool,
) -> dict[str, Any]:
    """Return a spec that includes the spec of the user, and measures its sides by a rule.

    Args:
        spec: of the user.
        experiment: its model.
        sides: name, runtimes or sets of modifiers, and baseline.
        rule: of `invocations`.
        level: of all hosts together.
        aa: whether the baseline has a copy.
    """
    own = own_rule(experiment)
    if own is not None and own.pilot > FIRST and "decide" in rule:
        rule = {"decide": {**rule["decide"], "pilot": min(own.pilot, rule["decide"]["maximum"])}}
    if own is not None and own.together and "decide" in rule:
        rule = {"decide": {**rule["decide"], "hosts": "each"}}
    # Each host decides alone. Together they may give as many false alarms as one experiment of the user may.
    hosts = max(1, len(experiment.hosts))
    return {
        "include": str(spec.absolute()),
        "paths_from": experiment.folder or str(spec.absolute().parent),
        **sides,
        "level": round(level ** (1.0 / hosts), 9),
        "invocations": {
            **dict.fromkeys(("fixed", "adaptive", "decide", "seconds", "maximum", "each_counter")),
            **rule,
        },
        "aa": aa,
        # It may have more sides than two, a copy of one, or counters.
        **({"order": "randomized-blocks"} if experiment.order == DUET else {}),
        # Both sides are in the same blocks, so that changes of the host cancel without one.
        "canary": None,
        # Its primitives are measured by the experiment of the user.
        "predict": None,
    }


def own_rule(experiment: Experiment) -> Stopping | None:
    """Return the rule `decide` of the user's spec; None with another rule."""
    rule = experiment.stopping
    return rule if rule is not None and rule.rule == "decide" else None


def run_derived(
    value: Mapping[str, Any],
    name: str,
    home: Path,
    results: Path,
    profile: Wish | None,
    retry_failed: bool,
    show: Callable[[int], None],
) -> int:
    """Write a derived spec into the folder of its experiment, and run it; see `run_and_show`.

    Args:
        value: from `derived_spec`.
        name: of its file.
    """
    from regatta.spec.load import load_spec

    path = Folder(results / str(value["name"])).path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    # JSON is YAML.
    write_json(path, value)
    return run_and_show(path, load_spec(path, home), home, results, profile, retry_failed, show)


def entry_of(label: str) -> dict[str, Any]:
    """Return the entry of `benchmarks` for the label of a benchmark."""
    parts = parts_of_label(label)
    found: dict[str, Any] = {"suite": parts.suite, "benchmark": parts.name, "size": parts.size}
    return {**found, **({"parameters": dict(parts.chosen)} if parts.chosen else {})}


def only_git_runtime(experiment: Experiment, option: str) -> Runtime:
    """Return the runtime with `provider: git` whose revisions are compared.

    Raises:
        SpecError: there is none, or another runtime beside it.
    """
    runtimes = [one for one in experiment.runtimes if one.provider != "none"]
    of_git = [one for one in runtimes if one.provider == "git"]
    if len(of_git) != 1 or len(runtimes) != 1:
        got = ", ".join(f"{one.name} ({one.provider})" for one in runtimes) or "none"
        refuse(
            option, "one runtime in the spec, with `provider: git`", got, "remove the others from `runtimes`"
        )
    return of_git[0]


def revision_name(runtime: Runtime, commit: str, taken: Mapping[str, Any]) -> str:
    """Return a name for a revision of a runtime: with its tag or branch, or the start of its commit if that is taken."""
    own = f"{runtime.name[:_OF_RUNTIME]}-{_label(runtime.revision, commit)}"
    return f"{runtime.name[:_OF_RUNTIME]}-{commit[:DIGITS]}" if own in taken else own


def revision_entry(side: Runtime, commit: str) -> dict[str, Any]:
    """Return the definition of one side; the commit is written, so that a branch that moves changes nothing."""
    found: dict[str, Any] = {"provider": "git", "repository": side.repository, "revision": commit}
    for key in _SHARED:
        if value := getattr(side, key):
            found[key] = list(value) if isinstance(value, tuple) else value
    return found


def _label(revision: str, commit: str) -> str:
    """Return the name of a revision that a reader knows, such as a tag, or the start of its commit."""
    if commit.startswith(revision.lower()):
        return commit[:DIGITS]
    text = re.sub(r"[^A-Za-z0-9._+-]+", "-", revision).strip("-")
    return (
        text if NAME.fullmatch(text) and ".." not in text and len(text) <= _OF_REVISION else commit[:DIGITS]
    )


def refuse(where: str, expected: str, got: str, fix: str) -> NoReturn:
    """Raise SpecError with one problem."""
    raise SpecError([Problem(where, expected, got, fix)])
