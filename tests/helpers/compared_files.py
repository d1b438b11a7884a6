"""CSV files for `regatta compare`, and what it makes of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from regatta.cli.compare import compare


def file_of(tmp_path: Path, rows: list[dict[str, Any]]) -> str:
    path = tmp_path / "data.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def answered(path: str, *options: str) -> dict[str, Any]:
    done = CliRunner().invoke(compare, [path, *options, "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def shown(path: str, *options: str) -> tuple[str, str]:
    done = CliRunner().invoke(compare, [path, *options], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout, done.stderr
