import dataclasses
import json
import math

import pytest

from helpers.fleet_experiment import Fleet, write_fleet
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
from regatta.answers.report.answer import answer_experiment
from regatta.answers.topics.aa.topic import AA
from regatta.answers.topics.collectors.topic import COLLECTORS
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.answers.topics.platforms.topic import PLATFORMS
from regatta.answers.topics.suite_pairs.topic import SUITE_PAIRS
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


def batches(points, size):
    return [points[first : first + size] for first in range(0, len(points), size)]


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
        assert point.fields["practical"] == comparison.verdict.practical


def test_ratios_over_all_hosts_are_of_no_single_host(answer):
    over = [p for p in of_kind(estimate_points(answer, AS_OF_NS), "ratio") if not tags_of(p)["host"]]
    assert len(over) == len(HOSTS.of(answer).comparisons) > 0
    assert {tags_of(point)["platform"] for point in over} == {"local"}
    assert all(
        same(p.fields.get("p_holm"), c.p_holm)
        for p, c in zip(over, HOSTS.of(answer).comparisons, strict=True)
    )
    assert any("p_holm" in point.fields for point in over)
    assert b",host=none," in encode(over[0])


def test_a_ratio_over_all_hosts_is_named_with_its_own_heap(answer):
    over = [p for p in of_kind(estimate_points(answer, AS_OF_NS), "ratio") if not tags_of(p)["host"]]
    heaps = {"1.5x": "1.5x (48 MiB)", "3x": "3x (96 MiB)"}
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


def test_the_name_of_a_disturbed_estimate_has_a_mark(tmp_path):
    cells = [cell("serial"), cell("g1")]
    lines = [
        record(one, r, [1e9 + r * 1e6], position=i, status="perturbed" if i else "ok")
        for r in range(6)
        for i, one in enumerate(cells)
    ]
    made = answer_experiment(write_experiment(tmp_path, cells, lines, 6))
    points = list(estimate_points(made, 17))
    names = {
        (tags_of(p)["kind"], p.fields["short"]) for p in points if tags_of(p)["kind"] in ("mean", "ratio")
    }
    assert names == {("mean", "serial"), ("mean", "g1 (disturbed)"), ("ratio", "g1 (disturbed)")}


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


def test_a_system_vector_of_a_jvm_has_its_operations(tmp_path):
    one = {**cell("parallel"), "benchmark": "micro/strings:default", "metric": "latency"}
    parameters = [
        {"operation": "string_length"},
        *({"operation": "string_equals", "chars": n} for n in (16, 128)),
    ]
    values = [[0, "latency", 5.0, "ns", None, chosen] for chosen in parameters]
    values.append([0, "latency_at_most", 0.1, "ns", None, {"operation": "string_is_empty"}])
    records = [record(one, r, values) for r in range(3)]
    points = list(vector_points(answer_experiment(write_experiment(tmp_path, [one], records, 3)), AS_OF_NS))
    assert [(tags_of(p)["primitive"], tags_of(p)["parameters"], p.fields["label"]) for p in points] == [
        ("string_equals", '{"chars":16,"collector":"parallel"}', "chars 16"),
        ("string_equals", '{"chars":128,"collector":"parallel"}', "chars 128"),
        ("string_length", '{"collector":"parallel"}', "parallel"),
    ]


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


def test_runtimes_are_compared_with_the_first_one_whatever_the_baseline_is(tmp_path):
    cells = [
        cell(collector, runtime=runtime) for runtime in ("jdk-21", "jdk-17") for collector in ("serial", "g1")
    ]
    lines = [
        record(one, r, [1e9 * (1.25 if one["runtime"] == "jdk-17" else 1.0) * (1 + r * i / 1000)], position=i)
        for r in range(5)
        for i, one in enumerate(cells)
    ]
    write_experiment(tmp_path, cells, lines, 5, baseline={"collector": "serial"})
    answer = answer_experiment(tmp_path)
    points = of_kind(estimate_points(answer, AS_OF_NS), "runtime")
    tags = [tags_of(point) for point in points]
    assert [(one["runtime"], one["collector"], one["baseline"]) for one in tags] == [
        ("jdk-17", "serial", "jdk-21"),
        ("jdk-17", "g1", "jdk-21"),
    ]
    assert [point.fields["point"] for point in points] == pytest.approx([1.25, 1.25], rel=0.01)
    assert {point.fields["practical"] for point in points} == {"yes"}
    # A baseline with a runtime: the same comparisons as in the answer.
    asked = answer_experiment(tmp_path, baseline={"runtime": "jdk-17"})
    points = of_kind(estimate_points(asked, AS_OF_NS), "runtime")
    assert {tags_of(point)["baseline"] for point in points} == {"jdk-17"}
    assert [point.fields["point"] for point in points] == [one.ratio.point for one in asked.comparisons]


def test_one_runtime_is_compared_with_none(answer):
    assert of_kind(estimate_points(answer, AS_OF_NS), "runtime") == []


