"""The runner decides how many rounds are needed: from the journal, once, durably, and it runs no more."""

from __future__ import annotations

import json
import math
import statistics
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import HOST, Runner, python, write_plan
from helpers.synthetic_journal import START_NS, record, write_journal
from regatta.host.journal.decisions import DECISIONS, planned_rounds, read_decisions, undecided_groups
from regatta.host.journal.journal import read_records
from regatta.host.values.counters import INFO
from regatta.planner.stopping import t_quantiles

STEADY = {"method": "fixed", "iterations": 1, "warmup": 0, "window": 10, "threshold": 0.02}
#: per cent by which the value of an invocation is off, by its round: the same in every run
NOISE = [0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 0.2, -0.2, 0.8, -0.8, 0.4]


def reporting(name: str, values: list[float], **parameters: Any) -> dict[str, Any]:
    """A program that reports the value of its round, and parameters of it."""
    code = (
        "import json, os; r = int(os.environ['REGATTA_INVOCATION'].rpartition('-r')[2]); "
        f"v = {values!r}; "
        "open(os.environ['REGATTA_RESULTS'], 'w').write(json.dumps({'iteration': 0, 'metric': 'elapsed',"
        f" 'value': v[r % len(v)], 'unit': 'ns', 'parameters': {parameters or None!r}}}) + '\\n')"
    )
    return python(name, code, adapter={"name": "regatta", "options": {}})


def noisy(scale: float, start: float = 1e6) -> list[float]:
    return [start * (1 + scale * noise / 100) for noise in NOISE]


def plan(runner: Runner, cells: list[dict[str, Any]], **changes: Any) -> None:
    """Two alternatives, a pilot of 4 rounds, at most 12, segments of 4."""
    stopping = {
        "rule": "stein",
        "pilot": 4,
        "maximum": 12,
        "target_percent": 1.0,
        "level": 0.95,
        "t": t_quantiles(0.95, 11),
        "steady": STEADY,
        "groups": [{"key": "the-group", "cells": [0, 1], "pairs": [[0, 1]]}],
        **changes,
    }
    write_plan(runner.folder, cells, rounds=12, rounds_per_segment=4, stopping=stopping, discarded_rounds=0)


def decision(runner: Runner) -> dict[str, Any]:
    (entry,) = read_decisions(runner.folder.journal / HOST / DECISIONS).values()
    return entry


def rounds(runner: Runner) -> list[int]:
    return [record["round"] for record in read_records(runner.folder.path)]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path / "e")


def run_all(runner: Runner) -> None:
    for segment in range(3):
        done = runner.run(segment)
        assert (done.returncode, done.stderr) == (0, "")


def test_what_the_pilot_says_is_enough_is_all_that_is_run(runner: Runner) -> None:
    plan(runner, [reporting("a", noisy(0.1)), reporting("b", [2e6])])
    run_all(runner)
    assert rounds(runner) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert (decision(runner)["needed"], decision(runner)["met"]) == (4, True)
    assert runner.receipt(1)["not_needed"] == 8
    assert runner.receipt(1)["planned"] == 0


def test_all_alternatives_run_as_many_rounds_as_the_differences_ask_for(runner: Runner) -> None:
    plan(runner, [reporting("a", noisy(1.0)), reporting("b", [2e6])])
    run_all(runner)
    needed = decision(runner)["needed"]
    assert 4 < needed < 12
    assert rounds(runner) == [r for r in range(needed) for _ in range(2)]


def test_a_reported_parameter_that_is_compared_does_not_part_the_alternatives(runner: Runner) -> None:
    one, four = reporting("a", noisy(1.0), threads=1), reporting("b", [2e6], threads=4)
    one["benchmark"], four["benchmark"] = "hand/sort:small threads=1", "hand/sort:small threads=4"
    plan(runner, [one, four])
    run_all(runner)
    assert 4 < decision(runner)["needed"] < 12
    assert decision(runner)["met"]


def test_what_the_target_would_take_beyond_the_maximum_is_said(runner: Runner) -> None:
    plan(runner, [reporting("a", noisy(5)), reporting("b", [2e6])])
    run_all(runner)
    assert rounds(runner) == [r for r in range(12) for _ in range(2)]
    assert not decision(runner)["met"]
    assert "not met: 12 rounds" in decision(runner)["reason"]


