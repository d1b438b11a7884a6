"""The vectors of an experiment are rows of its database, made of their files alone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.host.errors import StoreError
from regatta.store import database
from regatta.store.database import open_database, rebuild

SYSTEM = """\
kind: system
name: made-up/alpha
time_unit: us
level: 0.9
primitives:
  tcp_connect: {unit: operation, cost: {value: 353.0, low: 340, high: 366, n: 5}}
  tcp_transfer: {unit: byte, cost: 0.0166}
  file_read: {unit: operation, cost: {linear: {argument: bytes, fixed: 2.0, per: {value: 0.006, low: 0.005, high: 0.007}}}}
  mmap_read: {unit: operation, cost: {table: {arguments: [bytes, ways], points: [{at: [512, 1], cost: 3}, {at: [1024, 1], cost: 5}]}}}
  chase: {unit: operation, cost: {piecewise: {argument: bytes, breaks: [32768], pieces: [{fixed: 1, per: 0}, {fixed: 0, per: 0.1}]}}}
  simple_process: {unit: operation, cost: 8256.2, user_share: {value: 0.2, low: 0.1, high: 0.3}}
"""
APPLICATION = """\
kind: application
name: apache-static
per: request
time_unit: us
user_time: 80
counts:
  - {primitive: tcp_connect, count: 0.37}
  - {primitive: null_call, count: {value: 7, low: 6, high: 8, n: 3}, stands_for: [times, getpid], rule: the cheapest call}
  - {primitive: file_read, count: 1, distribution: [{arguments: {bytes: 512}, share: 0.25}, {arguments: {bytes: 9000}, share: 0.75}]}
