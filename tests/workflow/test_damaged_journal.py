"""A journal that was torn, flipped, filled with NUL, cut or repeated: what is damaged is named and never used, and is measured again."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean

import duckdb
import pytest

from helpers.experiments.small_experiments import SmallExperiment
from helpers.runner_plans import HOST, Runner, cell, write_plan
from regatta.answers.spine.verification import verify_experiment
from regatta.host.journal.record import encode_record
from regatta.store.folder import Folder
from regatta.store.progress import read_progress
from regatta.store.receipts import withdraw_receipts, withdraw_receipts_of_touched_journals

ROUNDS = 6
CELLS = 2
SEED = 20070101


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measured experiment of two segments, to be copied and damaged."""
    runner = Runner(tmp_path_factory.mktemp("measured") / "hand")
    write_plan(
        runner.folder,
        [cell("one", ["/bin/true"]), cell("two", ["/bin/echo", "2"])],
        ROUNDS,
        rounds_per_segment=3,
    )
    for segment in (0, 1):
        assert runner.run(segment).returncode == 0
    assert verify_experiment(runner.folder).problems == []
    return runner.folder.path


@pytest.fixture
def copy(measured: Path, tmp_path: Path) -> Iterator[Runner]:
    """A copy of it, that is whole again at the end of each test."""
    shutil.copytree(measured, tmp_path / "hand")
    runner = Runner(tmp_path / "hand")
    yield runner
    runner.assert_nothing_left()


def journal(runner: Runner, segment: int = 0) -> Path:
    return runner.folder.journal / HOST / f"{segment:05d}.jsonl"


def invocations(runner: Runner) -> list[str]:
    """Ids of whole records in their order, none of which is there twice."""
    ids = [record["invocation_id"] for record in Runner.records(runner)]
    assert len(ids) == len(set(ids))
    return ids


def whole_records(runner: Runner) -> set[str]:
    from regatta.host.journal.journal import read_records

    return {record["invocation_id"] for record in read_records(runner.folder.path)}


def again(runner: Runner, segment: int = 0) -> int:
    """Run the segment once more; how many it measured."""
    done = runner.run(segment)
    assert (done.returncode, done.stderr) == (0, "")
    measured_now = runner.receipt(segment)["measured_now"]
    assert isinstance(measured_now, int)
    return measured_now


def assert_everything_is_there(runner: Runner) -> None:
    verdict = verify_experiment(runner.folder)
    assert verdict.problems == []
    assert (verdict.planned, verdict.statuses) == (CELLS * ROUNDS, {"ok": CELLS * ROUNDS})


#: where the last line is torn: after its first byte, in its middle, before and inside its checksum, before its newline
TORN = {
    "first": 1,
    "early": 20,
    "middle": 0.5,
    "before the checksum": -21,
    "in it": -6,
    "before the brace": -3,
    "before the newline": -1,
}


@pytest.mark.parametrize("place", TORN.values(), ids=TORN)
def test_a_torn_last_line_is_named_cut_off_and_measured_again(copy: Runner, place: float) -> None:
    path = journal(copy)
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    length = len(whole) - start
    end = start + (int(length * place) if place == 0.5 else int(place) if place > 0 else length + int(place))
    path.write_bytes(whole[:end])
    problems = verify_experiment(copy.folder).problems
    assert len(problems) == 2
    assert problems[0].endswith("without a record: 1")
    assert problems[1].startswith(f"{path}:6: torn line")
    assert again(copy) == 1
    assert copy.receipt()["torn_bytes_dropped"] == end - start
    assert path.read_bytes()[:start] == whole[:start]
    assert len(invocations(copy)) == CELLS * ROUNDS
    assert_everything_is_there(copy)


#: values that a checksum cannot tell from right ones
OTHER_SHAPES = {
    "no identity": {"cell_id": None, "invocation_id": None},
    "text for a number": {"round": "0", "attempt": "0"},
    "a list for a name": {"host": []},
    "a status that does not exist": {"status": "excellent"},
    "no measurement": {"iterations": [5]},
    "a number beyond all": {"sequence": 10**400},
}


