"""Records that a host, a program or another version made odd: they are refused or excluded, or the answer holds with them."""

from __future__ import annotations

import json
import tempfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.synthetic_journal import cell, record, write_experiment, write_journal
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.verification import verify_experiment
from regatta.fleet.journal_copy import Acceptance
from regatta.host.journal.journal import Damage, read_journal
from regatta.host.journal.record import DamagedLine, decode_record
from regatta.host.journal.record_shape import ALL_KEYS
from regatta.store.folder import Folder
from regatta.store.progress import read_progress

G1, ZGC = cell("g1"), cell("zgc")
ROUNDS = 6


def line_of(value: dict[str, Any]) -> bytes:
    """A line with its checksum right, whatever is in it."""
    body = json.dumps(value, separators=(",", ":")).encode()[:-1]
    return b'%b,"crc32":"%08x"}\n' % (body, zlib.crc32(body))


def experiment_of(directory: Path, *more: bytes) -> Path:
    """Twelve good records of alpha, and lines of beta."""
    good = [record(c, r, [100.0 + r], position=i) for r in range(ROUNDS) for i, c in enumerate((G1, ZGC))]
    write_experiment(directory, [G1, ZGC], good, ROUNDS)
    write_journal(directory, [], host="beta")
    (directory / "journal/beta/0.jsonl").write_bytes(b"".join(more))
    return directory


def test_a_bad_record_of_one_host_is_excluded_and_counted_and_the_others_are_answered(tmp_path: Path) -> None:
    bad = record(G1, 0, [1.0], host="beta") | {"sequence": 0, "cgroup": {"cpu_ns": "x"}}
    path = experiment_of(tmp_path / "made-up", line_of(bad), line_of(bad | {"cgroup": None}))
    answer = answer_experiment(path)
    assert answer.recorded == 2 * ROUNDS
    (told,) = [warning for warning in answer.warnings if warning.startswith("beta: 1 damaged journal line")]
    assert "0.jsonl:1:" in told
    verdict = verify_experiment(Folder(path))
    assert [text.partition(": ")[0] for text in verdict.damage] == [f"{path}/journal/beta/0.jsonl:1"]
    assert [host.damaged for host in read_progress(Folder(path)).hosts] == [0]


@pytest.mark.parametrize("code", [0xD800, 0xDCFF, 0])
def test_a_journal_with_text_that_is_no_unicode_in_every_place_is_answered(tmp_path: Path, code: int) -> None:
    surrogate = chr(code)
    odd = {f"k{surrogate}": [{"f": surrogate, surrogate: 1}], "counters": surrogate}
    rows = [[0, "elapsed", 5.0, "ns", None, {"a": surrogate}]]
    lines = [
        line_of(
            record(c, r, rows, reason=surrogate, status=status)
            | {"info": odd, "isolation": odd, "new": odd, "sequence": r,
               "perturbation": [{"limit": surrogate, "allowed": 1, "measured": 2, **odd}]}
        )
        for c, status in ((G1, "ok"), (ZGC, "failed"))
        for r in range(ROUNDS)
    ]  # fmt: skip
    path = experiment_of(tmp_path / "made-up")
    (path / "journal/alpha/0.jsonl").write_bytes(b"".join(lines))
    assert not [item for item in read_journal(path) if isinstance(item, Damage)]
    answer = answer_experiment(path)
    assert answer.recorded == 2 * ROUNDS
    json.dumps([failure.reason for failure in answer.failures], ensure_ascii=False).encode()


_scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 1e308, 5e-324, 1e300, 10**400])
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["\udcff", "ok", "perturbed", "failed", "elapsed", "ns", "back-to-back", "]0;x"])
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a value, by keys and indices."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inside for place in places(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with another one at a place."""
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


PLANNED = {
    "experiment": "made-up", "host": "alpha", "platform": "local", "rounds": ROUNDS,
    "cells": [{"cell_id": G1["cell_id"]}, {"cell_id": ZGC["cell_id"]}],
}  # fmt: skip
WHOLE = record(G1, 0, [[0, "elapsed", 5, "ns", 10, {"a": "b"}], [1, "elapsed", 6, "ns", None, None]]) | {
    "sequence": 0,
    "cgroup": {"version": 2, "cpu_ns": 5, "memory_peak_bytes": 7, "oom_kills": 0},
    "isolation": {"kind": "cgroup"},
    "info": {"counters": {"a": 1}},
    "perturbation": [{"limit": "steal_percent", "allowed": 1, "measured": 2.5}],
    "kept": [{"name": "x.log", "bytes": 1, "sha256": "0" * 64}],
}
PLACES = places(WHOLE)[1:]


def test_the_record_that_is_changed_is_whole() -> None:
    assert set(ALL_KEYS) <= set(WHOLE)
    assert Acceptance(PLANNED, 0).record(line_of(WHOLE).rstrip(b"\n"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), _values, st.integers(0, ROUNDS - 1)), min_size=1, max_size=20)
)
def test_any_change_of_a_record_is_refused_or_answered(
    changes: list[tuple[tuple[Any, ...], Any, int]],
) -> None:
    lines, accepted, refused = [], 0, []
    for place, new, round_ in changes:
        moved = WHOLE | {"round": round_, "invocation_id": f"{G1['cell_id']}-r{round_}", "attempt": 1}
        line = line_of(put(moved, place, new))
        lines.append(line)
        try:
            Acceptance(PLANNED, 0).record(line.rstrip(b"\n"))
            accepted += 1
        except DamagedLine as error:
            refused.append(str(error))
    assert all(map(str.isprintable, refused))
    readable = 0
    for line in lines:
        try:
            decode_record(line)
            readable += 1
        except DamagedLine:
            pass
    assert accepted <= readable
    with tempfile.TemporaryDirectory() as folder:
        path = experiment_of(Path(folder) / "made-up")
        with (path / "journal/alpha/0.jsonl").open("ab") as file:
            file.write(b"".join(lines))
        answer = answer_experiment(path)
        assert answer.recorded > 0
        verdict = verify_experiment(Folder(path))
        assert verdict.recorded == 2 * ROUNDS + readable
        assert len(verdict.damage) == len(lines) - readable
        read_progress(Folder(path))
