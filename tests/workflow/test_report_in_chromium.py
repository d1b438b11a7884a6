"""The report as a browser shows it: every plot is drawn, no script fails, no name from outside becomes an element."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.opened_pages import drawn_page, needs_browser
from helpers.synthetic_answers import curve_answer, hostile_answer, java_answer
from helpers.synthetic_collectors import collector_answer
from regatta.answers.report.page import write_report
from regatta.answers.spine.result import Answer

pytestmark = needs_browser


def browse(answer: Answer, folder: Path) -> str:
    """The document as it stands when everything is opened and drawn."""
    page = folder / "report.html"
    write_report(answer, page)
    return drawn_page(page)


def facts(dom: str) -> dict[str, str]:
    """What the page tells about itself on its body."""
    body = re.search(r"<body[^>]*>", dom)
    assert body is not None
    return dict(re.findall(r'data-(\w+)="([^"]*)"', body.group()))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Java cells and a native curve in one report."""
    java = java_answer()
    return browse(replace(java, cells=java.cells + curve_answer().cells), tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    return browse(hostile_answer(), tmp_path_factory.mktemp("hostile"))


def test_every_figure_is_drawn_without_an_error(drawn: str) -> None:
    told = facts(drawn)
    assert told["errors"] == "0"
    assert int(told["figures"]) >= 12
    assert told["drawn"] == told["figures"]
    assert len(re.findall(r'class="main-svg"', drawn)) >= int(told["figures"])


def test_a_sweep_of_heaps_under_five_collectors_is_drawn(tmp_path: Path) -> None:
    dom = browse(collector_answer(n=4), tmp_path)
    told = facts(dom)
    assert (told["errors"], told["drawn"]) == ("0", told["figures"])
    for text in ("total / distilled cost", "longest pause per iteration", "99.9 %", "max"):
        assert text in dom


def test_violins_points_lines_and_bars_are_in_the_drawing(drawn: str) -> None:
    for kind, least in (("trace violins", 20), ("trace scatter", 60), ("js-line", 10), ("errorbar", 20)):
        assert len(re.findall(f'class="[^"]*{kind}', drawn)) >= least, kind
    assert len(re.findall(r'<path class="point"', drawn)) > 400


def test_axes_carry_their_units(drawn: str) -> None:
    for title in ("elapsed (ms), lower", "elapsed (s), lower", "heap (multiple of minheap)",
                  "ratio to serial (lower", "minutes since the first", "32 MiB"):  # fmt: skip
        assert title in drawn


def test_hostile_names_are_drawn_as_text(hostile: str) -> None:
    told = facts(hostile)
    assert told["errors"] == "0"
    assert told["drawn"] == told["figures"] != "0"
    outside_scripts = re.sub(r"<script.*?</script>", "", hostile, flags=re.DOTALL)
    assert not re.search(r"<(img|iframe|object|embed)\b", outside_scripts)
    assert not re.search(r"<(text|tspan)[^>]*>[^<]*<(a|b|img)\b", outside_scripts)
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in outside_scripts
