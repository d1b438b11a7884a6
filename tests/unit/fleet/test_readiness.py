"""Preparing the hosts of an experiment."""

from __future__ import annotations

import subprocess
import sys


def test_an_experiment_on_this_machine_imports_nothing_for_other_hosts() -> None:
    others = {"regatta.fleet.reaching", "regatta.fleet.ansible", "http.client", "urllib.request"}
    code = f"import sys, regatta.fleet.readiness; print(sorted({others} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
