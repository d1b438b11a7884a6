"""Ranked primitives and the core set: rankings by hand, the smallest of all sets, and what is left out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.golden import Golden
from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.host.errors import RegattaError
from regatta.models.predict.core_set import (
    Calls,
    CoreSet,
    core_sentences,
    core_set,
    core_warnings,
    shares_table,
    without_rule_table,
)
from regatta.models.predict.mixing import mixed
from regatta.models.predict.predictions import RequestedApplication
from regatta.models.system_calls.application import About, Trace, application_vector
from regatta.models.vectors.calls import Seen, Tally, read_calls
from regatta.models.vectors.values import ApplicationVector, Count, LinearCost, PrimitiveCost, Value

#: the precision of the solver
ROUNDING = 1e-6
#: 2 ns each
SYSTEM = system_of(a=constant(2), b=constant(2), c=constant(2), d=constant(2), e=constant(2))


def of(*applications: ApplicationVector, share: float = 0.9) -> CoreSet:
    return core_set([RequestedApplication(one) for one in applications], SYSTEM, share)


def app(name: str = "x", **counts: float) -> ApplicationVector:
    return application_of(*(count_of(primitive, count) for primitive, count in counts.items()), name=name)


def names(found: CoreSet) -> list[str]:
    return [one.primitive for one in found.core]


def test_primitives_are_ranked_by_their_mean_share_and_each_application_is_explained() -> None:
    x, y = app("x", a=6, b=3, c=1), app("y", a=100, b=200, c=700)
    found = of(x, y, share=0.7)
    ranked = [(one.primitive, one.core, one.mean, one.cumulative) for one in found.primitives]
    assert ranked == [
        ("c", True, pytest.approx(0.4), pytest.approx(0.4)),
        ("a", True, pytest.approx(0.35), pytest.approx(0.75)),
        ("b", False, pytest.approx(0.25), pytest.approx(1.0)),
    ]
    assert found.primitives[0].shares == pytest.approx({"x": 0.1, "y": 0.7})
    assert [(one.name, one.time_ns, one.explained) for one in found.applications] == [
        ("x", 20, pytest.approx(0.7)),
        ("y", 2000, pytest.approx(0.8)),
    ]
    # 0.9 of x needs a and b, 0.9 of y needs b and c; of the mean, a and c would be 0.75.
    assert names(of(x, y, share=0.9)) == ["c", "a", "b"]


def test_a_primitive_of_a_higher_rank_is_left_out_if_fewer_explain_enough_without_it() -> None:
    # c is second in the mean, with 0.3 of both; with it, four would be necessary.
    found = of(app("x", a=35, b=35, c=30), app("y", c=30, d=70), share=0.7)
    assert names(found) == ["d", "a", "b"]
    assert [(one.primitive, one.mean) for one in found.rest] == [("c", pytest.approx(0.3))]
    assert found.rest[0].cumulative == pytest.approx(1.0)


def test_of_equal_primitives_the_first_names_are_chosen() -> None:
    assert names(of(app(c=1, b=1, a=1), share=0.6)) == ["a", "b"]
    assert [one.primitive for one in of(app(c=1, b=1, a=1), share=0.6).rest] == ["c"]


def test_the_whole_time_takes_all_primitives_that_have_any() -> None:
    found = of(app(a=1, b=2, c=3, d=0), share=1.0)
    assert names(found) == ["c", "b", "a"]
    assert found.rest == ()
    assert found.applications[0].explained == pytest.approx(1.0)


def test_entries_of_one_primitive_are_added_at_their_arguments() -> None:
    line = PrimitiveCost("operation", LinearCost("bytes", Value.exact(10), Value.exact(1)))
    application = application_of(
        count_of("a", 5),
        replace(count_of("f", 1, bytes=20), stands_for=("read",)),
        replace(count_of("f", 1, bytes=50), stands_for=("pread", "read"), rule="approximate"),
    )
    found = core_set([RequestedApplication(application)], system_of(a=constant(2), f=line), 0.5)
    # 30 + 60 and 10 ns
    assert [(one.primitive, one.mean) for one in found.primitives] == [("f", 0.9), ("a", 0.1)]
    assert found.primitives[0].calls == (Calls(("read",), ""), Calls(("pread", "read"), "approximate"))


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, math.nan, math.inf])
def test_a_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(RegattaError, match=r"^--share: .* at most 1"):
        of(app(a=1), share=share)


def test_a_primitive_without_a_cost_is_in_no_share_and_is_told(golden: Golden) -> None:
    found = of(app("x", a=8, b=2, gone=1e9), app("y", a=1, gone=0, lost=3))
    assert {one.primitive: one.shares["x"] for one in found.primitives} == {"a": 0.8, "b": 0.2}
    assert [(one.name, one.counts) for one in found.without_cost] == [
        ("gone", {"x": 1e9}),
        ("lost", {"y": 3}),
    ]
    golden("no cost", "\n".join(core_warnings(found)))


@pytest.mark.parametrize("counts", [{}, {"gone": 4.0}, {"a": 0.0}])
def test_an_application_without_any_time_on_the_system_is_refused_by_name(
    counts: Mapping[str, float],
) -> None:
    with pytest.raises(RegattaError, match=r"^application y: .* on s ") as caught:
        of(app("x", a=1), app("y", **counts))
    assert caught.value.problems[0].got == "none"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(0, 40), min_size=5, max_size=5).filter(any), min_size=1, max_size=3
    ),
    st.integers(1, 100),
)  # fmt: skip
def test_the_core_set_explains_the_share_and_no_smaller_set_does(
    counts: list[list[int]], percent: int
) -> None:
    share = percent / 100
    applications = [
        app(str(number), **dict(zip("abcde", each, strict=True))) for number, each in enumerate(counts)
    ]
    found = of(*applications, share=share)

    def explains(chosen: tuple[str, ...]) -> bool:
        return all(
            sum(each["abcde".index(one)] for one in chosen) >= (share - ROUNDING) * sum(each)
            for each in counts
        )

    core = tuple(names(found))
    assert explains(core)
    for size in range(len(core)):
        assert not any(map(explains, itertools.combinations("abcde", size)))
    means = [one.mean for one in found.core]
    assert means == sorted(means, reverse=True)
    assert found.primitives[-1].cumulative == pytest.approx(1.0)
    assert min(one.explained for one in found.applications) >= share - ROUNDING


# Calls without a rule


def java_vector(folder: Path, name: str, seen: Mapping[str, int], units: float = 2) -> ApplicationVector:
    """As `regatta trace java` writes it: two traces with the same counts."""
    path = folder / "calls.yml"
    path.write_text("""\