def test_a_decision_that_was_not_written_is_made_when_measuring_goes_on(runner: Runner) -> None:
    plan(runner, [reporting("a", noisy(0.6)), reporting("b", [2e6])])
    runner.run(0)
    first = decision(runner)
    (runner.folder.journal / HOST / DECISIONS).unlink()
    runner.run(1)
    assert decision(runner) == first


def test_a_decision_stands_whatever_comes_later(runner: Runner) -> None:
    plan(runner, [reporting("a", noisy(0.1)), reporting("b", [2e6])])
    runner.run(0)
    path = runner.folder.journal / HOST / DECISIONS
    value = json.loads(path.read_text())
    value["groups"]["the-group"]["needed"] = 5
    path.write_text(json.dumps(value))
    run_all(runner)
    assert rounds(runner) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert decision(runner)["needed"] == 5


def test_nothing_is_decided_by_half_a_pilot(runner: Runner) -> None:
    plan(runner, [reporting("a", noisy(0.1)), reporting("b", [2e6])])
    runner.run(1)
    assert not (runner.folder.journal / HOST / DECISIONS).exists()
    runner.run(0)
    assert decision(runner)["needed"] == 4


def test_javastats_looks_after_each_segment(runner: Runner) -> None:
    plan(runner, [reporting("a", noisy(0.8)), reporting("b", [2e6])], rule="javastats")
    runner.run(0)
    assert decision(runner)["needed"] is None
    runner.run(1)
    assert (decision(runner)["needed"], decision(runner)["seen"]) == (8, 8)
    runner.run(2)
    assert max(rounds(runner)) == 7
    header = runner.folder.host_header(HOST)
    decisions = read_decisions(runner.folder.journal / HOST / DECISIONS)
    assert planned_rounds(header, decisions) == [8, 8]
    assert undecided_groups(header, decisions) == []
    assert [g["key"] for g in undecided_groups(header, {})] == ["the-group"]


def test_rounds_that_are_discarded_are_run_and_decide_nothing(runner: Runner) -> None:
    cold = [9e6, *noisy(0.1)]
    plan(runner, [reporting("a", cold), reporting("b", [2e6])], maximum=11)
    path = runner.folder.host_plan(HOST) / "plan.json"
    header = json.loads(path.read_text())
    header |= {"discarded_rounds": 1, "segments": [[0, 10], [10, 24]]}
    path.write_text(json.dumps(header))
    runner.run(0)
    runner.run(1)
    assert decision(runner)["needed"] == 4
    assert rounds(runner) == [r for r in range(5) for _ in range(2)]


def test_several_modes_in_the_pilot_take_the_maximum(runner: Runner) -> None:
    rare = [1e6, 1.001e6, 1.0005e6, 1.2e6, 1.0007e6, 1.0002e6]
    plan(runner, [reporting("a", rare), reporting("b", [2e6])], pilot=6, target_percent=15.0)
    path = runner.folder.host_plan(HOST) / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"segments": [[0, 12], [12, 24]]}))
    runner.run(0)
    assert decision(runner)["needed"] == 12
    assert decision(runner)["modes"] == ["hand/a:default · native"]
    assert " first 6 rounds" in decision(runner)["reason"]


def test_an_alternative_that_always_fails_does_not_hold_the_others_up(runner: Runner) -> None:
    broken = python("c", "raise SystemExit(3)", adapter={"name": "regatta", "options": {}})
    group = {"key": "g", "cells": [0, 1, 2], "pairs": [[0, 1], [0, 2], [1, 2]]}
    plan(runner, [reporting("a", noisy(0.1)), reporting("b", [2e6]), broken], groups=[group])
    run_all(runner)
    assert decision(runner)["needed"] == 4
    reasons = [p["reason"] for p in decision(runner)["pairs"]]
    assert not reasons[0].startswith("excluded: ")
    assert all(reason.startswith("excluded: hand/c:default · native ") for reason in reasons[1:])


