"""The agent of benchmarks/agent with checks of addresses and undefined behavior at run time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.shared_locks import made_once
from helpers.workloads.java_runs import ROOT, Run


def sanitized_agent(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The library, and the environment in which a JVM can load it; skips the test if the compiler has no sanitizer."""
    found = [
        subprocess.run(
            ["cc", f"-print-file-name={library}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for library in ("libasan.so", "libubsan.so")
    ]
    if not all(Path(library).is_absolute() for library in found):
        pytest.skip("NOT TESTED: the compiler has no address sanitizer")
    agent = made_once(tmp_path_factory, "sanitized", _compile) / "build/sanitized/libregatta_events.so"
    # The JVM itself uses signals for its checks, and never frees what it has at its end.
    return agent, {
        "LD_PRELOAD": " ".join(found),
        "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:allow_user_segv_handler=1:verbosity=1",
    }


def check_sanitized(run: Run) -> None:
    """Check that the sanitizer ran and found nothing."""
    assert "AddressSanitizer Init done" in run.stderr
    assert "ERROR: AddressSanitizer" not in run.stderr
    assert "runtime error" not in run.stderr


def _compile(folder: Path) -> None:
    shutil.copytree(ROOT / "benchmarks" / "agent", folder, ignore=shutil.ignore_patterns("build"))
    subprocess.run(["make", "-s", "sanitized"], cwd=folder, check=True)
