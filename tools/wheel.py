"""What the wheel holds beside the package: hatchling calls this when it builds one."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What a clone has at its root goes with the installed package, so that `pip install .` works on its own.
HOME = ("Snakefile", "workflows", "configs", "benchmarks", "playbooks", "docker", "dashboards")

# hatchling takes a forced folder whole, and what a clone has built in it is not for others.
BUILT = {"target", "build", "__pycache__"}


class CloneInWheel(BuildHookInterface):
    """Put the clone's own files into `regatta/_home`; not for an editable install, which has the clone itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            root = Path(self.root)
            for name in HOME:
                for path in [root / name, *(root / name).rglob("*")]:
                    within = path.relative_to(root)
                    if path.is_file() and BUILT.isdisjoint(within.parts):
                        build_data["force_include"][str(path)] = f"regatta/_home/{within}"