TWO_EACH = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8), "graviton": ("arm", 1.3), "altra": ("arm", 1.4)}


def compared(directory, hosts, baseline=None):
    """An answer that compares platforms, and its points of them by kind."""
    fleet = Fleet(
        hosts=hosts, collectors=("g1",), primitives={}, compare=("platform",), baseline=baseline or {}
    )
    answer = answer_experiment(write_fleet(directory, fleet))
    points = list(estimate_points(answer, AS_OF_NS))
    kinds = ("platform", "platform-hosts", "platform-benchmarks", "platform-drift")
    return PLATFORMS.of(answer), [of_kind(points, kind) for kind in kinds]


def test_ratios_of_platforms_their_means_and_their_drift_are_points(tmp_path):
    found, (ratios, hosts, benchmarks, drifts) = compared(tmp_path, TWO_EACH, {"platform": "x86"})
    (mean,) = found.means
    base, over_all = (point for point in ratios if not tags_of(point)["benchmark"])
    each = [point for point in ratios if tags_of(point)["benchmark"]]
    assert len(each) == len(found.ratios) == 2
    for point, own in zip(each, found.ratios, strict=True):
        tags = tags_of(point)
        assert (tags["platform"], tags["host"], tags["baseline"]) == ("arm", "", "x86")
        assert (tags["benchmark"], tags["collector"], tags["unit"]) == (own.place.benchmark, "g1", "ratio")
        assert (point.fields["point"], point.fields["low"]) == (own.these.point, own.these.low)
        assert (point.fields["p"], point.fields["label"]) == (own.p, "these hosts (2 / 2)")
    assert (base.fields["alternative"], base.fields["point"], base.fields["rank"]) == ("x86", 1.0, 1)
    assert not {"low", "high"} & base.fields.keys()
    assert (over_all.fields["rank"], over_all.fields["low"]) == (2, mean.these.low)
    assert (over_all.fields["n"], over_all.fields["practical"]) == (2, "yes")
    assert [point.fields["low"] for point in hosts] == [
        *(one.like_these.low for one in found.ratios),
        mean.similar_hosts.low,
    ]
    assert [point.fields["high"] for point in benchmarks] == [mean.like_these.high]
    for point, own in zip(drifts, found.times, strict=True):
        assert (point.fields["alternative"], tags_of(point)["baseline"]) == (own.platform, "itself")
        assert point.fields["first_utc_ns"] == own.first_utc_ns < own.last_utc_ns
        assert point.fields["last_utc_ns"] == own.last_utc_ns
        assert point.fields["point"] == own.drift.point


def test_similar_hosts_are_undefined_with_one_host_of_a_platform(tmp_path):
    _, (_, hosts, _, _) = compared(tmp_path, {"xeon": ("x86", 1.0), "graviton": ("arm", 1.3)})
    assert len(hosts) == 3
    assert not any({"low", "high"} & point.fields.keys() for point in hosts)
    assert all(point.fields["reason"] for point in hosts)


def test_hosts_of_the_only_platform_are_points_of_their_host(tmp_path):
    hosts = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8), "epyc": ("x86", 0.5)}
    _, (ratios, similar, benchmarks, drifts) = compared(tmp_path, hosts)
    places = {(tags_of(point)["platform"], tags_of(point)["host"]) for point in (*ratios, *drifts)}
    assert places == {("x86", host) for host in hosts}
    assert {tags_of(point)["baseline"] for point in (*ratios, *benchmarks)} == {"epyc"}
    assert similar == []
    ranks = [
        (point.fields["rank"], point.fields["alternative"]) for point in ratios if "rank" in point.fields
    ]
    assert ranks == [(1, "epyc"), (2, "ryzen"), (3, "xeon")]


def test_all_pairs_of_hosts_and_their_ranking_are_points(tmp_path):
    hosts = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8), "epyc": ("x86", 0.5)}
    fleet = Fleet(hosts=hosts, collectors=("g1",), primitives={}, compare=("platform",), baseline={})
    answer = answer_experiment(write_fleet(tmp_path, fleet))
    points = list(estimate_points(answer, AS_OF_NS))
    ranks, pairs = (of_kind(points, kind) for kind in ("platform-rank", "platform-pair"))
    every = PLATFORMS.of(answer).all_pairs
    assert len(ranks) == len(pairs) == 3 * len(every) == 9
    for own, of_place, ranked in zip(every, batches(pairs, 3), batches(ranks, 3), strict=True):
        for point, pair in zip(of_place, own.pairs, strict=True):
            tags = tags_of(point)
            assert (tags["platform"], tags["host"], tags["baseline"]) == ("x86", pair.a_name, pair.b_name)
            assert (tags["benchmark"], tags["unit"]) == (own.place.benchmark, "ratio")
            assert (point.fields["low"], point.fields["p"]) == (pair.ratio.low, pair.p)
        assert [(tags_of(one)["host"], one.fields["rank"], one.fields["leader"]) for one in ranked] == [
            ("epyc", 1, "yes"), ("ryzen", 2, "no"), ("xeon", 3, "no"),
        ]  # fmt: skip
        assert [one.fields["place"] for one in ranked] == sorted(one.fields["place"] for one in ranked)
        best, second, _ = ranked
        assert (best.fields["point"], best.fields["reason"]) == (1.0, "best")
        assert not {"low", "high", "p"} & best.fields.keys()
        (pair,) = (one for one in own.pairs if {one.a_name, one.b_name} == {"ryzen", "epyc"})
        assert second.fields["point"] == pytest.approx(1.6, rel=0.03)
        # The ratio to the best, in whichever direction the pair is stored.
        low = pair.ratio.low if pair.a_name == "ryzen" else 1 / pair.ratio.high
        assert (second.fields["low"], second.fields["p"]) == (pytest.approx(low), pair.p)
        assert {tags_of(one)["baseline"] for one in ranked} == {"best"}


