"""Text from outside reaches a terminal clean, on lines of its own, and not without end."""

from __future__ import annotations

import json
import os
import sys

import pytest
from click.testing import CliRunner

from helpers.synthetic_journal import cell, record, write_journal, write_plan
from regatta.cli.main import cli, main
from regatta.fleet.controller_side import show_state
from regatta.fleet.remote.base import Answer
from regatta.host.errors import HostError, Problem, SpecError
from regatta.host.measure.host_lock import HostLock
from regatta.host.printable import Lines, printable, with_lines
from regatta.store.folder import Folder

#: an escape sequence, a C1 one, a bell, NUL, DEL, a bidi override, a line separator, a lone surrogate
HOSTILE = "\x1b]0;x\a \x9b31m\0\x7f‮\u2028\udcff"


def is_clean(text):
    return all(line.isprintable() for line in text.split("\n")) and text.encode("utf-8") is not None


def told(monkeypatch, capfd, *arguments):
    """What the command prints on both streams."""
    monkeypatch.setattr(sys, "argv", ["regatta", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capfd.readouterr()
    return ended.value.code, out, err


@pytest.mark.parametrize("part", ["where", "expected", "got", "fix"])
def test_no_part_of_a_problem_steers_a_terminal_or_makes_a_line_of_its_own(part):
    parts = {"where": "w", "expected": "e", "got": "g", "fix": "f"}
    text = str(Problem(**{**parts, part: f"{HOSTILE}\nerror: faked"}))
    assert text.isprintable()
    assert "\\x1b]0;x\\x07" in text
    assert len(str(Problem(**{**parts, part: "x" * 250_000}))) < 5000


def test_text_that_is_clean_stays_as_it_is():
    assert printable("ü ∆ 漢 \N{GRINNING FACE}") == "ü ∆ 漢 \N{GRINNING FACE}"
    assert printable(printable(HOSTILE * 100, 90), 90) == printable(HOSTILE * 100, 90)
    assert len(printable(HOSTILE * 100, 90)) == 90


def test_lines_that_are_meant_stay_lines_and_cannot_pass_for_another_message():
    text = str(HostError("log", "1", with_lines("2:", ["one\x1b", "error: two\nthree"])))
    assert text.split("\n") == [
        "log: expected 1 · got 2:",
        "    one\\x1b",
        "    error: two three",
    ]
    assert printable(Lines("a\nerror: b")) == "a\n    error: b"


def test_of_many_problems_fifty_are_printed(monkeypatch, capfd, tmp_path):
    error = SpecError([Problem(f"file:{i}", "a", "b") for i in range(19_001)])
    assert len(error.problems) == 19_001
    assert len(str(error).splitlines()) == 51
    spec = tmp_path / "many.yml"
    spec.write_text("".join(f"key{i}: 1\n" for i in range(3000)))
    code, _, err = told(monkeypatch, capfd, "plan", spec)
    assert code == 2
    assert len(err.splitlines()) == 51
    assert err.splitlines()[-1].startswith("error: and 2")


@pytest.mark.parametrize(
    "text",
    [
        '"\\e]0;x\\a": 1\n',
        '"a\\nerror: faked": b\n',
        f"name: !<{'x' * 200_000}> 1\n",
        'name: "\\u202e"\nquestion: "\\x9b31m"\nsuites: ["\\e[2J"]\n',
    ],
    ids=["key", "line", "tag", "values"],
)
def test_a_hostile_spec_is_refused_in_clean_lines(monkeypatch, capfd, tmp_path, text):
    spec = tmp_path / "hostile.yml"
    spec.write_text(text)
    code, _, err = told(monkeypatch, capfd, "plan", spec)
    assert code == 2
    assert is_clean(err)
    assert max(map(len, err.splitlines())) < 5000
    assert not any(line.startswith("error: faked") for line in err.splitlines())


def test_what_a_workload_says_is_clean_in_verify_and_records(monkeypatch, capfd, tmp_path):
    one, folder = cell(), tmp_path / "made-up"
    write_plan(folder, [one], 2)
    write_journal(
        folder, [record(one, r, [], status="failed", reason=f"{HOSTILE}\nerror: faked") for r in (0, 1)]
    )
    for verb in ("verify", "records"):
        _, out, err = told(monkeypatch, capfd, verb, folder)
        assert is_clean(out + err)
        assert "\\x1b]0;" in out + err
        assert not any(line.startswith("error: faked") for line in (out + err).splitlines())


def test_what_a_host_says_of_its_cell_is_clean_in_status(monkeypatch, capfd, tmp_path):
    one, folder = cell(), Folder(tmp_path / "made-up")
    write_plan(folder.path, [one], 2, host="alpha")
    state = {
        "total": 1,
        "started_utc_s": 0,
        "cell": HOSTILE,
        "index": 0,
        "since_utc_s": 0,
        "counts": {HOSTILE: 1},
    }
    show_state(folder, "alpha", 0, json.dumps(state).encode())
    _, out, err = told(monkeypatch, capfd, "status", folder.path)
    assert is_clean(out + err)
    assert f"(process {os.getpid()})" in out
    assert "\\x1b]0;" in out


def test_the_last_line_of_a_host_and_the_holder_of_its_lock_are_clean(tmp_path):
    refused = HostError("host", "a file", Answer(1, b"", f"one\n{HOSTILE} end").last_line())
    assert str(refused).isprintable()
    lock = tmp_path / "lock"
    held = HostLock(lock, {"experiment": HOSTILE, "holder": "a\nerror: faked" * 500})
    with pytest.raises(HostError) as busy:
        HostLock(lock, {}, wait=False)
    held.release()
    assert busy.value.problems[0].got.isprintable()
    assert len(busy.value.problems[0].got) <= 300


def test_the_header_of_a_table_from_elsewhere_is_clean(tmp_path):
    file = tmp_path / "hostile.csv"
    rows = "".join(f"{name},{10 + i + len(name)}\n" for name in ("a", "bb\x1b") for i in range(5))
    file.write_bytes(f"by\x9b,val\0ue\n{rows}".encode())
    done = CliRunner().invoke(cli, ["compare", str(file), "--value", "val\0ue", "--by", "by\x9b"])
    assert is_clean(done.output)


def test_an_import_lists_what_it_leaves_in_clean_lines(monkeypatch, capfd, tmp_path):
    file = tmp_path / "hostile.conf"
    file.write_text(
        "benchmark_suites:\n  S:\n    gauge_adapter: Time\n    command: x\n    benchmarks: [B]\n"
        '    "odd\\e]0;x\\a\\u202e": 1\n'
        "executors: {E: {path: /bin, executable: echo}}\n"
        "experiments: {X: {suites: [S], executions: [E]}}\n"
    )
    _, out, err = told(monkeypatch, capfd, "import", "rebench", file, "--output", tmp_path / "out")
    assert is_clean(out + err)
    assert "\\x1b]0;" in out + err
