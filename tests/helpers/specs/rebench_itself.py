"""ReBench's own reading of a configuration and of outputs, to hold ours against."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
from pathlib import Path
from typing import Any

from rebench.configurator import Configurator, load_config
from rebench.interop.adapter import instantiate_adapter
from rebench.persistence import DataStore
from rebench.ui import UI

from regatta.imports.words import assignments, shell_syntax

#: folder, words, environment, invocations, (iterations, warmup), timeout
Run = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...], int, tuple[int, int], int]


def runs(path: Path) -> set[Run]:
    """What ReBench would run, less what only a shell can; paths start from the file's folder, as in ours."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        ui = UI()
        with contextlib.redirect_stdout(io.StringIO()):
            given = load_config(path.name)
            given.pop("reporting", None)
            found = Configurator(given, DataStore(ui), ui, exp_name="all").get_runs()
        return {
            _run(run, path.parent)
            for run in found
            if not run.is_profiling() and not shell_syntax(run.cmdline() % {"invocation": 1})
        }
    finally:
        os.chdir(before)


def _run(run: Any, folder: Path) -> Run:
    adapter = run.benchmark.gauge_adapter
    whole = isinstance(adapter, dict) or adapter.lower() == "time"
    location = os.path.expanduser(run.location or str(folder))
    words = shlex.split(run.cmdline_for_next_invocation())
    if "/" in words[0] and not assignments(words):
        # A runtime has an absolute path.
        words[0] = str(Path(location) / words[0])
    return (
        location,
        tuple(words),
        tuple(sorted(run.env.items())),
        run.invocations,
        (1, 0) if whole else (run.iterations, run.warmup_iterations or 0),
        run.max_invocation_time,
    )


def measurements(adapter: str, output: str) -> list[list[tuple[str, float, str]]]:
    """Criterion, value and unit of each data point that ReBench reads from an output.

    Raises:
        ExecutionDeliveredNoResults: it finds none, or an error.
    """
    points = instantiate_adapter(adapter, False, None).parse_data(output, None, 1)
    return [[(m.criterion, float(m.value), m.unit) for m in point.get_measurements()] for point in points]
