"""Two programs at once on halves of the host: real processes, a real journal, real kills."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import HOST, NO_LIMITS, Runner, end, has_halves, is_gone, python, sh, write_plan
from helpers.waiting import wait_until
from regatta.host.duet import pairs
from regatta.host.duet.pairs import Duet, share_perturbation
from regatta.host.duet.trial import LOOKS, TRIALS
from regatta.host.journal.plan_files import Row
from regatta.host.journal.record import encode_record
from regatta.host.journal.round_values import read_rounds
from regatta.host.processes import children_of
from regatta.host.values.record import Record

STEADY = {"method": "startup", "iterations": 1, "warmup": 0, "window": 10, "threshold": 0.02}
ORDER: dict[str, Any] = {"order": "duet", "steady": STEADY}
pytestmark = pytest.mark.skipif(not has_halves(), reason="needs two cores")

#: Reports how many of its kind run: each leaves a file, waits for that of the other half, and says that it has seen it before it ends.
COUNTS = """
import json, os, pathlib, time
folder = pathlib.Path({folder!r})
results = pathlib.Path(os.environ["REGATTA_RESULTS"])
own = 0 if "half-0" in results.parts else 1

def wait_for(name, patience_s):
    until = time.monotonic() + patience_s
    while not (folder / name).exists() and time.monotonic() < until:
        time.sleep(0.005)
    return (folder / name).exists()

(folder / f"here-{{own}}").write_text("")
count = 1 + wait_for(f"here-{{1 - own}}", 1.0)
if count == 2:
    (folder / f"seen-{{own}}").write_text("")
    wait_for(f"seen-{{1 - own}}", 5.0)
    time.sleep(0.2)
for name in (f"here-{{own}}", f"seen-{{own}}"):
    (folder / name).unlink(missing_ok=True)
results.write_text(json.dumps({{"iteration": 0, "metric": "elapsed", "value": count, "unit": "ns"}}) + "\\n")
"""
#: Reports its value, times 1.2 on half 1.
VALUE = """
import json, os
value = {value} * (1.2 if "half-1" in os.environ["REGATTA_RESULTS"] else 1.0)
with open(os.environ["REGATTA_RESULTS"], "w") as file:
    file.write(json.dumps({{"iteration": 0, "metric": "elapsed", "value": value, "unit": "ns"}}) + "\\n")
