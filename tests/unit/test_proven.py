"""Which tests of programs are not run again, and what makes them run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers import proven
from helpers.proven import FILES, TESTS, Outcomes, digest_of, modules_of

#: loads modules by name, so that imports do not tell what it depends on
LOADERS = ("helpers/in_process.py", "regatta/cli/main.py", "regatta/answers/report/registry.py")
FILE = TESTS / "workloads" / "test_lm.py"
NAME = f"tests/workloads/{FILE.name}::test"


def report(name: str, outcome: Any, when: Any = "call") -> pytest.TestReport:
    return pytest.TestReport(name, (name, 0, "test"), {}, outcome, None, when)


def test_imports_tell_what_each_file_depends_on() -> None:
    assert len(FILES) > 30
    loaders = {path.name: [m for m in modules_of(path) if m.as_posix().endswith(LOADERS)] for path in FILES}
    assert {name: found for name, found in loaders.items() if found} == {}


def test_none_of_them_starts_this_program() -> None:
    words = (
        '"-m", "regatta',
        '_name("regatta")',
        '/ "regatta"]',
        '/ "regatta")',
        "fresh_clone",
        "step_by_step",
    )
    starting = [path.name for path in FILES for own in modules_of(path) if own.is_relative_to(TESTS)
                and any(word in own.read_text() for word in words)]  # fmt: skip
    assert starting == []


def test_a_file_depends_on_what_its_modules_import_within_functions_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proven, "_ROOTS", (tmp_path,))
    for name, text in {
        "test_a.py": "from pack import inner\n",
        "pack/__init__.py": "import other\ndef lazy(): import left_out\n",
        "pack/inner.py": "def f():\n    from far import away\n",
        "far.py": "",
        "other.py": "import pack\n",
        "left_out.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {path.relative_to(tmp_path).as_posix() for path in modules_of(tmp_path / "test_a.py")}
    assert found == {"test_a.py", "pack/__init__.py", "pack/inner.py", "far.py", "other.py"}


def test_a_changed_module_program_or_compiler_gives_another_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, program = tmp_path / "test_a.py", tmp_path / "benchmarks" / "program.c"
    program.parent.mkdir()
    monkeypatch.setattr(proven, "ROOT", tmp_path)
    monkeypatch.setattr(proven, "SHARED", ("benchmarks",))
    compiler = ["echo", "1"]
    monkeypatch.setattr(proven, "TOOLS", (compiler,))
    seen = []
    for test_text, program_text, version in (
        ("", "", "1"),
        ("x = 1", "", "1"),
        ("", "int x;", "1"),
        ("", "", "2"),
    ):
        test.write_text(test_text)
        program.write_text(program_text)
        compiler[1] = version
        proven._shared.cache_clear()
        proven._imports.cache_clear()
        seen.append(digest_of(test))
    proven._shared.cache_clear()
    assert len(set(seen)) == 4


@pytest.mark.parametrize(
    ("outcomes", "holds"),
    [
        ([("passed", "setup"), ("passed", "call"), ("passed", "teardown")], True),
        ([("passed", "call"), ("failed", "teardown")], False),
        ([("passed", "call"), ("skipped", "setup")], False),
        ([("skipped", "setup")], False),
    ],
)
def test_only_a_file_whose_tests_all_passed_is_proven(
    outcomes: list[tuple[str, str]], holds: bool, tmp_path: Path
) -> None:
    run = Outcomes(tmp_path / "proven.json")
    for outcome, when in outcomes:
        run.pytest_runtest_logreport(report(NAME, outcome, when))
    run.pytest_sessionfinish()
    assert (proven.read(tmp_path / "proven.json") == {FILE.name: digest_of(FILE)}) == holds


@pytest.mark.parametrize(
    ("options", "args", "recorded", "skipped"),
    [
        ({"full": True}, ["tests"], True, True),
        ({"only": "c"}, [], True, True),
        ({"full": True}, ["tests"], False, False),
        ({"full": True, "record": True}, ["tests"], True, False),
        ({"full": True}, ["tests/workloads"], True, False),
        ({"full": True}, [NAME], True, False),
        ({}, ["tests"], True, False),
    ],
)
def test_a_proven_file_is_skipped_in_runs_of_a_tier_alone(
    options: dict[str, Any],
    args: list[str],
    recorded: bool,
    skipped: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "proven.json"
    path.write_text(json.dumps({FILE.name: digest_of(FILE) if recorded else "0"}))
    monkeypatch.setattr(proven, "PROVEN", path)
    marks: list[Any] = []
    item: Any = SimpleNamespace(path=FILE, add_marker=marks.append)
    invoked = SimpleNamespace(dir=TESTS.parent)
    config: Any = SimpleNamespace(getoption=options.get, args=args, invocation_params=invoked)
    proven.skip_proven(config, [item])
    assert bool(marks) == skipped