@pytest.mark.parametrize(("summary", "enough"), [("median", True), ("mean", False)])
def test_a_decision_rests_on_the_summary_of_the_repetitions(
    runner: Runner, summary: str, enough: bool
) -> None:
    """One of five repetitions is disturbed, in every round by another amount: the median is calm, the mean is not."""

    def repeating(name: str, level: float) -> dict[str, Any]:
        code = (
            "import json, os; r = int(os.environ['REGATTA_INVOCATION'].rpartition('-r')[2]); "
            f"v = [{level} * (1 + i * 1e-4) for i in range(5)]; v[r % 5] *= 1 + (r * 7 % 5) / 4; "
            "open(os.environ['REGATTA_RESULTS'], 'w').writelines(json.dumps({'iteration': i, 'metric': 'elapsed',"
            " 'value': x, 'unit': 'ns'}) + '\\n' for i, x in enumerate(v))"
        )
        return python(name, code, adapter={"name": "regatta", "options": {}}, summary=summary)

    plan(runner, [repeating("a", 1e6), reporting("b", [2e6])])
    runner.run(0)
    assert decision(runner)["met"] is enough


def test_the_time_of_the_process_decides_where_it_is_compared(runner: Runner) -> None:
    cells = [{**reporting(name, [1e6]), "metric": "process_elapsed"} for name in ("a", "b")]
    plan(runner, cells)
    runner.run(0)
    (pair,) = decision(runner)["pairs"]
    times: dict[str, list[float]] = {}
    for one in read_records(runner.folder.path):
        times.setdefault(one["cell_id"], []).append(math.log(one["elapsed_ns"]))
    differences = [a - b for a, b in zip(times[pair["a"]], times[pair["b"]], strict=True)]
    assert pair["n"] == 4
    assert pair["sd"] == pytest.approx(statistics.stdev(differences))


def test_each_cell_stops_alone_with_the_rule_for_cells(runner: Runner) -> None:
    groups = [{"key": f"cell-{i}", "cells": [i], "pairs": [[i, None]]} for i in range(2)]
    plan(
        runner, [reporting("a", noisy(0.8)), reporting("b", noisy(0.1))], rule="javastats-cell", groups=groups
    )
    run_all(runner)
    decisions = read_decisions(runner.folder.journal / HOST / DECISIONS)
    values = [1 + 0.8 * noise / 100 for noise in NOISE]
    for n in (4, 8):
        half = t_quantiles(0.95, 11)[n - 2] * statistics.stdev(values[:n]) / math.sqrt(n)
        if half <= 0.01 * statistics.fmean(values[:n]):
            break
    assert n == 8
    assert [decisions[key]["needed"] for key in ("cell-0", "cell-1")] == [8, 4]
    (wide,) = decisions["cell-0"]["pairs"]
    assert wide["half_width_percent"] == pytest.approx(100 * half / statistics.fmean(values[:8]))
    assert rounds(runner) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7]
    assert planned_rounds(runner.folder.host_header(HOST), decisions) == [8, 4]


@pytest.mark.parametrize(("groups", "needed"), [(0, 4), (1, 4), (3, 6), (5, 10), (9, 12)])
def test_each_group_of_counters_is_counted_in_as_many_rounds_as_the_spec_asks(
    runner: Runner, groups: int, needed: int
) -> None:
    cells = [reporting("a", noisy(5)), reporting("b", [2e6])]
    plan(runner, cells, rule="counters", target_percent=None, each_counter=2)
    records = [
        record(one, number, [1e6], host=HOST, plan_id="by-hand") for number in range(4) for one in cells
    ]
    for one in records:
        one["info"] = {INFO: {"missing": {}, "group": 0, "groups": groups}} if groups else {}
    written = write_journal(runner.folder.path, records, HOST)
    written.rename(written.with_name("00000.jsonl"))
    for segment in (1, 2):
        done = runner.run(segment)
        assert (done.returncode, done.stderr) == (0, "")
    assert (decision(runner)["needed"], decision(runner)["met"]) == (needed, 2 * groups <= 12)
    assert sorted(rounds(runner)) == [number for number in range(needed) for _ in cells]


def _timed(cells: list[dict[str, Any]], longest_ms: int, failed: str = "") -> list[dict[str, Any]]:
    """Records of 4 rounds whose cells take 100 ms and more, with the preparation and the sync of the record."""
    found = []
    begin_ns = START_NS
    for number in range(4):
        for one, wall_ms in zip(cells, (100, longest_ms), strict=True):
            made = record(one, number, [1e6], host=HOST, plan_id="by-hand")
            if one["cell_id"] == failed and number > 1:
                made.update(status="skipped", elapsed_ns=0)
            made.update(started_utc_ns=begin_ns + 40_000_000, elapsed_ns=20_000_000)
            made["runner"].update(before_ns=40_000_000, after_ns=1_000_000)
            found.append(made)
            begin_ns += wall_ms * 1_000_000
        # The runner was stopped for an hour, or the host was asleep.
        begin_ns += 3600 * 10**9 * (number == 1)
    return found


