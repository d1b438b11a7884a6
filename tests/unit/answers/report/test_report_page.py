"""The report as text: what stands in it, that names stay names, and that it loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from helpers.synthetic_answers import (
    HOSTILE,
    curve_answer,
    empty_answer,
    failed_answer,
    hostile_answer,
    java_answer,
    undefined,
)
from regatta.answers.report.page import render, write_report
from regatta.answers.spine.result import Answer
from regatta.figures.axes import Group
from regatta.figures.html import json_in_html
from regatta.figures.section import Section
from regatta.figures.sections_page import render_sections
from regatta.host.errors import StoreError


class Page(HTMLParser):
    """A page's elements, its text outside scripts and styles, and its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._raw: str = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._raw = tag if tag in {"script", "style"} else ""
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._raw = ""

    def handle_data(self, data: str) -> None:
        if self._raw == "script":
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)
        elif not self._raw:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    @property
    def ids(self) -> list[str]:
        return [attrs["id"] or "" for _, attrs in self.tags if "id" in attrs]

    @property
    def figures(self) -> dict[str, dict[str, object]]:
        return next((json.loads(text) for attrs, text in self.scripts if attrs.get("id") == "figures"), {})


def shape(answer: Answer) -> Page:
    return Page(render(answer))


ANSWERS = {
    "java": java_answer(),
    "curve": curve_answer(hosts=("alpha", "beta")),
    "hostile": hostile_answer(),
    "failed": failed_answer(),
    "empty": empty_answer(),
    "two hosts": java_answer(hosts=("alpha", "beta")),
    "two cells": java_answer(
        benchmarks=("x",), runtimes=("r",), collectors=("serial", "g1"), heaps=(2,), n=2
    ),
    "one invocation": java_answer(n=1),
}


@cache
def page_of(name: str) -> Page:
    return shape(ANSWERS[name])


@pytest.mark.parametrize("name", ANSWERS)
def test_page_loads_nothing_from_outside(name: str) -> None:
    page = page_of(name)
    for tag, attrs in page.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert "src" not in attrs
        if "href" in attrs:
            assert (attrs["href"] or "").startswith("#")
        assert not [key for key in attrs if key.startswith("on")]


