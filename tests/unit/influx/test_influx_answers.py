import dataclasses
import json
import math

import pytest

from helpers.rich_experiment import write_rich_experiment
from helpers.synthetic_journal import (
    cell,
    native,
    record,
    write_experiment,
    write_facts,
    write_journal,
    write_plan,
)
from regatta.answers.answer import answer_experiment
from regatta.answers.topics.aa.topic import AA
from regatta.answers.topics.collectors.topic import COLLECTORS
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.influx.answers import estimate_points, vector_points
from regatta.influx.lines import encode
from regatta.influx.points import ESTIMATE, TAGS
from regatta.stats.estimate import Interval

AS_OF_NS = 1_700_000_000_000_000_123


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    return answer_experiment(write_rich_experiment(tmp_path_factory.mktemp("rich")))


def of_kind(points, kind):
    return [point for point in points if tags_of(point)["kind"] == kind]


def tags_of(point):
    return dict(zip(TAGS[point.measurement], point.tags, strict=True))


def same(field, number):
    return field == number or (field is None and math.isnan(number))


def test_every_mean_and_ratio_of_an_answer_is_a_point(answer):
    points = list(estimate_points(answer, AS_OF_NS))
    means, ratios = of_kind(points, "mean"), of_kind(points, "ratio")
    assert len(means) == len(answer.cells) > 100
    for point, own in zip(means, answer.cells, strict=True):
        tags = tags_of(point)
        assert (tags["host"], tags["benchmark"], tags["collector"]) == (
            own.place.host,
            own.place.benchmark,
            own.place.collector,
        )
        assert (tags["metric"], tags["unit"], tags["baseline"]) == (own.metric, own.unit, "")
        assert json.loads(tags["parameters"] or "{}") == dict(own.parameters)
        for name in ("point", "low", "high"):
            assert same(point.fields.get(name), getattr(own.estimate, name))
        assert point.fields["n"] == own.estimate.n
        assert point.fields["reason"] == own.estimate.reason
    alone = [point for point in ratios if tags_of(point)["host"]]
    assert len(alone) == len(answer.comparisons) > 0
    for point, comparison in zip(alone, answer.comparisons, strict=True):
        tags = tags_of(point)
        assert tags["baseline"] == comparison.b_name == "jdk-21 serial"
        assert f"{tags['runtime']} {tags['collector']}" == comparison.a_name
        assert same(point.fields.get("point"), comparison.ratio.point)
        assert same(point.fields.get("p_holm"), comparison.p_holm)
        assert point.fields["practical"] == comparison.practical


def test_ratios_over_all_hosts_are_of_no_single_host(answer):
    over = [p for p in of_kind(estimate_points(answer, AS_OF_NS), "ratio") if not tags_of(p)["host"]]
    assert len(over) == len(HOSTS.of(answer).comparisons) > 0
    assert {tags_of(point)["platform"] for point in over} == {"local"}
    assert b",host=none," in encode(over[0])


def test_a_ratio_over_all_hosts_is_named_with_its_own_heap(answer):
    over = [p for p in of_kind(estimate_points(answer, AS_OF_NS), "ratio") if not tags_of(p)["host"]]
    heaps = {"1.5x": "48 MiB (1.5x)", "3x": "96 MiB (3x)"}
    assert {tags_of(point)["heap"] for point in over} == set(heaps)
    for point in over:
        assert point.fields["label"].startswith(
            f"{tags_of(point)['benchmark']} · jdk-21 {tags_of(point)['collector']} · {heaps[tags_of(point)['heap']]}"
        )


def test_a_ratio_over_hosts_with_heaps_of_different_sizes_is_named_with_the_factor_alone(tmp_path):
    for host, mib in (("alpha", 48), ("beta", 64)):
        cells = [cell(one, heap_factor=1.5, heap_mib=mib) for one in ("g1", "serial")]
        write_plan(tmp_path, cells, 3, host=host)
        rows = [record(one, r, [1e6 + r], host=host) for r in range(3) for one in cells]
        write_journal(tmp_path, rows, host)
    write_facts(tmp_path, baseline={"collector": "serial"})
    points = estimate_points(answer_experiment(tmp_path), AS_OF_NS)
    (over,) = [p for p in of_kind(points, "ratio") if not tags_of(p)["host"]]
    assert over.fields["label"].split(" / ")[0].endswith(" · jdk-21 g1 · 1.5x")


