"""Options of `regatta predict` for collections and waits: which need which, and what cannot be combined."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.heap_vectors import made_vector
from helpers.served_experiment import as_home, refused, regatta, write_served_experiment
from regatta.models.gc.heap_vector import write_heap_vector


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = as_home(write_served_experiment(tmp_path_factory.mktemp("served")))
    write_heap_vector(made_vector(), found / "made.json")
    (found / "empty.files").mkdir()
    return found


@pytest.mark.parametrize(
    ("case", "options"),
    [
        ("a heap alone", ("--heap", "64m")),
        ("memory alone", ("--memory", "64m")),
        ("files alone", ("--files", "empty.files")),
        ("costs alone", ("--costs", "served")),
        ("ingested", ("--collections", "made.json", "--ingest")),
        ("another unit of work", ("--collections", "made.json")),
        ("a trace that is none", ("--files", "empty.files", "--memory", "64m")),
        ("two applications", ("--collections", "made.json", "--replace", "apache-static=apache-cgi")),
    ],
)
def test_what_cannot_be_added_is_refused(
    home: Path, case: str, options: tuple[str, ...], golden: Golden
) -> None:
    words = [str(home / word) if (home / word).exists() and "." in word else word for word in options]
    problems = refused(regatta(home, "predict", "apache-static", "--on", "served", *words))
    golden(f"refused, {case}", "\n".join(one.replace(str(home), "HOME") for one in problems))


@pytest.mark.parametrize(
    "options", [("--collections", "made.json"), ("--files", "empty.files", "--memory", "64m")]
)
def test_a_command_is_not_traced_for_parts_that_it_cannot_have(
    home: Path, options: tuple[str, ...], golden: Golden
) -> None:
    done = regatta(home, "predict", "--on", "local", *options, "--", "true")
    (problem,) = refused(done)
    golden(f"a command with {options[0]}", problem)
    assert done.stdout == ""
