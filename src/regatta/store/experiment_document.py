"""`plan/experiment.json`: the facts that the analysis needs and records do not have. It is written with the plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class SpecValues(TypedDict, total=False):
    """The values from the spec; older documents lack some keys."""

    name: str
    question: str
    #: The measured subject, in the user's words.
    labels: Mapping[str, str]
    spec: str
    seed: int
    order: str
    level: float
    theta_percent: float
    #: The fields of each `CapacityTarget`.
    capacity: Sequence[Mapping[str, Any]]
    rounds: int
    discarded_rounds: int
    #: The fields of `Stopping`; None: fixed.
    stopping: Mapping[str, Any] | None
    compare: Sequence[str]
    #: The fields of `SteadyState`.
    steady: Mapping[str, Any]
    #: Factor -> level of the baseline; null, from older versions: not set.
    baseline: Mapping[str, str | None]
    #: Suite -> source of its kept minheaps; empty: they were measured for each runtime.
    minheaps_of: Mapping[str, str]
    #: Label of the benchmark that never changes; absent: none.
    canary: str
    #: Host -> hash of its program.
    canary_programs: Mapping[str, str]
    #: The fields of `Predicted`; absent: nothing is predicted.
    predicted: Mapping[str, Any]
    runtimes: Sequence[str]
    collectors: Sequence[str]
    #: Sets of modifiers with controlled compilation.
    controlled: Sequence[str]


class ExperimentDocument(TypedDict, total=False):
    """The whole document."""

    experiment: SpecValues
    #: The version of Regatta.
    regatta: str
    #: Host -> its facts.
    hosts: Mapping[str, Mapping[str, str]]
    #: Runtime -> its version.
    runtimes: Mapping[str, str]
    #: Cell, reason, and the host if known.
    impossible: Sequence[Sequence[str]]
    #: Host -> why it has no plan.
    left_out: Mapping[str, str]
    #: Host -> the id of its plan. The measuring steps depend on this file, which changes whenever a plan does.
    plans: Mapping[str, str]
