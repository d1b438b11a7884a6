"""`regatta time` as a user starts it, in a folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from helpers.experiments.experiment_parts import HOME
from helpers.in_process import PROGRAM


def environment(folder: Path) -> dict[str, str]:
    """The environment of the command, with its own lock and temporary files."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    lock = str(temporary / "lock")
    return {
        **os.environ, "REGATTA_HOST_LOCK": lock, "REGATTA_HOME": str(HOME), "TMPDIR": str(temporary)
    }  # fmt: skip


def time(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run it to its end; it must exit with `code`."""
    done = subprocess.run(
        [PROGRAM, "time", *arguments], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done