def test_lower_bounds_and_the_drift_of_a_host_are_told(answer):
    points = list(estimate_points(answer, AS_OF_NS))
    overheads = of_kind(points, "overhead")
    assert len(overheads) == len(COLLECTORS.of(answer).overheads) > 0
    assert {tags_of(point)["metric"] for point in overheads} == {"wall", "cpu"}
    drifts = of_kind(points, "drift")
    assert len(drifts) == sum(len(gate.pairs) + 1 for gate in AA.of(answer)) > 0
    twins = [point for point in drifts if tags_of(point)["metric"] != "false_alarms"]
    assert {tags_of(point)["collector"] for point in twins} == {"g1"}
    shares = [point for point in drifts if tags_of(point)["metric"] == "false_alarms"]
    assert {point.fields["practical"] for point in shares} <= {"yes", "no", "open"}
    assert [point.fields["label"] for point in shares] == [gate.words for gate in AA.of(answer)]


def test_all_points_of_an_answer_are_different_and_of_its_time(answer):
    points = list(estimate_points(answer, AS_OF_NS))
    assert len({(point.measurement, point.tags, point.time_ns) for point in points}) == len(points)
    assert {point.time_ns for point in points} == {AS_OF_NS}
    assert all(encode(point).endswith(b"\n") for point in points)


def test_the_same_answer_gives_the_same_bytes(answer):
    first, second = (b"".join(map(encode, estimate_points(answer, AS_OF_NS))) for _ in range(2))
    assert first == second


def test_what_cannot_be_estimated_has_no_number_but_its_reason(answer):
    own = dataclasses.replace(
        answer.cells[0], estimate=Interval(0, math.nan, math.nan, math.nan, 0.95, "t", "not measured yet")
    )
    (point,) = estimate_points(dataclasses.replace(
        answer, cells=(own,), comparisons=(), topics={}
    ), AS_OF_NS)  # fmt: skip
    assert not {"point", "low", "high"} & point.fields.keys()
    assert (point.fields["n"], point.fields["reason"]) == (0, "not measured yet")


def test_a_system_vector_is_what_each_primitive_costs(tmp_path):
    cells = [
        native("lm/lat_pipe:default"),
        native("lm/lat_ctx:default placement=compact"),
        native("spec/gzip:test"),
    ]
    cells = [{**one, "metric": "latency"} for one in cells]
    values = {0: [[0, "latency", 5.0, "ns", None, {"parallel": 1}], [0, "latency_slowest", 9.0, "ns", None, {"parallel": 1}]],
              1: [[0, "latency", 7.0, "ns", None, {"processes": n}] for n in (2, 8)], 2: [[0, "latency", 1.0, "ns", None, None]]}  # fmt: skip
    records = [record(one, r, values[i], position=i) for r in range(3) for i, one in enumerate(cells)]
    answer = answer_experiment(write_experiment(tmp_path, cells, records, 3))
    points = list(vector_points(answer, AS_OF_NS))
    assert [
        (tags_of(p)["primitive"], tags_of(p)["parameters"], p.fields["value"], p.fields["n"]) for p in points
    ] == [
        ("lat_pipe", '{"parallel":1}', 5.0, 3),
        ("lat_ctx", '{"placement":"compact","processes":2}', 7.0, 3),
        ("lat_ctx", '{"placement":"compact","processes":8}', 7.0, 3),
    ]
    assert {tags_of(point)["kind"] for point in points} == {"system"}


def test_hosts_that_have_measured_nothing_are_told_as_well(tmp_path):
    cells = [cell(), cell("parallel")]
    for host in ("alpha", "beta"):
        write_plan(tmp_path, cells, 2, host=host)
    write_facts(tmp_path)
    write_journal(tmp_path, [record(one, r, [1e6 + r]) for r in range(2) for one in cells])
    points = list(estimate_points(answer_experiment(tmp_path), AS_OF_NS))
    silent = [point for point in points if tags_of(point)["host"] == "beta"]
    assert {point.fields["reason"] for point in of_kind(silent, "mean")} == {"not measured yet"}
    assert all(point.measurement == ESTIMATE for point in points)
