"""Platforms and hosts as alternatives: ratios of independent samples, what they hold for, means, and the times of measurement."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from helpers.fleet_experiment import HOSTS, Fleet, write_fleet
from helpers.golden import Golden
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import COLUMNS, document_of, rows_of
from regatta.answers.spine.parts import Place
from regatta.answers.spine.verdicts import Verdict
from regatta.answers.topics.platforms.compute import PlatformRatio, _change, _means, _Measured, rankings
from regatta.answers.topics.platforms.topic import PLATFORMS
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Heap
from regatta.stats.all_pairs import simultaneous
from regatta.stats.hosts import platform_difference, pool_hosts
from regatta.stats.multiplicity import holm

TWO_EACH = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8), "graviton": ("arm", 1.3), "altra": ("arm", 1.4)}


def fleet(path: Path, **changes: object) -> Path:
    given = {"collectors": ("serial", "g1"), "compare": ("collector", "platform"), **changes}
    return write_fleet(path / "made-up", Fleet(**given))  # type: ignore[arg-type]


def test_each_benchmark_has_the_ratio_of_the_platforms_for_these_hosts(tmp_path: Path) -> None:
    found = PLATFORMS.of(answer_experiment(fleet(tmp_path, baseline={"platform": "x86"})))
    assert (found.by, dict(found.hosts)) == ("platform", {"arm": ("graviton",), "x86": ("ryzen", "xeon")})
    assert len(found.ratios) == 6
    expected = 1.3 / (1.0 * 0.8) ** 0.5
    for one in found.ratios:
        assert (one.a, one.b, set(one.hosts_b)) == ("arm", "x86", {"ryzen", "xeon"})
        assert one.these.low < expected < one.these.high
        assert one.these.high / one.these.low < 1.05
        # One Arm host says nothing of others.
        assert math.isnan(one.like_these.low)
        assert one.verdict.practical == "yes"


def test_with_several_hosts_on_each_side_their_variation_is_part_of_the_wider_statement(
    tmp_path: Path,
    golden: Golden,
) -> None:
    answer = answer_experiment(fleet(tmp_path, hosts=TWO_EACH, baseline={"platform": "x86"}))
    found = PLATFORMS.of(answer)
    for one in found.ratios:
        assert one.like_these.low < one.these.low < one.these.high < one.like_these.high
    (mean,) = [one for one in found.means if one.place.collector == "g1"]
    assert (mean.benchmarks, mean.these.n) == (("apps/ecj:small", "apps/h2:small"), 2)
    golden("mean-over-two-hosts-each", next(one for one in answer.headline if "jdk-21 g1" in one))
    assert mean.similar_hosts.low < 1.0 < mean.these.low
    assert any("; similar benchmarks: " in one for one in answer.findings["platforms"])
    assert any("similar hosts: " in one and "not significant" in one for one in answer.findings["platforms"])


def test_the_hosts_of_the_only_platform_are_compared(tmp_path: Path) -> None:
    hosts = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8)}
    answer = answer_experiment(fleet(tmp_path, hosts=hosts, baseline={}))
    found = PLATFORMS.of(answer)
    assert found.by == "host"
    assert {(one.a, one.b) for one in found.ratios} == {("xeon", "ryzen")}
    assert not any("similar hosts" in one for one in answer.findings["platforms"])


def test_a_host_with_a_single_value_is_not_counted(tmp_path: Path, golden: Golden) -> None:
    answer = answer_experiment(
        fleet(tmp_path, hosts=TWO_EACH, baseline={"platform": "x86"}, recorded={"ryzen": 1})
    )
    found = PLATFORMS.of(answer)
    assert {tuple(one.hosts_b) for one in found.ratios} == {("xeon",)}
    assert {one.hosts_b for one in found.means} == {("xeon",)}
    golden("mean-without-a-host", next(one for one in answer.headline if "jdk-21 g1" in one))
    (reason,) = {one.like_these.reason for one in found.ratios}
    golden("one-host-on-a-side", reason)


def test_the_times_of_measurement_and_the_drift_are_stated(tmp_path: Path, golden: Golden) -> None:
    answer = answer_experiment(fleet(tmp_path))
    by_name = {one.platform: one for one in PLATFORMS.of(answer).times}
    for one in by_name.values():
        assert 0 < one.first_utc_ns < one.last_utc_ns
        assert one.drift.low < 1.0 < one.drift.high
    (arm,) = [one for one in answer.findings["platforms"] if one.startswith("arm: measured from ")]
    golden("times-of-measurement", arm)


def test_the_first_sentences_name_a_drift_that_is_part_of_the_ratio(tmp_path: Path, golden: Golden) -> None:
    one = {
        "primitives": {},
        "programs": ("apps/h2:small",),
        "collectors": ("g1",),
        "baseline": {"platform": "x86"},
    }
    still = answer_experiment(fleet(tmp_path / "still", **one))
    assert "drift" not in still.headline[0]
    for number, programs in enumerate((("apps/h2:small",), ("apps/h2:small", "apps/ecj:small"))):
        folder = fleet(tmp_path / str(number), **{**one, "programs": programs}, drift={"graviton": 0.02})
        answer = answer_experiment(folder)
        (times,) = [one for one in PLATFORMS.of(answer).times if one.platform == "arm"]
        assert times.drift.low > 1.0
        golden(f"drift-with-{len(programs)}-programs", answer.headline[0])
        assert "drift of x86" not in answer.headline[0]


def test_platforms_are_ranked_together_though_a_heap_differs_in_size(tmp_path: Path) -> None:
    hosts = {**HOSTS, "visionfive": ("riscv", 5.0)}
    found = PLATFORMS.of(answer_experiment(fleet(tmp_path, hosts=hosts, baseline={"platform": "x86"})))
    riscv, arm = (
        next(one for one in found.means if one.a == name and one.place.collector == "g1")
        for name in ("riscv", "arm")
    )
    arm = replace(arm, place=replace(arm.place, heap=arm.place.heap.asked))
    assert rankings([riscv, arm]) == [[(1, None), (2, arm), (3, riscv)]]
    higher = [replace(one, better="higher") for one in (arm, riscv)]
    assert rankings(higher) == [[(1, higher[1]), (2, higher[0]), (3, None)]]
    # Means over other benchmarks have ranks of their own.
    fewer = replace(riscv, benchmarks=riscv.benchmarks[:1])
    assert rankings([fewer, arm]) == [[(1, None), (2, fewer)], [(1, None), (2, arm)]]


THREE = {**HOSTS, "visionfive": ("riscv", 1.302)}


def test_all_pairs_of_three_platforms_have_simultaneous_intervals_and_leaders(
    tmp_path: Path, golden: Golden
) -> None:
    folder = fleet(tmp_path, hosts=THREE, baseline={"platform": "x86"}, primitives={}, collectors=("g1",))
    answer = answer_experiment(folder)
    found = PLATFORMS.of(answer)
    mean, *places = found.all_pairs
    assert [len(one.benchmarks) for one in (mean, *places)] == [2, 1, 1]
    assert (mean.names[0], mean.winner, mean.leaders) == ("x86", "x86", ("x86",))
    ecj = next(one for one in places if one.place.benchmark == "apps/ecj:small")
    logs = {
        cell.place.host: np.log([s.value for s in cell.samples])
        for cell in answer.cells
        if cell.place.benchmark == "apps/ecj:small"
    }
    pair = next(one for one in ecj.pairs if {one.a_name, one.b_name} == {"arm", "riscv"})
    single = stats.ttest_ind(logs["graviton"], logs["visionfive"], equal_var=False)
    ends = np.exp(single.confidence_interval(0.95 ** (1 / 3)))
    assert (pair.a_name, pair.ratio.method) == ("arm", "sidak-fixed-hosts")
    assert (pair.ratio.low, pair.ratio.high) == pytest.approx(tuple(ends))
    assert pair.p == pytest.approx(1 - (1 - single.pvalue) ** 3)
    golden("fastest-of-three-platforms", answer.headline[0])
    pairs, ranking = (
        next(table for table in PLATFORMS.tables_of(View(answer)) if table.title == title)
        for title in ("All pairs", "Ranking")
    )
    assert (len(pairs.rows), pairs.detail) == (9, True)
    at = ranking.columns.index("leader")
    assert [row[at] for row in ranking.rows] == ["yes", "", ""]
    document = document_of(answer)["platforms"]
    assert {"names", "pairs", "leaders", "winner", "benchmarks"} <= set(document["all_pairs"][0])
    kinds = [row["kind"] for row in rows_of(answer)]
    assert (kinds.count("platform-pair"), kinds.count("platform-mean-pair")) == (6, 3)


def test_leaders_of_equal_hosts_are_tied_and_machines_are_ranked_for_one_benchmark(
    tmp_path: Path, golden: Golden
) -> None:
    hosts = {"xeon": ("x86", 1.0), "ryzen": ("x86", 1.0), "epyc": ("x86", 1.2)}
    folder = fleet(
        tmp_path, hosts=hosts, baseline={}, primitives={}, collectors=("g1",), programs=("apps/h2:small",)
    )
    answer = answer_experiment(folder)
    found = PLATFORMS.of(answer)
    (one,) = found.all_pairs
    assert (found.means, one.winner, set(one.leaders)) == ((), "", {"xeon", "ryzen"})
    golden("tied-hosts", answer.headline[0])
    ranking = next(table for table in PLATFORMS.tables_of(View(answer)) if table.title == "Ranking")
    host, leader, benchmark = (ranking.columns.index(name) for name in ("host", "leader", "benchmarks"))
    assert [(row[host], row[leader]) for row in ranking.rows][2] == ("epyc", "")
    assert {row[leader] for row in ranking.rows[:2]} == {"yes"}
    assert {row[benchmark] for row in ranking.rows} == {"apps/h2:small"}


def test_comparisons_of_platforms_are_adjusted_together_with_the_others(tmp_path: Path) -> None:
    answer = answer_experiment(fleet(tmp_path, hosts=THREE))
    ratios = PLATFORMS.of(answer).ratios
    expected = holm([one.p for one in (*answer.comparisons, *ratios)])
    found = [one.p_holm for one in (*answer.comparisons, *ratios)]
    np.testing.assert_allclose(found, expected)
    paper = answer_experiment(fleet(tmp_path / "paper", hosts=THREE), method="georges2007")
    assert all(math.isnan(one.p_holm) for one in PLATFORMS.of(paper).ratios)


def test_pairs_of_platforms_keep_the_error_of_the_family() -> None:
    """1,000 experiments without any difference on four hosts, one of them noisy; the standard error of 0.05 is 0.007."""
    rng = np.random.default_rng(15)
    shown = 0
    for logs in rng.normal(0, 1, (1_000, 4, 10)) * np.array([0.1, 0.01, 0.01, 0.01])[:, None]:
        pairs = [
            simultaneous(platform_difference([logs[i]], [logs[j]], 0.95).ratio, 6)
            for i, j in combinations(range(4), 2)
        ]
        shown += min(pair.p for pair in pairs) < 0.05
    assert shown <= 70


def test_platforms_are_compared_on_request_alone(tmp_path: Path) -> None:
    folder = fleet(tmp_path, compare=("collector",))
    answer = answer_experiment(folder)
    assert PLATFORMS.of(answer) == PLATFORMS.empty
    assert "platforms" not in answer.findings or not answer.findings["platforms"]
    asked = answer_experiment(folder, baseline={"platform": "arm"})
    assert {(one.a, one.b) for one in PLATFORMS.of(asked).ratios} == {("x86", "arm")}
    with pytest.raises(SpecError, match=r"one of arm, x86"):
        answer_experiment(folder, baseline={"platform": "riscv"})


def test_a_platform_that_lacks_a_cell_or_is_not_measured_is_left_out_there(tmp_path: Path) -> None:
    lacking = PLATFORMS.of(answer_experiment(fleet(tmp_path, lacking={"arm": ("g1",)})))
    assert {one.place.collector for one in lacking.ratios} == {"", "serial"}
    nothing = PLATFORMS.of(answer_experiment(fleet(tmp_path / "b", recorded={"graviton": 0})))
    assert nothing.ratios == ()


def test_documents_and_rows_have_the_ratios(tmp_path: Path) -> None:
    answer = answer_experiment(fleet(tmp_path, hosts={**HOSTS}))
    document = json.loads(json.dumps(document_of(answer), allow_nan=False))["platforms"]
    assert document["by"] == "platform"
    first = document["ratios"][0]
    assert {"a", "b", "benchmark", "collector", "these", "like_these", "p"} <= set(first)
    rows = [row for row in rows_of(answer) if row["kind"] in ("platform", "platform-mean")]
    assert len(rows) == len(document["ratios"]) + len(document["means"])
    assert all(set(row) <= set(COLUMNS) for row in rows)


def test_a_baseline_without_records_is_not_replaced(tmp_path: Path, golden: Golden) -> None:
    hosts = {**HOSTS, "visionfive": ("riscv", 3.0)}
    answer = answer_experiment(
        fleet(tmp_path, hosts=hosts, baseline={"platform": "arm"}, recorded={"graviton": 0})
    )
    found = PLATFORMS.of(answer)
    assert (found.ratios, found.missing) == ((), "arm")
    golden("baseline-without-records", answer.headline[0])


def test_the_drift_of_conditions_that_all_series_share_covers_none_as_often_as_it_says(
    tmp_path: Path,
) -> None:
    """Rounds vary by 2 %, series by 0.2 %: each host has 20 rounds, not 20 times the number of its series."""
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(300):
        rounds = np.exp(rng.normal(0, 0.02, 20))
        many = [
            SimpleNamespace(
                values=rounds * np.exp(rng.normal(0, 0.002, 20)),
                samples=[SimpleNamespace(round=r) for r in range(20)],
                unit="ns",
            )
            for _ in range(12)
        ]
        interval = pool_hosts([_change(many)]).contrast.interval  # type: ignore[arg-type]
        missed += not interval.low <= 0.0 <= interval.high
    assert 3 <= missed <= 30


CONTEXT: Any = SimpleNamespace(
    facts=SimpleNamespace(level=0.95, theta_percent=1.0), across=SimpleNamespace(hosts=("arm", "x86"))
)


def rounds_of(logs: np.ndarray) -> Any:
    """A series with one value per round."""
    values = np.exp(logs)
    samples = [SimpleNamespace(round=r, value=value) for r, value in enumerate(values.tolist())]
    return SimpleNamespace(values=values, samples=samples, unit="ns")


def measured(benchmark: str, a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> _Measured:
    """The ratio of one benchmark on host -> logarithms by round."""
    found = platform_difference(list(a.values()), list(b.values()))
    these = found.these.interval.mapped(math.exp)
    place = Place("", "", benchmark, "native", "", "none", Heap())
    means = ({host: float(np.exp(own.mean())) for host, own in side.items()} for side in (a, b))
    ratio = PlatformRatio(
        "arm", "x86", *means, place, benchmark, "elapsed", "ns", "lower", {}, these, found.these.p, these, Verdict("yes", "yes"),
        found.these.df,
    )  # fmt: skip
    return _Measured(ratio, *({host: rounds_of(own) for host, own in side.items()} for side in (a, b)))


def test_a_mean_covers_the_truth_though_benchmarks_of_a_round_share_its_conditions() -> None:
    """Rounds vary by 2 %, benchmarks by 0.2 %: a host has 20 rounds, not 20 times the number of its benchmarks."""
    rng = np.random.default_rng(11)
    these = like = 0
    for _ in range(250):
        conditions = [rng.normal(0, 0.02, 20) for _ in range(2)]
        own = [[side + rng.normal(0, 0.002, 20) for side in conditions] for _ in range(8)]
        (mean,) = _means(
            [measured(f"s/{i}:d", {"a1": a}, {"b1": b}) for i, (a, b) in enumerate(own)], CONTEXT
        )
        these += mean.these.low <= 1.0 <= mean.these.high
        like += mean.like_these.low <= 1.0 <= mean.like_these.high
    # Four standard errors below 0.95; independent benchmarks would give 0.45.
    assert these >= 224
    assert like >= 224


def test_a_mean_uses_the_rounds_that_have_all_benchmarks(golden: Golden) -> None:
    rng = np.random.default_rng(12)
    x, y, base = rng.normal(0.1, 0.02, 9), rng.normal(0.3, 0.02, 9), rng.normal(0, 0.02, 9)
    both = [measured("s/x:d", {"a1": x}, {"b1": base}), measured("s/y:d", {"a1": y[:5]}, {"b1": base})]
    (mean,) = _means(both, CONTEXT)
    expected = stats.ttest_ind((x[:5] + y[:5]) / 2, base, equal_var=False)
    ends = np.exp(expected.confidence_interval(0.95))
    assert (mean.these.low, mean.these.high) == pytest.approx(tuple(ends))
    assert (mean.hosts_a, mean.hosts_b) == (("a1",), ("b1",))
    # Rounds 0 to 3 have one benchmark, rounds 4 to 8 the other.
    apart = replace(both[0], a={"a1": SimpleNamespace(samples=both[0].a["a1"].samples[5:])})
    (without,) = _means([apart, both[1]], CONTEXT)
    assert math.isnan(without.these.low)
    golden("no-round-with-all-benchmarks", without.these.reason)
    assert without.hosts_a == ()


def test_benchmarks_with_several_settings_are_named_and_left_out_of_means(golden: Golden) -> None:
    rng = np.random.default_rng(13)

    def ratio(
        benchmark: str, a: tuple[str, ...] = ("a1", "a2"), b: tuple[str, ...] = ("b1", "b2")
    ) -> _Measured:
        sides = ({host: rng.normal(at, 0.02, 10) for host in hosts} for at, hosts in ((0.7, a), (0.0, b)))
        return measured(benchmark, *sides)

    (mean,) = _means([ratio(f"s/{name}:d") for name in ("x", "y", "m", "m")], CONTEXT)
    assert (mean.benchmarks, [label for label, _ in mean.left_out]) == (("s/x:d", "s/y:d"), ["s/m:d"])
    assert mean.similar_hosts.high / mean.similar_hosts.low >= mean.these.high / mean.these.low
    # Values of a parameter are not benchmarks: each has its own mean.
    values = [ratio(f"s/{name}:d n={n}") for name in ("x", "y") for n in (1, 4)]
    assert [(dict(m.parameters), m.benchmarks) for m in _means(values, CONTEXT)] == [
        ({"n": "1"}, ("s/x:d", "s/y:d")), ({"n": "4"}, ("s/x:d", "s/y:d"))
    ]  # fmt: skip
    # A host that lacks a benchmark says nothing of the others.
    (lacking,) = _means([ratio("s/x:d"), ratio("s/y:d", b=("b1",))], CONTEXT)
    golden("host-that-lacks-a-benchmark", lacking.similar_hosts.reason)
    assert lacking.hosts_b == ("b1",)
