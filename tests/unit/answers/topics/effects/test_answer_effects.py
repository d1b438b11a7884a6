"""Which factor explains how much over a whole experiment, and at which level the variance is."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.one_at_a_time import variance_levels
from helpers.synthetic_journal import cell, record, write_experiment, write_facts, write_journal, write_plan
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.effects.topic import EFFECTS
from regatta.answers.topics.levels.topic import LEVELS
from regatta.stats.levels import optimal_repetitions
from regatta.stats.manova import block_manova, manova
from regatta.stats.strata import VALUES, strata_anova

BENCHMARKS, COLLECTORS, HEAPS = ("apps/h2:small", "vm/compress:s10"), ("serial", "g1", "z"), (1.5, 3.0)
ROUNDS = 6


def crossing(without: tuple[tuple[int, int, int], ...] = ()) -> list[tuple[int, int, int]]:
    """Benchmark, heap and collector of each cell."""
    every = product(range(len(BENCHMARKS)), range(len(HEAPS)), range(len(COLLECTORS)))
    return [places for places in every if places not in without]


def made(places: list[tuple[int, int, int]], effect: float = 0.05) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Cells, and logs of their values in ns, shape (rounds, cells)."""
    cells = [
        cell(COLLECTORS[c], benchmark=BENCHMARKS[b], heap_factor=HEAPS[h], heap_mib=int(64 * HEAPS[h]))
        for b, h, c in places
    ]
    rng = np.random.default_rng(12)
    means = np.array([20 + 2 * b - 0.1 * h + effect * c * (1 + h) for b, h, c in places])
    return cells, means + rng.normal(0, 0.05, (ROUNDS, len(places)))


