"""From journals to answers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import (
    cell,
    describe,
    native,
    record,
    write_experiment,
    write_facts,
    write_journal,
    write_plan,
)
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import COLUMNS, document_of, rows_of
from regatta.answers.spine.result import Answer, CellAnswer
from regatta.host.errors import SpecError, StoreError
from regatta.stats.intervals import mean_interval
from regatta.stats.ratios import paired_log_ratio, welch_log_ratio

SERIAL, G1, PARALLEL = cell("serial"), cell("g1"), cell("parallel")
COLLECTORS = [SERIAL, G1, PARALLEL]
ROUNDS = 12


def times(factors: list[float], rounds: int = ROUNDS, noise: float = 0.005, seed: int = 3) -> np.ndarray:
    """Shape (rounds, alternatives): ns, with a drift that all alternatives of a block share."""
    rng = np.random.default_rng(seed)
    drift = np.exp(rng.normal(0, 0.05, (rounds, 1)))
    return 1e9 * np.array(factors) * drift * np.exp(rng.normal(0, noise, (rounds, len(factors))))


def interleaved(cells: list[dict[str, Any]], table: np.ndarray, **more: Any) -> list[dict[str, Any]]:
    return [
        record(one, r, [float(table[r, i])], position=i, **more)
        for r in range(len(table))
        for i, one in enumerate(cells)
        if not math.isnan(table[r, i])
    ]


def by_collector(answer: Answer) -> dict[str, CellAnswer]:
    return {c.place.collector: c for c in answer.cells}


def test_cells_carry_the_t_interval_of_their_invocations(tmp_path: Path) -> None:
    table = times([1.0, 0.95, 1.1])
    records = interleaved(COLLECTORS, table)
    answer = answer_experiment(write_experiment(tmp_path, COLLECTORS, records, ROUNDS, method="fixed"))
    assert [c.place.collector for c in answer.cells] == ["serial", "g1", "parallel"]
    expected = mean_interval(table[:, 1])
    found = by_collector(answer)["g1"]
    assert (found.estimate.point, found.estimate.low) == pytest.approx(
        (expected.point, expected.low), rel=1e-12
    )
    assert (found.unit, found.planned, found.statuses, found.estimate.n) == (
        "ns",
        ROUNDS,
        {"ok": ROUNDS},
        ROUNDS,
    )
    assert [s.round for s in found.samples] == list(range(ROUNDS))
    assert (answer.planned, answer.recorded, answer.warnings) == (36, 36, ())
    assert answer.runtimes == {"jdk-21": "21.0.2"}


def test_the_baseline_is_paired_by_block(tmp_path: Path, golden: Golden) -> None:
    table = times([1.0, 0.95, 1.1])
    write_experiment(
        tmp_path, COLLECTORS, interleaved(COLLECTORS, table), ROUNDS, baseline={"collector": "parallel"}
    )
    answer = answer_experiment(tmp_path)
    assert [(c.a, c.b) for c in answer.comparisons] == [
        (SERIAL["cell_id"], PARALLEL["cell_id"]),
        (G1["cell_id"], PARALLEL["cell_id"]),
    ]
    expected = paired_log_ratio(table[:, 1], table[:, 2])
    found = answer.comparisons[1]
    assert found.ratio.method == "paired-log-t"
    assert found.ratio.low == pytest.approx(expected.interval.low, rel=1e-12)
    assert found.p == pytest.approx(expected.p)
    assert found.a_name == "jdk-21 g1"
    golden("paired-with-the-baseline", found.words)


def test_without_a_baseline_the_first_listed_is_it_and_runtimes_are_compared_too(tmp_path: Path) -> None:
    newer = [cell("serial", runtime="jdk-25"), cell("g1", runtime="jdk-25")]
    cells = [SERIAL, G1, *newer]
    write_experiment(tmp_path, cells, interleaved(cells, times([1.0, 0.9, 0.8, 0.7])), ROUNDS)
    answer = answer_experiment(tmp_path)
    assert [(c.a_name, c.b_name) for c in answer.comparisons] == [
        ("jdk-21 g1", "jdk-21 serial"),
        ("jdk-25 serial", "jdk-21 serial"),
        ("jdk-25 g1", "jdk-25 serial"),
        ("jdk-25 g1", "jdk-21 g1"),
    ]
    assert "faster than jdk-21 (n" in answer.comparisons[3].words
    assert answer.comparisons[0].words.count("jdk-21") == 1
    both = answer_experiment(tmp_path, {"runtime": "jdk-21", "collector": "serial"})
    assert [c.a_name for c in both.comparisons] == ["jdk-21 g1", "jdk-25 serial", "jdk-25 g1"]
    assert {c.b_name for c in both.comparisons} == {"jdk-21 serial"}
    assert len(answer.families) == 2


def test_an_unknown_baseline_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    write_experiment(tmp_path, COLLECTORS, [], 1)
    with pytest.raises(SpecError, match="collector=serial"):
        answer_experiment(tmp_path, {"collector": "seral"})


def test_a_family_names_the_winner_with_its_lead(tmp_path: Path, golden: Golden) -> None:
    answer = answer_experiment(
        write_experiment(tmp_path, COLLECTORS, interleaved(COLLECTORS, times([1.0, 0.9, 1.2])), ROUNDS)
    )
    (family,) = answer.families
    assert family.method == "block-anova+sidak"
    assert (family.df_between, family.df_error) == (2, 22)
    assert family.p < 1e-6
    assert [(p.a_name, p.b_name) for p in family.pairs] == [
        ("serial", "g1"),
        ("serial", "parallel"),
        ("g1", "parallel"),
    ]
    assert answer.headline == (family.words,)
    golden("winner-with-its-lead", family.words)


def test_what_cannot_be_told_apart_is_not_called_equal(tmp_path: Path, golden: Golden) -> None:
    table = times([1.0, 1.0, 1.5], noise=0.02, seed=4)
    answer = answer_experiment(write_experiment(tmp_path, COLLECTORS, interleaved(COLLECTORS, table), ROUNDS))
    golden("tied-leaders", answer.families[0].words)
    golden("tied-pair", answer.comparisons[0].words)
    pair = answer_experiment(tmp_path).comparisons[0].ratio
    bound = float(answer.comparisons[0].words.split("likely at most ")[1].split(" ")[0])
    assert bound >= 100 * max(abs(pair.low - 1), abs(pair.high - 1))


def test_runtimes_and_modifiers_are_ranked_like_collectors(tmp_path: Path) -> None:
    """Four JVMs among each other, as in section 3.4 of Georges et al. (2007), on what collectors are tested with."""
    table = times([1.0, 0.9, 1.2, 1.1])
    named = [{"runtime": name} for name in ("jdk-a", "jdk-b", "jdk-c", "jdk-d")]
    sets = [{"modifiers": name} for name in ("none", "x", "y", "z")]
    collectors = [{"collector": name} for name in ("serial", "parallel", "g1", "z")]
    found = {}
    for factor, alternatives in (("runtime", named), ("modifiers", sets), ("collector", collectors)):
        cells = [cell(**{"collector": "g1", **one}) for one in alternatives]
        records = interleaved(cells, table)
        answer = answer_experiment(write_experiment(tmp_path / factor, cells, records, ROUNDS))
        (family,) = answer.families
        assert family.factor == factor
        assert len(family.pairs) == 6
        assert getattr(family.place, factor) == ""
        assert answer.headline == (family.words,)
        found[factor] = [(pair.ratio.low, pair.ratio.high, pair.p) for pair in family.pairs]
    assert found["runtime"] == found["collector"] == found["modifiers"]


def test_with_several_factors_each_has_families_and_collectors_lead(tmp_path: Path) -> None:
    cells = [cell(name, runtime=f"jdk-{n}") for n in (1, 2, 3) for name in ("serial", "g1")]
    table = times([1.0, 0.9, 1.1, 1.0, 1.2, 1.3])
    answer = answer_experiment(write_experiment(tmp_path, cells, interleaved(cells, table), ROUNDS))
    assert [(f.factor, f.place.runtime, f.place.collector) for f in answer.families] == [
        ("collector", "jdk-1", ""),
        ("collector", "jdk-2", ""),
        ("collector", "jdk-3", ""),
        ("runtime", "", "serial"),
        ("runtime", "", "g1"),
    ]
    assert answer.headline == tuple(f.words for f in answer.families if f.factor == "collector")


def test_a_rate_is_better_when_it_is_higher(tmp_path: Path, golden: Golden) -> None:
    cells = [cell(name, metric="throughput", better="higher") for name in ("serial", "g1")]
    table = times([1.0, 1.2])
    records = [
        record(one, r, [[0, "throughput", float(table[r, i]), "ops/s", None, None]], position=i)
        for r in range(ROUNDS)
        for i, one in enumerate(cells)
    ]
    answer = answer_experiment(write_experiment(tmp_path, cells, records, ROUNDS))
    golden("rate", answer.headline[0])
    assert " faster than serial" in answer.comparisons[0].words
    assert answer.comparisons[0].ratio.point == pytest.approx(1.2, rel=0.01)


def test_other_plans_are_not_paired_and_that_is_said(tmp_path: Path, golden: Golden) -> None:
    table = times([1.0, 0.9])
    records = [record(SERIAL, r, [float(table[r, 0])], plan_id="old") for r in range(ROUNDS)]
    records += [record(G1, r, [float(table[r, 1])], plan_id="new") for r in range(ROUNDS)]
    answer = answer_experiment(write_experiment(tmp_path, [SERIAL, G1], records, ROUNDS))
    (found,) = answer.comparisons
    expected = welch_log_ratio(table[:, 1], table[:, 0])
    assert found.ratio.method == "welch-log"
    assert found.ratio.high == pytest.approx(expected.interval.high, rel=1e-12)
    assert answer.families[0].method == "anova+sidak"
    golden("different-plans", "\n".join(answer.warnings))


def test_back_to_back_is_not_taken_for_blocks(tmp_path: Path) -> None:
    records = interleaved([SERIAL, G1], times([1.0, 0.9]), order="back-to-back")
    answer = answer_experiment(write_experiment(tmp_path, [SERIAL, G1], records, ROUNDS))
    assert answer.comparisons[0].ratio.method == "welch-log"
    assert any("measured back to back" in w for w in answer.warnings)


def test_two_plans_pair_within_each(tmp_path: Path) -> None:
    table = times([1.0, 0.9], rounds=8)
    records = [
        record(one, r, [float(table[r, i])], position=i, plan_id="old" if r < 4 else "new", block=r)
        for r in range(8)
        for i, one in enumerate([SERIAL, G1])
    ]
    answer = answer_experiment(write_experiment(tmp_path, [SERIAL, G1], records, 8))
    assert (answer.comparisons[0].ratio.method, answer.comparisons[0].ratio.n) == ("paired-log-t", 8)


def test_missing_cells_go_by_least_squares(tmp_path: Path, golden: Golden) -> None:
    table = times([1.0, 0.9, 1.2])
    table[3, 1] = table[7, 0] = math.nan
    answer = answer_experiment(write_experiment(tmp_path, COLLECTORS, interleaved(COLLECTORS, table), ROUNDS))
    (family,) = answer.families
    assert family.method == "block-anova-ls+sidak"
    assert family.df_error == 20
    assert answer.comparisons[0].ratio.n == 10
    golden("missing-invocations", "\n".join(answer.warnings))


def test_failed_invocations_are_apart_and_in_no_mean(tmp_path: Path, golden: Golden) -> None:
    records = interleaved([SERIAL, G1], times([1.0, 0.9]))
    records += [record(PARALLEL, r, status="oom", reason="heap", position=2) for r in range(ROUNDS)]
    records[1] = record(G1, 0, [5.0], status="failed", reason="wrong output", position=1)
    answer = answer_experiment(write_experiment(tmp_path, COLLECTORS, records, ROUNDS))
    failed = by_collector(answer)["parallel"]
    assert math.isnan(failed.estimate.point)
    golden("cell-without-a-valid-invocation", failed.estimate.reason)
    assert (failed.unit, failed.statuses) == ("ns", {"oom": 12})
    assert [(f.status, f.reason, f.count) for f in answer.failures] == [
        ("failed", "wrong output", 1),
        ("oom", "heap", 12),
    ]
    assert by_collector(answer)["g1"].estimate.n == 11
    golden("alternative-without-a-valid-invocation", answer.comparisons[1].ratio.reason)
    assert answer.families[0].words.endswith("; no valid invocation: parallel")
    assert [(p.a_name, p.b_name) for p in answer.families[0].pairs] == [("serial", "g1")]


def test_when_everything_failed_nothing_is_a_number(tmp_path: Path, golden: Golden) -> None:
    records = [record(c, r, status="crashed", reason="SIGSEGV") for c in COLLECTORS for r in range(3)]
    answer = answer_experiment(write_experiment(tmp_path, COLLECTORS, records, 3))
    assert all(math.isnan(c.estimate.point) for c in answer.cells)
    assert all(math.isnan(c.ratio.point) and c.ratio.reason for c in answer.comparisons)
    golden("family-without-a-valid-invocation", answer.families[0].reason)
    document = json.loads(json.dumps(document_of(answer), allow_nan=False))
    assert document["cells"][0]["mean"] is None
    assert document["cells"][0]["reason"]


def test_one_invocation_gives_a_point_without_an_interval(tmp_path: Path, golden: Golden) -> None:
    records = interleaved([SERIAL, G1], times([1.0, 0.9], rounds=1))
    answer = answer_experiment(write_experiment(tmp_path, [SERIAL, G1], records, 1))
    estimate = answer.cells[0].estimate
    assert estimate.n == 1
    assert math.isfinite(estimate.point)
    assert math.isnan(estimate.low)
    golden("one-invocation", estimate.reason)
    assert math.isnan(answer.comparisons[0].p)
    assert answer.families[0].reason


def test_nothing_measured_yet_is_an_answer_without_sentences(tmp_path: Path) -> None:
    write_plan(tmp_path, COLLECTORS, 3)
    write_facts(tmp_path)
    answer = answer_experiment(tmp_path)
    assert (answer.headline, answer.planned, answer.recorded) == ((), 9, 0)
    assert {c.estimate.reason for c in answer.cells} == {"not measured yet"}


def test_the_last_attempt_counts_and_perturbed_ones_are_apart(tmp_path: Path, golden: Golden) -> None:
    table = times([1.0, 0.9])
    records = interleaved([SERIAL, G1], table)
    records.append(record(SERIAL, 0, [77.0], attempt=1, position=0))
    records.append(record(G1, 5, [99.0], attempt=1, position=1, status="perturbed", reason="steal 9 > 5"))
    answer = answer_experiment(write_experiment(tmp_path, [SERIAL, G1], records, ROUNDS))
    serial, g1 = answer.cells
    assert serial.samples[0].value == 77.0
    assert serial.estimate.n == ROUNDS
    assert (g1.estimate.n, g1.statuses) == (ROUNDS - 1, {"ok": ROUNDS - 1, "perturbed": 1})
    assert [s.value for s in g1.perturbed] == [99.0]
    assert g1.perturbed[0].perturbed
    assert answer.comparisons[0].ratio.n == ROUNDS - 1
    golden("perturbed", "\n".join(answer.warnings))
    assert not answer.failures


def test_steady_state_is_the_mean_after_warm_up_and_startup_the_first(tmp_path: Path) -> None:
    records = [record(G1, r, [900.0, 500.0, 100.0 + r, 200.0 + r]) for r in range(3)]
    write_experiment(tmp_path, [G1], records, 3, method="fixed", warmup=2)
    assert [s.value for s in answer_experiment(tmp_path).cells[0].samples] == [150.0, 151.0, 152.0]
    write_facts(tmp_path, method="startup")
    assert [s.value for s in answer_experiment(tmp_path).cells[0].samples] == [900.0, 900.0, 900.0]


def test_a_program_measured_from_outside_needs_no_warm_up(tmp_path: Path) -> None:
    gzip = native()
    rows = [
        [0, "elapsed", 5e8, "ns", None, None],
        [0, "user", 0.4, "s", None, None],
        [0, "max_rss", 900, "KiB", None, None],
    ]
    records = [
        record(gzip, r, [[*row[:2], row[2] * (1 + r / 100), *row[3:]] for row in rows]) for r in range(4)
    ]
    answer = answer_experiment(write_experiment(tmp_path, [gzip], records, 4, method="fixed", warmup=3))
    assert [(c.metric, c.estimate.n) for c in answer.cells] == [("elapsed", 4), ("max_rss", 4), ("user", 4)]
    assert not answer.families
    assert not answer.comparisons
    assert answer.headline[0].startswith("gzip: elapsed 50")
    assert answer.headline[0].endswith(" (n = 4 invocations)")


def test_invocations_that_end_in_warm_up_give_no_value_and_are_counted(
    tmp_path: Path, golden: Golden
) -> None:
    records = [record(G1, r, [900.0, 500.0]) for r in range(3)]
    answer = answer_experiment(write_experiment(tmp_path, [G1], records, 3, method="fixed", warmup=2))
    golden("no-value-after-warm-up", "\n".join((answer.cells[0].estimate.reason, *answer.warnings)))


def test_parameters_make_series_in_the_order_of_numbers(tmp_path: Path, golden: Golden) -> None:
    latency = native("lm/lat_mem_rd:default", metric="latency")
    records = [
        record(
            latency,
            r,
            [
                [0, "latency", size / 100 + r, "ns", 10, {"size_bytes": size}]
                for size in (4096, 512, 65536, 8, 16)
            ],
        )
        for r in range(3)
    ]
    answer = answer_experiment(write_experiment(tmp_path, [latency], records, 3))
    assert [c.parameters["size_bytes"] for c in answer.cells] == [8, 16, 512, 4096, 65536]
    golden("settings-of-a-parameter", "\n".join(answer.headline))


def test_heaps_are_compared_by_factor_though_sizes_differ_between_runtimes(tmp_path: Path) -> None:
    cells = [cell("g1"), cell("g1", runtime="jdk-25", heap_mib=72), cell("g1", heap_factor=3.0, heap_mib=96)]
    answer = answer_experiment(
        write_experiment(tmp_path, cells, interleaved(cells, times([1.0, 0.9, 0.8])), ROUNDS)
    )
    assert [(c.a_name, c.b_name, c.place.heap.factor) for c in answer.comparisons] == [
        ("jdk-25 g1", "jdk-21 g1", 2.0)
    ]


def test_cells_that_are_no_longer_planned_are_left_out_and_counted(tmp_path: Path, golden: Golden) -> None:
    write_experiment(tmp_path, [SERIAL], interleaved(COLLECTORS, times([1.0, 0.9, 0.8], rounds=3)), 3)
    answer = answer_experiment(tmp_path)
    assert [c.place.collector for c in answer.cells] == ["serial"]
    golden("no-longer-planned", "\n".join(answer.warnings))
    assert answer.recorded == 3


def test_cells_that_are_no_longer_planned_are_named_as_the_journal_describes_them(tmp_path: Path) -> None:
    write_experiment(tmp_path, [SERIAL], interleaved(COLLECTORS, times([1.0, 0.9, 0.8], rounds=3)), 3)
    before = answer_experiment(tmp_path)
    for described in (COLLECTORS[1:2], COLLECTORS):
        describe(tmp_path, described)
        answer = answer_experiment(tmp_path)
        named = ", ".join(
            f"{label} (3 invocations on alpha)"
            for label in sorted(one["label"] for one in described if one["cell_id"] != SERIAL["cell_id"])
        )
        (warning,) = (one for one in answer.warnings if "2 cells (6 invocations)" in one)
        assert warning.endswith(f": {named}")
        # Nothing else of the answer depends on it.
        assert replace(answer, warnings=before.warnings) == before


def test_hosts_are_answered_apart_even_for_one_cell_id(tmp_path: Path, golden: Golden) -> None:
    for host, factor in (("alpha", 1.0), ("beta", 3.0)):
        write_plan(tmp_path, [SERIAL, G1], ROUNDS, host=host)
        write_journal(tmp_path, interleaved([SERIAL, G1], factor * times([1.0, 0.9]), host=host), host=host)
    write_facts(tmp_path)
    answer = answer_experiment(tmp_path)
    assert [(c.place.host, c.estimate.n) for c in answer.cells] == [
        ("alpha", 12),
        ("alpha", 12),
        ("beta", 12),
        ("beta", 12),
    ]
    assert answer.cells[2].estimate.point == pytest.approx(3 * answer.cells[0].estimate.point)
    assert [f.place.host for f in answer.families] == ["alpha", "beta"]
    # The factor scales all values of a host, so the F of its interaction is rounding error.
    golden("two-hosts", answer.headline[0].partition(" (F(")[0])
    assert len(answer.headline) == 1


def test_values_without_logarithms_are_no_ratio(tmp_path: Path) -> None:
    records = [record(c, r, [0.0 if c is G1 else 5.0 + r]) for c in (SERIAL, G1) for r in range(4)]
    answer = answer_experiment(write_experiment(tmp_path, [SERIAL, G1], records, 4))
    assert "not positive" in answer.comparisons[0].ratio.reason
    assert "not positive" in answer.families[0].reason


def test_impossible_cells_are_told(tmp_path: Path) -> None:
    write_experiment(tmp_path, [SERIAL], [], 1, impossible=[["h2 zgc", "jdk-8 refuses -XX:+UseZGC"]])
    assert answer_experiment(tmp_path).impossible == (("h2 zgc", "jdk-8 refuses -XX:+UseZGC"),)


def test_a_folder_without_a_plan_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"experiment\.json"):
        answer_experiment(tmp_path)


def test_documents_and_rows_hold_what_others_build_on(tmp_path: Path) -> None:
    write_experiment(tmp_path, COLLECTORS, interleaved(COLLECTORS, times([1.0, 0.9, 1.2])), ROUNDS)
    answer = answer_experiment(tmp_path)
    document = json.loads(json.dumps(document_of(answer), allow_nan=False))
    assert {"n", "mean", "low", "high", "unit"} <= set(document["cells"][0])
    assert {"a", "b", "ratio", "low", "high", "p", "method"} <= set(document["comparisons"][0])
    rows = list(rows_of(answer))
    assert [row["kind"] for row in rows] == ["cell"] * 3 + ["comparison"] * 2 + ["simultaneous"] * 2 + [
        "pair"
    ] * 3
    assert all(set(row) <= set(COLUMNS) for row in rows)


def test_a_second_try_long_after_its_block_is_paired_with_nobody(tmp_path: Path) -> None:
    records = interleaved(COLLECTORS, times([1.0, 0.95, 1.1]))
    late = next(r for r in records if r["cell_id"] == G1["cell_id"] and r["round"] == 3)
    late["started_utc_ns"] += 3_600 * 10**9
    answer = answer_experiment(write_experiment(tmp_path, COLLECTORS, records, ROUNDS))
    of_g1 = next(c for c in answer.comparisons if c.a == G1["cell_id"])
    assert of_g1.ratio.n == ROUNDS - 1
    assert by_collector(answer)["g1"].estimate.n == ROUNDS, "its value counts all the same"
    assert any("block" in warning for warning in answer.warnings)
