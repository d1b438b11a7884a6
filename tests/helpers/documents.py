"""The files and commands that the documents show, in order, and a fresh clone in which a reader follows them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.experiments.experiment_parts import HOME, NEVER_PERTURBED_LINE

#: the documents whose commands a reader follows
PAGES = (
    "README.md",
    "docs/examples.md",
    "docs/predict.md",
    *sorted(path.relative_to(HOME).as_posix() for path in (HOME / "docs" / "tutorials").glob("*.md")),
)
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
_LIMITS = re.compile(r"^perturbation:.*\n(?:[ #].*\n)*", re.MULTILINE)
#: of this process, which no reader has
_OWN = ("REGATTA", "GF_", "PYTEST", "PYTHON", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Step:
    """A file to write (`name`, then `text` is its content), or a command (`text`, without its comment)."""

    page: str
    line: int
    text: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.name or self.text}"


def steps(page: str) -> list[Step]:
    """Return the files with a title and the commands of a page, in order; each line of a block `sh` is a command."""
    text = (HOME / page).read_text(encoding="utf-8")
    found = []
    for block in _BLOCK.finditer(text):
        language, title, body = block.groups()
        first = text.count("\n", 0, block.start(3)) + 1
        if title:
            found.append(Step(page, first, body, title))
        elif language == "sh":
            lines = [line.split("  #")[0].strip() for line in body.splitlines()]
            found += [Step(page, first + row, line) for row, line in enumerate(lines) if line]
    return found


def commands(*pages: str) -> list[Step]:
    """Return the commands of pages, without the files."""
    return [step for page in pages for step in steps(page) if not step.name]


class FreshClone:
    """A clone of the sources as they are here, without anything that was built, and a cache that is empty.

    Changes that are not committed are included, except files that git does not know.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
        self._state = _git(HOME, *identity, "stash", "create") or _git(HOME, "rev-parse", "HEAD")
        _git(HOME, "clone", "--quiet", "--shared", "--no-checkout", str(HOME), str(root))
        self.environment: dict[str, str] = {}

    def renew(self, folder: Path) -> None:
        """Make it fresh for the next reader, with an empty cache in `folder`.

        Only `.venv` stays, which the first command of the first reader has made: no page changes it, and the installation of
        all packages takes longer than most pages.
        """
        _git(self.root, "checkout", "--quiet", "--force", self._state)
        _git(self.root, "clean", "--quiet", "-ffdx", "--exclude=/.venv")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(_OWN)}
        # Neither the environment of the tests nor a version manager, whose names of Pythons may lead nowhere.
        path = [
            part
            for part in os.environ["PATH"].split(os.pathsep)
            if not re.search(r"/\.(venv|pyenv)(/|$)", part)
        ]
        self.environment |= {
            "PATH": os.pathsep.join(path),
            # The reader has told git a name.
            **{
                f"GIT_{who}_{what}": f"{what}@example.org"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
            "REGATTA_CACHE": str(folder / "cache"),
            "REGATTA_HOST_LOCK": os.environ.get("REGATTA_HOST_LOCK", str(folder / "lock")),
        }

    def follow(self, step: Step, replaced: Mapping[str, str] | None = None) -> str:
        """Write the file of a step, or run its command, which must end well; returns what it printed.

        Args:
            step: the step. A file of the repository is extended, and any other is written anew.
            replaced: what a page asks its reader to replace.
        """
        text = step.text
        for old, new in (replaced or {}).items():
            text = text.replace(old, new)
        if step.name:
            path = self.root / step.name
            known = _git(self.root, "ls-files", step.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(path.read_text() + "\n" + text if known else text)
            return ""
        self._accept_noise()
        done = subprocess.run(
            ["bash", "-c", text], cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{step}: exit code {done.returncode}\n{done.stdout[-4000:]}"
        return done.stdout

    def _accept_noise(self) -> None:
        """Give no spec a limit of disturbance, because other tests share the machine."""
        for pattern in ("*.yml", "configs/experiments/*.yml", "docs/**/*.yml"):
            for path in self.root.glob(pattern):
                text = path.read_text()
                if {"name", "benchmarks"} <= set(re.findall(r"^(\w+):", text, re.MULTILINE)):
                    path.write_text(_LIMITS.sub("", text) + f"\n{NEVER_PERTURBED_LINE}")


@pytest.fixture(scope="module")
def _clone(tmp_path_factory: pytest.TempPathFactory) -> FreshClone:
    return FreshClone(tmp_path_factory.mktemp("documents") / "clone")


@pytest.fixture
def fresh_clone(_clone: FreshClone, tmp_path: Path) -> FreshClone:
    """A clone for one reader; the readers of a file share its `.venv`."""
    _clone.renew(tmp_path)
    return _clone


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()
