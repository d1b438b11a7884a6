"""The boards and alerts, which are no part of the package: importing this makes them importable."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from dashboards.asking import Answer, Board  # noqa: E402
from dashboards.boards import documents  # noqa: E402
from dashboards.frames import frame_of  # noqa: E402
from dashboards.layout import SOURCE_UID  # noqa: E402

__all__ = ["ALERTS", "DOCUMENTS", "ROOT", "SOURCE_UID", "rows_of_panel", "told"]

#: name -> the dashboard as Grafana reads it
DOCUMENTS = {board["uid"].removeprefix("regatta-"): board for board in documents()}
ALERTS = YAML(typ="safe").load(
    (ROOT / "dashboards" / "provisioning" / "alerting" / "regatta.yml").read_text()
)["groups"][0]["rules"]


def told(board: Board, title: str) -> list[Answer]:
    """The panel of that title, in all its repetitions."""
    found = [answer for answer in board.panels() if answer.panel["title"] == title]
    assert found
    return found


def rows_of_panel(board: Board, title: str) -> list[dict[str, Any]]:
    """The rows of a panel in all its repetitions, by column."""
    frames = [frame_of(answer) for answer in told(board, title)]
    return [dict(zip(names, row, strict=True)) for names, rows in frames for row in rows]