rules:
  char: {calls: java.lang.String.charAt, counts: [{primitive: a}]}
  get: {calls: [java.util.HashMap.get, java.util.HashMap.containsKey], counts: [{primitive: b}]}
""")
    tally = Tally({Seen(call): (count, 0) for call, count in seen.items()})
    return application_vector([Trace(tally, units)] * 2, read_calls(path), About(name, "iteration"), {})


def test_calls_without_a_rule_are_listed_per_unit_of_work_with_their_share(
    tmp_path: Path, golden: Golden
) -> None:
    calls = {"java.lang.String.charAt": 60, "java.util.HashMap.get": 20, "java.util.HashMap.containsKey": 10}
    x = java_vector(tmp_path, "x", {**calls, "java.util.List.of": 6, "java.lang.Object.wait": 4})
    y = java_vector(tmp_path, "y", {"java.lang.String.charAt": 5, "java.lang.Object.wait": 15})
    found = of(x, y)
    assert [(one.name, one.counts) for one in found.without_rule] == [
        ("java.lang.Object.wait", {"x": 2, "y": 7.5}),
        ("java.util.List.of", {"x": 3}),
    ]
    assert [one.without_rule for one in found.applications] == pytest.approx([0.1, 0.75])
    golden("calls without a rule", "\n".join(core_warnings(found)))
    assert found.core[1].calls == (Calls(("java.util.HashMap.containsKey", "java.util.HashMap.get"), ""),)
    mix = [(x, 3.0), (y, 1.0)]
    (both,) = core_set([RequestedApplication(mixed("mix", mix), tuple(mix))], SYSTEM).applications
    # 5 of 50 calls per iteration of x, 7.5 of 10 of y
    assert both.without_rule == pytest.approx((3 * 5 + 7.5) / (3 * 50 + 10))


def test_a_long_list_of_calls_ends_with_the_others(tmp_path: Path) -> None:
    many = {f"java.lang.A.m{number}": number for number in range(1, 41)}
    found = of(java_vector(tmp_path, "x", {"java.lang.String.charAt": 820, **many}))
    assert found.without_rule[-1].name == "others"
    # 1 to 10 of two traces in four units of work
    assert found.without_rule[-1].counts == {"x": 55 / 2}
    assert found.applications[0].without_rule == pytest.approx(0.5)
    table = without_rule_table(found)
    assert table.title.endswith("per iteration")
    assert len(table.rows) == 10
    assert table.rows[0] == ("java.lang.A.m40", "20")
    # 1 to 31, half of them per unit of work
    assert table.rows[-1] == ("others", "248")


def test_system_calls_without_a_rule_count_as_another_and_are_a_lower_bound(golden: Golden) -> None:
    entry = Count("a", Value.exact(3), stands_for=("membarrier",), rule="unknown")
    told = {"unknown": "membarrier 30", "units": "10", "calls": "100"}
    found = of(replace(app("x", b=7), counts=(entry, count_of("b", 7)), provenance=told))
    (warning,) = core_warnings(found)
    golden("system calls without a rule", warning)
    assert found.core[1].shares == pytest.approx({"x": 0.3})


@pytest.mark.parametrize(
    "told", [{"unknown": "wait 30"}, {"unknown": "wait 30", "units": "some", "calls": "1"}]
)
def test_a_vector_that_does_not_say_its_units_has_no_share_of_calls(
    told: dict[str, str], golden: Golden
) -> None:
    found = of(replace(app("x", a=1), provenance=told))
    assert math.isnan(found.applications[0].without_rule)
    (warning,) = core_warnings(found)
    golden("no units", warning)
    assert without_rule_table(found).rows == [("wait", "–")]


# Words and tables


def test_the_table_has_the_core_set_its_sum_a_line_and_the_others() -> None:
    table = shares_table(of(app("x", a=6, b=3, c=1), app("y", a=1, b=2, c=7), share=0.7))
    assert table.columns == ("primitive", "mean", "cumulative", "x", "y")
    assert table.rows[:3] == [
        ("c", "40.0 %", "40.0 %", "10.0 %", "70.0 %"),
        ("a", "35.0 %", "75.0 %", "60.0 %", "10.0 %"),
        ("core set", "75.0 %", "", "70.0 %", "80.0 %"),
    ]
    assert {*"".join(table.rows[3])} == {"─"}
    assert table.rows[4:] == [
        ("b", "25.0 %", "100.0 %", "30.0 %", "20.0 %"),
        ("time per request", "", "", "20 ns", "20 ns"),
    ]


def test_a_table_of_few_rows_sums_up_what_does_not_fit() -> None:
    found = of(app(a=60, b=20, c=10, d=6, e=4), share=0.5)
    table = shares_table(found, most=4)
    assert [row[:2] for row in table.rows if "─" not in row[0]] == [
        ("a", "60.0 %"),
        ("core set", "60.0 %"),
        ("b", "20.0 %"),
        ("3 others", "20.0 %"),
        ("time per request", "200 ns"),
    ]
    assert table.columns == ("primitive", "share", "cumulative")


def test_sentences_name_the_core_set_and_what_is_outside(golden: Golden) -> None:
    one = of(app(a=60, b=20, c=20), share=0.8)
    golden("core set of one application", "\n".join(core_sentences(one)))
    two = of(app("x", a=95, b=5), app("y", a=91, b=9))
    golden("core set of two applications", "\n".join(core_sentences(two)))
