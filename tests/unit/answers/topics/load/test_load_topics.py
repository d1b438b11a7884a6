"""The topics of load, memory and sleeps: which figures there are, and whether they show the numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.scaling_experiment import CALLS, CPUS, KERNELS, LOADS, write_scaling_experiment
from helpers.synthetic_answers import HOSTILE, curve_answer, empty_answer, failed_answer, java_answer
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.gallery import gallery
from regatta.answers.report.page import render
from regatta.answers.report.registry import sections_of
from regatta.answers.spine.parts import Place
from regatta.answers.spine.result import Answer
from regatta.answers.topics.load.compute import LoadCurve, LoadPoint, Scaling
from regatta.answers.topics.load.topic import LOAD, line_names, load_axis
from regatta.figures.axes import Figure
from regatta.figures.labelled import MOST_LINES
from regatta.figures.section import Section
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Interval

SUMS = (
    "Memory bandwidths, all processes together",
    "Communication bandwidths, all processes together",
    "STREAM bandwidths, all processes together",
)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer_experiment(write_scaling_experiment(tmp_path_factory.mktemp("load") / "made-up", rounds=8))


def topics(answer: Answer) -> dict[str, Section]:
    found = sections_of(View(answer))
    return {topic.anchor: topic for topic in found}


def load_topic(answer: Answer) -> Section:
    found = LOAD.section_of(View(answer))
    assert found is not None
    return found


def groups(answer: Answer) -> dict[str, list[Figure]]:
    return {group.title: list(group.figures) for group in load_topic(answer).groups}


def places_of_marks(figure: Figure) -> list[float]:
    """Where the vertical lines are; the other shapes are the swatches of names."""
    return [shape["x0"] for shape in figure.layout["shapes"] if shape["xref"] == "x"]


def lines(figure: Figure) -> list[dict[str, Any]]:
    return [trace for trace in figure.traces if trace.get("mode") == "lines+markers"]


def names(figure: Figure) -> list[str]:
    """The labels at the right, from the lowest to the highest."""
    right = [a for a in figure.layout["annotations"] if a["xref"] == "paper" and a["x"] == 1]
    return [a["text"] for a in sorted(right, key=lambda a: a["y"])]


def made(
    program: str, values: dict[int, float], unit: str = "ns", aspect: str = "each", **parameters: Any
) -> LoadCurve:
    points = tuple(
        LoadPoint(load, "c", Interval(5, v, v * 0.99, v * 1.01, 0.95, "t"), (v,) * 5)
        for load, v in values.items()
    )
    better = "lower" if unit == "ns" else "higher"
    return LoadCurve(
        program, Place("alpha", "local", program, "native", "", "none", Heap()), "latency", aspect, unit, better, parameters, points  # type: ignore[arg-type]
    )  # fmt: skip


def answer_of(*curves: LoadCurve, cpus: dict[str, int] | None = None) -> Answer:
    return replace(empty_answer(), topics={"load": Scaling(curves, {"alpha": 2} if cpus is None else cpus)})


def test_every_family_has_its_group_in_the_order_of_the_paper(answer: Answer, golden: Golden) -> None:
    golden("groups", "\n".join(groups(answer)))


def test_every_series_is_a_line_somewhere_and_only_once(answer: Answer) -> None:
    found = groups(answer)
    latencies = sum(
        len(lines(f)) for title, figures in found.items() if "latencies" in title for f in figures
    )
    together = sum(len(lines(f)) for title, figures in found.items() if title in SUMS for f in figures)
    curves = LOAD.of(answer).curves
    assert latencies == sum(c.aspect == "each" and c.unit == "ns" for c in curves)
    assert together == sum(c.aspect == "system" for c in curves) == 3 + 1 + len(KERNELS)


def test_no_figure_has_more_lines_than_hues(answer: Answer) -> None:
    for figures in groups(answer).values():
        for figure in figures:
            assert len(lines(figure)) <= MOST_LINES


def test_lines_are_the_means_over_the_load_on_a_logarithmic_axis_of_times(answer: Answer) -> None:
    figure = groups(answer)["Process latencies"][0]
    assert figure.layout["yaxis"]["type"] == "log"
    null = lines(figure)[0]
    (curve,) = [
        c for c in LOAD.of(answer).curves if c.aspect == "each" and c.parameters.get("call") == "null"
    ]
    assert null["x"] == list(LOADS)
    assert null["y"] == pytest.approx([point.estimate.point for point in curve.points], rel=1e-6)
    assert figure.layout["xaxis"]["tickvals"] == list(LOADS)
    assert "processes" in null["hovertext"][1]
    assert "throughput" in null["hovertext"][1]


def test_times_of_several_units_stand_on_one_axis() -> None:
    in_us = made("lat_b", {1: 2.0, 2: 3.0}, unit="us")
    found = groups(answer_of(made("lat_a", {1: 500.0, 2: 600.0}), replace(in_us, better="lower")))
    (figure,) = found["Other latencies"]
    assert [line["y"] for line in lines(figure)] == [[500.0, 600.0], [2000.0, 3000.0]]


def test_names_stand_in_the_order_of_the_lines_ends_and_never_over_one_another(answer: Answer) -> None:
    figure = groups(answer)["Process latencies"][0]
    shown = names(figure)
    assert [name for name in shown if name.startswith("syscall")] == [
        f"syscall {call}" for call in sorted(CALLS, key=CALLS.__getitem__)
    ]
    for group in groups(answer).values():
        for one in group:
            right = [a["y"] for a in one.layout["annotations"] if a["xref"] == "paper" and a["x"] == 1]
            room = one.height - 66
            assert all((b - a) * room > 11 for a, b in pairwise(sorted(right)))
            assert all(0 <= place <= 1 for place in right)


def test_the_cpus_are_marked_where_loads_reach_them_and_not_where_they_do_not() -> None:
    curve = made("lat_a", {1: 5.0, 2: 6.0})

    def marks(cpus: dict[str, int]) -> list[float]:
        (figures,) = groups(answer_of(curve, cpus=cpus)).values()
        return places_of_marks(figures[0])

    assert marks({"alpha": 2}) == [2]
    assert marks({"alpha": 64}) == []
    assert marks({}) == []


def test_bandwidths_are_drawn_from_0_in_the_unit_that_fits(answer: Answer) -> None:
    (figure,) = groups(answer)["STREAM bandwidths, all processes together"]
    assert figure.layout["yaxis"]["range"][0] == 0
    assert figure.layout["yaxis"]["title"]["text"] == "bandwidth (GB/s)"
    copy = lines(figure)[sorted(KERNELS).index("copy")]
    assert copy["y"][1] == pytest.approx(1.8 * KERNELS["copy"] / 1000, rel=0.02)
    small = made("bw_x", {1: 300.0, 2: 500.0}, unit="MB/s", aspect="system")
    (other,) = groups(answer_of(replace(small, metric="bandwidth")))[
        "Other bandwidths, all processes together"
    ]
    assert other.layout["yaxis"]["title"]["text"] == "bandwidth (MB/s)"


def test_the_fastest_process_and_the_histograms_start_with_stream(answer: Answer) -> None:
    found = groups(answer)
    best = found["Bandwidths of the fastest single process"]
    assert [figure.title.split(",")[0] for figure in best] == ["stream", "bw_mem", "bw_pipe"]
    spread = found["Bandwidth histograms, all processes together"]
    assert [figure.title for figure in spread][: len(KERNELS)] == [
        f"stream, kernel {kernel}, version 2" for kernel in sorted(KERNELS)
    ]


def test_a_histogram_counts_every_invocation_on_one_axis_for_all_loads(answer: Answer) -> None:
    figure = groups(answer)["Bandwidth histograms, all processes together"][0]
    assert [sum(trace["y"]) for trace in figure.traces] == [8] * len(LOADS)
    assert len({trace["width"] for trace in figure.traces}) == 1
    assert all("xaxis" not in trace for trace in figure.traces)
    domains = [figure.layout[f"yaxis{i or ''}"]["domain"] for i in (0, 2, 3, 4)]
    assert all(above[0] > below[1] for above, below in pairwise(domains))
    texts = [a["text"] for a in figure.layout["annotations"]]
    assert texts[0] == "1 process, n = 8"
    assert [("more than CPUs" in text) for text in texts] == [load > CPUS for load in LOADS]


def test_equal_values_and_few_values_make_no_strange_histogram() -> None:
    equal = made("bw_x", {1: 300.0, 2: 300.0}, unit="MB/s", aspect="system")
    few = replace(equal, points=tuple(replace(p, values=p.values[:4]) for p in equal.points))
    title = "Bandwidth histograms, all processes together"
    (figure,) = groups(answer_of(equal))[title]
    assert [trace["y"] for trace in figure.traces] == [[5], [5]]
    assert title not in groups(answer_of(few))


def test_the_table_says_what_all_do_together_and_marks_loads_beyond_the_cpus(answer: Answer) -> None:
    table, _ = load_topic(answer).tables
    assert table.columns == (
        "benchmark",
        "series",
        "1 process",
        "2",
        "3 (> CPUs)",
        "4 (> CPUs)",
    )
    assert all(len(row) == len(table.columns) for row in table.rows)
    row = next(row for row in table.rows if row[1] == "call null")
    assert row[2].endswith(" ns")
    assert row[3].startswith(("2.0", "1.9"))
    stream = next(row for row in table.rows if row[1] == "kernel daxpy, version 2")
    assert stream[2].startswith(("18,", "19,"))
    assert stream[2].endswith(" MB/s")


def test_what_no_family_knows_is_in_a_group_of_its_own(golden: Golden) -> None:
    odd = replace(made("lat_y", {1: 3.0, 2: 4.0}, unit="count"), metric="faults")
    each = replace(made("bw_y", {1: 3.0, 2: 4.0}, unit="MB/s"), metric="bandwidth")
    rate = replace(made("rate_y", {1: 3.0, 2: 4.0}, unit="ops/s"), metric="rate")
    found = groups(answer_of(odd, each, rate, made("lat_z", {1: 3.0, 2: 4.0})))
    golden("groups-of-no-family", "\n".join(found))
    assert sum(len(figures) for figures in found.values()) == 4


def test_hosts_and_configurations_have_figures_of_their_own_that_say_whose_they_are() -> None:
    one = made("lat_a", {1: 3.0, 2: 4.0})
    other, tuned = (
        replace(one, place=replace(one.place, **what)) for what in ({"host": "beta"}, {"modifiers": "thp"})
    )
    topic = load_topic(answer_of(one, other, tuned, cpus={"alpha": 2, "beta": 8}))
    figures = topic.groups[0].figures
    assert [tuple(figure.title.split(" · ")) for figure in figures] == [
        ("lat_a", "native", "on alpha"),
        ("lat_a", "native", "on beta"),
        ("lat_a", "native thp", "on alpha"),
    ]
    assert [len(places_of_marks(figure)) for figure in figures] == [1, 0, 1]


def test_names_from_outside_are_text_in_every_label_and_hover() -> None:
    cost = made(HOSTILE, {1: 3.0, 2: 4.0}, call=HOSTILE)
    other = replace(cost, parameters={"call": "b"})
    shared = [
        replace(one, unit="MB/s", aspect=aspect, better="higher")
        for one in (cost, other)
        for aspect in ("system", "fastest")
    ]
    for group in load_topic(answer_of(cost, other, *shared)).groups:
        for figure in group.figures:
            drawn = json.dumps([figure.traces, figure.layout]).replace("<br>", "")
            assert not set("<>$") & set(drawn), figure.title


def test_a_point_without_a_value_is_a_gap_and_a_curve_of_none_is_left_out() -> None:
    whole = made("lat_a", {1: 3.0, 2: 4.0, 4: 5.0})
    nothing = Interval(0, math.nan, math.nan, math.nan, 0.95, "t", "no values")
    broken = replace(
        whole, points=(whole.points[0], replace(whole.points[1], estimate=nothing), whole.points[2])
    )
    none = replace(whole, points=tuple(replace(p, estimate=nothing) for p in whole.points))
    (figures,) = groups(answer_of(broken)).values()
    assert lines(figures[0])[0]["y"] == [3.0, None, 5.0]
    assert groups(answer_of(none)) == {}


def test_an_interval_that_reaches_below_0_ends_at_the_axis() -> None:
    curve = made("lat_a", {1: 3.0, 2: 4.0, 3: 5.0, 4: 6.0})
    wide = Interval(3, 3.0, -2.0, 8.0, 0.95, "t")
    low = replace(curve, points=(replace(curve.points[0], estimate=wide), *curve.points[1:]))
    (figures,) = groups(answer_of(low)).values()
    assert all(y > 0 for trace in figures[0].traces for y in trace["y"])
    assert "-2" in lines(figures[0])[0]["hovertext"][0]


def test_many_loads_are_on_a_logarithmic_axis() -> None:
    assert "type" not in load_axis([1, 2, 4, 8])
    wide = load_axis([1, 2, 4, 64])
    assert wide["type"] == "log"
    assert wide["range"][0] < 0 < math.log10(64) < wide["range"][1]


def test_names_tell_lines_apart_by_what_differs() -> None:
    curves = [
        made("lat_select", {1: 1.0, 2: 1.0}, descriptors=10, kind="tcp"),
        made("lat_select", {1: 1.0, 2: 1.0}, descriptors=100, kind="tcp"),
        made("lat_usleep", {1: 1.0, 2: 1.0}, requested_us=10000),
    ]
    assert line_names(curves) == ["select descriptors 10", "select descriptors 100", "usleep"]
    assert line_names(curves[:2]) == ["descriptors 10", "descriptors 100"]
    asked = [made("lat_usleep", {1: 1.0, 2: 1.0}, requested_us=us) for us in (10, 10000)]
    assert line_names(asked) == ["10 µs", "10 ms"]


def test_memory_is_drawn_over_the_size_with_the_caches_that_hold_data(answer: Answer) -> None:
    memory = topics(answer)["memory"]
    (figure,) = memory.groups[0].figures
    assert len(lines(figure)) == len(LOADS)
    assert lines(figure)[0]["x"] == [4096 << i for i in range(15)]
    assert (figure.layout["xaxis"]["type"], figure.layout["yaxis"]["type"]) == ("log", "log")
    assert places_of_marks(figure) == [48 << 10, 1 << 20, 32 << 20]
    marks = [a for a in figure.layout["annotations"] if a["xref"] == "x"]
    assert [a["text"] for a in marks] == ["L1d 48 KiB", "L2 1 MiB", "L3 32 MiB"]
    assert marks[0]["x"] == pytest.approx(math.log10(48 << 10))


def test_sleeps_are_drawn_against_what_was_asked_with_the_line_of_exact_sleeps(answer: Answer) -> None:
    sleeps = topics(answer)["sleeps"]
    figures = sleeps.groups[0].figures
    assert len(figures) == len(LOADS)
    assert len(lines(figures[0])) == 4
    exact = figures[0].traces[0]
    assert exact["x"] == exact["y"] == [1000.0, 1e7]


def test_the_page_and_the_gallery_hold_the_topics_and_only_valid_json(answer: Answer) -> None:
    page = render(answer)
    for anchor in ("load", "memory", "sleeps"):
        assert f'<section id="{anchor}"' in page
    mine = [p for p in gallery(answer) if p.section.anchor in ("load", "memory", "sleeps")]
    assert len({p.name for p in mine}) == len(mine) > 20
    for picture in mine:
        json.dumps([picture.figure.traces, picture.figure.layout], allow_nan=False)


@pytest.mark.parametrize("other", [java_answer(), curve_answer(), failed_answer(), empty_answer()])
def test_answers_without_loads_strides_and_sleeps_have_none_of_the_topics(other: Answer) -> None:
    assert not {"load", "memory", "sleeps"} & set(topics(other))
