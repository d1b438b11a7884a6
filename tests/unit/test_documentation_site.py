"""`tools/docs` builds the site, and fails on a broken link."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAV = "nav:\n  - Home: README.md\n  - Command line: docs/cli.md\n  - Notebook: docs/notebook.md\n"


def build(folder: Path, readme: str) -> subprocess.CompletedProcess[str]:
    """Run tools/docs in a clone of a few pages."""
    (folder / "docs").mkdir()
    for name in ("tools/docs", "tools/cli_help.py", "tools/notebook_page.py", "docs/notebook.ipynb"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    settings, _, _ = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")
    (folder / "mkdocs.yml").write_text(settings + NAV)
    (folder / "docs" / "python.md").write_text("# Python\n")
    (folder / "README.md").write_text(readme)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    tools = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [folder / "tools" / "docs"], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("readme", "problem"),
    [
        ("[Gone](docs/gone.md)", "docs/gone.md"),
        ("[Gone](docs/cli.md#gone)", "#gone"),
        ("[Gone](docs)", "docs"),
        ("[Notebook](docs/notebook.md)", "docs/python.md"),  # not in the navigation
    ],
    ids=["file", "anchor", "folder", "navigation"],
)
def test_a_page_that_is_not_reached_fails_the_build(tmp_path: Path, readme: str, problem: str) -> None:
    done = build(tmp_path, f"# Home\n\n{readme}\n")
    assert done.returncode == 1
    assert problem in done.stderr