@pytest.mark.parametrize(
    ("seconds", "failed", "needed"), [(1.0, "", 5), (0.1, "", 4), (2.0, "", 10), (9.0, "", 12), (9.0, "b", 4)]
)
def test_rounds_follow_the_time_from_one_preparation_to_the_next(
    runner: Runner, seconds: float, failed: str, needed: int
) -> None:
    cells = [reporting("a", [1e6]), reporting("b", [2e6])]
    plan(runner, cells, rule="seconds", target_percent=None, seconds=seconds)
    named = {"b": cells[1]["cell_id"]}.get(failed, "")
    written = write_journal(runner.folder.path, _timed(cells, 300, named), HOST)
    written.rename(written.with_name("00000.jsonl"))
    done = runner.run(1)
    assert (done.returncode, done.stderr) == (0, "")
    assert decision(runner)["needed"] == needed
    assert decision(runner)["seconds"] == seconds
    assert max(rounds(runner)) == min(needed, 8) - 1


@pytest.mark.parametrize(
    ("seconds", "needed", "rule"), [(0.5, 6, "decide"), (1.5, 7, "seconds"), (9.0, 12, "seconds")]
)
def test_values_decide_only_where_few_rounds_fit_into_the_time(
    runner: Runner, seconds: float, needed: int, rule: str
) -> None:
    """Rounds of 400 ms, of which at most 6 are looked at: more than 6 need 1.2 s for each of two cells."""
    cells = [reporting("a", noisy(9)), reporting("b", [1e6])]
    t = t_quantiles(0.99, 5)
    plan(runner, cells, rule="decide", pilot=4, maximum=6, seconds=seconds, most=12, t=t, target_percent=0.1)
    written = write_journal(runner.folder.path, _timed(cells, 300), HOST)
    written.rename(written.with_name("00000.jsonl"))
    for segment in (1, 2):
        done = runner.run(segment)
        assert (done.returncode, done.stderr) == (0, "")
    found = decision(runner)
    assert (found["rule"], found["seen"]) == (rule, 4 if rule == "seconds" else 6)
    assert found["needed"] == needed
    assert max(rounds(runner)) == found["needed"] - 1
    header, decisions = runner.folder.host_header(HOST), {"the-group": found}
    assert planned_rounds(header, decisions) == [needed, needed]
    # All rounds are possible until the first look, and then only those of the rule.
    assert planned_rounds(header, {}) == [12, 12]
    assert planned_rounds(header, {"the-group": {**found, "needed": None}}) == [6, 6]


def test_the_time_of_a_cell_ends_where_that_of_the_canary_begins(runner: Runner) -> None:
    """Rounds of 200 ms, and a canary of 200 ms: five rounds in 1.1 s, as if there was no canary."""
    cells = [reporting("a", [1e6]), reporting("b", [2e6]), reporting("canary", [1e6])]
    plan(runner, cells, rule="seconds", target_percent=None, seconds=0.55)
    found = []
    for number in range(4):
        for place, one in enumerate(cells):
            made = record(one, number, [1e6], host=HOST, plan_id="by-hand")
            started_ns = START_NS + (4 * number + place) * 100_000_000
            made.update(started_utc_ns=started_ns, elapsed_ns=20_000_000)
            made["runner"].update(before_ns=0, after_ns=0)
            found.append(made)
    written = write_journal(runner.folder.path, found, HOST)
    written.rename(written.with_name("00000.jsonl"))
    runner.run(1)
    assert decision(runner)["needed"] == 5


def test_a_cell_of_no_comparison_runs_as_long_as_any_other(runner: Runner) -> None:
    cells = [reporting("a", noisy(0.1)), reporting("b", [2e6]), reporting("canary", noisy(5))]
    plan(runner, cells)
    run_all(runner)
    assert rounds(runner) == [r for r in range(4) for _ in range(3)]
    header = json.loads(runner.folder.host_plan(HOST).joinpath("plan.json").read_text())
    decisions = read_decisions(runner.folder.journal / HOST / DECISIONS)
    assert planned_rounds(header, decisions) == [4, 4, 4]
    assert planned_rounds(header, {}) == [12, 12, 12]
    header["stopping"]["groups"] = [{"key": "k", "cells": []}]
    assert planned_rounds(header, {}) == [12, 12, 12]
