"""Read the facts of a plan: question, method, machines, impossible cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from regatta.host.errors import StoreError
from regatta.host.facts import SETTINGS
from regatta.host.files import parse_object
from regatta.host.values.experiment import CapacityTarget, Predicted, SteadyMethod, SteadyState
from regatta.host.values.levels import Levels
from regatta.store.experiment_document import ExperimentDocument

_DEFAULT_LEVEL = 0.95
_DEFAULT_THETA_PERCENT = 1.0


@dataclass(frozen=True)
class Facts:
    """The parts of `plan/experiment.json` that the analysis needs."""

    name: str
    question: str
    seed: int
    order: str
    level: float
    steady: SteadyState
    #: factor -> level; empty: the first level of each factor
    baseline: Levels
    hosts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    runtimes: Mapping[str, str] = field(default_factory=dict)
    #: suite -> source of its kept minheaps; empty: measured for each runtime
    minheaps_of: Mapping[str, str] = field(default_factory=dict)
    #: impossible cells: label, reason, and hosts if known
    impossible: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    theta_percent: float = _DEFAULT_THETA_PERCENT
    #: targets whose highest load is wanted
    capacity: tuple[CapacityTarget, ...] = ()
    #: None: nothing is predicted
    predicted: Predicted | None = None
    #: factors that the spec compares
    compare: tuple[str, ...] = ()
    #: sets of modifiers with controlled compilation
    controlled: tuple[str, ...] = ()
    #: labels of the user for the measured system
    labels: Mapping[str, str] = field(default_factory=dict)
    #: label of the benchmark that never changes; "": none
    canary: str = ""
    #: host -> hash of that program
    canary_programs: Mapping[str, str] = field(default_factory=dict)
    #: version of Regatta
    regatta: str = ""


def read_facts(experiment_dir: Path) -> Facts:
    """Read the facts of a planned experiment.

    Raises:
        StoreError: the file is missing or invalid.
    """
    path = experiment_dir / "plan" / "experiment.json"
    try:
        document: Any = parse_object(path)
        return _facts(document)
    except OSError as error:
        raise StoreError(
            str(path),
            "the plan of an experiment",
            error.strerror or str(error),
            "run `regatta run` with its spec",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            str(path),
            "the plan of an experiment",
            f"{type(error).__name__}: {error}",
            "plan the experiment again",
        ) from error


def _facts(document: ExperimentDocument) -> Facts:
    experiment = document["experiment"]
    steady, baseline = experiment["steady"], experiment.get("baseline") or {}
    level = float(experiment.get("level", _DEFAULT_LEVEL))
    theta_percent = float(experiment.get("theta_percent", _DEFAULT_THETA_PERCENT))
    if not (
        0.0 < level < 1.0 and 0.0 <= theta_percent < math.inf and steady["method"] in get_args(SteadyMethod)
    ):
        raise ValueError(f"level {level}, theta_percent {theta_percent}, method {steady['method']!r:.40}")
    return Facts(
        name=str(experiment["name"]),
        question=str(experiment.get("question") or ""),
        seed=int(experiment["seed"]),
        order=str(experiment["order"]),
        level=level,
        steady=_steady(steady),
        baseline={str(factor): str(level) for factor, level in baseline.items() if level is not None},
        compare=tuple(str(factor) for factor in experiment.get("compare") or ()),
        hosts={
            str(host): {str(key): str(value) for key, value in facts.items()}
            for host, facts in (document.get("hosts") or {}).items()
        },
        runtimes={str(name): str(version) for name, version in (document.get("runtimes") or {}).items()},
        impossible=_impossible(document),
        theta_percent=theta_percent,
        capacity=tuple(map(_target, experiment.get("capacity") or ())),
        predicted=_predicted(experiment["predicted"]) if "predicted" in experiment else None,
        controlled=tuple(str(name) for name in experiment.get("controlled") or ()),
        minheaps_of={str(key): str(value) for key, value in (experiment.get("minheaps_of") or {}).items()},
        labels={str(key): str(value) for key, value in (experiment.get("labels") or {}).items()},
        canary=str(experiment.get("canary") or ""),
        canary_programs={str(k): str(v) for k, v in (experiment.get("canary_programs") or {}).items()},
        regatta=str(document.get("regatta") or ""),
    )


def fingerprint_of(host: Mapping[str, str]) -> str:
    """Return the facts that identify a host as one line, as in the provenance of its system vectors; "" if none are known."""
    known = (f"{key} {value}" for key, value in host.items() if key not in SETTINGS)
    return "; ".join(known).replace("\n", " ")


def _impossible(document: ExperimentDocument) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Parse entries (cell, reason) or (cell, reason, host); return each cell and reason once."""
    hosts: dict[tuple[str, str], dict[str, None]] = {}
    for cell, reason, *host in document.get("impossible") or ():
        hosts.setdefault((str(cell), str(reason)), {}).update(dict.fromkeys(map(str, host)))
    return tuple((cell, reason, tuple(own)) for (cell, reason), own in hosts.items())


def _predicted(told: Mapping[str, Any]) -> Predicted:
    name, table = map(str, told["primitives"])
    return Predicted({str(key): str(text) for key, text in told["applications"].items()}, (name, table))


def _target(target: Mapping[str, Any]) -> CapacityTarget:
    return CapacityTarget(
        str(target["parameter"]),
        str(target["metric"]),
        float(target["at_most"]),
        str(target["unit"]),
        dict(target.get("parameters") or {}),
    )


def _steady(steady: Mapping[str, Any]) -> SteadyState:
    plain = SteadyState(steady["method"], int(steady["iterations"]), int(steady["warmup"]))
    window, threshold = steady.get("window", plain.window), steady.get("threshold", plain.threshold)
    return replace(plain, window=int(window), threshold=float(threshold))
