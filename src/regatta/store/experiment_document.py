"""`plan/experiment.json`: what the analysis must know that no record says. Written with the plans, read by the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class Asked(TypedDict, total=False):
    """What the spec asked for; older documents lack some keys."""

    name: str
    question: str
    #: what was measured, in the user's words
    labels: Mapping[str, str]
    spec: str
    seed: int
    order: str
    level: float
    theta_percent: float
    rounds: int
    discarded_rounds: int
    #: the fields of `Stopping`; None: fixed
    stopping: Mapping[str, Any] | None
    compare: Sequence[str]
    #: the fields of `SteadyState`
    steady: Mapping[str, Any]
    #: the fields of `Baseline`
    baseline: Mapping[str, str | None]
    #: suite -> where its kept minheaps come from; empty: they were measured for each runtime
    minheaps_of: Mapping[str, str]
    runtimes: Sequence[str]
    collectors: Sequence[str]
    #: sets of modifiers under which compilation is controlled
    controlled: Sequence[str]


class ExperimentDocument(TypedDict, total=False):
    """The whole document."""

    experiment: Asked
    #: version
    regatta: str
    #: host -> its facts
    hosts: Mapping[str, Mapping[str, str]]
    #: runtime -> its version
    runtimes: Mapping[str, str]
    #: cell, reason, and the host where that is known
    impossible: Sequence[Sequence[str]]
    #: host -> why nothing is planned on it
    left_out: Mapping[str, str]
    #: host -> the id of its plan. Whoever measures waits for this file: it is another one whenever a plan is
    plans: Mapping[str, str]
