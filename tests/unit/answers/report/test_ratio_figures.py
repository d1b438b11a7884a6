"""Figures of ratios: rows in the order of the heaps, the line at 1, the band in which nothing matters, Tukey's pairs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from helpers.golden import Golden
from helpers.synthetic_answers import curve_answer, failed_answer, java_answer, shared_cells_answer, undefined
from regatta.answers.kit.ratio_rows import ratio_span
from regatta.answers.kit.view import View
from regatta.answers.report.cell_table import tables_of
from regatta.answers.report.page import render
from regatta.answers.spine.result import Answer
from regatta.answers.spine.verdicts import Verdict, judge
from regatta.answers.topics.families.topic import FAMILIES
from regatta.answers.topics.ratios.topic import RATIOS
from regatta.figures.axes import Figure
from regatta.figures.section import Section
from regatta.stats.estimate import Interval


def ratio(low: float, high: float) -> Interval:
    return Interval(10, (low + high) / 2, low, high, 0.95, "t")


def pairs(answer: Answer) -> Section | None:
    return FAMILIES.section_of(View(answer))


def labels(figure: Figure) -> list[str]:
    return [note["text"] for note in figure.layout["annotations"]]


def test_the_table_says_beside_better_and_worse_whether_it_matters() -> None:
    answer = java_answer(benchmarks=("x",), runtimes=("r",), heaps=(2,), collectors=("serial", "g1", "z"))
    words = ("open", "yes")
    marked = tuple(
        replace(c, verdict=Verdict("yes", word)) for c, word in zip(answer.comparisons, words, strict=True)
    )
    (table,) = tables_of(View(replace(answer, comparisons=marked)))
    assert [row.practical for row in table.rows] == ["", "inconclusive", "yes"]
    assert '<th scope="col">practical</th>' in render(replace(answer, comparisons=marked))


def test_the_band_is_as_wide_as_theta_and_gone_at_0() -> None:
    for theta, told in ((3.0, "±3 %"), (0.0, "")):
        answer = replace(java_answer(), theta_percent=theta)
        for topic in (RATIOS.section_of(View(answer)), pairs(answer)):
            assert topic is not None
            assert ("±" in topic.words) == bool(theta)
            assert told in topic.words
            shapes = topic.groups[0].figures[0].layout["shapes"]
            assert [(s["x0"], s["x1"]) for s in shapes] == ([(0.97, 1.03)] if theta else [])


def test_the_axis_shows_every_interval_and_the_band() -> None:
    assert ratio_span([ratio(1.1, 1.4), undefined("x")], 2) == (0.98, 1.4)
    assert ratio_span([], 1) == (0.99, 1.01)


def test_every_pair_of_collectors_has_a_row_with_its_simultaneous_interval(golden: Golden) -> None:
    answer = java_answer(collectors=("serial", "parallel", "g1", "z"), runtimes=("r",))
    topic = pairs(answer)
    assert topic is not None
    assert [group.title for group in topic.groups] == ["vm/compress:s10", "apps/h2:small"]
    (figure,) = topic.groups[0].figures
    texts = labels(figure)
    assert texts.count("g1 / serial") == 2, "one a heap"
    assert [text for text in texts if "heap" in text] == [
        "<b>heap 1.5x (36 MiB)</b>",
        "<b>heap 4x (96 MiB)</b>",
    ]
    bars = [trace for trace in figure.traces if "error_x" in trace]
    assert len(bars) == 2 * 6
    assert figure.traces[0]["x"] == [1, 1]
    assert figure.layout["xaxis"]["title"]["text"] == "ratio (lower is better)"
    golden("method-of-pairs", topic.groups[0].note)


def test_pairs_that_are_not_shown_to_differ_are_faint() -> None:
    answer = java_answer(runtimes=("r",), heaps=(2,), benchmarks=("x",))
    family = answer.families[0]
    ratios = (ratio(0.8, 0.9), ratio(0.9, 1.1), ratio(1.1, 1.2))
    family = replace(
        family,
        pairs=tuple(
            replace(p, ratio=r, verdict=judge(r, 1.0)) for p, r in zip(family.pairs, ratios, strict=True)
        ),
    )
    topic = pairs(replace(answer, families=(family,)))
    assert topic is not None
    marks = [t["marker"]["color"] for t in topic.groups[0].figures[0].traces if "marker" in t]
    assert marks == ["@ink", "@muted", "@ink"]


def test_many_pairs_are_split_into_a_figure_a_heap() -> None:
    answer = java_answer(collectors=tuple("abcde"), runtimes=("r",), heaps=(1, 1.5, 2, 3), benchmarks=("x",))
    topic = pairs(answer)
    assert topic is not None
    figures = topic.groups[0].figures
    assert [figure.title for figure in figures] == [f"heap {h}x ({int(24 * h)} MiB)" for h in (1, 1.5, 2, 3)]
    assert len({tuple(figure.layout["xaxis"]["range"]) for figure in figures}) == 1, "one axis for all"


def test_a_pair_without_a_number_is_a_row_with_its_reason_and_no_mark() -> None:
    answer = java_answer(runtimes=("r",), heaps=(2,), benchmarks=("x",))
    family = answer.families[0]
    first, *others = family.pairs
    gone = replace(first, ratio=undefined("no block is shared"), p=math.nan)
    topic = pairs(replace(answer, families=(replace(family, pairs=(gone, *others)),)))
    assert topic is not None
    figure = topic.groups[0].figures[0]
    assert "– no block is shared" in labels(figure)
    assert sum("marker" in trace for trace in figure.traces) == 2


@pytest.mark.parametrize("answer", [failed_answer(), curve_answer()])
def test_without_families_there_is_no_topic_of_pairs(answer: Answer) -> None:
    assert pairs(answer) is None


def test_hosts_that_share_their_cells_keep_their_own_ratios() -> None:
    answer = shared_cells_answer()
    assert {c.a for c in answer.comparisons if c.place.host == "alpha"} == {
        c.a for c in answer.comparisons if c.place.host == "beta"
    }
    tables = tables_of(View(answer))
    topic = RATIOS.section_of(View(answer))
    assert topic is not None
    for host, table, group in zip(("alpha", "alpha", "beta", "beta"), tables, topic.groups, strict=True):
        assert f"on {host}" in table.title
        assert table.title == group.title
        rows = [c for c in answer.comparisons if c.place.host == host and c.place.benchmark in table.title]
        assert len(rows) == 4
        assert [row.ratio.value for row in table.rows if row.ratio.interval] == [
            f"{c.ratio.point:.3f}" for c in rows
        ]
        points = [t["x"][0] for t in group.figures[0].traces if "marker" in t]
        assert points == pytest.approx([c.ratio.point for c in rows], rel=1e-6)
