"""A small home of registries and suites, and a way to load a spec written in a test."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.specs.spec_examples import FILES, write
from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Experiment
from regatta.spec.load import load_spec


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is current and holds the registries above."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REGATTA_HOME", raising=False)
    for name, text in FILES.items():
        write(tmp_path / name, text)
    return tmp_path


@pytest.fixture
def load(home: Path) -> Callable[..., Experiment]:
    """`load(text)` is the experiment of a spec; `load(text, more)` adds lines to it."""

    def loaded(text: str, more: str = "") -> Experiment:
        whole = textwrap.dedent(text).strip("\n") + "\n" + textwrap.dedent(more)
        write(Path("spec.yml"), whole)
        return load_spec(Path("spec.yml"), home)

    return loaded


@pytest.fixture
def wrong(load: Callable[..., Experiment]) -> Callable[..., tuple[Problem, ...]]:
    """`wrong(text)` is what is wrong with a spec."""

    def problems(text: str, more: str = "") -> tuple[Problem, ...]:
        with pytest.raises(SpecError) as caught:
            load(text, more)
        assert caught.value.exit_code == 2
        for problem in caught.value.problems:
            # The key `predict` is no `dict`.
            told = str(problem).lower().replace("predict", "")
            for jargon in (
                "pydantic",
                "validator",
                "dict",
                "instance",
                "<list>",
                "<range>",
                "extra input",
                "tuple",
            ):
                assert jargon not in told
        return caught.value.problems

    return problems


@pytest.fixture
def one(wrong: Callable[..., tuple[Problem, ...]]) -> Callable[..., tuple[str, str, str, str]]:
    """`one(text)` is the only thing wrong with a spec, as where, expected, got, fix."""

    def problem(text: str, more: str = "") -> tuple[str, str, str, str]:
        found = wrong(text, more)
        assert len(found) == 1, found
        return found[0].where, found[0].expected, found[0].got, found[0].fix

    return problem
