"""`summary`: what the repetitions of one invocation become, alike on the host and in the analysis, and told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.synthetic_journal import START_NS, native, record, write_experiment
from regatta.answers.history.compute import history_of
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.facts import read_facts
from regatta.answers.spine.samples import load_samples
from regatta.answers.topics.levels.topic import LEVELS
from regatta.answers.topics.steady.topic import STEADY
from regatta.host.errors import RegattaError
from regatta.host.journal.invocation_value import invocation_values
from regatta.host.journal.round_values import CLOSE_NS, CLOSE_TIMES, read_rounds
from regatta.host.values.experiment import SUMMARIES
from regatta.store.database import open_database

ROUNDS = 5
RULE = {"method": "fixed", "warmup": 2, "window": 10, "threshold": 0.02}
EXPECTED = {"mean": np.mean, "median": np.median, "minimum": np.min, "maximum": np.max}


def cells_of(*summaries: str, **other: Any) -> list[dict[str, Any]]:
    return [
        {**native(f"lm/{summary}-{i}:default", metric="latency", **other), "summary": summary}
        for i, summary in enumerate(summaries)
    ]


def skewed(
    seed: int, many: int, parameters: dict[str, int] | None = None, metric: str = "latency"
) -> list[Any]:
    """Rows of one series, its order shuffled: most near 100, a few disturbed."""
    rng = np.random.default_rng(seed)
    values = 100 * np.exp(rng.exponential(0.3, many))
    rows = [[i, metric, float(v), "ns", 10, parameters] for i, v in enumerate(values)]
    rng.shuffle(rows)
    return rows


def experiment(folder: Path, cells: list[dict[str, Any]], rows: Any = None, **facts: Any) -> Path:
    def usual(block: int, r: int) -> list[Any]:
        # Even and odd numbers after warm-up, two series, and two that have a line in one iteration: in warm-up and after it.
        return [
            *skewed(10 * r + block, 13, {"size": 1}),
            *skewed(10 * r + block + 1000, 12, {"size": 2}),
            [0, "latency", 44.0, "ns", None, {"size": 3}],
            [3, "latency", 55.0, "ns", None, None],
        ]

    records = [
        record(one, r, (rows or usual)(block, r), block=block)
        for r in range(ROUNDS)
        for block, one in enumerate(cells)
    ]
    return write_experiment(folder, cells, records, ROUNDS, **{"method": "fixed", "warmup": 2, **facts})


def test_host_and_analysis_make_the_same_numbers(tmp_path: Path) -> None:
    cells = cells_of(*SUMMARIES)
    folder = experiment(tmp_path, cells)
    with open_database(folder) as connection:
        samples = load_samples(connection, read_facts(folder).steady)
    on_host = read_rounds(folder / "journal" / "alpha", {c["cell_id"]: c for c in cells}, range(ROUNDS), RULE)
    for cell in samples.cells:
        found = {
            (s.unit, s.parameters_text): {x.round: x.value for x in s.samples}
            for s in samples.series[cell.number]
        }
        assert len(found) == 3
        values = on_host[cell.cell_id].values
        assert found.keys() == values.keys()
        for key, by_round in found.items():
            assert by_round == pytest.approx(values[key], rel=1e-12)


def test_host_and_analysis_agree_which_invocations_are_close_to_their_block(tmp_path: Path) -> None:
    # Round -> (time of each process, distance of the last one from the middle one, in ns). DuckDB's median of times is a
    # double, whose steps are 256 ns there.
    rounds = [
        (elapsed_ns, limit_ns + by_ns)
        for elapsed_ns, limit_ns in ((10**9, CLOSE_NS), (100 * 10**9, CLOSE_TIMES * 300 * 10**9))
        for by_ns in (-(10**6), 10**6)
    ]
    cells = cells_of("mean", "mean", "mean")
    records = []
    for r, (elapsed_ns, distance_ns) in enumerate(rounds):
        middle = START_NS + r * 10**15
        for position, (one, started) in enumerate(
            zip(cells, (middle - 10**9, middle, middle + distance_ns), strict=True)
        ):
            made = record(one, r, skewed(r, 5), position=position, started=started)
            records.append({**made, "elapsed_ns": elapsed_ns})
    folder = write_experiment(tmp_path, cells, records, len(rounds), method="fixed", warmup=2)
    with open_database(folder) as connection:
        samples = load_samples(connection, read_facts(folder).steady)
    on_host = read_rounds(
        folder / "journal" / "alpha", {c["cell_id"]: c for c in cells}, range(len(rounds)), RULE
    )
    last = cells[-1]["cell_id"]
    for cell in samples.cells:
        (series,) = samples.series[cell.number]
        ((_, by_block),) = on_host[cell.cell_id].by_block.items()
        expected = [0, 2] if cell.cell_id == last else [0, 1, 2, 3]
        assert (
            [round_ for _, round_, _ in series.by_block] == [round_ for _, round_, _ in by_block] == expected
        )
        assert series.by_block == pytest.approx(by_block)


@pytest.mark.parametrize("summary", SUMMARIES)
def test_it_is_of_the_repetitions_after_warm_up(tmp_path: Path, summary: str) -> None:
    cells = cells_of(summary)
    rows = {r: skewed(r, 11) for r in range(ROUNDS)}
    answer = answer_experiment(experiment(tmp_path, cells, lambda block, r: rows[r]))
    (cell,) = answer.cells
    expected = [EXPECTED[summary]([row[2] for row in rows[r] if row[0] >= 2]) for r in range(ROUNDS)]
    assert [sample.value for sample in cell.samples] == pytest.approx(expected)
    assert cell.summary == summary
    assert document_of(answer)["cells"][0]["summary"] == summary


def test_the_median_of_two_middle_repetitions_is_halfway_on_the_host_too() -> None:
    rows = [[i, "latency", float(v), "ns", None, None] for i, v in enumerate([9, 9, 4, 1, 3, 100])]
    assert invocation_values(rows, "latency", RULE, "median") == {("ns", ""): 3.5}
    assert invocation_values(rows[:2], "latency", RULE, "median") == {}
    assert invocation_values(rows[:1], "latency", RULE, "minimum") == {("ns", ""): 9.0}


def test_another_metric_takes_the_median_but_never_the_minimum(tmp_path: Path) -> None:
    """Less of a latency is undisturbed; of the bandwidth beside it more would be."""
    cells = cells_of("median", "minimum")
    rows = [*skewed(1, 9), *skewed(2, 9, metric="bandwidth")]
    answer = answer_experiment(experiment(tmp_path, cells, lambda block, r: rows))
    late = [row[2] for row in rows if row[1] == "bandwidth" and row[0] >= 2]
    found = {
        c.place.benchmark: (c.summary, c.samples[0].value) for c in answer.cells if c.metric == "bandwidth"
    }
    assert found["lm/median-0:default"] == ("median", pytest.approx(np.median(late)))
    assert found["lm/minimum-1:default"] == ("mean", pytest.approx(np.mean(late)))


def test_the_answer_names_the_statistic_and_says_nothing_where_all_are_means(
    tmp_path: Path, golden: Golden
) -> None:
    topic = "steady"
    told = answer_experiment(experiment(tmp_path / "a", cells_of("median", "mean"))).findings[topic]
    golden("statistic", told[0])
    plain = answer_experiment(experiment(tmp_path / "b", cells_of("mean"))).findings.get(topic, ())
    assert not any("summary of" in sentence for sentence in plain)


def test_levels_of_variance_are_told_of_means_alone(tmp_path: Path) -> None:
    rows = {(b, r): skewed(7 * b + r, 11) for b in range(2) for r in range(ROUNDS)}
    answer = answer_experiment(
        experiment(tmp_path, cells_of("median", "mean"), lambda block, r: rows[block, r])
    )
    assert {one.place.benchmark for one in LEVELS.of(answer)} == {"lm/mean-1:default"}


def test_a_warm_up_that_is_too_short_is_told_without_a_bias_of_means(tmp_path: Path) -> None:
    def rows(block: int, r: int) -> list[Any]:
        rng = np.random.default_rng(r)
        values = rng.normal(100, 0.5, 60)
        values[:12] *= 3
        return [[i, "latency", float(v), "ns", None, None] for i, v in enumerate(values)]

    answer = answer_experiment(experiment(tmp_path, cells_of("median", "mean"), rows))
    assert STEADY.of(answer) is not None
    median, mean = STEADY.of(answer).series
    assert median.after_warmup == mean.after_warmup == ROUNDS
    assert np.isnan(median.bias.point)
    assert mean.bias.point > 1.2


def test_other_methods_take_no_summary_whatever_a_plan_says(tmp_path: Path) -> None:
    answer = answer_experiment(
        experiment(tmp_path, cells_of("minimum"), lambda b, r: skewed(r, 9), method="startup")
    )
    assert {cell.summary for cell in answer.cells} == {"mean"}


def test_a_plan_with_a_summary_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    folder = experiment(tmp_path, cells_of("mode"))
    with pytest.raises(RegattaError, match=r"mean, median.* got mode"):
        answer_experiment(folder)


def test_a_plan_from_before_there_were_summaries_means_means(tmp_path: Path) -> None:
    cells = cells_of("mean")
    del cells[0]["summary"]
    rows = skewed(3, 9)
    answer = answer_experiment(experiment(tmp_path, cells, lambda b, r: rows))
    expected = np.mean([row[2] for row in rows if row[0] >= 2])
    assert answer.cells[0].samples[0].value == pytest.approx(expected)


def test_experiments_that_took_different_statistics_are_not_compared_over_time(tmp_path: Path) -> None:
    cell = cells_of("median")[0]
    folders = [
        experiment(tmp_path / summary, [{**cell, "summary": summary}], lambda b, r: skewed(r, 9))
        for summary in ("mean", "median")
    ]
    history = history_of(folders)
    assert history.series == ()
    assert any(
        "different statistics" in warning and cell["benchmark"] in warning for warning in history.warnings
    )


def test_an_explained_cell_says_what_its_number_is(tmp_path: Path, golden: Golden) -> None:
    from click.testing import CliRunner

    from regatta.cli.explain import explain

    parts = {"argv": ["x"], "environment": {}, "arrange": {}, "check": [], "files": [], "timeout_s": 1.0}
    cells = [{**cell, **parts} for cell in cells_of("median", "mean")]
    folder = experiment(tmp_path / "made-up", cells)
    path = folder / "plan" / "alpha" / "plan.json"
    header = json.loads(path.read_text())
    of_host = {"environment": {"set": {}, "padding_bytes": 0}, "rlimits": {}, "seed": 1, "order": "williams"}
    path.write_text(
        json.dumps({**header, **of_host, "cores": {"use": "all", "housekeeping": 0, "count": None}})
    )
    shown = CliRunner().invoke(explain, ["lm/", "--results", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    (line,) = (line for line in shown.stdout.splitlines() if "value of an invocation" in line)
    golden("explained", line)
