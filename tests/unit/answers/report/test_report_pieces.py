"""Numbers, labels, colours and axes: the small decisions that every table and figure shares."""

from __future__ import annotations

import math

import pytest

from helpers.synthetic_answers import curve_answer, java_answer, undefined
from regatta.answers.kit.heap_curves import heap_groups
from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import panels_of
from regatta.figures.axes import log_ticks, parameter_axis
from regatta.figures.text import choose_scale, plot_text, shorten, show_heap, show_p, show_ratio, significant
from regatta.host.values.cell import cell_label
from regatta.host.values.experiment import Heap
from regatta.stats.estimate import Interval


def about(point: float, half: float) -> Interval:
    return Interval(10, point, point - half, point + half, 0.95, "t")


def test_a_column_has_one_unit_and_decimals_that_fit_its_intervals() -> None:
    scale = choose_scale([about(1.2341e9, 1.2e7), about(0.9e9, 1.5e7)], "ns")
    assert scale.with_unit(1.2341e9) == "1.234 s"
    assert scale.show(0.9e9) == "0.900"


def test_a_column_of_very_different_values_shows_significant_digits_instead() -> None:
    scale = choose_scale([about(1.25, 0.01), about(123456.0, 10.0)], "us")
    assert scale.show(1.25) != "0.00"


def test_an_undefined_column_shows_dashes() -> None:
    scale = choose_scale([undefined("no value")], "ns")
    assert scale.with_unit(math.nan) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9123, "0.912"), (math.nan, "–"), (math.inf, "–"), (0.00123, "0.001230"), (1234.5, "1,234")],
)
def test_ratios_keep_their_digits(value: float, text: str) -> None:
    assert show_ratio(value) == text


def test_small_p_values_are_not_shown_as_zero() -> None:
    assert show_p(1e-9) == "<0.0001"
    assert show_p(0.0312) == "0.0312"
    assert significant(0.000123456, 3) == "0.000123"


def test_plot_text_leaves_plotly_nothing_to_interpret() -> None:
    assert plot_text("<a href='x'>&$x$\u202e\x00\udcff") == "&lt;a href='x'&gt;&amp;&#36;x&#36;   "


def test_a_long_name_keeps_both_ends() -> None:
    short = shorten("temurin-21-with-a-very-long-description serial compact-headers", 20)
    assert len(short) == 20
    assert short.startswith("temurin-2")
    assert short.endswith("headers")


def test_heaps_are_named_by_factor_and_size() -> None:
    assert show_heap(Heap(1.5, 96)) == "1.5x (96 MiB)"
    assert show_heap(Heap(mib=4096)) == "4,096 MiB"
    assert show_heap(Heap(1.5)) == "1.5x"
    assert show_heap(Heap()) == ""
    # The label of a cell names its heap in the same way.
    assert cell_label("a", "jdk", "g1", "none", Heap(1.5, 96)) == f"a · jdk g1 · {show_heap(Heap(1.5, 96))}"
    assert cell_label("a", "jdk", "g1", "none", Heap()) == "a · jdk g1"


def test_a_collector_has_one_colour_and_an_alternative_one_mark_everywhere() -> None:
    answer = java_answer()
    looks = Looks(answer.cells)
    colours = {(c.place.collector, looks.of(c).colour) for c in answer.cells}
    assert len(colours) == len({collector for collector, _ in colours}) == 3
    alternatives = {(c.place.runtime, c.place.collector, looks.of(c).mark) for c in answer.cells}
    assert len(alternatives) == len({mark for *_, mark in alternatives}) == 6
    legend = looks.legend(answer.cells)
    assert {(entry.look.colour, entry.look.mark) for entry in legend} == {
        (looks.of(c).colour, looks.of(c).mark) for c in answer.cells
    }


def test_heap_figures_of_a_benchmark_share_their_scale_and_a_legend_of_collectors() -> None:
    answer = java_answer()
    looks = Looks(answer.cells)
    for group in heap_groups(panels_of(answer), looks):
        assert [figure.title for figure in group.figures] == ["temurin-21", "temurin-25"]
        axes = [figure.layout["yaxis"] for figure in group.figures]
        assert axes[0]["range"] == axes[1]["range"]
        least, most = axes[0]["range"]
        traces = [trace for figure in group.figures for trace in figure.traces]
        assert all(least < y < most for trace in traces for y in trace["y"] if y is not None)
        assert [entry.name for entry in group.legend] == ["serial", "parallel", "g1"]
        drawn = {(trace["marker"]["color"], trace["marker"]["symbol"]) for trace in traces}
        assert drawn == {(entry.look.colour, entry.look.mark) for entry in group.legend}


def test_with_more_alternatives_than_marks_a_runtime_has_one_mark() -> None:
    answer = java_answer(collectors=("serial", "parallel", "g1", "z"))
    looks = Looks(answer.cells)
    assert len({(c.place.runtime, looks.of(c).mark) for c in answer.cells}) == 2
    assert len({looks.of(c) for c in answer.cells}) == 8


@pytest.mark.parametrize("collectors", [("serial", "g1"), ("serial", "parallel", "g1", "z")])
def test_native_cells_have_one_entry_in_a_legend(collectors: tuple[str, ...]) -> None:
    cells = java_answer(collectors=collectors).cells + curve_answer().cells
    names = [entry.name for entry in Looks(cells).legend(cells)]
    assert names.count("native") == 1


def test_runtimes_have_the_colours_where_only_one_collector_ran() -> None:
    answer = java_answer(collectors=("g1",))
    looks = Looks(answer.cells)
    assert {looks.of(c).colour for c in answer.cells} == {"@c0", "@c1"}


def test_more_collectors_than_colours_still_look_different() -> None:
    answer = java_answer(collectors=tuple(f"gc{i}" for i in range(20)), runtimes=("r",))
    looks = Looks(answer.cells)
    assert len({looks.of(c) for c in answer.cells}) == 20


def test_panels_keep_metrics_and_units_apart() -> None:
    panels = panels_of(curve_answer(hosts=("alpha", "beta")))
    assert [(p.host, p.series_parameter, p.varying) for p in panels] == [
        (host, "size_bytes", frozenset({"size_bytes", "stride"})) for host in ("alpha", "beta")
    ]


def test_log_ticks_lie_inside_and_are_never_fewer_than_two() -> None:
    for low, high in ((1.0, 100.0), (3.1, 64.0), (1e-9, 1e9), (4.0, 4.5)):
        ticks = log_ticks(low, high)
        assert len(ticks) >= 2
        assert all(low * 0.9 <= tick <= high * 1.1 for tick in ticks)


def test_sizes_in_bytes_are_ticked_in_powers_of_two() -> None:
    assert parameter_axis("size_bytes", [1024, 2**27])["ticktext"][0] == "1 KiB"
    assert "type" not in parameter_axis("threads", [1, 2, 4])
    assert "type" not in parameter_axis("offset", [0, 1000])
