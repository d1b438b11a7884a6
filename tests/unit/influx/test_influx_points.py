import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.influx.points import (
    COUNTED,
    ESTIMATE,
    EVENT,
    FIELDS,
    INVOCATION,
    ITERATION,
    TAGS,
    apart,
    event_point,
    make_point,
)
from regatta.store import events
from regatta.store.tables import INVOCATIONS


def test_no_field_has_a_tags_name_and_every_measurement_has_a_field_to_count():
    assert TAGS.keys() == FIELDS.keys() == COUNTED.keys()
    for measurement, tags in TAGS.items():
        assert len(set(tags)) == len(tags)
        assert not set(tags) & FIELDS[measurement].keys()
        assert COUNTED[measurement] in FIELDS[measurement]


def test_an_invocation_has_every_column_of_the_tables_but_its_number():
    assert set(INVOCATIONS.names) - {"record"} <= {*FIELDS[INVOCATION], *TAGS[INVOCATION]}


@pytest.mark.parametrize(
    ("name", "value"),
    [("value", math.nan), ("value", math.inf), ("value", -math.inf), ("value", 10**400), ("value", "many"), ("value", [1]),
     ("iteration", 2**63), ("iteration", -(2**63) - 1), ("iteration", 1.5), ("operations", "x"), ("value", {"a": 1})],
)  # fmt: skip
def test_what_a_field_cannot_hold_is_kept_beside_it(name, value):
    point = make_point(ITERATION, ["t"] * 12, {"line": 0, name: value}, 1)
    assert name not in point.fields
    assert repr(json.loads(point.fields["unheld"])) == repr({name: value})


def test_of_minus_zero_the_sign_is_kept_beside_it():
    fields = make_point(ITERATION, ["t"] * 12, {"value": -0.0}, 1).fields
    assert fields == {"value": 0.0, "unheld": '{"value": -0.0}'}


@pytest.mark.parametrize(
    ("value", "held"), [(True, 1.0), (3, 3.0), (2**53 + 1, float(2**53 + 1)), (10**300, 1e300)]
)
def test_whole_numbers_and_truths_become_floats_as_in_the_tables(value, held):
    assert make_point(ITERATION, ["t"] * 12, {"value": value}, 1).fields == {"value": held}


def test_an_undefined_estimate_is_left_out():
    fields = make_point(ESTIMATE, ["t"] * 13, {"n": 1, "low": math.nan, "point": 2.0}, 1).fields
    assert fields == {"n": 1, "point": 2.0}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=30))
def test_points_of_one_series_and_time_are_moved_apart_and_the_first_stays(given_points):
    points = [make_point(EVENT, (tag, "", ""), {"text": ""}, time) for tag, time in given_points]
    found = list(apart(points))
    assert len({(point.tags, point.time_ns) for point in found}) == len(points)
    first = {}
    for point, moved in zip(points, found, strict=True):
        if first.setdefault((point.tags, point.time_ns), point) is point and moved.time_ns == point.time_ns:
            continue
        assert moved.time_ns > point.time_ns


def test_an_event_that_was_written_down_is_a_point_at_its_own_time(tmp_path):
    time_ns = events.append_event(tmp_path, "segment_ended", "alpha", segment=3, recorded=10, remaining_s=1)
    events.append_event(tmp_path, "experiment_ended", text="killed")
    first, second = (
        event_point("made-up", event) for event in events.read_events(events.events_path(tmp_path))
    )
    assert first.tags == ("made-up", "alpha", "segment_ended")
    assert first.fields == {"text": "", "segment": 3, "recorded": 10, "remaining_s": 1.0}
    assert first.time_ns == time_ns < second.time_ns
    assert second.tags == ("made-up", "none", "experiment_ended")


def test_every_field_that_an_event_may_have_is_one_of_its_point():
    assert events.FIELDS.items() <= FIELDS[EVENT].items()
