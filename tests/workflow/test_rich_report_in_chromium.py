"""A report with most topics, as a browser shows it and as pictures: everything is drawn, nothing is empty."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_report_in_chromium import facts

from helpers.opened_pages import drawn_page, needs_browser
from helpers.rich_experiment import write_rich_experiment
from helpers.scaling_experiment import write_scaling_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.gallery import gallery
from regatta.answers.report.page import write_report
from regatta.answers.report.pictures import write_pictures
from regatta.answers.report.registry import sections_of
from regatta.answers.spine.result import Answer
from regatta.figures.sections_page import write_sections_page

pytestmark = needs_browser
TOPICS = ("ratios", "pairs", "suites", "hosts", "heap", "collectors", "latency", "effects", "spread", "levels",
          "steady", "order", "runs", "aa", "failures", "method")  # fmt: skip
LOAD_TOPICS = ("load", "memory", "sleeps")


@dataclass
class Rich:
    """The answer, and its page when all is opened and drawn."""

    answer: Answer
    dom: str


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Rich:
    folder = tmp_path_factory.mktemp("rich")
    return shown(answer_experiment(write_rich_experiment(folder / "made-up")), folder)


@pytest.fixture(scope="module")
def scalable(tmp_path_factory: pytest.TempPathFactory) -> Rich:
    folder = tmp_path_factory.mktemp("scalable")
    return shown(
        answer_experiment(write_scaling_experiment(folder / "made-up", rounds=6)), folder, LOAD_TOPICS
    )


def shown(answer: Answer, folder: Path, only: tuple[str, ...] = ()) -> Rich:
    """The page of an answer, or of some of its topics, as the browser leaves it."""
    page = folder / "report.html"
    if only:
        topics = sections_of(View(answer))
        write_sections_page("made-up", "", (), [topic for topic in topics if topic.anchor in only], page)
    else:
        write_report(answer, page)
    return Rich(answer, drawn_page(page))


def test_every_topic_is_there_and_every_figure_is_drawn(rich: Rich) -> None:
    told = facts(rich.dom)
    assert told["errors"] == "0"
    assert told["drawn"] == told["figures"]
    sections = re.findall(r'<section id="([a-z-]+)"', rich.dom)
    assert set(TOPICS) <= set(sections)
    assert len(sections) == len(set(sections))


def test_no_topic_is_empty_and_no_number_is_spelled_wrong(rich: Rich) -> None:
    for section in re.findall(r"<section id=.*?</section>", rich.dom, re.DOTALL):
        assert re.search(r"<(table|figure|dl|li)\b", section), section[:200]
    words = re.sub(r"<(script|style|svg)\b.*?</\1>|<[^>]*>", " ", rich.dom, flags=re.DOTALL)
    assert not re.search(r"\b(nan|inf|None|undefined|NaN)\b|@(ink|muted|c\d)\b", words)


def test_figures_against_load_are_drawn_with_their_names_and_marks_inside(scalable: Rich) -> None:
    told = facts(scalable.dom)
    assert told["errors"] == "0"
    assert told["drawn"] == told["figures"]
    assert tuple(re.findall(r'<section id="([a-z-]+)"', scalable.dom)) == LOAD_TOPICS
    words = re.findall(r"<text[^>]*>([^<]+)</text>", scalable.dom)
    for label in (
        "syscall null",
        "daxpy",
        "2 CPUs",
        "parallel processes",
        "bandwidth (GB/s)",
        "L1d 48 KiB",
        "nanosleep",
    ):
        assert any(label in word for word in words), label
    traces = [trace for picture in gallery(scalable.answer) for trace in picture.figure.traces]
    bars = sum(
        len(t["x"]) for t in traces if t["type"] == "bar" and "width" in t and t.get("orientation") != "h"
    )
    assert len(re.findall(r'class="point"><path', scalable.dom)) == bars > 50


def test_every_figure_of_it_is_a_valid_picture(rich: Rich, tmp_path: Path) -> None:
    pictures = gallery(rich.answer)
    assert {p.section.anchor for p in pictures} >= {"ratios", "pairs", "suites", "hosts", "heap", "collectors", "latency",
                                                 "spread", "steady", "order", "runs"}  # fmt: skip
    kinds = {(p.section.anchor, p.figure.title.split(" ")[-1]): p for p in pictures}
    for path in write_pictures(list(kinds.values()), tmp_path, "svg", 640):
        text = path.read_text(encoding="utf-8")
        ET.fromstring(text)
        assert not re.search(r"@(ink|muted|grid|paper|none|c\d)|NaN|Infinity", text), path.name
