"""A page of topics alone: the same frame, style and care as the report."""

from __future__ import annotations

import re
from pathlib import Path

from helpers.synthetic_answers import HOSTILE, java_answer
from regatta.answers.kit.view import View
from regatta.answers.topics.ratios.topic import RATIOS
from regatta.figures.section import Section, Table
from regatta.figures.sections_page import render_sections, write_sections_page

WORDS = Section(
    "found",
    "What was found",
    "How to read it.",
    sentences=("g1 is 4.1 % [3.2, 5.0] faster.", HOSTILE),
    tables=[Table("Rows", ("name", "value"), [("a", "1.0"), (HOSTILE, "")], frozenset({1}))],
)


def test_topics_become_sections_with_sentences_tables_and_a_place_in_the_navigation() -> None:
    page = render_sections("audit", "Which habits mislead?", ("Best of 30 misleads.",), [WORDS])
    for text in ("<h1>audit</h1>", "Which habits mislead?", "Best of 30 misleads.", "What was found", "How to read it.",
                 "g1 is 4.1 % [3.2, 5.0] faster.", '<a href="#found">What was found</a>', "<td>a</td>", '<td class="num">1.0</td>'):  # fmt: skip
        assert text in page
    assert '<td class="num">–</td>' in page, "what is empty is a dash"


def test_names_in_topics_stay_names() -> None:
    page = render_sections(HOSTILE, HOSTILE, (HOSTILE,), [WORDS])
    assert "<img" not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") >= 5


def test_a_page_of_topics_loads_the_plots_script_only_for_plots() -> None:
    answer = java_answer()
    ratios = RATIOS.section_of(View(answer))
    assert ratios is not None
    assert len(re.findall("<script", render_sections("t", "", (), [WORDS]))) == 1
    with_plots = render_sections("t", "", (), [WORDS, ratios])
    assert 'data-figure="ratios-0-0"' in with_plots
    assert len(re.findall("sha256-", with_plots)) == 2


def test_a_page_of_nothing_is_still_a_page(tmp_path: Path) -> None:
    path = tmp_path / "audit.html"
    write_sections_page("empty", "", (), (), path)
    assert "<h1>empty</h1>" in path.read_text(encoding="utf-8")


def test_many_sentences_are_folded_after_the_first_and_long_tables_are_closed() -> None:
    many = tuple(f"Sentence {number}." for number in range(20))
    rows = [(str(number),) for number in range(100)]
    page = render_sections(
        "t", "", many, [Section("a", "A", "", sentences=many, tables=[Table("", ("n",), rows)])]
    )
    assert page.count("<summary>14 more</summary>") == 2
    assert page.count("Sentence 19.") == 2, "folded, not lost"
    assert re.search(r"<details><summary>Table <span class=\"plain\">100 rows", page)
    short = render_sections("t", "", many[:8], [])
    assert "more</summary>" not in short
