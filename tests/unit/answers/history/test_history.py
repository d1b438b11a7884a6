"""Several experiments over time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from helpers.past_experiments import CELLS, ROUNDS, write_day, write_week
from helpers.synthetic_journal import cell, write_experiment
from regatta.answers.history.compute import history_document, history_of
from regatta.cli.history import history as command
from regatta.host.errors import StoreError
from regatta.stats.ratios import welch_log_ratio

SERIAL, G1 = CELLS


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Seven days, of which g1 is 20 % slower from the fifth on."""
    return write_week(tmp_path_factory.mktemp("week"))


def test_a_shift_is_told_with_its_ratio_and_the_commit_since_which_it_is(
    week: list[Path], golden: Golden
) -> None:
    found = history_of(week)
    serial, g1 = found.series
    assert (serial.shifts, serial.reason) == ((), "")
    (shift,) = g1.shifts
    assert (shift.since, found.experiments[shift.since].name) == (4, "commit c4")
    before = [value for point in g1.points[:4] for value in point.values]
    after = [value for point in g1.points[4:] for value in point.values]
    assert shift.ratio.point == pytest.approx(welch_log_ratio(after, before).interval.point)
    assert (shift.before, shift.after, shift.ratio.n) == (4, 3, 7)
    golden("shift", "\n".join(found.sentences))


def test_experiments_are_in_order_of_time_whatever_the_order_in_which_they_are_given(
    week: list[Path],
) -> None:
    found = history_of([*reversed(week), week[2]])
    assert [one.name for one in found.experiments] == [f"commit c{day}" for day in range(7)]
    assert found.series == history_of(week).series


def test_two_experiments_say_that_they_may_differ_by_the_day(tmp_path: Path, golden: Golden) -> None:
    found = history_of([write_day(tmp_path / name, day, (1.0, 1.0)) for day, name in enumerate(("a", "b"))])
    assert [one.name for one in found.experiments] == ["a", "b"]
    golden("two-experiments", "\n".join(found.sentences))


def test_names_that_are_the_same_get_their_time(tmp_path: Path) -> None:
    folders = [write_day(tmp_path / name / "demo", day) for day, name in enumerate(("a", "b"))]
    assert [one.name for one in history_of(folders).experiments] == [
        "demo of 2023-11-14 22:13", "demo of 2023-11-15 22:13",
    ]  # fmt: skip


def test_from_five_experiments_on_they_are_the_replicates_and_false_shifts_have_a_rate(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(5)
    folders = [
        write_day(tmp_path / str(day), day, (float(np.exp(rng.normal(0, 0.1))), 1.0)) for day in range(8)
    ]
    found = history_of(folders)
    serial, g1 = found.series
    assert (serial.replicates, g1.replicates) == ("experiments", "experiments")
    assert not serial.shifts
    for one in found.series:
        assert 0.0 <= one.autocorrelation <= 0.9
        assert 0.0 < one.false_rate < 0.2
        assert one.rate_reason == ""
    mean = (serial.false_rate + g1.false_rate) / 2
    assert sum(f"about {100 * mean:.1f} % of unchanged series" in words for words in found.sentences) == 1


def test_fewer_than_five_experiments_have_no_rate_of_false_shifts_but_a_reason(tmp_path: Path) -> None:
    folders = [write_day(tmp_path / str(day), day) for day in range(4)]
    document = history_document(history_of(folders))
    for one in document["series"]:
        assert (one["replicates"], one["false_rate"], one["autocorrelation"]) == ("invocations", None, None)
        assert "fewer than 5 experiments" in one["rate_reason"]
    (told,) = [words for words in document["sentences"] if "not distinguishable" in words]
    assert told.startswith("4 experiments")
    assert not any("False shifts" in words for words in document["sentences"])


def test_cells_of_one_experiment_only_have_no_history(tmp_path: Path, golden: Golden) -> None:
    folders = [write_day(tmp_path / "a", 0), write_day(tmp_path / "b", 1, cells=[SERIAL])]
    found = history_of(folders)
    assert [one.place.configuration for one in found.series] == ["jdk-21 serial"]
    golden("one-experiment-only", "\n".join(found.warnings))


def test_numbers_made_in_different_ways_are_not_compared(tmp_path: Path) -> None:
    folders = [write_day(tmp_path / "a", 0), write_day(tmp_path / "b", 1, method="startup")]
    found = history_of(folders)
    assert found.series == ()
    assert any("different steady-state methods" in w for w in found.warnings)


def test_an_experiment_without_values_is_left_out_and_told(tmp_path: Path) -> None:
    empty = write_experiment(tmp_path / "empty", CELLS, [], ROUNDS)
    found = history_of([empty, write_day(tmp_path / "a", 0), write_day(tmp_path / "b", 1)])
    assert len(found.experiments) == 2
    assert f"{empty} excluded: no values" in found.warnings


def test_nothing_measured_has_no_history(tmp_path: Path) -> None:
    found = history_of([write_experiment(tmp_path, CELLS, [], ROUNDS)])
    assert (found.experiments, found.series, found.sentences) == ((), (), ())


def test_a_minheap_that_moved_is_told(tmp_path: Path) -> None:
    folders = [
        write_day(tmp_path / str(size), day, cells=[cell("serial", heap_mib=size), cell("g1", heap_mib=size)])
        for day, size in enumerate((64, 80))
    ]
    found = history_of(folders)
    assert len(found.series) == 2
    assert any("minheap differs between experiments" in w for w in found.warnings)


def test_a_folder_without_a_plan_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        history_of([tmp_path])


def test_the_document_is_json(week: list[Path]) -> None:
    document = json.loads(json.dumps(history_document(history_of(week)), allow_nan=False))
    assert document["experiments"][4]["labels"] == {"commit": "c4"}
    assert document["series"][1]["shifts"][0]["since"] == 4
    assert len(document["series"][1]["points"][0]["values"]) == ROUNDS
    assert document["series"][1]["shifts"][0]["ratio"]["method"] == "ar1-log-t"
    assert 0.0 < document["series"][1]["false_rate"] < 0.2


def test_the_command_prints_and_draws(week: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "history.html"
    done = CliRunner().invoke(command, [*map(str, week), "--output", str(page)])
    assert done.exit_code == 0, done.output
    assert "since commit c4" in done.output
    assert "» " in done.output
    text = page.read_text(encoding="utf-8")
    assert "commit c4" in text
    assert 'id="time"' in text
    assert "false shifts" in text


def test_the_command_gives_json(week: list[Path]) -> None:
    done = CliRunner().invoke(command, [*map(str, week), "--json", "--level", "0.99"])
    assert json.loads(done.stdout)["level"] == 0.99
