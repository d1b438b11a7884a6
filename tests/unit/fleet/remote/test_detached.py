"""A segment measured by a process of the host's own, with this machine as the host: the same files, the same verbs, no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.counting import skip_without_perf
from helpers.detached_beds import SLOW, Bed, changed, planned
from helpers.runner_plans import HOST, cell, sh, write_plan
from helpers.waiting import wait_until
from regatta.fleet.remote.base import Unreachable
from regatta.fleet.remote.here import Here
from regatta.host.errors import HostError
from regatta.host.files import write_object
from regatta.host.journal.host_folder import HostFolder
from regatta.host.journal.journal import CELLS, read_cells
from regatta.host.journal.record import decode_record, encode_record
from regatta.host.values.counters import PROFILE_FILE
from regatta.host.verbs.follow import Following
from regatta.store.progress import read_progress

pytestmark = pytest.mark.full  # each test starts and kills controllers and runners


def in_background(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Start work whose result, or error, comes into the list."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, results


@pytest.fixture
def no_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a process' first thread may have handlers of signals."""
    from contextlib import nullcontext

    monkeypatch.setattr("regatta.fleet.detached.stopping_on_signals", nullcontext)


@pytest.mark.smoke
def test_records_come_here_as_the_host_wrote_them(bed: Bed) -> None:
    write_plan(bed.folder, [cell("true", ["/bin/true"]), sh("false", "exit 3")], rounds=2)
    receipt = bed.measure()
    assert receipt["statuses"] == {"ok": 2, "failed": 2}
    assert receipt["refused"] == []
    assert (bed.folder.journal / HOST / "00000.jsonl").read_bytes() == bed.journal_there.read_bytes()
    assert json.loads((bed.folder.journal / HOST / "cores.json").read_text())["topology"]


def test_what_the_cells_are_is_described_here_and_there_before_their_records(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=2)
    bed.measure()
    described = {"v": 1, "experiment": "small", "host": HOST, **SLOW}
    for journal in (bed.there / "journal", bed.folder.journal / HOST):
        assert list(read_cells(journal / CELLS)) == [described]


def test_a_host_is_not_asked_what_its_cells_are(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=1)
    bed.measure()
    there, here = bed.there / "journal" / CELLS, bed.folder.journal / HOST / CELLS
    honest = here.read_bytes()
    there.write_bytes(
        encode_record({"v": 1, "experiment": "small", "host": HOST, **SLOW, "runtime": "faster"})
    )
    here.unlink()
    write_plan(bed.folder, [SLOW], rounds=3, plan_id="more rounds")
    bed.measure()
    assert here.read_bytes() == honest
    assert len(bed.invocations()) == 3


def test_both_clocks_are_told(bed: Bed) -> None:
    write_plan(bed.folder, [cell("true", ["/bin/true"])])
    clock = bed.measure()["clock"]
    assert abs(clock["host_utc_ns"] - clock["controller_utc_ns"]) <= clock["round_trip_ns"]


def test_a_second_run_measures_nothing_again(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=2)
    first, again = bed.measure(), bed.measure()
    assert (first["measured_now"], again["measured_now"]) == (2, 0)
    assert bed.invocations() == bed.planned(2)


class Breaking(Here):
    """A way that breaks after the second word of what is streamed, three times."""

    left = 3

    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        if type(self).left:
            type(self).left -= 1
            quoted = [f"'{word}'" for word in argv]
            return super().open(["/bin/sh", "-c", f"{' '.join(quoted)} | head -n 2"])
        return super().open(argv)


def test_a_way_that_breaks_again_and_again_loses_nothing_and_doubles_nothing(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=8)
    Breaking.left = 3
    receipt = bed.measure(Breaking)
    assert Breaking.left == 0
    assert receipt["planned"] == 8
    assert bed.invocations() == bed.planned(8)


class Away(Here):
    """A host that answers, until it does not."""

    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        raise Unreachable(self.host.name, "a connection", "none")


