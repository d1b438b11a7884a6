"""Find the cell of a planned experiment that `regatta trace java --cell` traces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.errors import StoreError
from regatta.models.system_calls.planned_command import PlannedCommand

#: cells that an error names
_SHOWN = 3


@dataclass(frozen=True)
class PlannedJava:
    """A cell on this machine."""

    command: tuple[str, ...]
    #: runtime, collector and modifiers, as in system vectors
    configuration: str
    #: defaults of other options
    options: dict[str, object]


def planned_java(
    benchmark: str, configuration: str, experiment: str, results: Path, *, any_heap: bool = False
) -> PlannedJava:
    """Return the cell of a benchmark under a configuration.

    Args:
        benchmark: `suite/name`, with `:size` if the experiment has several.
        configuration: as in system vectors; "" if the experiment has one only.
        experiment, results: where to find its plan.
        any_heap: of cells in several heaps, return that in the largest one.

    Raises:
        StoreError: the experiment is not planned, or not exactly one cell of a JVM matches.
    """
    from regatta.answers.spine.facts import read_facts
    from regatta.host.values.cell import configuration_name, heap_text
    from regatta.store.folder import find_folder

    folder = find_folder(experiment, results)
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
    configurations: dict[str, None] = {}
    for host in folder.planned_hosts():
        header = folder.host_header(host)
        for cell in header["cells"]:
            name = configuration_name(cell["runtime"], cell["collector"], cell["modifiers"])
            if cell["kind"] != "java" or not _is_of(cell["benchmark"], benchmark):
                continue
            configurations[name] = None
            if configuration in ("", name) and not cell.get("twin_of"):
                found.setdefault(" ".join((cell["label"], name)), (header, cell))
    if any_heap and len({cell["label"].rpartition(" · ")[0] for _, cell in found.values()}) == 1:
        largest = max(
            found, key=lambda name: found[name][1]["heap_mib"] or found[name][1]["heap_factor"] or 0
        )
        found = {largest: found[largest]}
    if len(found) != 1:
        _refuse(folder.name, benchmark, configuration, list(found), list(configurations))
    ((header, cell),) = found.values()
    if cell.get("isolation", {}).get("image"):
        raise StoreError(
            cell["label"], "a cell outside of containers", "one in a container", "trace it by hand"
        )
    if cell.get("input"):
        fix = "trace it by hand"
        raise StoreError(cell["label"], "a cell without `input`", f"standard input from {cell['input']}", fix)
    environment = {
        **header["environment"]["set"],
        **cell["environment"],
        "REGATTA_SEED": str(header["seed"]),
        "REGATTA_INVOCATION": "trace",
    }
    planned = PlannedCommand(
        folder.name,
        environment,
        cell["arrange"],
        cell.get("directory", ""),
        {file["path"]: file["sha256"] for file in cell["files"]},
        heap_text(cell["heap_factor"], cell["heap_mib"]),
    )
    name = cell["benchmark"].partition(":")[0]
    options: dict[str, object] = {
        "cell": planned,
        "name": name.rpartition("/")[2],
        "benchmark": name,
        "warmup": read_facts(folder.path).steady.warmup,
    }
    chosen = configuration_name(cell["runtime"], cell["collector"], cell["modifiers"])
    return PlannedJava(tuple(cell["argv"]), chosen, options)


def _is_of(label: str, wanted: str) -> bool:
    return wanted in (label, label.partition(":")[0])


def _refuse(
    experiment: str, benchmark: str, configuration: str, found: list[str], configurations: list[str]
) -> None:
    where = f"--cell {benchmark}"
    if not configurations:
        fix = f"list the cells: `regatta explain --experiment {experiment} ''`"
        raise StoreError(where, f"a benchmark of JVMs in {experiment}", "none", fix)
    if not found:
        fix = f"choose one of {', '.join(configurations)}"
        raise StoreError(where, f"a cell under --configuration {configuration}", "none", fix)
    names = ", ".join(f"'{name}'" for name in configurations)
    some = [*found][:_SHOWN] + ["..."] * (len(found) > _SHOWN)
    raise StoreError(
        where, "one cell", f"{len(found)}: {', '.join(some)}", f"--configuration, one of {names}"
    )
