"""Real git repositories made by a test."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

#: independent of the settings of the user
_GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false",
        "-c", "init.defaultBranch=main", "-c", "core.hooksPath=/dev/null"]  # fmt: skip


def commit(repository: Path, files: Mapping[str, str], tag: str = "") -> str:
    """Write files, commit them, move a tag there, and return the commit; create the repository if it is missing."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            [*_GIT, "-C", str(repository), *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    if not repository.exists():
        repository.mkdir(parents=True)
        git("init", "--quiet")
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", "change")
    if tag:
        git("tag", "--force", tag)
    return git("rev-parse", "HEAD")
