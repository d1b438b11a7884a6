"""A segment measured by a process of the host's own, with this machine as the host: the same files, the same verbs, no network."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.runner_plans import HOST, cell, sh, wait_until, write_plan
from regatta.fleet import detached
from regatta.fleet.agent import Agent
from regatta.fleet.controller_side import show_state
from regatta.fleet.detached import DetachedSegment
from regatta.fleet.remote.base import Answer, Unreachable
from regatta.fleet.remote.here import Here
from regatta.fleet.taking_over import Acceptance, TakenOver
from regatta.host.errors import HostError
from regatta.host.files import write_object
from regatta.host.journal.decisions import read_decisions
from regatta.host.journal.host_folder import HostFolder
from regatta.host.journal.journal import CELLS, Damage, read_cells, read_journal
from regatta.host.journal.record import decode_record, encode_record
from regatta.host.values.host import Host
from regatta.host.verbs.follow import Following
from regatta.host.verbs.questions import Resolve
from regatta.store.folder import Folder
from regatta.store.progress import read_progress

pytestmark = pytest.mark.full  # each test starts and kills controllers and runners

SLOW = cell("slow", ["/bin/sleep", "0.2"])


@dataclass
class Bed:
    """One experiment, and a host that is this machine behind the interface of another."""

    folder: Folder
    root: Path

    def agent(self, remote: type[Here] = Here) -> Agent:
        """The way to the host."""
        return Agent(remote(Host(HOST, "local", python=sys.executable, root=str(self.root))))

    def segment(self, remote: type[Here] = Here) -> DetachedSegment:
        """The first segment, from the controller's side."""
        return DetachedSegment(self.folder, self.agent(remote), 0, False)

    def measure(self, remote: type[Here] = Here) -> dict[str, Any]:
        """Measure it to its end; returns the receipt."""
        return self.segment(remote).run()

    @property
    def there(self) -> Path:
        """The experiment's folder on the host."""
        (found,) = (self.root / "experiments").iterdir()
        return found

    @property
    def journal_there(self) -> Path:
        return self.there / "journal" / "00000.jsonl"

    def invocations(self) -> list[str]:
        """Of all records here, sorted; a damaged line fails."""
        found = []
        for item in read_journal(self.folder.path):
            assert not isinstance(item, Damage), item
            found.append(f"{item['invocation_id']}-a{item['attempt']}")
        return sorted(found)

    def complete_records(self) -> int:
        """How many records are here while somebody else appends: the last line may be incomplete."""
        return sum(not isinstance(item, Damage) for item in read_journal(self.folder.path))

    def planned(self, rounds: int) -> list[str]:
        return planned(SLOW, rounds)

    def plan_held(self, rounds: int) -> tuple[dict[str, Any], Path]:
        """Plan a cell whose third invocation waits for a file; return both."""
        go_on = self.folder.path.parent / "go-on"
        wait = f"until test -e {go_on}; do sleep 0.05; done"
        held = sh("held", f'case "$REGATTA_INVOCATION" in *-r0 | *-r1) ;; *) {wait} ;; esac', timeout_s=600)
        write_plan(self.folder, [held], rounds=rounds)
        return held, go_on

    def kill_runner(self) -> None:
        """As the kernel does when memory runs out."""
        os.kill(int(json.loads((self.there / "running.lock").read_text())["pid"]), signal.SIGKILL)


def planned(cell: dict[str, Any], rounds: int) -> list[str]:
    """The first attempts of all invocations of a cell, sorted."""
    return sorted(f"{cell['cell_id']}-r{number}-a0" for number in range(rounds))


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    monkeypatch.setenv("REGATTA_HOST_LOCK", str(tmp_path / "host.lock"))
    made = Bed(Folder(tmp_path / "results" / "small"), tmp_path / "root")
    yield made
    for zipapp in made.root.glob("bin/*.pyz"):
        for folder in made.root.glob("experiments/*"):
            stop = [sys.executable, "-I", str(zipapp), "detached", "stop", "--folder", str(folder)]
            subprocess.run(stop, check=True, capture_output=True)


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
        "import sys; from pathlib import Path; sys.path[:0] = sys.argv[3:]; from test_detached import Bed;"
        "from regatta.store.folder import Folder; Bed(Folder(Path(sys.argv[1])), Path(sys.argv[2])).measure()"
    )
    here = Path(__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(bed.folder.path), str(bed.root), str(here), str(here.parents[1])]
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