def test_platforms_are_ranked_over_their_hosts(tmp_path):
    fleet = Fleet(hosts=TWO_EACH, collectors=("g1",), primitives={}, compare=("platform",), baseline={})
    answer = answer_experiment(write_fleet(tmp_path, fleet))
    ranks = of_kind(estimate_points(answer, AS_OF_NS), "platform-rank")
    assert {(tags_of(one)["platform"], tags_of(one)["host"]) for one in ranks} == {("x86", ""), ("arm", "")}
    assert {(one.fields["alternative"], one.fields["rank"]) for one in ranks} == {("x86", 1), ("arm", 2)}


def test_pairs_of_many_hosts_are_no_points_but_their_ranking_is(tmp_path):
    hosts = {f"host{number}": ("x86", 1.0 + number / 10) for number in range(11)}
    fleet = Fleet(
        rounds=3, hosts=hosts, programs=("apps/h2:small",), collectors=("g1",), primitives={}, compare=("platform",)
    )  # fmt: skip
    points = list(estimate_points(answer_experiment(write_fleet(tmp_path, fleet)), AS_OF_NS))
    assert of_kind(points, "platform-pair") == []
    assert [one.fields["rank"] for one in of_kind(points, "platform-rank")] == list(range(1, 12))


def test_all_pairs_over_a_suite_and_their_ranking_are_points_of_the_alternatives(answer):
    points = list(estimate_points(answer, AS_OF_NS))
    ranks, pairs = (of_kind(points, kind) for kind in ("suite-rank", "suite-pair"))
    found = SUITE_PAIRS.of(answer)
    assert len(ranks) == sum(len(one.names) for one in found) > 0
    assert len(pairs) == sum(len(one.pairs) for one in found)
    by_name = iter(ranks)
    for own in found:
        for rank, name in enumerate(own.names, 1):
            point = next(by_name)
            tags = tags_of(point)
            assert (tags["host"], tags["platform"], tags["benchmark"]) == (own.host, "local", own.suite)
            assert f"{tags['runtime']} {tags['collector']}" == name == point.fields["alternative"]
            assert point.fields["rank"] == rank
            assert point.fields["leader"] == ("yes" if name in own.leaders else "no")
            assert tags["baseline"] == f"best ({own.baseline})"
    assert [(one.fields["alternative"], tags_of(one)["baseline"], one.fields["p"]) for one in pairs] == [
        (pair.a_name, pair.b_name, pair.p) for own in found for pair in own.pairs
    ]
    assert len({point.tags for point in (*ranks, *pairs)}) == len(ranks) + len(pairs)


def test_alternatives_over_a_suite_that_differ_in_a_parameter_or_the_heap_are_different_series(tmp_path):
    for factor, choices in (("heap", (1.5, 2.0, 3.0)), ("parameters.threads", (1, 2, 4))):
        cells = [
            cell("g1", benchmark=f"apps/{program}:small threads={choice if factor != 'heap' else 1}",
                 heap_factor=choice if factor == "heap" else 1.5, heap_mib=48)
            for program in ("h2", "lzw")
            for choice in choices
        ]  # fmt: skip
        records = [
            record(one, r, [1e9 * (1 + i % 3) * (1 + (r * i % 5) / 1000)], block=i // 3, position=i % 3)
            for r in range(5)
            for i, one in enumerate(cells)
        ]
        folder = write_experiment(tmp_path / factor, cells, records, 5, compare=(factor,))
        points = list(estimate_points(answer_experiment(folder), AS_OF_NS))
        ranks = [tags_of(one) for one in of_kind(points, "suite-rank")]
        heaps = ["1.5x", "2x", "3x"] if factor == "heap" else ["1.5x"] * 3
        labels = ["apps"] * 3 if factor == "heap" else [f"apps threads={n}" for n in choices]
        assert [(one["benchmark"], one["heap"]) for one in ranks] == list(zip(labels, heaps, strict=True))


def test_platforms_are_points_on_request_alone(answer):
    assert not [p for p in estimate_points(answer, AS_OF_NS) if tags_of(p)["kind"].startswith("platform")]