def answered(directory: Path, cells: list[dict[str, Any]], logs: np.ndarray, **options: Any) -> Answer:
    records = [
        record(one, r, [float(np.exp(logs[r, i]))], block=i // 3, position=i % 3)
        for r in range(len(logs))
        for i, one in enumerate(cells)
    ]
    return answer_experiment(write_experiment(directory, cells, records, len(logs)), **options)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_the_table_is_that_of_the_logarithms_over_all_factors(tmp_path: Path, kind: int) -> None:
    places = crossing()
    cells, logs = made(places)
    answer = answered(tmp_path, cells, logs, anova_type=kind)
    (table,) = EFFECTS.of(answer).tables
    assert [(name, len(levels)) for name, levels in table.factors] == [
        ("benchmark", 2),
        ("heap", 2),
        ("collector", 3),
    ]
    codes = np.repeat(np.array(places), ROUNDS, axis=0)
    number = np.tile(np.arange(ROUNDS), len(places))
    expected = strata_anova(
        logs.T.ravel(),
        [(name, codes[:, i]) for i, name in enumerate(("benchmark", "heap", "collector"))],
        [("blocks", number * 4 + codes[:, 0] * 2 + codes[:, 1]), ("rounds", number)],
        kind,
    )
    assert (table.kind, table.found.n) == (kind, 72)
    assert [(one.name, one.df_error) for one in table.found.strata] == [
        ("within blocks", 40), ("between blocks", 15)
    ]  # fmt: skip
    for row, one in zip(table.found.rows, expected.rows, strict=True):
        assert (row.source, row.stratum) == (one.source, one.stratum)
        assert row.stratum == ("within blocks" if "collector" in row.source else "between blocks")
        assert (row.ss, row.f, row.p, row.eta2_partial) == pytest.approx(
            (one.ss, one.f, one.p, one.eta2_partial), rel=1e-6
        )
    # By hand: heap against the round-to-round variation of the difference between heaps.
    blocks = logs.reshape(ROUNDS, 2, 2, 3).mean(axis=3)
    difference = (blocks[:, :, 1] - blocks[:, :, 0]).mean(axis=1)
    heap = next(row for row in table.found.rows if row.source == "heap")
    assert heap.f == pytest.approx(ROUNDS * difference.mean() ** 2 / difference.var(ddof=1), rel=1e-6)
    (shown,) = json.loads(json.dumps(document_of(answer), allow_nan=False))["effects"]["tables"]
    assert [one["stratum"] for one in shown["rows"][:3]] == ["between blocks"] * 2 + ["within blocks"]
    assert {"df_error", "df_approx", "df_error_approx", "ms_error", "p"} <= shown["rows"][0].keys()
    assert shown["strata"][0] == {
        "name": "within blocks", "units": 72, "df_error": 40, "ss_error": pytest.approx(expected.strata[0].ss_error)
    }  # fmt: skip
    assert next(t for t in EFFECTS.tables_of(View(answer)) if "type" in t.title).columns[:2] == (
        "source", "stratum"
    )  # fmt: skip


def blocked(effect: float, seed: int, collectors: int = 3, heaps: int = 3) -> tuple[list[Any], np.ndarray]:
    """Cells of one benchmark, and logs of 10 rounds: blocks (one per heap) vary by 3 %, invocations by 1 %."""
    names = ("serial", "parallel", "g1", "z", "shenandoah")[:collectors]
    cells = [cell(c, heap_factor=1.0 + h, heap_mib=64 * (1 + h)) for h in range(heaps) for c in names]
    rng = np.random.default_rng(seed)
    logs = 20 + np.repeat(rng.normal(0, 0.03, (10, heaps)), collectors, axis=1)
    return cells, logs + rng.normal(0, 0.01, logs.shape) + effect * (np.arange(len(cells)) % collectors == 1)


def test_differences_of_blocks_are_no_effect_of_heap_and_hide_none_of_collectors(tmp_path: Path) -> None:
    heap = collector = 0
    for seed in range(12):
        cells, logs = blocked(0.02, seed)
        (table,) = EFFECTS.of(answered(tmp_path / str(seed), cells, logs)).tables
        p = {row.source: row.p for row in table.found.rows}
        heap += p["heap"] < 0.05
        collector += p["collector"] < 0.05
        assert any("significant effects" in w and "collector" in w for w in table.words)
    assert collector == 12
    assert heap <= 3


def test_an_experiment_without_blocks_says_that_values_count_as_independent(tmp_path: Path) -> None:
    cells, logs = blocked(0.0, 1)
    records = [
        record(one, r, [float(np.exp(logs[r, i]))], position=i, order="back-to-back")
        for i, one in enumerate(cells)
        for r in range(10)
    ]
    (table,) = EFFECTS.of(answer_experiment(write_experiment(tmp_path, cells, records, 10))).tables
    assert {row.stratum for row in table.found.rows} == {VALUES}
    assert table.found.n == 90
    assert any("assumes independent values" in w for w in table.words)


def on_hosts(directory: Path, runtime_of: dict[str, str], spread: float = 0.1) -> Answer:
    """Answer of hosts that differ by `spread` and run one runtime each, with two collectors."""
    rng = np.random.default_rng(13)
    for host, runtime in runtime_of.items():
        cells = [cell(c, runtime=runtime) for c in ("serial", "g1")]
        write_plan(directory, cells, 8, host=host, plan_id=host)
        luck = rng.normal(0, spread)
        records = [
            record(
                one, r, [float(np.exp(20 + luck + rng.normal(0, 0.01)))], host=host, plan_id=host, position=i
            )
            for r in range(8)
            for i, one in enumerate(cells)
        ]
        write_journal(directory, records, host=host)
    write_facts(directory, host_facts={host: {} for host in runtime_of})
    return answer_experiment(directory)


def test_a_factor_that_is_constant_on_hosts_is_tested_against_hosts(tmp_path: Path) -> None:
    hosts = {f"h{i}": "jdk-21" if i < 4 else "jdk-25" for i in range(8)}
    (table,) = EFFECTS.of(on_hosts(tmp_path, hosts)).tables
    runtime = next(row for row in table.found.rows if row.source == "runtime")
    assert (runtime.stratum, runtime.df) == ("between hosts", 1)
    assert runtime.df_error == pytest.approx(6)
    assert runtime.p > 0.05
    assert next(row for row in table.found.rows if row.source == "collector").stratum == "within hosts"
    assert any("tested against hosts" in w for w in table.words)


def test_a_factor_with_one_host_per_level_is_not_testable(tmp_path: Path, golden: Golden) -> None:
    (table,) = EFFECTS.of(on_hosts(tmp_path, {"h0": "jdk-21", "h1": "jdk-25"})).tables
    assert [row.source for row in table.found.rows] == ["collector", "host", "collector:host"]
    golden("one-host-per-level", "\n".join(w for w in table.words if "testable" in w))


def test_sentences_say_what_is_explained_and_what_depends_on_what(tmp_path: Path) -> None:
    words = answered(tmp_path, *made(crossing())).findings["effects"]
    (found,) = (w for w in words if w.startswith("elapsed: significant effects (partial η²): benchmark "))
    effects = [part.rsplit(" ", 2)[0] for part in found.partition("): ")[2].split(", ")]
    assert {"collector", "heap × collector"} <= set(effects)
    assert not any("100 %" in w for w in words)


def test_what_does_not_matter_is_only_not_shown(tmp_path: Path, golden: Golden) -> None:
    words = answered(tmp_path, *made(crossing(), effect=0.0)).findings["effects"]
    golden("no-significant-effect", "\n".join(words))


def test_what_missing_combinations_leave_open_is_said(tmp_path: Path) -> None:
    places = crossing(without=((0, 0, 2), (1, 0, 2), (0, 1, 2), (1, 1, 0)))
    cells, logs = made(places)
    answer = answered(tmp_path, cells, logs, anova_type=3)
    (table,) = EFFECTS.of(answer).tables
    assert all(math.isnan(row.f) and row.reason for row in table.found.rows)
    assert any("undefined" in w for w in answer.findings["effects"])


def test_what_would_cost_too_much_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    places = crossing(without=((0, 0, 2),))
    cells, logs = made(places)
    full = EFFECTS.of(answered(tmp_path / "full", cells, logs)).tables[0]
    assert full.order == 3
    monkeypatch.setattr("regatta.answers.topics.effects.compute._DEAREST", 5000.0)
    small = answered(tmp_path / "small", cells, logs)
    assert EFFECTS.of(small).tables[0].order == 1
    words = EFFECTS.of(small).tables[0].words
    golden("interactions-in-the-error", words[-1])
    assert not any(" × " in sentence for sentence in words)
    monkeypatch.setattr("regatta.answers.topics.effects.compute._DEAREST", 0.0)
    none = EFFECTS.of(answered(tmp_path / "none", cells, logs)).tables[0]
    assert "too many combinations" in none.reason
    assert all(math.isnan(row.f) for row in none.found.rows)
    # Equally often measured combinations cost less.
    monkeypatch.setattr("regatta.answers.topics.effects.compute._DEAREST", 5000.0)
    assert EFFECTS.of(answered(tmp_path / "whole", *made(crossing()))).tables[0].order == 3


def test_one_factor_alone_has_no_table(tmp_path: Path) -> None:
    answer = answered(tmp_path, *made([(0, 0, 0), (0, 0, 1), (0, 0, 2)]))
    assert EFFECTS.of(answer).tables == ()
    assert EFFECTS.of(answer).manovas == ()


def test_all_benchmarks_at_once_are_a_manova_over_rounds(tmp_path: Path, golden: Golden) -> None:
    places = crossing()
    cells, logs = made(places)
    answer = answered(tmp_path, cells, logs)
    small, large = EFFECTS.of(answer).manovas
    column = {place: i for i, place in enumerate(places)}
    rows = [[[logs[r, column[b, 1, c]] for b in (0, 1)] for c in range(3)] for r in range(ROUNDS)]
    expected = block_manova(rows)
    assert (large.n, large.groups, len(large.benchmarks)) == (18, COLLECTORS, 2)
    assert large.method == "block-manova"
    assert large.rows[0].found.df_between == 4
    pillai = next(row.found for row in large.rows if row.statistic == "Pillai")
    assert (pillai.value, pillai.f, pillai.p) == pytest.approx(
        (expected.pillai.value, expected.pillai.f, expected.pillai.p), rel=1e-6
    )
    golden("manova", large.words)
    roy = next(row.found for row in large.rows if row.statistic == "Roy")
    assert math.isnan(roy.p)
    assert roy.p_lower_bound == pytest.approx(expected.roy.p_lower_bound, rel=1e-6)
    shown = next(one for one in EFFECTS.tables_of(View(answer)) if "MANOVA" in one.title)
    bounds = [row[shown.columns.index("p")] for row in shown.rows if "Roy" in row]
    assert all(one.startswith("> ") and one.endswith("(lower bound)") for one in bounds)
    document = document_of(answer)["effects"]["manovas"][1]["rows"][3]
    assert (document["p"], document["p_lower_bound"]) == (None, pytest.approx(roy.p_lower_bound))
    assert small.place.heap.factor == 1.5


def test_a_collector_that_failed_on_one_benchmark_has_no_rows(tmp_path: Path, golden: Golden) -> None:
    cells, logs = made(crossing())
    records = [
        record(one, r, status="oom", reason="out of memory", block=i // 3, position=i % 3)
        if (one["collector"], one["benchmark"]) == ("z", BENCHMARKS[0])
        else record(one, r, [float(np.exp(logs[r, i]))], block=i // 3, position=i % 3)
        for r in range(ROUNDS)
        for i, one in enumerate(cells)
    ]
    answer = answer_experiment(write_experiment(tmp_path, cells, records, ROUNDS))
    manovas = EFFECTS.of(answer).manovas
    assert [one.n for one in manovas] == [12, 12]
    golden("manova-without-a-collector", "\n".join(one.words for one in manovas))


def test_levels_without_rounds_in_common_are_a_manova_without_blocks(tmp_path: Path) -> None:
    cells, logs = made([(b, 0, c) for b in (0, 1) for c in (0, 1)])
    records = [
        record(one, r + 10 * (i % 2), [float(np.exp(logs[r, i]))], block=i // 2)
        for i, one in enumerate(cells)
        for r in range(ROUNDS)
    ]
    (found,) = EFFECTS.of(answer_experiment(write_experiment(tmp_path, cells, records, ROUNDS))).manovas
    rows = [[logs[r, c], logs[r, 2 + c]] for c in (0, 1) for r in range(ROUNDS)]
    expected = manova(rows, np.repeat([0, 1], ROUNDS))
    assert found.method == "manova"
    assert found.rows[1].found.f == pytest.approx(expected.pillai.f, rel=1e-6)


def test_factors_of_two_levels_and_crossings_are_tested_over_all_benchmarks(tmp_path: Path) -> None:
    cells = [
        cell(name, runtime=jvm, benchmark=benchmark)
        for benchmark in BENCHMARKS
        for jvm in ("jdk-21", "jdk-25")
        for name in ("serial", "g1")
    ]
    rng = np.random.default_rng(8)
    records = [
        record(one, r, [float(np.exp(20 + rng.normal(0, 0.01)))], block=i // 4, position=i % 4)
        for r in range(ROUNDS)
        for i, one in enumerate(cells)
    ]
    folder = write_experiment(
        tmp_path,
        cells,
        records,
        ROUNDS,
        compare=["collector", "runtime", "runtime*collector", "benchmark*runtime"],
    )
    found = EFFECTS.of(answer_experiment(folder)).manovas
    # Each runtime with the collectors, each collector with the runtimes, and the crossing; benchmarks are the responses.
    assert [(one.factor, len(one.groups)) for one in found] == [
        *[("collector", 2)] * 2, *[("runtime", 2)] * 2, ("runtime*collector", 4)
    ]  # fmt: skip


ITERATIONS, WARMUP = 5, 2


def iterated(
    directory: Path, invocations: int = 8, spread: float = 0.03, hosts: tuple[str, ...] = ("alpha",)
) -> np.ndarray:
    """Shape (hosts, invocations, iterations): ns after warm-up; each invocation lasts 2 s."""
    rng = np.random.default_rng(21)
    shape = (len(hosts), invocations, 1)
    values = 1e8 * np.exp(
        rng.normal(0, spread, shape) + rng.normal(0, 0.01, (*shape[:2], ITERATIONS - WARMUP))
    )
    one = cell("g1")
    for h, host in enumerate(hosts):
        write_plan(directory, [one], invocations, host=host, plan_id=host)
        records = [
            {
                **record(one, r, [9e8, 5e8, *values[h, r].tolist()], host=host, plan_id=host),
                "elapsed_ns": 2_000_000_000,
            }
            for r in range(invocations)
        ]
        write_journal(directory, records, host=host)
    write_facts(directory, method="fixed", warmup=WARMUP)
    return values


def test_the_variance_is_split_between_iterations_and_invocations(tmp_path: Path) -> None:
    values = iterated(tmp_path)
    answer = answer_experiment(tmp_path)
    (found,) = LEVELS.of(answer)
    expected = variance_levels(values[0])
    assert found.counts == (3, 8)
    assert found.s_squared == pytest.approx(expected.s_squared, rel=1e-9)
    assert found.t_squared == pytest.approx(expected.t_squared, rel=1e-9)
    iteration = float(values.mean()) / 1e9
    assert (found.iteration_s, found.invocation_s) == pytest.approx((iteration, 2.0 - 3 * iteration))
    (best,) = optimal_repetitions(expected, (iteration, 2.0 - 3 * iteration))
    assert found.best_iterations == best.count
    (words,) = answer.findings["levels"]
    assert f"most efficient: {best.count:g} iterations per invocation" in words
    variances = [max(0.0, t) for t in found.t_squared]
    by_count = {
        r: (variances[0] / r + variances[1]) * (r * iteration + 2.0 - 3 * iteration) for r in range(1, 100)
    }
    assert found.best_iterations in sorted(by_count, key=by_count.__getitem__)[:2]
    share = by_count[found.best_iterations] / by_count[3]
    assert found.best_time_percent == pytest.approx(100 * share)
    assert (f"{100 * share:.2g} % of the machine time" in words) is (share < 0.95)
    json.dumps(document_of(answer), allow_nan=False)


def test_iterations_of_a_coarse_clock_have_no_variance_to_split(tmp_path: Path) -> None:
    one = cell("g1")
    records = [{**record(one, r, [9e8, 5e8, 1e8, 1e8]), "elapsed_ns": 2_000_000_000} for r in range(4)]
    answer = answer_experiment(write_experiment(tmp_path, [one], records, 4, method="fixed", warmup=WARMUP))
    (found,) = LEVELS.of(answer)
    assert math.isnan(found.best_time_percent)
    json.dumps(document_of(answer), allow_nan=False)


def test_invocations_that_add_nothing_are_told(tmp_path: Path, golden: Golden) -> None:
    one = cell("g1")
    # Every invocation has the same iterations in another order: the means do not differ.
    turns = [[1e8, 1.1e8, 1.2e8], [1.1e8, 1.2e8, 1e8], [1.2e8, 1e8, 1.1e8], [1.2e8, 1.1e8, 1.0001e8]]
    records = [
        {**record(one, r, [9e8, 5e8, *turn]), "elapsed_ns": 2_000_000_000} for r, turn in enumerate(turns)
    ]
    answer = answer_experiment(write_experiment(tmp_path, [one], records, 4, method="fixed", warmup=WARMUP))
    (found,) = LEVELS.of(answer)
    assert found.t_squared[1] < 0
    assert math.isinf(found.best_iterations)
    assert found.share_percent == pytest.approx((100.0, 0.0))
    golden("no-variance-of-invocations", answer.findings["levels"][0])


def test_several_hosts_are_a_level_of_their_own(tmp_path: Path) -> None:
    values = iterated(tmp_path, hosts=("alpha", "beta", "gamma"))
    levels = LEVELS.of(answer_experiment(tmp_path))
    assert [one.place.host for one in levels] == ["alpha", "beta", "gamma", ""]
    expected = variance_levels(values)
    assert levels[3].counts == (3, 8, 3)
    assert levels[3].t_squared == pytest.approx(expected.t_squared, rel=1e-9)


def test_one_invocation_has_no_spread_of_invocations(tmp_path: Path) -> None:
    iterated(tmp_path, invocations=1)
    answer = answer_experiment(tmp_path)
    (found,) = LEVELS.of(answer)
    assert math.isnan(found.t_squared[1])
    assert "one repetition at level 2" in found.reason
    assert "undefined" in answer.findings["levels"][0]


def test_a_window_that_was_chosen_for_its_calm_tells_the_least_that_iterations_vary_by(
    tmp_path: Path,
    golden: Golden,
) -> None:
    # White noise of 2.2 %: the first ten in a row below 2 % vary by less than all do.
    rng = np.random.default_rng(31)
    one = cell("g1")
    records = [record(one, r, (1e8 * rng.normal(1.0, 0.022, 60)).tolist()) for r in range(12)]
    write_experiment(tmp_path, [one], records, 12, method="cov", window=10, threshold=0.02)
    answer = answer_experiment(tmp_path)
    (found,) = LEVELS.of(answer)
    assert found.spread_percent[0] < 2.0
    assert math.isnan(found.best_iterations)
    golden("selected-window", found.reason)
    (words,) = answer.findings["levels"]
    golden("variation-in-a-selected-window", words)


def test_startup_has_no_levels(tmp_path: Path) -> None:
    iterated(tmp_path)
    write_facts(tmp_path, method="startup")
    answer = answer_experiment(tmp_path)
    assert LEVELS.of(answer) == ()
    assert "levels" not in answer.findings


@pytest.mark.parametrize("method", ["cov", "changepoints"])
def test_where_the_steady_state_is_found_its_iterations_are_split(tmp_path: Path, method: str) -> None:
    one = cell("g1")
    rng = np.random.default_rng(5)
    records = [
        record(one, r, [5e8, 3e8, *(1e8 * math.exp(rng.normal(0, 0.02)) * np.exp(rng.normal(0, 0.002, 28)))])
        for r in range(6)
    ]
    answer = answer_experiment(write_experiment(tmp_path, [one], records, 6, method=method))
    (found,) = LEVELS.of(answer)
    assert found.counts[1] <= 6
    assert found.counts[0] >= 10
    assert 0.1 < found.spread_percent[0] < 0.4
    assert 0.5 < found.spread_percent[1] < 4