@pytest.mark.parametrize("values", OTHER_SHAPES.values(), ids=OTHER_SHAPES)
def test_a_whole_line_of_another_shape_is_damage_to_every_reader_and_is_measured_again(
    copy: Runner, values: dict[str, object]
) -> None:
    path = journal(copy)
    lines = path.read_bytes().splitlines(keepends=True)
    record = json.loads(lines[2])
    del record["crc32"]
    lines[2] = encode_record({**record, **values})
    path.write_bytes(b"".join(lines))
    verdict = verify_experiment(copy.folder)
    assert verdict.damage[0].startswith(f"{path}:3: damaged line")
    assert sum(verdict.statuses.values()) == CELLS * ROUNDS - 1
    (host,) = read_progress(copy.folder).hosts
    # The progress reads no measurements.
    seen = "iterations" not in values
    assert (host.recorded, host.damaged) == (CELLS * ROUNDS - seen, int(seen))
    assert again(copy) == 1
    assert path.read_bytes().startswith(b"".join(lines))
    assert_everything_is_there(copy)


def test_a_tail_of_nul_is_cut_off(copy: Runner) -> None:
    path = journal(copy)
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    path.write_bytes(whole[: start + 30] + bytes(8192))
    assert verify_experiment(copy.folder).damage == [f"{path}:6: torn line: incomplete line"]
    assert again(copy) == 1
    assert_everything_is_there(copy)


def test_bytes_flipped_anywhere_are_found_and_only_their_lines_are_measured_again(copy: Runner) -> None:
    path = journal(copy)
    whole = path.read_bytes()
    chance = random.Random(SEED)
    for _ in range(300):
        place = chance.randrange(len(whole))
        flipped = bytearray(whole)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        verdict = verify_experiment(copy.folder)
        line = whole.count(b"\n", 0, place) + 1
        assert verdict.problems, f"byte {place} of line {line}"
        kind = "torn" if place == len(whole) - 1 else "damaged"
        assert verdict.damage[0].startswith(f"{path}:{line}: {kind} line")
        lost = verdict.planned - sum(verdict.statuses.values())
        # A newline holds two lines apart.
        assert lost == (2 if whole[place : place + 1] == b"\n" and place < len(whole) - 1 else 1)
        assert verdict.incomplete == {HOST: [0]}


@pytest.mark.parametrize("count", [1, 5, 40])
def test_after_many_flips_resume_measures_what_is_lost_and_keeps_the_damage_as_evidence(
    copy: Runner, count: int
) -> None:
    path = journal(copy)
    chance = random.Random(SEED + count)
    flipped = bytearray(path.read_bytes())
    for _ in range(count):
        flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
    if flipped[-1:] != b"\n":
        flipped += b"\n"
    path.write_bytes(flipped)
    before = verify_experiment(copy.folder)
    assert before.damage
    assert again(copy) == before.planned - sum(before.statuses.values())
    assert path.read_bytes().startswith(bytes(flipped)), "nothing is ever edited"
    after = verify_experiment(copy.folder)
    assert after.damage == before.damage, "it is told"
    assert_everything_is_there(copy)
    assert again(copy) == 0


def test_a_deleted_line_is_measured_again(copy: Runner) -> None:
    path = journal(copy)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))
    assert verify_experiment(copy.folder).problems[0].endswith("without a record: 1")
    assert again(copy) == 1
    assert_everything_is_there(copy)


def test_a_doubled_line_is_named_by_its_place(copy: Runner) -> None:
    path = journal(copy)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[1]]))
    (problem,) = verify_experiment(copy.folder).problems
    assert problem.startswith(f"{path}:7: ")
    assert problem.endswith("attempt 0 is recorded twice")
    assert again(copy) == 0


def test_a_journal_that_is_gone_is_measured_again(copy: Runner) -> None:
    journal(copy).unlink()
    assert verify_experiment(copy.folder).incomplete == {HOST: [0]}
    assert again(copy) == 6
    assert_everything_is_there(copy)


def test_a_lost_attempt_below_a_later_one_is_no_reason_to_give_its_number_again(copy: Runner) -> None:
    """A failed attempt 0, then a good attempt 1; the first line is damaged. A third try must not be another attempt 1."""
    path = journal(copy)
    first, *rest = path.read_bytes().splitlines(keepends=True)
    record = json.loads(first)
    del record["crc32"]
    failed = encode_record({**record, "status": "failed", "reason": "x"})
    second = encode_record({**record, "attempt": 1, "status": "failed", "reason": "x", "sequence": 6})
    path.write_bytes(failed.replace(b'"failed"', b'"fAiled"') + b"".join(rest) + second)
    done = copy.run(0, "--retry-failed")
    assert done.returncode == 0
    verdict = verify_experiment(copy.folder)
    assert (verdict.doubled, verdict.problems) == ([], [])
    attempts = [r["attempt"] for r in _records(copy.folder) if r["invocation_id"] == record["invocation_id"]]
    assert attempts == [1, 2]


