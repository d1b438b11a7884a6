"""The tables of calls: those that are delivered, and every slip in one by file, line and key."""

from pathlib import Path

import pytest

from regatta.host.errors import SpecError
from regatta.models.vectors.calls import FORK_EXEC, read_calls
from regatta.models.vectors.primitives import read_primitives

TABLES = Path(__file__).parents[4] / "configs" / "primitives"
DELIVERED = TABLES / "os-calls.yml"


def problems(tmp_path, text):
    path = tmp_path / "calls.yml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        read_calls(path)
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_the_delivered_table_knows_the_primitives_of_the_operating_system():
    table = read_calls(DELIVERED)
    counted = {entry.primitive for rule in table.rules.values() for entry in rule.counts}
    assert counted == {
        "null_call", "stat", "open_close", "fcntl", "signal_install", "mmap", "file_read", "file_write", "mmap_read",
        "tcp_latency", "tcp_transfer", "tcp_send", "tcp_sendfile", "tcp_connect", "pipe_read", "pipe_call", "socket_rw",
        "socket_call", "stream_connect", "simple_process", "fork_mapping", "page_copy", "switch",
    }  # fmt: skip
    assert next(iter(table.rules.values())).calls == [FORK_EXEC]
    assert {"munmap", "mmap", "openat"} <= table.of_loader
    assert {"read", "close", "accept4"} <= table.told_by_kind


def test_every_problem_is_told_at_once_by_file_line_and_key(tmp_path):
    found = problems(
        tmp_path,
        "rules:\n"
        "  a:\n"
        "    calls: [read, Bad Name]\n"
        "    on: sea\n"
        "    counts: [{primitive: x, each: bit}]\n"
        "  b:\n"
        "    calls: close\n"
        "    color: red\n",
    )
    assert [line.split(": expected ")[0] for line in found] == [
        "calls.yml:3:rules.a.calls[1]",
        "calls.yml:4:rules.a.on",
        "calls.yml:5:rules.a.counts[0].each",
        "calls.yml:8:rules.b.color",
    ]


@pytest.mark.parametrize("name", ["os", "java"])
def test_every_call_counts_as_a_primitive_with_its_argument(name):
    primitives = read_primitives(TABLES / f"{name}.yml").primitives
    for rule in read_calls(TABLES / f"{name}-calls.yml").rules.values():
        for entry in rule.counts:
            cost = primitives[entry.primitive].cost
            needed = cost.arguments if cost.kind in ("linear", "table", "piecewise") else ()
            assert needed == ((entry.argument,) if entry.argument else ()), entry.primitive


@pytest.mark.parametrize(
    "rule",
    [
        "{calls: read}",
        "{calls: read, counts: [{primitive: x}], covered_by: x}",
        "{calls: read, counts: [{primitive: x}], at_most: 2}",
        "{calls: read, counts: [{primitive: x}], approximated: true}",
        "{calls: read, covered_by: x}",
        "{calls: read, counts: [{primitive: x, each: byte, argument: bytes}]}",
        "{calls: [], counts: [{primitive: x}]}",
    ],
)
def test_a_rule_that_contradicts_itself_is_refused(tmp_path, rule, golden):
    found = problems(tmp_path, f"rules:\n  a: {rule}\nunknown: null_call\n")
    assert len(found) == 1
    golden(rule, found[0])


def test_a_call_that_a_rule_above_takes_whole_is_a_slip(tmp_path, golden):
    found = problems(
        tmp_path,
        "rules:\n  a: {calls: [read, write], counts: [{primitive: x}]}\n"
        "  b: {calls: read, on: file, counts: [{primitive: y}]}\nunknown: x\n",
    )
    assert len(found) == 1
    golden("consumed above", found[0])