def test_a_host_that_stays_away_measures_on_and_what_it_measured_is_fetched_later(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGATTA_PATIENCE_S", "0.1")
    write_plan(bed.folder, [SLOW], rounds=4)
    with pytest.raises(Unreachable):
        bed.measure(Away)
    assert bed.invocations() == []
    wait_until((bed.there / "ended" / "00000.json").exists, "the end of what nobody looks at")
    assert bed.measure()["measured_now"] == 0
    assert bed.invocations() == bed.planned(4)


def test_a_runner_that_is_killed_is_started_again(bed: Bed, no_signals: None) -> None:
    held, go_on = bed.plan_held(8)
    thread, results = in_background(bed.measure)
    wait_until(lambda: bed.complete_records() == 2, "two records here")
    bed.kill_runner()
    go_on.touch()
    thread.join(300)
    (receipt,) = results
    assert receipt["planned"] == 8
    assert bed.invocations() == planned(held, 8)


@pytest.mark.smoke
def test_a_controller_that_is_killed_finds_its_runner_again(bed: Bed, tmp_path: Path) -> None:
    held, go_on = bed.plan_held(10)
    code = (
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[3:]; from helpers.detached_beds import Bed;"
        "from regatta.store.folder import Folder; Bed(Folder(Path(sys.argv[1])), Path(sys.argv[2])).measure()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(bed.folder.path), str(bed.root), str(Path(__file__).parents[3])]
    )
    wait_until(lambda: bed.complete_records() == 2, "two records here")
    process.kill()
    process.wait()
    go_on.touch()
    receipt = bed.measure()
    # All of them, where it still measured when it was found again; none, where it had ended: it never died with us.
    assert receipt["measured_now"] in (0, 10)
    assert bed.invocations() == planned(held, 10)


def test_a_host_that_lost_its_disk_gets_its_records_back(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=3)
    bed.measure()
    shutil.rmtree(bed.root)
    assert bed.measure()["measured_now"] == 0
    assert bed.invocations() == bed.planned(3)


def test_a_record_that_was_damaged_here_is_fetched_again(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=4)
    bed.measure()
    path = bed.folder.journal / HOST / "00000.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2] + lines[3])
    assert bed.measure()["measured_now"] == 0
    assert bed.invocations() == bed.planned(4)


def test_what_another_segment_s_file_has_there_is_fetched_too(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=4)
    bed.measure()
    # As when rounds are cut into other segments after the host went on alone.
    bed.journal_there.rename(bed.journal_there.with_name("00003.jsonl"))
    lines = [decode_record(line) for line in (bed.there / "journal/00003.jsonl").read_bytes().splitlines()]
    moved = [encode_record({**{k: v for k, v in r.items() if k != "crc32"}, "segment": 3}) for r in lines]
    (bed.there / "journal/00003.jsonl").write_bytes(b"".join(moved))
    shutil.rmtree(bed.folder.journal)
    assert bed.measure()["measured_now"] == 0
    assert bed.invocations() == bed.planned(4)


def test_a_kept_file_that_is_gone_there_is_named_and_the_records_are_taken(bed: Bed) -> None:
    keeping = sh("keeping", "echo x > left.txt", keep=["left.txt"])
    write_plan(bed.folder, [keeping], rounds=2)
    bed.measure()
    (first, second) = sorted((bed.folder.journal / HOST / "kept").iterdir())
    assert (first / "left.txt").read_text() == "x\n"
    shutil.rmtree(second)
    shutil.rmtree(bed.there / "journal" / "kept")
    (named,) = bed.measure()["refused"]
    assert "left.txt" in named
    assert len(bed.invocations()) == 2


def test_only_files_that_the_plan_keeps_are_fetched(bed: Bed) -> None:
    keeping = sh("keeping", "echo x > left.txt", keep=["left.txt"])
    write_plan(bed.folder, [keeping])
    bed.measure()
    (line,) = bed.journal_there.read_bytes().splitlines()
    (kept,) = decode_record(line)["kept"]
    bed.journal_there.write_bytes(changed(line, kept=[kept, {**kept, "name": "more.txt"}]) + b"\n")
    (folder,) = (bed.there / "journal" / "kept").iterdir()
    shutil.copy(folder / "left.txt", folder / "more.txt")
    shutil.rmtree(bed.folder.journal)
    assert bed.measure()["refused"] == []
    (here,) = (bed.folder.journal / HOST / "kept").iterdir()
    assert [path.name for path in here.iterdir()] == ["left.txt"]


def test_the_profile_of_a_program_is_fetched(bed: Bed) -> None:
    skip_without_perf()
    write_plan(bed.folder, [sh("sampled", "true", counters={"names": ["program-profile"], "raw": {}})])
    assert bed.measure()["refused"] == []
    (here,) = (bed.folder.journal / HOST / "kept").iterdir()
    assert [path.name for path in here.iterdir()] == [PROFILE_FILE]


def test_kept_files_beyond_the_limit_are_named_and_stay_there(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regatta.fleet.journal_copy.MOST_KEPT_BYTES", 3)
    write_plan(bed.folder, [sh("keeping", "echo x > left.txt", keep=["left.txt"])], rounds=2)
    (named,) = bed.measure()["refused"]
    assert "left.txt" in named
    assert len(list((bed.folder.journal / HOST / "kept").glob("*/left.txt"))) == 1
    assert len(bed.invocations()) == 2


def test_results_that_were_thrown_away_do_not_come_back(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=2)
    bed.measure()
    shutil.rmtree(bed.folder.path)
    write_plan(bed.folder, [SLOW], rounds=2)
    assert bed.measure()["measured_now"] == 2


def test_a_plan_that_is_edited_while_the_host_measures_takes_its_place(bed: Bed, no_signals: None) -> None:
    write_plan(bed.folder, [cell("long", ["/bin/sleep", "0.4"])], rounds=200)
    thread, results = in_background(bed.measure)
    wait_until(lambda: bed.complete_records() >= 1, "a record here")
    # It ends when it may, so that it measures however long the answer takes.
    may_end = bed.root / "may_end"
    waiting = sh("waiting", f"until test -e {may_end}; do sleep 0.05; done", timeout_s=600)
    write_plan(bed.folder, [waiting], rounds=3, plan_id="edited")
    # As when the first controller was killed: the second finds a host that measures by the plan of before.
    second = bed.segment()
    second._begin()
    told = second._hello()
    assert (told["plan_id"], told["running"]["segment"]) == ("edited", 0)
    may_end.touch()
    thread.join(300)
    assert isinstance(results[0], HostError), "the first one's plan is no more"
    assert bed.measure()["plan_id"] == "edited"
    recorded = [one for one in bed.invocations() if one.startswith(str(waiting["cell_id"]))]
    assert recorded == [f"{waiting['cell_id']}-r{number}-a0" for number in range(3)]


def test_a_runner_that_is_killed_after_an_edit_is_not_started_by_the_plan_of_before(
    bed: Bed, no_signals: None
) -> None:
    write_plan(bed.folder, [cell("long", ["/bin/sleep", "0.4"])], rounds=200)
    thread, results = in_background(bed.measure)
    wait_until(lambda: bed.complete_records() >= 1, "a record here")
    write_plan(bed.folder, [SLOW], rounds=3, plan_id="edited")
    bed.kill_runner()
    thread.join(300)
    assert isinstance(results[0], HostError)
    assert "edited" in results[0].problems[0].got
    assert json.loads((bed.there / "plan/plan.json").read_text())["plan_id"] == "by-hand"


def test_an_end_between_two_looks_is_told_as_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = HostFolder(tmp_path)

    def ends_now(folder: HostFolder) -> None:
        write_object(folder.ended(0), {"exit_code": 0})

    monkeypatch.setattr("regatta.host.verbs.follow.running", ends_now)
    Following(folder, 0, -1).run()
    assert capfd.readouterr().out == 'E {"exit_code": 0}\n'


def test_what_the_runner_says_is_handed_on(
    bed: Bed, capfd: pytest.CaptureFixture[str], no_signals: None
) -> None:
    import fcntl

    write_plan(bed.folder, [cell("true", ["/bin/true"])])
    with open(os.environ["REGATTA_HOST_LOCK"], "w") as lock:
        lock.write(json.dumps({"pid": 7, "experiment": "other", "holder": "ada@lab", "since": "noon"}))
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread, results = in_background(bed.measure)
        told = ""

        def waits() -> bool:
            nonlocal told
            told += capfd.readouterr().err
            return all(fact in told for fact in ("waiting: ", " process 7 ", " ada@lab (other, since noon)"))

        wait_until(waits, "word of who measures")
        shown = wait_until(lambda: read_progress(bed.folder).hosts[0].waiting, "the same in `regatta status`")
        assert f" {HOST}, used by other (ada@lab)" in shown
        assert shown.endswith(" noon")
    thread.join(300)
    assert results[0]["statuses"] == {"ok": 1}


def test_an_error_of_the_runner_names_its_host(bed: Bed) -> None:
    missing = {"path": str(bed.root / "gone"), "sha256": "0" * 64}
    write_plan(bed.folder, [cell("true", ["/bin/true"], files=[missing])])
    with pytest.raises(HostError, match=f"host {HOST}.*gone: expected "):
        bed.measure()
