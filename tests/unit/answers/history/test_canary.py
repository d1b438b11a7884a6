"""Causes of shifts: the canary shifts with the host, and the program at one speed of the host shifts by itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from helpers.past_experiments import DAY_NS, ROUNDS
from helpers.synthetic_journal import START_NS, cell, native, record, write_experiment
from regatta.answers.history.compute import history_document, history_of
from regatta.answers.history.result import History
from regatta.cli.history import history as command

BIRD = "canary/mixed:default"
HASH = "0" * 16


def write_days(
    folder: Path,
    programs: Sequence[float],
    hosts: Sequence[float],
    *,
    unit: str = "ns",
    noise: float = 0.003,
    hashes: Sequence[str] | None = None,
    canary_unit: str = "ns",
    late: int = 0,
    facts: Sequence[dict[str, Any]] | None = None,
) -> list[Path]:
    """Write an experiment a day. `programs`, `hosts`: how much slower each is than at first. `late`: canaries of another time."""
    rng = np.random.default_rng(7)
    cells = [cell("g1", metric="elapsed" if unit == "ns" else "throughput"), native(BIRD)]
    if unit != "ns":
        cells[0] = cell("g1", metric="throughput", better="higher")
    folders = []
    for day, (program, host) in enumerate(zip(programs, hosts, strict=True)):
        records = []
        for round_ in range(ROUNDS):
            # What slows one round slows both programs of it.
            here = host * np.exp(rng.normal(0, 0.02))
            own, bird = (here * np.exp(rng.normal(0, noise)) for _ in range(2))
            started = START_NS + day * DAY_NS + 10 * round_ * 10**9
            value = 1e9 * program * own if unit == "ns" else 1e6 / (program * own)
            rows = [[0, cells[0]["metric"], float(value), unit, None, None]]
            records.append(record(cells[0], round_, rows, block=0, started=started))
            later = DAY_NS // 2 if round_ < late else 10**9
            speed = float(5e8 * bird if canary_unit != "ops/s" else 5e3 / bird)
            rows = [[0, "elapsed", speed, canary_unit, None, None]]
            records.append(record(cells[1], round_, rows, block=1, started=started + later))
        more = facts[day] if facts else {}
        program_hash = hashes[day] if hashes else HASH
        path = folder / f"day-{day}"
        write_experiment(
            path,
            cells,
            records,
            ROUNDS,
            method="fixed",
            labels={"day": str(day)},
            canary=(BIRD, program_hash),
            **more,
        )
        folders.append(path)
    return folders


def of(found: History) -> tuple[list[str], list[str]]:
    """Return the causes of the program's shifts as measured, and of those at one speed."""
    program = next(one for one in found.series if not one.is_canary)
    assert program.at_one_speed is not None
    return [one.cause for one in program.shifts], [one.cause for one in program.at_one_speed.shifts]


STEP = [1.0] * 4 + [1.05] * 4
SAME = [1.0] * 8


@pytest.mark.parametrize("unit", ["ns", "ops/s"])
@pytest.mark.parametrize(
    ("programs", "hosts", "expected"),
    [
        (SAME, STEP, (["host"], [])),
        (STEP, SAME, (["program"], ["program"])),
        (STEP, STEP, (["both"], ["both"])),
        (SAME, SAME, ([], [])),
        # Faster by as much as its host is slower: nothing to see as measured.
        ([1 / one for one in STEP], STEP, ([], ["both"])),
    ],
)
def test_a_shift_is_blamed_on_what_shifted(
    tmp_path: Path,
    unit: str,
    programs: list[float],
    hosts: list[float],
    expected: tuple[list[str], list[str]],
) -> None:
    found = history_of(write_days(tmp_path, programs, hosts, unit=unit))
    assert of(found) == expected
    program = next(one for one in found.series if not one.is_canary)
    assert program.at_one_speed is not None
    for shift in program.at_one_speed.shifts:
        slower = programs[-1] if unit == "ns" else 1 / programs[-1]
        assert shift.ratio.low < slower < shift.ratio.high
        # What both programs of a round share is divided out.
        assert shift.ratio.high - shift.ratio.low < 0.01


def test_two_experiments_are_enough_for_a_cause(tmp_path: Path, golden: Golden) -> None:
    found = history_of(write_days(tmp_path / "host", (1.0, 1.0), (1.0, 1.1)))
    assert of(found) == (["host"], [])
    other = history_of(write_days(tmp_path / "program", (1.0, 1.1), (1.0, 1.0)))
    assert of(other) == (["program"], ["program"])
    golden("host", "\n".join(found.sentences))
    golden("program", "\n".join(other.sentences))


