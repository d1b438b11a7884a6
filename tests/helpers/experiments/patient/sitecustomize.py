"""Give what is sent and computed beside a measurement more time than a measurement may wait for it.

Python imports this at its start where this folder is in PYTHONPATH (`SmallExperiment.be_patient`), so that no test depends on
how fast a database or a process answers. The runner, which Python isolates, keeps its own limit of a pause.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PATIENCE_S = 120.0
#: module -> its limits
LIMITS = {
    "regatta.cli.companion": ("_LONGEST_S", "_SENDING_S", "_ESTIMATES_S"),
    "regatta.cli.ingest": ("_SHORT_ANSWER_S", "_SHORT_LOCK_PATIENCE_S"),
    "regatta.influx.live": ("_ANSWER_S",),
}


class _Patient(MetaPathFinder):
    """Sets the limits of a module once it is loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in LIMITS else None
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_patiently(module: ModuleType) -> None:
                load(module)
                for limit in LIMITS[name]:
                    assert isinstance(getattr(module, limit), float)
                    # The longest pause has room for the others.
                    setattr(module, limit, 2 * PATIENCE_S if limit == "_LONGEST_S" else PATIENCE_S)

            spec.loader.exec_module = load_patiently  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, _Patient())
