"""`ask WHAT`: what the machine that plans wants to know of this host, or have made here.

The question is a pickled mapping of `regatta.host.values` values on standard input: whoever may run commands here asks. The answer is one
line of JSON on standard output, `{"answer": ...}` or `{"error": {...}}`; talk goes to standard error.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from regatta.host.errors import RegattaError

#: what a question may be made of
_MODULES = "regatta.host.values."


class _Values(pickle.Unpickler):
    """Values of the model, and nothing that runs."""

    def find_class(self, module: str, name: str) -> Any:
        if not module.startswith(_MODULES) or "." in name:
            raise pickle.UnpicklingError(f"{module}.{name} is no value of the model")
        found = super().find_class(module, name)
        if not isinstance(found, type) or found.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} is no value of the model")
        return found


def command(argv: Sequence[str]) -> int:
    """Answer one question; exit code 0 even where the answer is an error."""
    if len(argv) != 2 or argv[0] not in _QUESTIONS:
        print(f"usage: regatta.pyz ask {'|'.join(_QUESTIONS)} ROOT", file=sys.stderr)
        return 2
    os.environ["REGATTA_CACHE"] = os.path.join(argv[1], "cache")
    question = _Values(io.BytesIO(sys.stdin.buffer.read())).load()
    try:
        told: dict[str, Any] = {"answer": _QUESTIONS[argv[0]](question)}
    except RegattaError as error:
        told = {"error": _problems(error)}
    except OSError as error:
        told = {"error": _problems(RegattaError(str(error.filename or "the host"), "to go on", str(error)))}
    print(json.dumps(told))
    return 0


def _problems(error: RegattaError) -> dict[str, Any]:
    return {
        "exit_code": error.exit_code,
        "problems": [[p.where, p.expected, p.got, p.fix] for p in error.problems],
    }


def _facts(question: Mapping[str, Any]) -> dict[str, Any]:
    """What this machine is, its clock, its JVMs, and the node that Slurm says it is."""
    from regatta.host.ready.facts import local_facts
    from regatta.host.ready.jvms import installed_jvms

    return {
        "facts": local_facts(),
        "jvms": installed_jvms(os.environ["REGATTA_CACHE"], question["root"]),
        "utc_ns": time.time_ns(),
        "node": os.environ.get("SLURMD_NODENAME", ""),
    }


def _resolve(question: Mapping[str, Any]) -> dict[str, Any]:
    """What is here for an experiment, or what must be brought first."""
    from regatta.host.ready.resolving import lacking, resolve

    experiment, host, supplies = question["experiment"], question["host"], question["supplies"]
    lacks = lacking(experiment, supplies)
    if lacks:
        return {"lacks": lacks}
    resolved = dataclasses.asdict(resolve(experiment, host, supplies))
    refused = resolved.pop("refused_benchmarks")
    return {"resolved": resolved, "refused_benchmarks": [[*key, reason] for key, reason in refused.items()]}


def _train(question: Mapping[str, Any]) -> dict[str, Any]:
    """Make the training runs of cells; cell id -> what became of it."""
    from regatta.host.ready.training import train_here

    made = train_here(question["cells"], question["experiment"], question["host"])
    return {
        cell_id: {"error": _problems(file)}
        if isinstance(file, RegattaError)
        else {"file": dataclasses.asdict(file)}
        for cell_id, file in made.items()
    }


def _minheap(question: Mapping[str, Any]) -> dict[str, Any]:
    """Search one minheap here; every attempt is recorded in the host's own folder."""
    from regatta.host.minheap.minheap_search import answer_search

    return answer_search(**question)


_QUESTIONS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "facts": _facts,
    "resolve": _resolve,
    "train": _train,
    "minheap": _minheap,
}