def test_another_file_of_the_canary_separates_nothing(tmp_path: Path, golden: Golden) -> None:
    hashes = [*["a" * 16] * 4, *[HASH] * 4]
    found = history_of(write_days(tmp_path, SAME, STEP, hashes=hashes))
    program = next(one for one in found.series if not one.is_canary)
    assert [shift.cause for shift in program.shifts] == [""]
    assert program.at_one_speed is not None
    assert [point.experiment for point in program.at_one_speed.points] == [4, 5, 6, 7]
    golden("another-file", "\n".join(found.warnings))


def test_quantities_that_a_host_does_not_slow_are_left_as_they_are(tmp_path: Path) -> None:
    found = history_of(write_days(tmp_path, STEP, SAME, unit="bytes"))
    assert [one.at_one_speed for one in found.series] == [None, None]


def test_differences_of_the_environment_are_named_with_the_experiment(tmp_path: Path, golden: Golden) -> None:
    before = {"kernel": "6.1", "cpu": "a processor"}
    # The shift in the second one.
    facts = [
        {"host_facts": {"alpha": before}, "runtimes": {"jdk-21": "21.0.2"}, "regatta": "0.3.0"},
        {"host_facts": {"alpha": {**before, "governor": "performance"}}, "runtimes": {"jdk-21": "21.0.3"}},
        {"host_facts": {"alpha": {**before, "kernel": "6.2", "governor": "powersave"}}, "regatta": "0.4.0"},
    ]
    found = history_of(write_days(tmp_path, [1.0, 1.2, 1.2], SAME[:3], facts=facts))
    golden("environment", "\n".join(s for s in found.sentences if s.startswith("Environment")))
    (mark,) = (one for one in found.environment if one.host)
    assert (mark.since, len(mark.changes)) == (2, 2)
    document = json.loads(json.dumps(history_document(found)))
    assert [one["since"] for one in document["environment"]] == [1, 2, 2]


def test_flags_that_differ_are_named_without_heaps_and_paths(tmp_path: Path, golden: Golden) -> None:
    folders = write_days(tmp_path, SAME[:2], SAME[:2])
    plan = folders[1] / "plan" / "alpha" / "plan.json"
    value = json.loads(plan.read_text())
    argv = ["java", "-Xmx80m", "-cp", "-Dx=/tmp/a", "-Dpassword=secret", "-Xint"]
    value["cells"][0] |= {"argv": argv, "environment": {"TOKEN": "secret"}}
    value["environment"] = {"set": {"A": "secret"}}
    plan.write_text(json.dumps(value))
    (change,) = history_of(folders).environment
    golden("flags", "\n".join(change.changes))


def test_the_command_and_the_page_show_causes(tmp_path: Path) -> None:
    page = tmp_path / "history.html"
    folders = write_days(tmp_path, STEP, SAME)
    done = CliRunner().invoke(command, [*map(str, folders), "--output", str(page)])
    assert done.exit_code == 0, done.output
    assert "at one speed" in done.output
    assert "not its host" in done.output
    assert "at one speed" in page.read_text(encoding="utf-8")


def test_a_canary_of_the_last_nights_gives_causes_and_replaces_nothing(tmp_path: Path) -> None:
    folders = write_days(tmp_path, SAME, SAME)
    for folder in folders[:5]:
        path = folder / "plan" / "experiment.json"
        document = json.loads(path.read_text())
        document["experiment"] |= {"canary": "", "canary_programs": {}}
        path.write_text(json.dumps(document))
    program = history_of(folders).series[0]
    assert program.at_one_speed is not None
    assert [point.experiment for point in program.at_one_speed.points] == [5, 6, 7]
    assert (program.replicates, program.at_one_speed.replicates) == ("experiments", "invocations")
    assert program.told is program


def test_a_canary_that_is_a_rate_is_turned_around_and_a_size_is_not_used(
    tmp_path: Path, golden: Golden
) -> None:
    found = history_of(write_days(tmp_path / "rate", SAME, STEP, canary_unit="ops/s"))
    assert of(found) == (["host"], [])
    found = history_of(write_days(tmp_path / "size", SAME, STEP, canary_unit="bytes"))
    assert [one.at_one_speed for one in found.series] == [None, None]
    golden("size", "\n".join(found.warnings))


def test_rounds_that_were_measured_at_another_time_are_no_pairs(tmp_path: Path) -> None:
    found = history_of(write_days(tmp_path, SAME, STEP, late=5))
    program = next(one for one in found.series if not one.is_canary)
    assert program.at_one_speed is not None
    assert {len(point.values) for point in program.at_one_speed.points} == {ROUNDS - 5}
