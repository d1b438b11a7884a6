"""What the wheel holds beside the package: hatchling calls this when it builds one."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What a clone has at its root goes with the installed package, so that `pip install .` works on its own.
HOME = ("Snakefile", "workflows", "configs", "benchmarks")


class CloneInWheel(BuildHookInterface):
    """Put the clone's own files into `regatta/_home`; not for an editable install, which has the clone itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            build_data["force_include"].update({name: f"regatta/_home/{name}" for name in HOME})
