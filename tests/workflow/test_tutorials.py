"""The tutorials: short ones run as they are written; the commands and files of the others are parsed."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from helpers import in_process
from helpers.experiments.experiment_parts import NEVER_PERTURBED_LINE
from regatta.cli.main import cli
from regatta.spec.load import load_spec

HOME = Path(__file__).parents[2]
PAGES = sorted((HOME / "docs" / "tutorials").glob("*.md"))
#: pages that run here, with fewer invocations
SHORT = ("compare-anything", "two-versions", "your-own-program")
#: commands of these pages that other tests run
SKIPPED = ("check-host", "init same", "run same.yml", "time ")
GENERATED = ("build", "results", "site", "target")
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)


def documents() -> list[Path]:
    """Return all Markdown files of the repository, without generated folders."""
    found = []
    for folder, names, files in os.walk(HOME):
        names[:] = [name for name in names if name[0] != "." and name not in GENERATED]
        found += [Path(folder, file) for file in files if file.endswith(".md")]
    return sorted(found)


def steps(page: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a page as (name, content) and its commands as ("", command), in order."""
    for language, title, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if title:
            yield title, body
        elif language == "sh":
            yield from (("", line.strip()) for line in body.splitlines() if line.strip())


@pytest.mark.smoke
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_a_tutorial_is_valid(page: Path) -> None:
    commands = [shlex.split(text) for name, text in steps(page) if not name]
    ours = [words[1:] for words in commands if words[0] == "./regatta"]
    assert ours
    for verb, *arguments in ours:
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None, verb
        command.make_context(verb, list(arguments))


@pytest.mark.smoke
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_spec_of_a_tutorial_is_valid(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in steps(page):
        path = tmp_path / name
        if name:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if name.startswith("configs/hosts/"):
            monkeypatch.setenv("REGATTA_INVENTORY", str(path))
        elif re.search(r"^benchmarks: \[", text, re.MULTILINE):
            experiment = load_spec(path, HOME)
            assert experiment.name == path.stem
            assert experiment.hosts


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem in SHORT], ids=lambda page: page.stem)
def test_a_short_tutorial_works_as_it_is_written(page: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "REGATTA_HOST_LOCK": str(tmp_path / "lock"), "REGATTA_HOME": str(HOME)}
    experiments = set()
    for name, text in steps(page):
        if name:
            (tmp_path / name).write_text(text)
            continue
        program, *words = shlex.split(text)
        assert program == "./regatta"
        if " ".join(words).startswith(SKIPPED):
            continue
        if words[0] == "run":
            spec = tmp_path / words[1]
            spec.write_text(spec.read_text().replace("{fixed: 10}", "{fixed: 3}") + NEVER_PERTURBED_LINE)
            experiments.add(spec.stem)
        done = in_process.regatta(*words, cwd=tmp_path, environment=environment)
        assert done.returncode == 0, (text, done.stderr)
    for experiment in experiments:
        assert (tmp_path / "results" / experiment / "report.html").exists()


@pytest.mark.smoke
def test_lines_of_documents_have_at_most_100_characters() -> None:
    long = []
    for page in documents():
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        # Tables, code that is indented, and lines of a single link cannot be broken.
        long += [
            (str(page.relative_to(HOME)), line)
            for line in prose.splitlines()
            if len(line) > 100
            and not line.startswith(("|", "    "))
            and not re.fullmatch(r"\s*!?\[.*\)\.?", line)
        ]
    assert long == []


@pytest.mark.smoke
def test_lists_are_indented_for_every_renderer() -> None:
    # GitHub nests a list at two spaces, MkDocs at four.
    for page in documents():
        prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"^ {1,3}[-*] ", prose, re.MULTILINE), page