"""
REGATTA = {"name": "regatta", "options": {}}


def value(name: str, number: float) -> dict[str, Any]:
    return python(name, VALUE.format(value=number), adapter=REGATTA)


def steady(name: str, script: str, **other: Any) -> dict[str, Any]:
    """A script that reports the same value however long it takes, so that no load of the machine makes it fail its test."""
    line = json.dumps({"iteration": 0, "metric": "elapsed", "value": 1e6, "unit": "ns"})
    report = f"({script}) || exit; echo '{line}' > $REGATTA_RESULTS"
    return sh(name, report, adapter=REGATTA, **other)


def measure(runner: Runner, *cells: dict[str, Any], **plan: Any) -> dict[int, list[Record]]:
    """Return the records by round."""
    found = defaultdict(list)
    for record in runner.measure(*cells, **{"rounds": 2, **ORDER, **plan}):
        found[record["round"]].append(record)
    return found


def trials(runner: Runner) -> list[dict[str, Any]]:
    (found,) = json.loads((runner.folder.journal / HOST / TRIALS).read_text())["halves"].values()
    return list(found.values())


def test_both_run_at_once_on_disjoint_halves_and_swap_them(runner: Runner, tmp_path: Path) -> None:
    # Long only after the test, so that no load of the machine keeps them apart.
    slow = tmp_path / "slow"
    cells = [steady(name, f"test ! -e {slow} || sleep 3") for name in "ab"]
    measure(runner, *cells, rounds=1)
    slow.write_text("")
    rounds = measure(runner, *cells, rounds=4)
    halves = []
    for number in (1, 2, 3):
        first, second = sorted(rounds[number], key=lambda one: one["cell_id"])
        assert not set(first["cores"]) & set(second["cores"])
        starts = [one["started_monotonic_ns"] for one in (first, second)]
        ends = [one["started_monotonic_ns"] + one["elapsed_ns"] for one in (first, second)]
        assert max(starts) < min(ends)
        assert (first["status"], second["status"]) == ("ok", "ok")
        halves.append(first["cores"])
    assert halves[0] == halves[2] != halves[1]


def test_the_host_is_tested_first_and_once(runner: Runner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    cells = [steady(name, f"echo {name} >> {log}") for name in "ab"]
    measure(runner, *cells)
    first = Counter(log.read_text().split())
    # Alone and twice beside itself in each round of the test, then in two rounds.
    assert first["a"] - 2 in {3 * (1 + look) for look in LOOKS}
    assert [(one["refused"], len(one["alone"]) in LOOKS) for one in trials(runner)] == [("", True)] * 2
    measure(runner, *cells, rounds=4)
    assert Counter(log.read_text().split())["a"] == first["a"] + 2


def test_halves_that_differ_are_found_and_cancel(runner: Runner) -> None:
    a, b = value("a", 1e6), value("b", 2e6)
    measure(runner, a, b, rounds=4)
    for one in trials(runner):
        assert one["halves"][0] == pytest.approx(100 * (1 / 1.2 - 1))
        assert one["slower"][0] == pytest.approx(0.0, abs=1e-9)
        assert one["apart"][1] < 0 < one["apart"][2]
    found = read_rounds(runner.folder.journal / HOST, {c["cell_id"]: c for c in (a, b)}, range(4), STEADY)  # type: ignore[misc]
    left, right = (found[c["cell_id"]].by_block["ns", ""] for c in (a, b))
    ratios = [right[block] / left[block] for block in sorted(left, key=lambda block: block[1])]
    assert ratios == pytest.approx([2.4, 2 / 1.2, 2.4, 2 / 1.2])


def test_a_program_that_is_slower_beside_itself_is_refused_with_its_partner(
    runner: Runner, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    slow = python("slow", COUNTS.format(folder=str(shared)), adapter=REGATTA)
    rounds = measure(runner, slow, value("b", 1e6))
    records = [one for pair in rounds.values() for one in pair]
    assert [one["status"] for one in records] == ["skipped"] * 4
    reasons = {one["cell_id"]: str(one["reason"]) for one in records}
    assert "% slower" in reasons[slow["cell_id"]]
    (of_partner,) = (reason for cell_id, reason in reasons.items() if cell_id != slow["cell_id"])
    assert of_partner.endswith(f"{slow['label']}: {reasons[slow['cell_id']]}")
    # The next start does not test again, unless it is asked to.
    tested = (runner.folder.journal / HOST / TRIALS).read_bytes()
    assert runner.run().returncode == 0
    assert (runner.folder.journal / HOST / TRIALS).read_bytes() == tested
    assert len(runner.records()) == 4


def test_a_refused_program_is_tested_again_on_request(runner: Runner) -> None:
    cells = [steady("a", "true"), steady("b", "true")]
    measure(runner, *cells, rounds=1)
    path = runner.folder.journal / HOST / TRIALS
    path.write_text(path.read_text().replace('"refused": ""', '"refused": "slow"', 1))
    rounds = measure(runner, *cells, rounds=3)
    assert [one["status"] for number in (1, 2) for one in rounds[number]] == ["skipped"] * 4
    assert runner.run(0, "--retry-failed").returncode == 0
    last = {one["invocation_id"]: one["status"] for one in runner.records()}
    assert list(last.values()) == ["ok"] * 6
    assert '"slow"' not in path.read_text()


def test_a_program_that_always_fails_is_recorded_and_given_up_as_in_any_order(runner: Runner) -> None:
    bad = steady("a", "exit 3")
    rounds = measure(runner, bad, steady("b", "true"), rounds=4, give_up_after=2)
    of_bad = [one for pair in rounds.values() for one in pair if one["cell_id"] == bad["cell_id"]]
    assert [one["status"] for one in of_bad] == ["failed", "failed", "skipped", "skipped"]
    assert len(trials(runner)) == 1


def test_a_program_that_runs_only_alone_is_refused(runner: Runner, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    only = f"mkdir {taken} && sleep 0.2 && rmdir {taken}"
    rounds = measure(runner, steady("a", only), steady("b", "true"))
    assert {one["status"] for pair in rounds.values() for one in pair} == {"skipped"}
    assert "failed" in trials(runner)[0]["refused"]


def test_a_program_that_fails_now_and_then_is_tested_nevertheless(runner: Runner, tmp_path: Path) -> None:
    once = tmp_path / "once"
    rounds = measure(
        runner, steady("a", f"test -e {once} || {{ echo > {once}; exit 3; }}"), steady("b", "true")
    )
    assert [one["refused"] for one in trials(runner)] == ["", ""]
    assert {one["status"] for pair in rounds.values() for one in pair} == {"ok"}


def test_a_program_that_fails_too_often_is_not_measured(runner: Runner, tmp_path: Path) -> None:
    log = tmp_path / "log"
    flaky = f"echo x >> {log}; test $(wc -l < {log}) -le 6"
    rounds = measure(runner, steady("a", flaky), steady("b", "true"))
    assert {one["status"] for pair in rounds.values() for one in pair} == {"skipped"}
    assert [bool(one["refused"]) for one in trials(runner)] == [True, False]
    assert trials(runner)[0]["slower"] is None


def test_a_new_partner_is_measured_with_the_old_one(runner: Runner) -> None:
    a, b, c = (steady(name, "true") for name in "abc")
    measure(runner, a, b)
    rounds = measure(runner, a, c, plan_id="another")
    for pair in rounds.values():
        assert Counter(one["cell_id"] for one in pair) == {a["cell_id"]: 2, b["cell_id"]: 1, c["cell_id"]: 1}
        last = {one["attempt"] for one in pair if one["plan_id"] == "another"}
        assert last == {1}


def test_both_have_the_status_of_a_perturbed_pair() -> None:
    pair: Any = [
        {"status": "perturbed", "reason": "steal", "perturbation": [{"limit": "steal_percent"}]},
        {"status": "ok", "reason": None, "perturbation": []},
    ]
    share_perturbation(pair)
    assert pair[0] == pair[1]
    assert pair[1]["status"] == "perturbed"
    failed: Any = [dict(pair[0]), {"status": "failed", "reason": "exit code 3", "perturbation": []}]
    share_perturbation(failed)
    assert failed[1]["status"] == "failed"


def test_the_partners_processor_time_counts_while_the_own_program_ran(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first program ends after its partner has used 2 s, and before it has used 9 s in all.
    duet = object.__new__(Duet)
    duet._usage = {0: "/a/cpu.stat", 1: "/b/cpu.stat"}
    ends: list[tuple[int, Any]] = [(0, {"ended": 1.5}), (1, {"ended": 9.0})]
    monkeypatch.setattr(Duet, "_listen", lambda self, rows: iter(ends))
    monkeypatch.setattr(pairs, "cpu_ns_of", {"/a/cpu.stat": 7_000_000_000, "/b/cpu.stat": 5_000_000_000}.get)
    cell: Any = sh("a", "true")
    rows = {half: Row(half, 0, 0, half, cell) for half in (0, 1)}
    assert duet._partners_s(rows, {0: 0, 1: 3_000_000_000}) == {0: 2.0, 1: 1.5}
    # Without a group of its own, its whole time is taken.
    cell["isolation"] = {"kind": "none"}
    assert duet._partners_s(rows, {0: 0, 1: 3_000_000_000}) == {0: 9.0, 1: 1.5}


def test_a_failure_leaves_the_record_of_its_partner(runner: Runner, tmp_path: Path) -> None:
    breaks = tmp_path / "breaks"
    cells = [steady("a", f"test ! -e {breaks}"), steady("b", "true")]
    measure(runner, *cells, rounds=1)
    breaks.write_text("")
    rounds = measure(runner, *cells, rounds=3, give_up_after=None)
    for number in (1, 2):
        assert {one["status"] for one in rounds[number]} == {"ok", "failed"}
    assert len({one["attempt"] for pair in rounds.values() for one in pair}) == 1


def test_one_that_cannot_start_keeps_its_partner_from_starting(runner: Runner, tmp_path: Path) -> None:
    breaks, log = tmp_path / "breaks", tmp_path / "log"
    cells = [
        steady("a", "true", prepare=["/bin/sh", "-c", f"test ! -e {breaks}"]),
        steady("b", f"echo b >> {log}"),
    ]
    measure(runner, *cells, rounds=1)
    before = log.read_text()
    breaks.write_text("")
    rounds = measure(runner, *cells, give_up_after=None)
    assert [one["status"] for one in rounds[1]] == ["failed", "failed"]
    assert log.read_text() == before
    assert any("partner" in str(one["reason"]) for one in rounds[1])


def test_one_whose_partner_never_starts_is_not_given_up_itself(runner: Runner) -> None:
    bad = steady("a", "true", prepare=["/bin/false"])
    good = steady("b", "true")
    rounds = measure(runner, bad, good, rounds=3, give_up_after=2)
    skipped = {one["cell_id"]: str(one["reason"]) for one in rounds[2]}
    assert "its partner" in skipped[good["cell_id"]]
    assert "its partner" not in skipped[bad["cell_id"]]
    # With another partner, it runs.
    rounds = measure(runner, good, steady("c", "true"), rounds=1, plan_id="another", give_up_after=2)
    assert [one["status"] for one in rounds[0] if one["plan_id"] == "another"] == ["ok", "ok"]


def test_perturbed_pairs_are_repeated_together(runner: Runner) -> None:
    limits = {**NO_LIMITS, "swapped_pages": -1, "retries": 1}
    rounds = measure(runner, steady("a", "true"), steady("b", "true"), limits=limits)
    for pair in rounds.values():
        by_attempt = Counter((one["attempt"], one["status"]) for one in pair)
        assert by_attempt == {(0, "perturbed"): 2, (1, "perturbed"): 2}


def test_a_pair_that_a_kill_tore_is_repeated_and_its_attempts_agree(runner: Runner) -> None:
    a, b = steady("a", "true"), steady("b", "true")
    measure(runner, a, b)
    journal = runner.folder.journal / HOST / "00000.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:3]))
    rounds = measure(runner, a, b)
    assert sorted((one["attempt"], one["cell_id"]) for one in rounds[1]) == sorted(
        [(0, rounds[1][0]["cell_id"]), (1, a["cell_id"]), (1, b["cell_id"])]
    )
    found = read_rounds(runner.folder.journal / HOST, {c["cell_id"]: c for c in (a, b)}, range(2), STEADY)  # type: ignore[misc]
    assert all(cell.recorded == {0, 1} for cell in found.values())


def test_values_of_two_attempts_are_no_pair(runner: Runner) -> None:
    a, b = value("a", 1e6), value("b", 2e6)
    measure(runner, a, b)
    journal = runner.folder.journal / HOST / "00000.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    # As if only the first line of the second attempt was written.
    again: dict[str, Any] = {**runner.records()[2], "attempt": 1, "sequence": 4}
    journal.write_bytes(b"".join([*lines, encode_record(again)]))
    found = read_rounds(runner.folder.journal / HOST, {c["cell_id"]: c for c in (a, b)}, range(2), STEADY)  # type: ignore[misc]
    assert [list(found[c["cell_id"]].by_block["ns", ""]) for c in (a, b)] == [[("by-hand", 0, 0)]] * 2


def _started(runner: Runner, tmp_path: Path) -> tuple[Any, list[int], list[int]]:
    """Start a runner; return it, its halves and both programs, while these run in the second round."""
    hold, pids = tmp_path / "hold", tmp_path / "pids"
    pids.mkdir(exist_ok=True)
    waits = f"test ! -e {hold} || {{ echo > {pids}/$$; sleep 1000; }}"
    cells = [steady("a", waits), steady("b", waits)]
    measure(runner, *cells, rounds=1)
    hold.write_text("")
    write_plan(runner.folder, cells, rounds=3, **ORDER)
    process = runner.start()
    wait_until(lambda: len(list(pids.iterdir())) == 2, "both programs")
    programs = [int(path.name) for path in pids.iterdir()]
    halves = children_of(process.pid)
    assert len(halves) == 2
    hold.unlink()
    for path in pids.iterdir():
        path.unlink()
    return process, halves, programs


@pytest.mark.parametrize("killed", ["runner", "all"])
def test_a_killed_runner_takes_its_halves_along_and_the_next_one_goes_on(
    runner: Runner, tmp_path: Path, killed: str
) -> None:
    process, halves, programs = _started(runner, tmp_path)
    for half in halves if killed == "all" else ():
        os.kill(half, signal.SIGSTOP)
    end(process)
    if killed == "all":
        for half in halves:
            os.kill(half, signal.SIGKILL)
    wait_until(lambda: all(map(is_gone, halves)), "the end of the halves")
    assert runner.run().returncode == 0
    assert all(map(is_gone, programs))
    records = runner.records()
    assert Counter(one["status"] for one in records) == {"ok": 6}
    assert {one["attempt"] for one in records} == {0}


def test_a_signal_ends_the_runner_with_its_halves_and_programs(runner: Runner, tmp_path: Path) -> None:
    process, halves, programs = _started(runner, tmp_path)
    process.terminate()
    _, errors = process.communicate()
    assert (process.returncode, errors) == (130, "")
    assert all(map(is_gone, [*halves, *programs]))
    assert len(runner.records()) == 2


def test_a_lost_half_is_an_error_that_loses_no_record(runner: Runner, tmp_path: Path) -> None:
    process, halves, programs = _started(runner, tmp_path)
    os.kill(halves[0], signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode == 3
    assert "half 0" in errors or "half 1" in errors
    assert all(map(is_gone, [*halves, *programs]))
    assert len(runner.records()) == 2
    assert runner.run().returncode == 0
    assert len(runner.records()) == 6


def test_one_processor_has_no_halves(runner: Runner) -> None:
    cores = {"use": "cpus", "cpus": [min(os.sched_getaffinity(0))], "count": None, "housekeeping": 0}
    write_plan(runner.folder, [steady("a", "true"), steady("b", "true")], cores=cores, **ORDER)
    done = runner.run()
    assert done.returncode == 3
    assert "order: duet" in done.stderr
    assert not runner.records()
