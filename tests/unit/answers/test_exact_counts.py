"""Counts without variance: the same exact ratio in every part of an answer, and in all that shows it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from helpers.past_experiments import DAY_NS
from helpers.synthetic_journal import (
    START_NS,
    cell,
    record,
    write_experiment,
    write_facts,
    write_journal,
    write_plan,
)
from regatta.answers.history.compute import history_of
from regatta.answers.history.result import History
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of, rows_of
from regatta.answers.report.page import render
from regatta.answers.spine.result import Answer
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.answers.topics.platforms.topic import PLATFORMS
from regatta.answers.topics.suite_pairs.topic import SUITE_PAIRS
from regatta.answers.topics.suites.topic import SUITES
from regatta.influx.answers import estimate_points
from regatta.stats.estimate import Interval

ROUNDS = 5
METRIC = "instructions"
#: host -> platform; collector -> its count; program -> times as many
HOSTS_OF = {"xeon": "x86", "ryzen": "x86", "altra": "arm"}
COUNTS = {"serial": 1000, "g1": 1020, "z": 1000}
PROGRAMS = {"apps/ecj:small": 1, "apps/h2:small": 3}
#: exact(1.02): point, low, high, p
TWO_PERCENT = (1.02, 1.02, 1.02, 0.0)
EQUAL = (1.0, 1.0, 1.0, 1.0)


def answer(
    path: Path,
    changes: Mapping[tuple[str, str, str], Sequence[float]] | None = None,
    unit: str = "count",
    **options: Any,
) -> Answer:
    """Answer an experiment of counts that are equal in all rounds. `changes`: of host, program and collector, the counts instead."""
    for host, platform in HOSTS_OF.items():
        cells = [
            cell(collector, benchmark=program, metric=METRIC, platform=platform)
            for program in PROGRAMS
            for collector in COUNTS
        ]
        records = []
        for position, one in enumerate(cells):
            key = host, one["benchmark"], one["collector"]
            usual = [COUNTS[one["collector"]] * PROGRAMS[one["benchmark"]] * (1.1 if host == "altra" else 1)]
            counts = (changes or {}).get(key, [round(usual[0])] * ROUNDS)
            records += [
                record(
                    one, r, [[0, METRIC, float(count), unit, None, None]], host=host, position=position,
                    plan_id=f"plan-{host}",
                )
                for r, count in enumerate(counts)
            ]  # fmt: skip
        write_plan(path, cells, ROUNDS, host=host, plan_id=f"plan-{host}")
        write_journal(path, records, host)
    facts = {host: {"cpu": "a processor"} for host in HOSTS_OF}
    write_facts(
        path,
        baseline={"collector": "serial", "platform": "x86"},
        compare=["collector", "platform"],
        host_facts=facts,
    )
    return answer_experiment(path, **options)


def numbers(ratio: Interval, p: float) -> tuple[float, float, float, float]:
    assert ratio.is_exact == (ratio.low == ratio.high)
    return ratio.point, ratio.low, ratio.high, p


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer(tmp_path_factory.mktemp("exact"))


def g1_ratios(found: Answer) -> dict[str, set[tuple[float, float, float, float]]]:
    """Return part of the answer -> its ratios of g1 to serial."""
    hosts = HOSTS.of(found)
    pairs = {
        "families": [pair for family in found.families for pair in family.pairs],
        "leaders": [pair for family in hosts.leaders for pair in family.pairs],
        "suite pairs": [pair for one in SUITE_PAIRS.of(found) for pair in one.pairs],
    }
    parts = {
        "comparisons": {numbers(one.ratio, one.p) for one in found.comparisons if "g1" in one.a_name},
        "hosts": {numbers(one.ratio, one.p) for one in hosts.comparisons if "g1" in one.a_name},
        "suites": {numbers(one.these, one.p) for one in SUITES.of(found) if "g1" in one.a_name},
    }
    for name, many in pairs.items():
        parts[name] = {
            numbers(one.ratio, one.p)
            for one in many
            if "g1" in one.a_name + one.b_name and "serial" in one.a_name + one.b_name
        }
    return parts


def test_one_pair_of_counts_reads_the_same_in_all_parts_of_an_answer(exact: Answer) -> None:
    parts = g1_ratios(exact)
    assert set(parts) == {"comparisons", "hosts", "suites", "families", "leaders", "suite pairs"}
    # The baseline may come first in a pair.
    turned = (1000 / 1020, 1000 / 1020, 1000 / 1020, 0.0)
    for name, found in parts.items():
        assert len(found) == 1, name
        ((point, low, high, p),) = found
        expected = TWO_PERCENT if point > 1.0 else turned
        assert (point, low, high, p) == pytest.approx(expected, rel=1e-15), name


def test_verdicts_on_exact_ratios_are_certain(exact: Answer) -> None:
    every = [
        *((one.a_name, one.verdict) for one in exact.comparisons),
        *((one.a_name, one.verdict) for one in HOSTS.of(exact).comparisons),
        *((one.a_name, one.verdict) for one in SUITES.of(exact)),
    ]
    verdicts = {name: {verdict for other, verdict in every if other == name} for name, _ in every}
    assert set(verdicts) == {"jdk-21 g1", "jdk-21 z"}
    for name, expected in (("jdk-21 g1", ("yes", "yes")), ("jdk-21 z", ("no", "no"))):
        (verdict,) = verdicts[name]
        assert (verdict.significant, verdict.practical) == expected


def test_equal_counts_are_exactly_equal_on_all_hosts_and_benchmarks(exact: Answer) -> None:
    found = [one for one in HOSTS.of(exact).comparisons if "z" in one.a_name]
    assert {numbers(one.ratio, one.p) for one in found} == {EQUAL}
    assert {one.p_holm for one in found if len(one.hosts) > 1} == {1.0}
    assert {numbers(one.these, one.p) for one in SUITES.of(exact) if "z" in one.a_name} == {EQUAL}


def test_platforms_have_exact_ratios_for_these_hosts_alone(exact: Answer) -> None:
    found = PLATFORMS.of(exact)
    assert len(found.ratios) == 6
    assert {numbers(one.these, one.p) for one in found.ratios} == {(1.1, 1.1, 1.1, 0.0)}
    assert {one.verdict.practical for one in found.ratios} == {"yes"}
    assert all(one.p_holm == 0.0 for one in found.ratios)
    # One Arm host says nothing of others.
    assert all(math.isnan(one.like_these.low) for one in found.ratios)
    assert len(found.means) == 3
    for mean in found.means:
        assert mean.these.is_exact
        assert mean.these.point == pytest.approx(1.1, rel=1e-15)
        assert mean.verdict.practical == "yes"
    pairs = [pair for one in found.all_pairs for pair in one.pairs]
    assert len(pairs) == 9
    for pair in pairs:
        assert pair.ratio.is_exact
        assert (max(pair.ratio.point, 1 / pair.ratio.point), pair.p) == pytest.approx((1.1, 0.0), rel=1e-15)


def test_similar_benchmarks_and_hosts_stay_undefined(tmp_path: Path) -> None:
    found = answer(tmp_path, random_hosts=True)
    pooled = [one for one in HOSTS.of(found).comparisons if len(one.hosts) > 1]
    assert pooled
    for one in pooled:
        assert math.isnan(one.ratio.low)
        assert one.ratio.reason
    for suite in SUITES.of(found):
        assert math.isnan(suite.like_these.low)
        assert suite.like_these.reason


def test_hosts_with_different_exact_ratios_have_an_exact_mean_and_depend_on_the_host(
    tmp_path: Path, golden: Golden
) -> None:
    program = "apps/ecj:small"
    changes = {("ryzen", program, "g1"): [1040] * ROUNDS}
    found = answer(tmp_path, changes)
    (one,) = [
        c
        for c in HOSTS.of(found).comparisons
        if (c.place.platform, c.place.benchmark) == ("x86", program) and "g1" in c.a_name
    ]
    assert one.ratio.is_exact
    assert one.ratio.point == pytest.approx(math.sqrt(1.02 * 1.04), rel=1e-15)
    assert (one.p, one.interaction.p) == (0.0, 0.0)
    golden("dependence", one.words)


def test_a_host_that_differs_on_one_side_of_theta_leaves_the_verdict_open(tmp_path: Path) -> None:
    program = "apps/ecj:small"
    found = answer(tmp_path, {("ryzen", program, "g1"): [1005] * ROUNDS})
    (one,) = [
        c
        for c in HOSTS.of(found).comparisons
        if (c.place.platform, c.place.benchmark) == ("x86", program) and "g1" in c.a_name
    ]
    assert one.ratio.point == pytest.approx(math.sqrt(1.02 * 1.005), rel=1e-15)
    assert (one.verdict.significant, one.verdict.practical) == ("yes", "open")


def test_a_benchmark_that_varies_has_all_the_variance_of_a_mean(tmp_path: Path) -> None:
    counts = [3060, 3070, 3050, 3066, 3054]
    found = answer(tmp_path, {("xeon", "apps/h2:small", "g1"): counts})
    (suite,) = [one for one in SUITES.of(found) if one.host == "xeon" and "g1" in one.a_name]
    by_name = {one.benchmark: one.ratio for one in suite.members}
    steady, varied = by_name["apps/ecj:small"], by_name["apps/h2:small"]
    assert steady.is_exact
    assert not varied.is_exact
    # The mean of two logarithms of which one has no error: half its error, by the same t with 4 degrees of freedom.
    middle = (math.log(1.02) + math.log(varied.point)) / 2
    half = (math.log(varied.high) - math.log(varied.low)) / 4
    assert not suite.these.is_exact
    assert (suite.these.point, suite.these.low, suite.these.high) == pytest.approx(
        (math.exp(middle), math.exp(middle - half), math.exp(middle + half)), rel=1e-12
    )


def test_times_without_variance_stay_undefined_everywhere(tmp_path: Path) -> None:
    found = answer(tmp_path, unit="ms")
    parts = g1_ratios(found)
    for name, ratios in parts.items():
        assert ratios, name
        assert all(math.isnan(low) and math.isnan(p) for _, low, _, p in ratios), name
    assert all(math.isnan(one.these.low) for one in PLATFORMS.of(found).ratios)
    assert all(math.isnan(one.these.low) for one in PLATFORMS.of(found).means)


def test_families_by_the_paper_are_exact_even_beside_one_that_varies(tmp_path: Path) -> None:
    varied = {("xeon", "apps/ecj:small", "z"): [1000, 1010, 990, 1004, 996]}
    found = answer(tmp_path, varied, method="georges2007")
    for family in found.families:
        pairs = {frozenset((pair.a_name, pair.b_name)): pair for pair in family.pairs}
        own = pairs[frozenset(("serial", "g1"))]
        point = max(own.ratio.point, 1 / own.ratio.point)
        assert own.ratio.is_exact
        assert point == pytest.approx(1.02, rel=1e-15)
        assert (own.p, own.verdict.practical) == (0.0, "yes")
        other = pairs[frozenset(("serial", "z"))].ratio
        noisy = (family.place.host, family.place.benchmark) == ("xeon", "apps/ecj:small")
        assert other.is_exact != noisy
        assert not math.isnan(other.low)
        assert family.q < 0.05


def test_documents_rows_and_points_carry_the_exact_ratios(exact: Answer) -> None:
    document = json.loads(json.dumps(document_of(exact), allow_nan=False))
    pooled = document["over_hosts"]["comparisons"]
    assert {one["ratio"]["method"] for one in pooled if len(one["hosts"]) > 1} == {"fixed-hosts, no variance"}
    assert {one["ratio"]["reason"] for one in pooled} == {""}
    rows = list(rows_of(exact))
    kinds = {"comparison", "simultaneous", "pair", "hosts", "suite", "suite-pair"}
    kinds |= {"platform", "platform-pair", "platform-mean", "platform-mean-pair"}
    assert kinds < {row["kind"] for row in rows}
    for row in rows:
        if row["kind"] in kinds:
            assert row["low"] == row["high"] == row["value"], row["kind"]
            expected = float(row["value"] == 1.0)
            assert row.get("p", expected) == expected, row["kind"]
    points = [point for point in estimate_points(exact, START_NS) if "ratio" in point.tags]
    found = [point for point in points if str(point.fields["method"]).endswith(", no variance")]
    kinds = {
        "ratio",
        "platform",
        "platform-pair",
        "platform-rank",
        "platform-drift",
        "suite-pair",
        "suite-rank",
    }
    assert {point.tags[-2] for point in found} == kinds
    for point in found:
        assert point.fields["low"] == point.fields["high"] == point.fields["point"]
    # Baselines and the best of rankings, and hosts and benchmarks like these.
    assert all(point.fields["reason"] for point in points if point not in found)


def test_pages_say_exact(exact: Answer) -> None:
    page = render(exact)
    assert "1.020 exact" in page
    assert "1.100 exact" in page


def test_the_sentences_say_exactly(exact: Answer, golden: Golden) -> None:
    suites = [one.words for one in SUITES.of(exact) if one.host == "xeon"]
    pooled = [one.words for one in HOSTS.of(exact).comparisons if one.place.platform == "x86"]
    golden("suites", "\n".join(suites))
    golden("hosts", "\n".join(pooled))
    golden("leaders", "\n".join(one.words for one in HOSTS.of(exact).leaders))
    golden("platforms", "\n".join(exact.findings["platforms"]))


def history(path: Path, counts: Sequence[float], unit: str = "count") -> History:
    """Return the history of a program that reports one count in all invocations of a day."""
    one = cell("g1", metric=METRIC)
    folders = []
    for day, count in enumerate(counts):
        records = [
            record(
                one, r, [[0, METRIC, float(count), unit, None, None]],
                started=START_NS + day * DAY_NS + 10 * r * 10**9,
            )
            for r in range(ROUNDS)
        ]  # fmt: skip
        folders.append(write_experiment(path / f"day-{day}", [one], records, ROUNDS, method="fixed"))
    return history_of(folders)


@pytest.mark.parametrize("counts", [[1000, 1020], [1000, 1000, 1020], [1000] * 4 + [1020] * 3])
def test_a_history_of_counts_has_exact_shifts(tmp_path: Path, counts: list[float], golden: Golden) -> None:
    found = history(tmp_path, counts)
    ((shift,),) = (one.shifts for one in found.series)
    assert (shift.since, numbers(shift.ratio, shift.p)) == (counts.index(1020), TWO_PERCENT)
    golden(f"shift-of-{len(counts)}", shift.words)
    times = history(tmp_path / "times", counts, "ms")
    assert times.series[0].shifts == ()


def test_a_history_of_equal_counts_has_no_shift(tmp_path: Path, golden: Golden) -> None:
    found = history(tmp_path, [1000, 1000])
    assert found.series[0].shifts == ()
    golden("no-shift", found.sentences[0])
