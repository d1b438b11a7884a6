"""The form of the documents: the command lines and specs that they show, their lines and lists."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import click
import pytest

from helpers.documents import PAGES, commands, steps
from regatta.cli.main import cli
from regatta.spec.load import load_spec

HOME = Path(__file__).parents[2]
GENERATED = ("build", "results", "site", "target")


def documents() -> list[Path]:
    """Return all Markdown files of the repository, without generated folders."""
    found = []
    for folder, names, files in os.walk(HOME):
        names[:] = [name for name in names if name[0] != "." and name not in GENERATED]
        found += [Path(folder, file) for file in files if file.endswith(".md")]
    return sorted(found)


@pytest.mark.smoke
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_document_is_valid(page: str) -> None:
    words = [shlex.split(step.text) for step in commands(page)]
    ours = [words[1:] for words in words if words[0] == "./regatta"]
    assert ours
    for verb, *arguments in ours:
        # The launcher has it, and the command line does not.
        if verb == "test":
            continue
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None, verb
        command.make_context(verb, list(arguments))


@pytest.mark.smoke
@pytest.mark.parametrize("page", PAGES)
def test_every_spec_of_a_document_is_valid(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in steps(page):
        path = tmp_path / step.name
        if step.name:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.text)
        if step.name.startswith("configs/hosts/"):
            monkeypatch.setenv("REGATTA_INVENTORY", str(path))
        elif re.search(r"^benchmarks: \[", step.text, re.MULTILINE):
            experiment = load_spec(path, HOME)
            assert experiment.name == path.stem
            assert experiment.hosts


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
