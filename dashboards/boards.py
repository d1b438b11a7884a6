"""All dashboards, and their JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.asking import panels_of
from dashboards.chat import chat
from dashboards.collectors import collectors
from dashboards.compare_platforms import compare_platforms
from dashboards.compare_runtimes import compare_runtimes
from dashboards.experiment import experiment
from dashboards.fleet_now import fleet_now
from dashboards.history import history
from dashboards.host_health import host_health
from dashboards.vectors import vectors

HERE = Path(__file__).parent
JSON = HERE / "json"

BOARDS: tuple[Callable[[], Dashboard], ...] = (
    fleet_now, experiment, compare_runtimes, compare_platforms, collectors, vectors, chat, host_health, history,
)  # fmt: skip


def document(built: Dashboard) -> dict[str, Any]:
    """Return a dashboard in the form that Grafana reads."""
    found: dict[str, Any] = json.loads(json.dumps(built, cls=JSONEncoder))
    for panel in panels_of(found):
        if panel["type"] == "table":
            # The migration of Grafana 12 skips the overrides of a table without it.
            panel["fieldConfig"]["defaults"].setdefault("custom", {})
        if panel.get("repeat"):
            # The SDK lacks this property, whose default is 4.
            panel["maxPerRow"] = 3
    for variable in found["templating"]["list"]:
        # Grafana stores the state of a variable by its id or, without one, by its name. The SDK gives all variables the same id.
        variable.pop("id", None)
    return found


def files() -> dict[Path, str]:
    """Return the path and the text of each generated file."""
    made = {}
    for make in BOARDS:
        board = document(make())
        name = board["uid"].removeprefix("regatta-")
        made[JSON / f"{name}.json"] = json.dumps(board, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    return made


def documents() -> list[dict[str, Any]]:
    """Return all dashboards in the form that Grafana reads."""
    return [json.loads(text) for text in files().values()]