"""


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    folder = write_experiment(tmp_path / "made-up", [cell()], [record(cell(), 0, [5.0])], 1)
    (folder / "vectors").mkdir()
    (folder / "vectors" / "alpha.yml").write_text(SYSTEM)
    return folder


def _query(folder: Path, query: str) -> list[tuple[object, ...]]:
    with open_database(folder) as connection:
        return connection.execute(query).fetchall()


def test_every_number_of_every_form_of_cost_is_a_row(experiment: Path) -> None:
    assert rebuild(experiment).vectors == 11
    rows = _query(
        experiment,
        "select primitive, form, part, arguments, unit, value, low, high, n, user_share from vectors order by place",
    )
    linear = '{"argument":"bytes"}'
    assert rows == [
        ("tcp_connect", "constant", "cost", None, "operation", 353.0, 340.0, 366.0, 5, 0.0),
        ("tcp_transfer", "constant", "cost", None, "byte", 0.0166, None, None, None, 0.0),
        ("file_read", "linear", "fixed", linear, "operation", 2.0, None, None, None, 0.0),
        ("file_read", "linear", "per", linear, "operation", 0.006, 0.005, 0.007, None, 0.0),
        ("mmap_read", "table", "cost", '{"bytes":512,"ways":1}', "operation", 3.0, None, None, None, 0.0),
        ("mmap_read", "table", "cost", '{"bytes":1024,"ways":1}', "operation", 5.0, None, None, None, 0.0),
        ("chase", "piecewise", "fixed", '{"argument":"bytes","below":32768}', "operation", 1.0, None, None, None, 0.0),
        ("chase", "piecewise", "per", '{"argument":"bytes","below":32768}', "operation", 0.0, None, None, None, 0.0),
        ("chase", "piecewise", "fixed", '{"argument":"bytes","from":32768}', "operation", 0.0, None, None, None, 0.0),
        ("chase", "piecewise", "per", '{"argument":"bytes","from":32768}', "operation", 0.1, None, None, None, 0.0),
        ("simple_process", "constant", "cost", None, "operation", 8256.2, None, None, None, 0.2),
    ]  # fmt: skip
    files = _query(experiment, "select distinct file, kind, name, time_unit, level from vectors")
    assert files == [("alpha.yml", "system", "made-up/alpha", "us", 0.9)]


def test_a_user_share_that_nobody_knows_is_null(experiment: Path) -> None:
    text = SYSTEM.replace("{value: 0.2, low: 0.1, high: 0.3}", "{reason: no user_share was measured}")
    (experiment / "vectors" / "alpha.yml").write_text(text)
    unknown = _query(experiment, "select primitive from vectors where user_share is null")
    assert unknown == [("simple_process",)]


def test_counts_tell_their_arguments_shares_and_what_they_stand_for(experiment: Path) -> None:
    (experiment / "vectors" / "static.yml").write_text(APPLICATION)
    rows = _query(
        experiment,
        "select primitive, part, arguments, value, share, stands_for, rule from vectors where kind = 'application' order by place",
    )
    assert rows == [
        ("tcp_connect", "count", None, 0.37, 1.0, None, None),
        ("null_call", "count", None, 7.0, 1.0, '["times","getpid"]', "the cheapest call"),
        ("file_read", "count", '{"bytes":512}', 1.0, 0.25, None, None),
        ("file_read", "count", '{"bytes":9000}', 1.0, 0.75, None, None),
        ("", "user_time", None, 80.0, None, None, None),
    ]


def test_a_vector_that_changes_makes_its_table_again_and_reads_no_record(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = "select count(*) from vectors"
    assert _query(experiment, count) == [(11,)]

    def fail(*_: object) -> None:
        raise AssertionError("the journal was read")

    monkeypatch.setattr(database, "_write_records", fail)
    (experiment / "vectors" / "alpha.yml").write_text(SYSTEM[: SYSTEM.index("  chase")])
    assert _query(experiment, count) == [(6,)]
    (experiment / "vectors" / "alpha.yml").unlink()
    assert _query(experiment, count) == [(0,)]
    assert _query(experiment, "select count(*) from iterations") == [(1,)], "the rest is there as before"


def test_a_database_without_vectors_is_as_good_until_there_is_one(experiment: Path) -> None:
    text = (experiment / "vectors" / "alpha.yml").read_text()
    (experiment / "vectors" / "alpha.yml").unlink()
    rebuild(experiment)
    made = (experiment / "store" / "regatta.duckdb").stat().st_mtime_ns
    database.ensure_database(experiment)
    assert (experiment / "store" / "regatta.duckdb").stat().st_mtime_ns == made
    (experiment / "vectors" / "alpha.yml").write_text(text)
    assert _query(experiment, "select count(*) from vectors") == [(11,)]


def _bomb() -> str:
    lists = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 10)]
    count = "counts: [{primitive: a, count: 1, arguments: {bytes: *l9}}]"
    return "\n".join(["kind: application", "name: x", "l0: &l0 [1]", *lists, count, ""])


@pytest.mark.parametrize(
    "text",
    [
        "[" * 20_000,
        "[" * 200_000,
        _bomb(),
        "kind: system\nname: x\nprimitives: [",
        "kind: neither\nname: x\n",
        "- 5\n",
        json.dumps({"kind": "system", "name": "x", "primitives": {"a": {"unit": "byte", "cost": {"cubic": {}}}}}),
        json.dumps({"kind": "application", "name": "x", "per": "run", "counts": [{"primitive": "a", "count": "many"}]}),
        # A piece too many; what is no text, and a number that no column holds.
        json.dumps({"kind": "system", "name": "x", "primitives": {"a": {"unit": "byte", "cost": {
            "piecewise": {"argument": "bytes", "breaks": [8], "pieces": [{"fixed": 1, "per": 1}] * 3}}}}}),
        json.dumps({"kind": "system", "name": "x", "primitives": {"a": {"unit": [1], "cost": 5}}}),
        json.dumps({"kind": "application", "name": "x", "per": "run", "counts": [{"primitive": "a", "count": {"value": 1, "n": 2**70}}]}),
        json.dumps({"kind": "application", "name": "x", "per": "run", "counts": [{"primitive": "a", "count": 10**400}]}),
    ],
)  # fmt: skip
def test_what_is_no_vector_is_named_with_its_file(experiment: Path, text: str) -> None:
    (experiment / "vectors" / "wrong.yml").write_text(text)
    with pytest.raises(StoreError) as caught:
        rebuild(experiment)
    (problem,) = caught.value.problems
    assert problem.where.endswith("vectors/wrong.yml")
    assert "`regatta vector check " in problem.fix
    assert problem.fix.endswith("wrong.yml`")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _log_of_the_kernel(path: Path) -> None:
    path.symlink_to("/proc/kmsg")


def _nowhere(path: Path) -> None:
    path.symlink_to(path.with_name("missing"))


def _large(path: Path) -> None:
    path.write_bytes(b"kind: system\n#" + b" " * 2**28)


@pytest.mark.parametrize("make", [_pipe, _endless, _log_of_the_kernel, _nowhere, _large])
def test_a_vector_that_is_no_small_file_ends_no_process_and_holds_none_up(
    experiment: Path, make: Callable[[Path], None]
) -> None:
    make(experiment / "vectors" / "wrong.yml")
    for read in (database.ensure_database, rebuild):
        with pytest.raises(StoreError) as caught:
            read(experiment)
        assert caught.value.problems[0].where == str(experiment / "vectors" / "wrong.yml")