def test_kept_files_beyond_the_limit_are_named_and_stay_there(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regatta.fleet.taking_over.MOST_KEPT_BYTES", 3)
    write_plan(bed.folder, [sh("keeping", "echo x > left.txt", keep=["left.txt"])], rounds=2)
    (named,) = bed.measure()["refused"]
    assert "left.txt" in named
    assert len(list((bed.folder.journal / HOST / "kept").glob("*/left.txt"))) == 1
    assert len(bed.invocations()) == 2


STATE = {"total": 4, "started_utc_s": 1, "cell": "x", "index": 0, "since_utc_s": 1.5, "counts": {"ok": 2}}
HOSTILE_STATES = {
    "numbers beyond all": b"1e999",
    "more digits than a number has": b"9" * 5000,
    "a number of another kind": b'"4"',
    "no number": b"NaN",
    "lists in lists": b"[" * 50_000,
    "a text without an end": b'"' + b"x" * 70_000 + b'"',
}


@pytest.mark.parametrize("how", HOSTILE_STATES)
@pytest.mark.parametrize("key", ["total", "started_utc_s", "index", "since_utc_s", "counts"])
def test_a_hostile_state_is_passed_over(bed: Bed, how: str, key: str) -> None:
    show_state(bed.folder, HOST, 0, json.dumps(STATE).encode())
    before = (bed.folder.state / f"{HOST}.json").read_bytes()
    text = json.dumps({**STATE, key: {"ok": "@"} if key == "counts" else "@"}).encode()
    show_state(bed.folder, HOST, 0, text.replace(b'"@"', HOSTILE_STATES[how]))
    assert (bed.folder.state / f"{HOST}.json").read_bytes() == before


def test_a_state_shows_known_statuses_and_text_that_can_be_written(bed: Bed) -> None:
    told = {**STATE, "cell": "\udcff", "counts": {"ok": 2, "x" * 100: 3}}
    show_state(bed.folder, HOST, 0, json.dumps(told).encode())
    shown = json.loads((bed.folder.state / f"{HOST}.json").read_text())
    assert (shown["cell"], shown["counts"]) == (r"\udcff", {"ok": 2})


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
            return "waiting: the host is in use by process 7 of ada@lab (other, since noon)" in told

        wait_until(waits, "word of who measures")
        shown = wait_until(lambda: read_progress(bed.folder).hosts[0].waiting, "the same in `regatta status`")
        assert shown == f"waiting for host {HOST}, used by other (ada@lab) since noon"
    thread.join(300)
    assert results[0]["statuses"] == {"ok": 1}


def test_an_error_of_the_runner_names_its_host(bed: Bed) -> None:
    missing = {"path": str(bed.root / "gone"), "sha256": "0" * 64}
    write_plan(bed.folder, [cell("true", ["/bin/true"], files=[missing])])
    with pytest.raises(HostError, match=f"host {HOST}.*gone: expected a file of the plan"):
        bed.measure()


def changed(line: bytes, **keys: Any) -> bytes:
    """A record with other values, its checksum right."""
    record = decode_record(line)
    record.pop("crc32", None)
    return encode_record({**record, **keys}).rstrip(b"\n")


def nested(line: bytes, depth: int) -> bytes:
    """A record with lists in lists, its checksum right."""
    body = changed(line, info="@").rpartition(b',"crc32":')[0].replace(b'"@"', b"[" * depth + b"]" * depth)
    return b'%b,"crc32":"%08x"}' % (body, zlib.crc32(body))


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "bad JSON": lambda line: b"{" + line,
    "another host": lambda line: changed(line, host="beta"),
    "another experiment": lambda line: changed(line, experiment="../../etc"),
    "a cell that is not planned": lambda line: changed(
        line, cell_id="f" * 16, invocation_id="f" * 16 + "-r0"
    ),
    "a round that is not planned": lambda line: changed(line, round=99),
    "an id of another cell": lambda line: changed(line, invocation_id="../../../tmp/x-r0"),
    "a status that does not exist": lambda line: changed(line, status="excellent"),
    "a time that is none": lambda line: changed(line, elapsed_ns=-1),
    "a path for a name": lambda line: changed(line, kept=[{"name": "../x", "bytes": 1, "sha256": "0" * 64}]),
    "numbers as text": lambda line: changed(line, round="0"),
    "a text for a group": lambda line: changed(line, cgroup="x"),
    "an exit code beyond all": lambda line: changed(line, exit_code=10**12),
    "a number beyond all": lambda line: changed(line, iterations=[[0, "elapsed", 10**400, "ns", None, None]]),
    "a time beyond all": lambda line: changed(line, started_utc_ns=10**30),
    "escapes in a key": lambda line: changed(line, rusage={"\x1b[2J": "x"}),
    "nested too deep": lambda line: nested(line, 100_000),
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_record_is_refused_and_named_and_the_others_are_taken(bed: Bed, how: str) -> None:
    write_plan(bed.folder, [cell("true", ["/bin/true"])], rounds=3)
    bed.measure()
    good = bed.journal_there.read_bytes().splitlines()
    bad = HOSTILE[how](good[1])
    shutil.rmtree(bed.folder.journal)
    bed.journal_there.write_bytes(b"\n".join([good[0], bad, good[2]]) + b"\n")
    # As if it had ended just so: nothing is measured, what is there is sent.
    (reason,) = _refused(bed)
    assert reason.isprintable()
    assert bed.invocations() == [f"{decode_record(line)['invocation_id']}-a0" for line in (good[0], good[2])]


def _refused(bed: Bed) -> list[str]:
    segment = bed.segment()
    taken = TakenOver(bed.folder, HOST, Acceptance(segment.header, 0), 0)
    try:
        segment._follow(taken, lambda: None)
    finally:
        taken.close()
    return taken.refused


class Endless(Here):
    """A host that sends one line without an end."""

    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return super().open(["/bin/sh", "-c", "printf 'R '; exec cat /dev/zero"])


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regatta.fleet.detached.LONGEST_LINE_BYTES", 1 << 20)
    write_plan(bed.folder, [cell("true", ["/bin/true"])])
    with pytest.raises(HostError, match="lines of at most"):
        bed.measure(Endless)


class Slowly(Here):
    """A host that sends a long line in many pieces, then a short one, then half of one."""

    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return super().open(["/bin/sh", "-c", "head -c 33554432 /dev/zero; printf '\\nL x\\nL '"])


def test_a_long_line_of_many_pieces_comes_whole(bed: Bed) -> None:
    process = bed.agent(Slowly).remote.open([])
    lines = list(detached._lines(process, HOST))
    process.communicate()
    assert [len(line) for line in lines] == [32 << 20, 3]


class Answering(Here):
    """A host whose every answer is the same text."""

    text = b""

    def run(self, argv: Sequence[str], stdin: bytes | Path = b"", timeout_s: float = 600.0) -> Answer:
        return Answer(0, type(self).text, "")


FACTS = {"facts": {"architecture": "x86_64"}, "jvms": {}, "utc_ns": 1, "node": ""}
ANSWERS = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "a list in lists": b"[" * 100_000,
    "another shape": b'{"answer": 3}',
    "an error of another shape": b'{"error": {"problems": 5}}',
    "an architecture that is a path": json.dumps(
        {"answer": {**FACTS, "facts": {"architecture": "x86_64/../../../.ssh"}}}
    ).encode(),
    "numbers for text": json.dumps({"answer": {**FACTS, "jvms": {"x": 1}}}).encode(),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_hostile_answer_is_an_error_that_names_the_host_and_no_more(bed: Bed, what: str) -> None:
    Answering.text = ANSWERS[what]
    agent = bed.agent(Answering)
    with pytest.raises(HostError, match=HOST):
        agent.facts()
    with pytest.raises(HostError, match=HOST):
        agent.resolve(Resolve(None, None, None))  # the question does not matter


@pytest.mark.parametrize("needed", [0, -1, 10**9, True, "3"])
def test_a_host_cannot_decide_for_fewer_or_more_rounds_than_the_plan_allows(bed: Bed, needed: object) -> None:
    stopping = {"groups": [{"key": "k", "cells": [0]}], "pilot": 2, "maximum": 9}
    write_plan(bed.folder, [SLOW], rounds=9, stopping=stopping)
    taken = TakenOver(bed.folder, HOST, Acceptance(bed.folder.host_header(HOST), 0), 0)
    try:
        with pytest.raises(HostError, match="decisions"):
            taken.finish(
                {"decisions": {"v": 1, "groups": {"k": {"needed": needed}}}}, bed.segment().agent, "/x"
            )
    finally:
        taken.close()


def test_an_open_decision_is_accepted_and_replaced_by_the_next_one(bed: Bed) -> None:
    groups = [{"key": key, "cells": [0]} for key in ("k", "made")]
    stopping = {"rule": "javastats", "groups": groups, "pilot": 2, "maximum": 9}
    write_plan(bed.folder, [SLOW], rounds=9, stopping=stopping)
    taken = TakenOver(bed.folder, HOST, Acceptance(bed.folder.host_header(HOST), 0), 0)
    agent = bed.segment().agent
    try:
        for k, made in ((None, 3), (5, 4)):
            groups_now = {"k": {"needed": k}, "made": {"needed": made}}
            taken.finish({"decisions": {"v": 1, "groups": groups_now}}, agent, "/x")
            told = read_decisions(bed.folder.decisions(HOST))
            assert {key: entry["needed"] for key, entry in told.items()} == {"k": k, "made": 3}
    finally:
        taken.close()


def test_a_zipapp_that_was_altered_on_the_host_is_not_run_but_brought_again(bed: Bed) -> None:
    agent = bed.agent()
    agent.facts()
    Path(agent.path).write_bytes(b"print('{}')")
    assert agent.facts().architecture
