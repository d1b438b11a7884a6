"""Heaps, benchmarks and parameters as alternatives: pairs within blocks, families, sentences and documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, native, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.effects.topic import EFFECTS
from regatta.answers.topics.suites.topic import SUITES
from regatta.host.errors import SpecError
from regatta.stats.ratios import paired_log_ratio

ROUNDS = 12
FACTORS = (1.0, 1.25, 2.0, 4.0, 1.1, 3.0)


def measured(
    path: Path,
    cells: Sequence[dict[str, Any]],
    metric_parameters: Sequence[dict[str, Any]] | None = None,
    **facts: Any,
) -> tuple[np.ndarray, Path]:
    """Interleaved times of cells with the ratios of `FACTORS`; the metric has the given parameters."""
    rng = np.random.default_rng(8)
    blocks = np.exp(rng.normal(0, 0.2, (ROUNDS, 1)))
    table = 1e9 * np.array(FACTORS[: len(cells)]) * blocks * np.exp(rng.normal(0, 0.01, (ROUNDS, len(cells))))
    given = metric_parameters or [None] * len(cells)
    records = [
        record(one, r, [[0, "elapsed", float(table[r, i]), "ns", None, given[i]]], position=i)
        for r in range(ROUNDS)
        for i, one in enumerate(cells)
    ]
    return table, write_experiment(path, cells, records, ROUNDS, **facts)


def ratios(answer: Answer) -> dict[tuple[str, str], float]:
    return {(c.a_name, c.b_name): c.ratio.point for c in answer.comparisons}


def threads(*values: int, program: str = "sort") -> list[dict[str, Any]]:
    return [native(f"c/{program}:small threads={value}") for value in values]


def test_values_of_a_parameter_are_paired_by_block_and_the_best_is_named(tmp_path: Path) -> None:
    table, folder = measured(tmp_path, threads(1, 2, 8), compare=["parameters.threads"])
    answer = answer_experiment(folder)
    (two, eight) = answer.comparisons
    assert (two.a_name, two.b_name) == ("native threads=2", "native threads=1")
    expected = paired_log_ratio(table[:, 1], table[:, 0]).interval
    assert (two.ratio.point, two.ratio.low) == pytest.approx((expected.point, expected.low), rel=1e-12)
    assert (two.factors, eight.ratio.method) == (("parameters.threads",), "paired-log-t")
    (family,) = answer.families
    assert (family.factor, family.names) == (
        "parameters.threads", ("threads=1", "threads=2", "threads=8")
    )  # fmt: skip
    assert family.place.benchmark == "c/sort:small"
    assert answer.headline[0].startswith("sort: threads=1 is fastest, 19.6 %")
    assert document_of(answer)["comparisons"][0]["factors"] == ["parameters.threads"]


def test_a_metric_that_repeats_the_compared_parameter_is_still_the_same_metric(tmp_path: Path) -> None:
    given = [{"kib": 4, "threads": value} for value in (1, 2, 8)]
    _, folder = measured(tmp_path, threads(1, 2, 8), given, compare=["parameters.threads"])
    answer = answer_experiment(folder)
    assert [c.ratio.point for c in answer.comparisons] == pytest.approx([1.25, 2.0], rel=0.05)
    (family,) = answer.families
    assert dict(family.parameters) == {"kib": 4}


def test_the_baseline_may_be_any_value(tmp_path: Path) -> None:
    _, folder = measured(
        tmp_path, threads(1, 2, 8), compare=["parameters.threads"], baseline={"parameters.threads": "8"}
    )
    assert ratios(answer_experiment(folder)) == pytest.approx(
        {("native threads=1", "native threads=8"): 0.5, ("native threads=2", "native threads=8"): 0.625},
        rel=0.05,
    )
    found = ratios(answer_experiment(folder, baseline={"parameters.threads": "2"}))
    assert found["native threads=8", "native threads=2"] == pytest.approx(1.6, rel=0.05)
    with pytest.raises(SpecError, match=r"one of 1, 2, 8 · got .*3"):
        answer_experiment(folder, baseline={"parameters.threads": "3"})


def test_programs_are_compared_at_each_value_of_their_parameters(tmp_path: Path) -> None:
    cells = [*threads(1, 2), *threads(1, 2, program="gzip")]
    _, folder = measured(tmp_path, cells, compare=["benchmark"])
    answer = answer_experiment(folder)
    assert ratios(answer) == pytest.approx({("native gzip", "native sort"): 4.0 / 1.25}, rel=0.05)
    assert [c.ratio.point for c in answer.comparisons] == pytest.approx([2.0, 3.2], rel=0.05)
    assert [c.words.partition(":")[0] for c in answer.comparisons] == [
        "benchmarks threads=1",
        "benchmarks threads=2",
    ]
    assert not SUITES.of(answer)


def test_heaps_are_compared_within_each_collector_and_collectors_within_each_heap(
    tmp_path: Path, golden: Golden
) -> None:
    heaps = ((1.5, 48), (2.0, 64), (4.0, 128))
    cells = [cell(name, heap_factor=f, heap_mib=mib) for f, mib in heaps for name in ("serial", "g1")]
    _, folder = measured(tmp_path, cells, compare=["heap", "collector"])
    answer = answer_experiment(folder)
    by_heap = {names: point for names, point in ratios(answer).items() if names[0].endswith("x")}
    assert by_heap == pytest.approx(
        {
            ("jdk-21 serial 2x", "jdk-21 serial 1.5x"): 2.0,
            ("jdk-21 g1 2x", "jdk-21 g1 1.5x"): 3.2,
            ("jdk-21 serial 4x", "jdk-21 serial 1.5x"): 1.1,
            ("jdk-21 g1 4x", "jdk-21 g1 1.5x"): 2.4,
        },
        rel=0.05,
    )
    assert [(f.factor, f.place.collector, f.place.heap.factor) for f in answer.families] == [
        ("collector", "", 1.5), ("collector", "", 2.0), ("collector", "", 4.0), ("heap", "serial", None), ("heap", "g1", None),
    ]  # fmt: skip
    # What the spec compares beyond the usual factors is the question.
    golden("heaps-of-a-collector", answer.headline[0])


def test_the_mean_of_a_suite_compares_the_values_of_a_parameter(tmp_path: Path) -> None:
    cells = [*threads(1, 8), *threads(1, 8, program="gzip")]
    _, folder = measured(tmp_path, cells, compare=["parameters.threads"])
    answer = answer_experiment(folder)
    (suite,) = SUITES.of(answer)
    assert (suite.a_name, suite.b_name) == ("native threads=8", "native threads=1")
    assert suite.these.point == pytest.approx((1.25 * 2.0) ** 0.5, rel=0.05)


def test_the_alternatives_of_a_suite_are_ranked_with_their_baseline(tmp_path: Path) -> None:
    cells = [*threads(1, 2, 8), *threads(1, 2, 8, program="gzip")]
    _, folder = measured(
        tmp_path, cells, compare=["parameters.threads"], baseline={"parameters.threads": "2"}
    )
    answer = answer_experiment(folder)
    ranking, _ = SUITES.tables_of(View(answer))
    # Geometric means of sort and gzip: 2.0, 1.17 and 2.45 over that of two threads.
    at = ranking.columns.index("rank")
    assert [row[at : at + 2] for row in ranking.rows] == [
        ("1", "native threads=2"), ("2", "native threads=1"), ("3", "native threads=8")
    ]  # fmt: skip


def test_an_older_experiment_without_the_new_keys_compares_what_it_did(tmp_path: Path) -> None:
    heaps = ((1.5, 48), (4.0, 128))
    cells = [cell(name, heap_factor=f, heap_mib=mib) for f, mib in heaps for name in ("serial", "g1")]
    _, folder = measured(tmp_path, cells)
    assert {c.factors for c in answer_experiment(folder).comparisons} == {("collector",)}


def test_all_combinations_of_a_crossing_are_one_family(tmp_path: Path, golden: Golden) -> None:
    cells = [cell(name, runtime=jvm) for jvm in ("jdk-21", "jdk-25") for name in ("serial", "g1", "z")]
    _, folder = measured(tmp_path, cells, compare=["runtime*collector"])
    answer = answer_experiment(folder)
    (crossing,) = [one for one in answer.families if one.factor == "runtime*collector"]
    assert crossing.names == tuple(
        f"{jvm} {gc}" for jvm in ("jdk-21", "jdk-25") for gc in ("serial", "g1", "z")
    )
    assert len(crossing.pairs) == 15
    assert (crossing.place.runtime, crossing.place.collector) == ("", "")
    golden("crossing", answer.headline[0])


def test_levels_of_a_parameter_are_tested_over_all_benchmarks_and_explain_variation(
    tmp_path: Path, golden: Golden
) -> None:
    cells = [*threads(1, 2, 8), *threads(1, 2, 8, program="gzip")]
    _, folder = measured(tmp_path, cells, compare=["parameters.threads"])
    effects = EFFECTS.of(answer_experiment(folder))
    (manova,) = effects.manovas
    assert (manova.factor, manova.groups) == ("parameters.threads", ("threads=1", "threads=2", "threads=8"))
    assert (manova.benchmarks, manova.n) == (("c/sort:small", "c/gzip:small"), 3 * ROUNDS)
    golden("levels-of-a-parameter", manova.words)
    assert dict(effects.tables[0].factors) == {
        "benchmark": ("c/sort:small", "c/gzip:small"), "threads": ("1", "2", "8")
    }  # fmt: skip


def test_pairs_with_different_blocks_have_no_common_order_if_they_contradict_each_other(
    tmp_path: Path,
    golden: Golden,
) -> None:
    cells = threads(1, 2, 8)
    rng = np.random.default_rng(4)
    values = [((0, 1.02), (1, 1.0)), ((0, 1.0), (2, 1.3)), ((1, 1.1), (2, 1.0))]
    records = [
        record(cells[i], r, [float(1e9 * of * rng.normal(1, 0.001))], position=i)
        for r in range(30)
        for i, of in values[r // 10]
    ]
    folder = write_experiment(tmp_path, cells, records, 30, compare=["parameters.threads"])
    (family,) = answer_experiment(folder).families
    # 2 is faster than 1, 8 is faster than 2, and 1 is faster than 8.
    golden("no-common-order", family.words)
    assert "fastest" not in family.words
