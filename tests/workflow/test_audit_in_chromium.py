"""The audit's page as a browser shows it: every plot is drawn and no script fails."""

from __future__ import annotations

import re
from pathlib import Path

from test_report_in_chromium import facts

from helpers.audited_experiment import HOSTILE, experiment
from helpers.opened_pages import drawn_page, needs_browser
from regatta.answers.audit.compute import audit_experiment
from regatta.answers.audit.page import write_audit

pytestmark = needs_browser


def browse(folder: Path, collectors: tuple[str, ...]) -> str:
    """The document as it stands when everything is opened and drawn."""
    page = folder / "audit.html"
    write_audit(audit_experiment(experiment(folder / "made-up", collectors)), page)
    return drawn_page(page)


def test_every_figure_of_an_audit_is_drawn(tmp_path: Path) -> None:
    dom = browse(tmp_path, ("serial", HOSTILE, "z"))
    told = facts(dom)
    assert told["errors"] == "0"
    assert told["drawn"] == told["figures"]
    assert int(told["figures"]) >= 20
    for text in ("best of median (3, 3)", "comparisons (%)", "theta (%)", "required invocations", "&gt;30"):
        assert text in dom
    assert len(re.findall(r'class="[^"]*bars', dom)) >= 6
    assert not re.search(r"<img\b", re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL))