def _records(folder: Folder) -> list[dict[str, object]]:
    from regatta.host.journal.journal import read_records

    return list(read_records(folder.path))


def touch_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "withdrawn"), [(touch_byte, True), (Path.unlink, True), (Path.stat, False)]
)
def test_receipts_of_journals_that_somebody_touched_are_taken_back(
    copy: Runner, change: Callable[[Path], object], withdrawn: bool
) -> None:
    copy.folder.verdict.write_text("{}")
    change(journal(copy, 1))
    withdraw_receipts_of_touched_journals(copy.folder)
    assert copy.receipt_path(0).exists()
    assert copy.receipt_path(1).exists() == copy.folder.verdict.exists() == (not withdrawn)


def test_receipts_newer_than_the_look_at_the_journal_stay(copy: Runner) -> None:
    receipt = copy.receipt_path(0)
    withdraw_receipts(copy.folder, {HOST: [0, 77], "gone": [1]}, receipt.stat().st_mtime_ns)
    assert receipt.exists()
    withdraw_receipts(copy.folder, {HOST: [0]}, receipt.stat().st_mtime_ns + 1)
    assert not receipt.exists()
    assert not copy.receipt_path(1).exists(), "each segment waits for the one before it"


def test_a_whole_experiment_is_whole_again_by_the_same_command(tmp_path: Path) -> None:
    """The way of a person: damage on the disk, `verify` names it, `run` mends it, `verify` is content; no damage is in the answer."""
    small = SmallExperiment(tmp_path, invocations={"fixed": 6}, segment={"rounds": 3})
    small.step_by_step()
    path = small.journal(1)
    lines = path.read_bytes().splitlines(keepends=True)
    record = json.loads(lines[2])
    lost = record["invocation_id"]
    # A number that would be seen in any answer, in a line whose checksum is not its own any more.
    forged = lines[2].replace(str(record["elapsed_ns"]).encode(), b"9" * len(str(record["elapsed_ns"])))
    assert forged != lines[2]
    path.write_bytes(b"".join([*lines[:2], forged, *lines[3:]]))
    damaged = path.read_bytes()
    # As a disk loses bits: nothing but its contents says so.
    small.receipt(1).touch()

    named = small.verify()
    assert named.returncode == 1
    assert (
        f"{Path('results/small/journal/local/00001.jsonl')}:3: damaged line: checksum mismatch"
        in named.stderr
    )
    assert path.read_bytes() == damaged

    rebuilt = small.regatta("store", "rebuild", "small")
    assert rebuilt.returncode == 0, rebuilt.stderr
    with duckdb.connect(str(small.folder.path / "store" / "regatta.duckdb"), read_only=True) as database:
        of_lost = database.execute("select count(*) from invocations where invocation_id = ?", [lost])
        assert of_lost.fetchone() == (0,)
        assert database.execute("select count(*) from invocations").fetchone() == (27,)

    small.run()
    assert sorted(r["invocation_id"] for r in small.records()) == sorted(small.planned())
    content = small.verify()
    assert content.returncode == 0, content.stderr
    assert ":3: damaged line" in content.stdout
    answer = small.regatta("analyze", "small", "--json")
    assert answer.returncode == 0, answer.stderr
    cells = json.loads(answer.stdout)["cells"]
    assert {c["n"] for c in cells} == {6}
    whole: dict[str, list[int]] = {}
    for record in small.records():
        if record["round"] >= small.header()["discarded_rounds"]:
            whole.setdefault(record["cell_id"], []).append(record["elapsed_ns"])
    means = {c["cell_id"]: c["mean"] for c in cells if c["metric"] == "elapsed"}
    assert means == {name: pytest.approx(fmean(values), rel=1e-12) for name, values in whole.items()}

    # The workflow itself meets the next damage: its verdict fails once, and the run after it mends.
    flipped = bytearray(small.journal(0).read_bytes())
    flipped[100] ^= 1
    small.journal(0).write_bytes(flipped)
    for number in small.segments():
        small.receipt(number).touch()
    small.folder.verdict.unlink()
    (small.folder.receipts / "verified.txt").unlink()
    failed = small.regatta("run", "spec.yml")
    assert failed.returncode == 1, failed.stderr
    assert "00000.jsonl:1: damaged line" in failed.stderr
    small.run()
    assert small.verify().returncode == 0
