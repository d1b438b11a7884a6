"""What a host sends or answers is examined: what is wrong is refused and named, and nothing else is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import zlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest

from helpers.detached_beds import SLOW, Bed, changed
from helpers.runner_plans import HOST, cell, write_plan
from regatta.fleet import detached
from regatta.fleet.controller_side import show_state
from regatta.fleet.journal_copy import Acceptance, TakenOver
from regatta.fleet.remote.base import Answer
from regatta.fleet.remote.here import Here
from regatta.host.errors import HostError
from regatta.host.journal.decisions import read_decisions
from regatta.host.journal.record import decode_record
from regatta.host.verbs.questions import Resolve

pytestmark = pytest.mark.full  # each test starts and kills controllers and runners


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


def decision(**changes: object) -> dict[str, object]:
    """What a host decides about a group of two alternatives."""
    pair = {
        "a": "a", "b": "b", "series": "", "n": 3, "sd": 0.1, "half_width_percent": 1.0, "needed": None, "met": False,
        "reason": "not yet", "outcome": None,
    }  # fmt: skip
    of_pair = {
        key: value for key, value in changes.items() if key in pair and key not in ("needed", "met", "reason")
    }
    whole = {
        "needed": None,
        "met": False,
        "modes": [],
        "pairs": [{**pair, **of_pair}],
        "reason": "",
        "cells": {},
    }
    return {**whole, **{key: value for key, value in changes.items() if key not in of_pair}}


@pytest.mark.parametrize("needed", [0, -1, 10**9, True, "3"])
def test_a_host_cannot_decide_for_fewer_or_more_rounds_than_the_plan_allows(bed: Bed, needed: object) -> None:
    stopping = {"rule": "stein", "groups": [{"key": "k", "cells": [0]}], "pilot": 2, "maximum": 9}
    write_plan(bed.folder, [SLOW], rounds=9, stopping=stopping)
    taken = TakenOver(bed.folder, HOST, Acceptance(bed.folder.host_header(HOST), 0), 0)
    decided = {"v": 1, "groups": {"k": decision(needed=needed)}}
    try:
        with pytest.raises(HostError, match="decisions"):
            taken.finish({"decisions": decided}, bed.segment().agent, "/x")
    finally:
        taken.close()


@pytest.mark.parametrize(
    "changes",
    [
        *({"cells": cells} for cells in ([3], {"a": 1}, {"a": 10}, {"a": True}, {"a": None})),
        *({"outcome": outcome} for outcome in ("faster", ["less"], {})),
        {"sd": "x"},
        {"n": 10**4000},
        {"pairs": 5},
        {"pairs": [{}]},
        {"met": None},
        {"modes": [1]},
    ],
)
def test_a_host_cannot_end_an_alternative_outside_the_plan(bed: Bed, changes: dict[str, object]) -> None:
    stopping = {"rule": "decide", "groups": [{"key": "k", "cells": [0]}], "pilot": 3, "maximum": 9}
    write_plan(bed.folder, [SLOW], rounds=9, stopping=stopping)
    taken = TakenOver(bed.folder, HOST, Acceptance(bed.folder.host_header(HOST), 0), 0)
    decisions = {"v": 1, "groups": {"k": decision(**changes)}}
    try:
        with pytest.raises(HostError, match="decisions"):
            taken.finish({"decisions": decisions}, bed.segment().agent, "/x")
    finally:
        taken.close()


@pytest.mark.parametrize(
    ("rule", "needed", "is_right"),
    [
        ("seconds", 9, True),
        ("seconds", 40, True),
        ("seconds", 8, False),
        ("seconds", 41, False),
        ("seconds", None, False),
        ("decide", 9, True),
        ("decide", 10, False),
        ("stein", 9, False),
        ([], 9, False),
    ],
)
def test_only_a_measuring_time_allows_more_rounds_than_the_rule(
    bed: Bed, rule: object, needed: int | None, is_right: bool
) -> None:
    groups = [{"key": "k", "cells": [0]}]
    stopping = {"rule": "decide", "groups": groups, "pilot": 3, "maximum": 9, "seconds": 3.0, "most": 40}
    write_plan(bed.folder, [SLOW], rounds=40, stopping=stopping)
    taken = TakenOver(bed.folder, HOST, Acceptance(bed.folder.host_header(HOST), 0), 0)
    decisions = {"v": 1, "groups": {"k": decision(rule=rule, needed=needed)}}
    try:
        with nullcontext() if is_right else pytest.raises(HostError, match="decisions"):
            taken.finish({"decisions": decisions}, bed.segment().agent, "/x")
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
            groups_now = {"k": decision(needed=k), "made": decision(needed=made), "gone": {}}
            taken.finish({"decisions": {"v": 1, "groups": groups_now}}, agent, "/x")
            told = read_decisions(bed.folder.decisions(HOST))
            assert {key: entry["needed"] for key, entry in told.items()} == {"k": k, "made": 3}
    finally:
        taken.close()


def test_a_host_of_several_that_decide_together_decides_nothing(bed: Bed) -> None:
    groups = [{"key": "k", "cells": [0]}]
    stopping = {"rule": "decide", "groups": groups, "pilot": 3, "maximum": 9, "looks": [3, 9]}
    write_plan(bed.folder, [SLOW], rounds=9, stopping=stopping)
    taken = TakenOver(bed.folder, HOST, Acceptance(bed.folder.host_header(HOST), 0), 0)
    try:
        decided = {"v": 1, "groups": {"k": {**decision(needed=3), "seen": 10**9}}}
        taken.finish({"decisions": decided}, bed.segment().agent, "/x")
    finally:
        taken.close()
    assert not bed.folder.decisions(HOST).exists()


def test_decisions_of_an_earlier_rule_do_not_matter_to_a_plan_without_one(bed: Bed) -> None:
    write_plan(bed.folder, [SLOW], rounds=9)
    taken = TakenOver(bed.folder, HOST, Acceptance(bed.folder.host_header(HOST), 0), 0)
    try:
        taken.finish({"decisions": {"v": 1, "groups": {"k": decision()}}}, bed.segment().agent, "/x")
        assert read_decisions(bed.folder.decisions(HOST)) == {}
    finally:
        taken.close()


def test_a_zipapp_that_was_altered_on_the_host_is_not_run_but_brought_again(bed: Bed) -> None:
    agent = bed.agent()
    agent.facts()
    Path(agent.path).write_bytes(b"print('{}')")
    assert agent.facts().architecture