@pytest.mark.parametrize("name", ANSWERS)
def test_only_the_pages_own_scripts_may_run(name: str) -> None:
    page = page_of(name)
    policy = next(attrs["content"] or "" for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    running = [text for attrs, text in page.scripts if attrs.get("type") is None]
    assert len(running) == (2 if page.figures else 1)
    for text in running:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", ANSWERS)
def test_every_anchor_has_its_place_and_no_place_is_named_twice(name: str) -> None:
    page = page_of(name)
    assert len(page.ids) == len(set(page.ids))
    targets = {attrs["href"] or "" for tag, attrs in page.tags if tag == "a"} - {"#everything"}
    assert targets <= {f"#{name}" for name in page.ids}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_place_for_a_figure_has_its_figure(name: str) -> None:
    page = page_of(name)
    places = [attrs["data-figure"] for _, attrs in page.tags if "data-figure" in attrs]
    assert sorted(str(place) for place in places) == sorted(page.figures)


def test_first_screen_answers_the_question() -> None:
    answer = java_answer()
    head = shape(answer).text.split("Means with")[0]
    for sentence in (answer.experiment, answer.question, *answer.headline, *answer.warnings):
        assert sentence in head
    for fact in (
        "240planned",
        "240recorded",
        "2failed",
        "4perturbed",
        "parallel / serial",
        "alpha",
        "2026-01-01",
    ):
        assert fact in head


def test_hosts_and_runtimes_are_in_the_section_on_the_environment() -> None:
    section = shape(java_answer()).text.split("as recorded during the measurements")[1]
    for fact in ("alpha", "AMD EPYC 7763 64-Core", "temurin-25", "25.0.4"):
        assert fact in section


def test_hostile_names_are_shown_as_text_and_make_no_element() -> None:
    page = shape(hostile_answer())
    assert page.text.count(HOSTILE) > 20
    assert not [tag for tag, _ in page.tags if tag in {"img", "b x"}]
    assert "49" not in page.text.split("Means with")[0]


def test_parts_in_backticks_are_code_and_all_else_is_escaped() -> None:
    text = "`plot <b>`, <i>all</i> `"
    section = Section("made", "Made", text, sentences=(text,), groups=[Group("g", [], note=text)])
    page = render_sections("title", "", (text,), [section])
    assert page.count("<code>plot &lt;b&gt;</code>, &lt;i&gt;all&lt;/i&gt; `<") == 4


def test_hostile_names_are_escaped_once_more_for_plotlys_own_html() -> None:
    data = json.dumps(shape(hostile_answer()).figures)
    assert "onerror" in data
    assert "<img" not in data
    assert "</script" not in data
    assert "<b>%{" not in data
    assert "$x" not in data


def test_json_in_a_script_cannot_end_the_script() -> None:
    text = json_in_html({"</script>": "<!--<script>&\u2028\udcff"})
    assert not set(text) & set("<>&\u2028\udcff")
    assert json.loads(text) == {"</script>": "<!--<script>&\u2028\udcff"}


def test_an_undefined_number_is_a_dash_with_its_reason_and_never_zero() -> None:
    answer = failed_answer()
    page = shape(answer)
    table = page.text.split("Means with")[1].split("Failures")[0]
    assert "–1" in table
    for one in (answer.cells[0].estimate, answer.comparisons[0].ratio):
        assert one.reason
        assert one.reason in table
    assert not re.search(r"\b0\.0+\b|\bnan\b", table)
    assert not page.figures


def test_one_undefined_cell_among_others_is_a_gap_in_the_plots() -> None:
    answer = java_answer()
    figures = shape(answer).figures
    assert "heap-0-1" in figures
    values = [y for trace in figures["heap-0-1"]["data"] for y in trace["y"]]  # type: ignore[attr-defined]
    assert None in values
    assert 0 not in values


def test_an_interval_of_one_invocation_is_told_apart_from_a_mean() -> None:
    answer = java_answer(n=1)
    table = shape(answer).text.split("Means with")[1]
    assert answer.cells[0].estimate.reason
    assert answer.cells[0].estimate.reason in table


def test_empty_answer_says_so_and_hides_what_has_nothing() -> None:
    page = shape(empty_answer())
    assert "No measurements yet" in page.text
    assert page.ids == ["answer", "results", "method"]
    assert len(render(empty_answer())) < 50_000


def test_failures_name_the_command_that_explains_them() -> None:
    answer = java_answer()
    text = shape(answer).text
    assert f"regatta explain {answer.failures[0].cell_id}" in text
    assert "java.lang.OutOfMemoryError: Java heap space" in text
    assert "temurin-21 refuses -XX:+UseEpsilonGC" in text


def test_how_it_was_measured_names_order_seed_methods_and_the_unit_of_replication() -> None:
    text = shape(java_answer()).text.rpartition("Order")[2]
    for words in (
        "randomized-blocks, seed 20070101",
        "unit of replication",
        "95 %",
        "paired by block",
        "Tukey HSD",
    ):
        assert words in text


def test_perturbed_invocations_are_hollow_points_and_are_counted_once() -> None:
    answer = java_answer()
    figures = json.dumps(shape(answer).figures)
    assert "square-open" in figures
    twice = replace(
        answer, cells=answer.cells + tuple(replace(c, metric="max_rss", unit="bytes") for c in answer.cells)
    )
    assert "4perturbed" in shape(twice).text


def test_two_hosts_are_told_apart_wherever_their_numbers_stand() -> None:
    text = shape(java_answer(hosts=("alpha", "beta"))).text
    assert "apps/h2:small · on alpha" in text
    assert "apps/h2:small · on beta" in text


def test_a_metric_over_a_numeric_parameter_is_a_curve_on_a_log_axis_and_no_violin() -> None:
    page = shape(curve_answer())
    assert "series" in page.ids
    assert "spread" not in page.ids
    layout = page.figures["series-0-0"]["layout"]
    assert layout["xaxis"]["type"] == "log"  # type: ignore[index]
    assert "1 KiB" in layout["xaxis"]["ticktext"]  # type: ignore[index]
    assert "64 KiB" in page.text


def test_same_answer_gives_the_same_bytes() -> None:
    assert render(java_answer()) == render(java_answer())


def test_three_hundred_cells_stay_usable() -> None:
    answer = java_answer(
        benchmarks=("a", "b", "c"),
        runtimes=("openjdk-17", "temurin-21", "temurin-25"),
        collectors=("serial", "parallel", "g1", "z", "shenandoah"),
        heaps=(1, 1.5, 2, 2.5, 3, 3.5, 4),
        n=30,
    )
    text = render(answer)
    page = Page(text)
    assert len(answer.cells) == 315
    assert len(text) < 12_000_000
    tables = [attrs for tag, attrs in page.tags if tag == "details"]
    assert sum("open" in attrs for attrs in tables) < len(tables) / 2


def test_a_report_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    write_report(empty_answer(), path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"expected .* fix"):
        write_report(empty_answer(), tmp_path / "file" / "report.html")


def test_a_reason_that_is_missing_is_still_a_footnote() -> None:
    answer = java_answer(n=2)
    cells = tuple(replace(c, estimate=undefined("")) for c in answer.cells)
    assert "undefined" in shape(replace(answer, cells=cells)).text
