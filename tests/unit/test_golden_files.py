"""A golden file has the keys that its tests use: others fail, and `--update-golden` removes them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CONFTEST = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from helpers import golden as golden_files
from helpers.golden import golden

def pytest_addoption(parser):
    golden_files.add_option(parser)

def pytest_configure(config):
    golden_files.check_option(config)
    golden_files.watch(config)
"""
TESTS = """
def test_one(golden):
    golden("one", "text of one")

def test_two(golden):
    golden("two", "text of two")

def test_without_a_text():
    pass
"""
USED = {"one": "text of one", "two": "text of two"}
KEPT = {"test_made": {**USED, "gone": "text of a test that is gone"}, "test_other": {"own": "text"}}
UPDATE = "--update-golden"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Made tests, whose golden file has a key too many."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_made.py").write_text(TESTS)
    (tmp_path / "golden.yml").write_text(yaml.safe_dump(KEPT))
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the made tests as nobody's worker, outside of CI."""
    environment = {
        name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST_")
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def kept(folder: Path) -> object:
    return yaml.safe_load((folder / "golden.yml").read_text())


def test_a_key_that_no_test_uses_fails_the_module(folder: Path) -> None:
    done = run(folder)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "3 passed, 1 error" in done.stdout
    assert "no test uses gone;" in done.stdout
    (folder / "golden.yml").write_text(yaml.safe_dump({"test_made": USED}))
    assert run(folder).returncode == 0


def test_an_update_removes_it(folder: Path) -> None:
    done = run(folder, UPDATE)
    assert done.returncode == 0, done.stdout
    assert kept(folder) == {"test_made": USED, "test_other": {"own": "text"}}


def test_an_update_removes_a_module_without_texts(folder: Path) -> None:
    (folder / "test_made.py").write_text("def test_without_a_text():\n    pass\n")
    assert run(folder, UPDATE).returncode == 0
    assert kept(folder) == {"test_other": {"own": "text"}}


@pytest.mark.parametrize("chosen", [("-k", "one"), ("test_made.py::test_one",)], ids=["filter", "name"])
def test_a_part_of_a_module_needs_not_all_keys(folder: Path, chosen: tuple[str, ...]) -> None:
    done = run(folder, *chosen)
    assert done.returncode == 0, done.stdout
    assert run(folder, UPDATE, *chosen).returncode == 0
    assert kept(folder) == KEPT


def test_a_skipped_test_keeps_its_keys(folder: Path) -> None:
    skipped = TESTS.replace("def test_two", "import pytest\n@pytest.mark.skip\ndef test_two")
    (folder / "test_made.py").write_text(skipped)
    done = run(folder, UPDATE)
    assert done.returncode == 0, done.stdout
    assert kept(folder) == KEPT
