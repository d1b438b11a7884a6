"""The gallery: a name for every figure, and figures that stand alone: title and legend inside, no slot left."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace

import pytest

from helpers.golden import Golden
from helpers.synthetic_answers import curve_answer, empty_answer, hostile_answer, java_answer
from regatta.answers.report.gallery import Picture, gallery, standalone
from regatta.answers.spine.result import Answer
from regatta.figures.looks import in_light, light_colours

ANSWERS = {
    "java": java_answer(),
    "curve": curve_answer(hosts=("alpha", "beta")),
    "hostile": hostile_answer(),
    "two hosts": java_answer(hosts=("alpha", "beta")),
}


def picture(answer: Answer, start: str) -> Picture:
    return next(p for p in gallery(answer) if p.name.startswith(start))


@pytest.mark.parametrize("name", ANSWERS)
def test_names_are_unique_and_fit_for_files(name: str) -> None:
    names = [p.name for p in gallery(ANSWERS[name])]
    assert names
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,130}", one) for one in names)


def test_names_tell_topic_benchmark_and_heap_and_do_not_hang_on_the_minheap() -> None:
    names = [p.name for p in gallery(java_answer())]
    for name in (
        "ratios-vm-compress-s10",
        "spread-apps-h2-small-heap-1.5x",
        "heap-vm-compress-s10-temurin-21",
    ):
        assert name in names


def test_names_stay_when_the_numbers_change() -> None:
    assert [p.name for p in gallery(java_answer(seed=1))] == [
        p.name for p in gallery(java_answer(seed=9, n=20))
    ]


def test_an_answer_without_values_has_no_figure() -> None:
    assert gallery(empty_answer()) == []


@pytest.mark.parametrize("name", ANSWERS)
def test_no_slot_of_a_colour_is_left(name: str) -> None:
    for one in gallery(ANSWERS[name]):
        figure = standalone(one, 640)
        assert not re.search(r'olor": ?"@', json.dumps(figure))
        assert figure["layout"]["paper_bgcolor"] == "#ffffff"


def test_title_and_legend_take_their_place_above_the_plot(golden: Golden) -> None:
    one = picture(java_answer(), "spread")
    layout = standalone(one, 640)["layout"]
    golden("title-of-a-distribution", layout["title"]["text"])
    assert layout["showlegend"] is True
    assert layout["height"] - one.figure.height == layout["margin"]["t"] - 12
    narrow = standalone(one, 240)["layout"]
    assert narrow["height"] > layout["height"], "the legend takes more rows there"


def test_the_legend_names_what_the_figure_shows_and_nothing_else() -> None:
    shown = standalone(picture(java_answer(), "heap-vm-compress-s10-temurin-21"), 640)["data"]
    # The title names the runtime.
    assert [t["name"] for t in shown if t["showlegend"]] == ["serial", "parallel", "g1"]
    ratios = standalone(picture(java_answer(), "ratios"), 640)["data"]
    assert [t["name"] for t in ratios if t["showlegend"]] == [
        f"{runtime} {collector}"
        for runtime in ("temurin-21", "temurin-25")
        for collector in ("parallel", "g1")
    ]
    many = java_answer(collectors=("serial", "parallel", "g1", "z"))
    ratios = standalone(picture(many, "ratios"), 640)["data"]
    names = ["parallel", "g1", "z", "temurin-21", "temurin-25"]
    assert [t["name"] for t in ratios if t["showlegend"]] == names, "more alternatives than marks"
    one = replace(java_answer(collectors=("g1",), runtimes=("r",)), families=())
    assert not any(t["showlegend"] for t in standalone(picture(one, "heap"), 640)["data"])


def test_a_legend_names_the_modifiers_of_the_cells_that_have_some() -> None:
    answer = java_answer(runtimes=("r",), benchmarks=("x",), heaps=(2,))
    more = tuple(
        replace(c, place=replace(c.place, modifiers="c1-only"), cell_id=f"c1{c.cell_id}")
        for c in answer.cells
    )
    both = standalone(picture(replace(answer, cells=answer.cells + more), "spread"), 640)["data"]
    collectors = ("serial", "parallel", "g1")
    assert [t["name"] for t in both if t["showlegend"]] == [
        *collectors,
        *(f"c1-only {collector}" for collector in collectors),
    ]
    assert "c1-only" not in json.dumps(standalone(picture(answer, "spread"), 640))


def test_a_picture_is_not_changed_by_being_drawn() -> None:
    one = picture(java_answer(), "ratios")
    before = copy.deepcopy(one.figure)
    standalone(one, 640)
    assert one.figure == before


def test_colours_are_those_of_the_style_sheet_and_faint_ones_keep_their_share() -> None:
    assert light_colours()["c0"] == "#0072b2"
    assert in_light({"color": "@c0/0.2", "line": {"color": "@none"}, "text": "@c0", "fillcolor": "red"}) == {
        "color": "rgba(0,114,178,0.2)",
        "line": {"color": "rgba(0,0,0,0)"},
        "text": "@c0",
        "fillcolor": "red",
    }


def test_hostile_names_stay_inert_in_title_and_legend() -> None:
    for one in gallery(hostile_answer()):
        figure = json.dumps(standalone(one, 640))
        assert "<img" not in figure
        assert "</script" not in figure
