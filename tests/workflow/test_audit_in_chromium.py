"""The audit's page as a browser shows it: every plot is drawn and no script fails."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from regatta.answers.audit.compute import audit_experiment
from regatta.answers.audit.page import write_audit

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "report"))
from test_report_in_chromium import CHROMIUM, FLAGS, facts, pytestmark  # noqa: F401

from helpers.audited_experiment import HOSTILE, experiment


def browse(folder: Path, collectors: tuple[str, ...]) -> str:
    """The document as it stands when everything is opened and drawn."""
    page = folder / "audit.html"
    write_audit(audit_experiment(experiment(folder / "made-up", collectors)), page)
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom", f"{page.as_uri()}#everything"]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_every_figure_of_an_audit_is_drawn(tmp_path: Path) -> None:
    dom = browse(tmp_path, ("serial", HOSTILE, "z"))
    told = facts(dom)
    assert told["errors"] == "0"
    assert told["drawn"] == told["figures"]
    assert int(told["figures"]) >= 20
    for text in ("best of median (3, 3)", "comparisons (%)", "theta (%)", "invocations needed", "&gt;30"):
        assert text in dom
    assert len(re.findall(r'class="[^"]*bars', dom)) >= 6
    assert not re.search(r"<img\b", re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL))
