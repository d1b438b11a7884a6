"""Build hook of hatchling that adds the files of the clone to the wheel."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Parts of the clone that the installed package needs, so that `pip install .` is self-contained.
HOME = ("Snakefile", "workflows", "configs", "benchmarks", "playbooks", "docker", "dashboards")

# hatchling includes complete folders; build artifacts in them do not belong in a wheel.
BUILT = {"target", "build", "__pycache__"}


class CloneInWheel(BuildHookInterface):
    """Put the files of the clone into `regatta/_home`, except for an editable install, which uses the clone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            root = Path(self.root)
            for name in HOME:
                for path in [root / name, *(root / name).rglob("*")]:
                    within = path.relative_to(root)
                    if path.is_file() and BUILT.isdisjoint(within.parts):
                        build_data["force_include"][str(path)] = f"regatta/_home/{within}"
