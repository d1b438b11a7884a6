"""One verdict on each pair: the same in the conclusions, the tables, the report, JSON, CSV, InfluxDB and the Python interface."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.cell_table import tables_of
from regatta.answers.report.documents import document_of, rows_of
from regatta.answers.spine.families.words import leaders, ranking, winner
from regatta.answers.spine.result import Answer
from regatta.answers.spine.short import short_comparisons
from regatta.answers.spine.verdicts import Verdict, Verdicts, agreed, judge
from regatta.answers.spine.words import bound_words, how_much
from regatta.answers.topics.comparisons.topic import COMPARISONS
from regatta.answers.topics.families.topic import FAMILIES
from regatta.influx.answers import estimate_points
from regatta.results import open_results
from regatta.stats.estimate import Interval

COLLECTORS = ("serial", "g1", "parallel", "z")
HEAPS = (1.5, 2.0, 3.0, 4.0)
ROUNDS = 10


def ratio(low: float, high: float, point: float = math.nan) -> Interval:
    return Interval(9, (low + high) / 2 if math.isnan(point) else point, low, high, 0.95, "paired-log-t")


def experiment(
    directory: Path, factors: dict[float, tuple[float, ...]], noise: float = 0.01, seed: int = 1
) -> Path:
    """Heap -> true time of each collector, relative to the first."""
    rng = np.random.default_rng(seed)
    cells = [cell(name, heap_factor=heap) for heap in factors for name in COLLECTORS[: len(factors[heap])]]
    records = [
        record(
            cell(name, heap_factor=heap),
            r,
            [1e9 * drift * factors[heap][at] * math.exp(rng.normal(0, noise))],
            position=at,
            block=block,
        )
        for r in range(ROUNDS)
        for block, heap in enumerate(factors)
        for drift in [math.exp(rng.normal(0, 0.05))]
        for at, name in enumerate(COLLECTORS[: len(factors[heap])])
    ]
    return write_experiment(directory, cells, records, ROUNDS)


@pytest.mark.parametrize(
    ("low", "high", "p", "expected"),
    [
        (1.02, 1.04, 0.01, Verdict("yes", "yes")),
        (1.02, 1.04, math.nan, Verdict("yes", "yes")),
        (1.02, 1.04, 0.06, Verdict("no", "open")),
        (0.96, 0.98, 0.01, Verdict("yes", "yes")),
        (1.002, 1.004, 0.01, Verdict("yes", "no")),
        (1.002, 1.004, 0.06, Verdict("no", "no")),
        (1.005, 1.02, 0.01, Verdict("yes", "open")),
        (0.99, 1.02, 0.06, Verdict("no", "open")),
        (0.99, 1.02, 0.01, Verdict("no", "open")),
        (math.nan, math.nan, math.nan, Verdict()),
    ],
)
def test_a_difference_is_significant_by_its_interval_and_its_adjusted_p(
    low: float, high: float, p: float, expected: Verdict
) -> None:
    assert judge(ratio(low, high), 1.0, p) == expected


def test_two_verdicts_on_one_pair_are_merged_to_the_more_cautious_one() -> None:
    assert agreed(Verdict("yes", "yes"), Verdict("no", "open")) == Verdict("no", "open")
    assert agreed(Verdict("yes", "no"), Verdict("yes", "open")) == Verdict("yes", "open")
    assert agreed(Verdict(), Verdict("yes", "yes")) == Verdict("yes", "yes")
    verdicts = Verdicts()
    verdicts.add("a", "b", Verdict("yes", "yes"))
    verdicts.add("b", "a", Verdict("yes", "open"))
    assert verdicts.of("a", "b") == Verdict("yes", "open")
    assert verdicts.of("a", "c") == Verdict()


@pytest.mark.parametrize("seed", range(6))
def test_as_many_pairs_are_significant_in_every_output(tmp_path: Path, seed: int) -> None:
    # Differences of some two standard errors: Holm and the pairs of a family often disagree with the single interval.
    edge = (1.0, 1.009, 1.012, 0.985)
    folder = experiment(tmp_path, dict.fromkeys(HEAPS, edge), seed=seed)
    answer = answer_experiment(folder)
    expected = [one.verdict for one in answer.comparisons]
    alone = sum(one.ratio.low > 1.0 or one.ratio.high < 1.0 for one in answer.comparisons)
    count = sum(one.significant == "yes" for one in expected)
    assert 0 < count < alone, "the case does not separate the verdicts"

    document = document_of(answer)
    assert [Verdict(one["significant"], one["practical"]) for one in document["comparisons"]] == expected
    rows = [row for row in rows_of(answer) if row["kind"] == "comparison"]
    assert [Verdict(row["significant"], row["practical"]) for row in rows] == expected
    said = [row.verdict for table in tables_of(View(answer)) for row in table.rows]
    assert sum(bool(one) for one in said) == count
    shown = Counter(row.practical for table in tables_of(View(answer)) for row in table.rows)
    practical = Counter({"open": "inconclusive"}.get(one.practical, one.practical) for one in expected)
    assert {word: shown[word] for word in practical} == practical
    short = short_comparisons(answer.comparisons, answer.level, judged=True)
    assert Counter(row[-1] for row in short.rows) == practical
    (every,) = COMPARISONS.tables(None, View(answer))  # type: ignore[misc]
    assert [row[every.columns.index("significant")] for row in every.rows].count("yes") == count
    points = [point for point in estimate_points(answer, 10**18) if "ratio" in point.tags[-2:]]
    assert [Verdict(point.fields["significant"], point.fields["practical"]) for point in points] == expected
    table = open_results(folder).comparisons
    assert table.column("significant").to_pylist() == [one.significant for one in expected]

    # The same pair in a family: same verdict, in both directions.
    by_pair = {
        (one.place.heap, frozenset((one.a_name.split()[-1], one.b_name.split()[-1]))): one.verdict
        for one in answer.comparisons
    }
    of_families = {
        (family.place.heap, frozenset((pair.a_name, pair.b_name))): pair.verdict
        for family in answer.families
        for pair in family.pairs
    }
    assert by_pair.items() <= of_families.items()
    told = sum(
        row[-3] == "yes"
        for row in FAMILIES.tables(None, View(answer))[1].rows  # type: ignore[misc]
    )
    assert told == sum(one.significant == "yes" for one in of_families.values())


def test_an_alternative_within_theta_of_the_others_is_not_called_fastest(
    tmp_path: Path, golden: Golden
) -> None:
    answer = answer_experiment(experiment(tmp_path, {2.0: (1.003, 1.0)}, noise=0.001))
    (family,) = answer.families
    (pair,) = family.pairs
    assert pair.p < 1e-3
    assert pair.verdict == Verdict("yes", "no")
    assert winner(family.pairs, family.names, "lower") == ""
    ranked = ranking(family.names, family.pairs, "lower")
    assert leaders(ranked, family.pairs) == ["g1", "serial"]
    golden("two-within-theta", family.words)
    assert answer.headline == (family.words,)


def test_leaders_within_theta_are_set_apart_from_slower_alternatives(tmp_path: Path, golden: Golden) -> None:
    answer = answer_experiment(experiment(tmp_path, {2.0: (1.003, 1.0, 1.2)}, noise=0.001))
    golden("two-lead-within-theta", answer.families[0].words)
    wide: Answer = answer_experiment(experiment(tmp_path / "x", {2.0: (1.02, 1.0, 1.2)}, noise=0.001))
    assert winner(wide.families[0].pairs, wide.families[0].names, "lower") == "g1"


def test_the_largest_likely_difference_is_the_same_for_both_directions() -> None:
    one = ratio(0.7, 1.1)
    assert bound_words([one]) == bound_words([ratio(1 / 1.1, 1 / 0.7)]) == "likely at most 43 %"
    # A difference of means relative to one of them can reach 0: then only that direction is bounded.
    assert bound_words([ratio(-0.45, 1.2)]) == "likely at most 145 %"


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (1.0003, 1.018, "0.91 % [0.03, 1.80]"),
        (1.00001, 1.3, "15.001 % [0.001, 30.000]"),
        (0.98, 0.9998, "1.01 % [0.02, 2.00]"),
        (1.001, 1.018, "1.0 % [0.1, 1.8]"),
        (1.0, 1.018, "0.9 % [0.0, 1.8]"),
    ],
)
def test_an_end_that_is_not_0_is_not_shown_as_0(low: float, high: float, shown: str) -> None:
    assert how_much(ratio(low, high)) == shown
