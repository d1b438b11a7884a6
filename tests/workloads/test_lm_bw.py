"""Bandwidth between processes, disk and lmdd."""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.workloads.lm_runs import PATIENCE_S, assert_conforms, command_of, run

CONNECTIONS = ["bw_pipe", "bw_tcp", "bw_unix"]


@pytest.mark.parametrize("name", CONNECTIONS)
def test_bandwidth_between_processes_is_one_series(lm_sources: Path, tmp_path: Path, name: str) -> None:
    outcome = run(command_of(name, "quick", lm_sources), tmp_path / "work")
    assert_conforms(outcome, repetitions=5, metric="bandwidth", unit="MB/s")
    assert list(outcome.of("bandwidth")) == [(("message_bytes", 65536), ("parallel", 1))]
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("name", CONNECTIONS)
def test_each_of_several_readers_has_a_writer_of_its_own(lm_sources: Path, tmp_path: Path, name: str) -> None:
    command = command_of(name, "quick", lm_sources, parallel=2, repetitions=1)
    outcome = run([*command, "--interval-us", "100000"], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    (middle,) = outcome.of("bandwidth").values()
    (system,) = outcome.of("bandwidth_system").values()
    assert middle[0]["parameters"]["parallel"] == 2
    assert system[0]["value"] == pytest.approx(2 * middle[0]["value"], rel=1e-6)


@pytest.mark.parametrize("name", CONNECTIONS)
def test_every_byte_counted_was_received(lm_sources: Path, tmp_path: Path, name: str) -> None:
    """strace sees what the reader read: whole operations, as many as the writer wrote, and as many as are reported."""
    if shutil.which("strace") is None:
        pytest.skip("NOT TESTED: strace is not on PATH")
    command = [lm_sources / "build" / name, "--message-kib=12", "--total-kib=100", "--repetitions=3"]
    (tmp_path / "traces").mkdir()
    outcome = run(
        ["strace", "-ff", "-qq", "-e", "trace=read,write", "-o", tmp_path / "traces/t", *command],
        tmp_path / "work",
    )
    assert outcome.exit_code == 0, outcome.stderr
    moved = {"read": 0, "write": 0}
    for trace in (tmp_path / "traces").iterdir():
        for call, got in re.findall(
            r"^(read|write)\(\d+, \"x+\"(?:\.{3})?, \d+\) += (\d+)$", trace.read_text(), re.MULTILINE
        ):
            moved[call] += int(got)
    operation_bytes = 9 * 12 * 1024
    (lines,) = outcome.of("bandwidth").values()
    assert moved["read"] == moved["write"]
    assert moved["read"] % operation_bytes == 0
    assert moved["read"] >= 3 * lines[0]["operations"] * operation_bytes


@pytest.mark.parametrize("name", CONNECTIONS)
def test_bytes_that_were_not_asked_for_are_never_counted(lm_sources: Path, tmp_path: Path, name: str) -> None:
    """A writer that is wrong on purpose sends a message too many for each interval."""
    source = (lm_sources / "bw_transfer.h").read_text()
    right, wrong = "for (; messages > 0; messages--)", "for (messages++; messages > 0; messages--)"
    assert right in source
    (tmp_path / "bw_transfer.h").write_text(source.replace(right, wrong))
    shutil.copy(lm_sources / f"{name}.c", tmp_path)
    objects = [
        *(lm_sources / "build/harness").glob("*.o"),
        *(lm_sources / "build/ipc").glob("*.o"),
    ]
    flags = ["-std=c11", "-O2", f"-I{lm_sources}", "-pthread", "-lm"]
    subprocess.run(["gcc", "-o", tmp_path / name, tmp_path / f"{name}.c", *objects, *flags], check=True)
    outcome = run([tmp_path / name, "--repetitions=20"], tmp_path / "work")
    assert outcome.exit_code == 1
    assert "cleanup: Protocol error" in outcome.stderr


def test_a_reader_whose_writer_dies_fails_and_does_not_hang(lm_sources: Path, tmp_path: Path) -> None:
    command = [lm_sources / "build/bw_pipe", "--interval-us=30000000", "--repetitions=1"]
    started = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        writer = _grandchild(started.pid)
        subprocess.run(["kill", "-KILL", str(writer)], check=True)
        _, stderr = started.communicate(timeout=PATIENCE_S)
    finally:
        started.kill()
    assert started.returncode == 1
    assert "benchmark: Broken pipe" in stderr


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _grandchild(pid: int) -> int:
    """The writer, once it is there: the child of the measured child."""
    while True:
        found = [grandchild for child in _children(pid) for grandchild in _children(child)]
        if found:
            return found[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--message-kib", "0"],
        ["--total-kib", "0"],
        ["--parallel", "0"],
    ],
)
@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_size_of_nothing_is_refused(
    lm_sources: Path, tmp_path: Path, name: str, arguments: list[str], golden: Golden
) -> None:
    outcome = run([lm_sources / "build" / name, *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join([name, *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])


@pytest.mark.parametrize("name", CONNECTIONS)
def test_too_few_descriptors_are_an_error_with_its_cause(lm_sources: Path, tmp_path: Path, name: str) -> None:
    outcome = run(
        ["sh", "-c", f"ulimit -n 9; exec {lm_sources}/build/{name} --repetitions 1"], tmp_path / "work"
    )
    assert outcome.exit_code == 1
    assert "Too many open files" in outcome.stderr


def test_a_disk_is_measured_at_points_from_its_beginning_to_its_end(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("disk", "quick", lm_sources, test="zones"), tmp_path / "work")
    assert_conforms(outcome, repetitions=5, metric="bandwidth", unit="MB/s")
    zones = [dict(parameters) for parameters in outcome.of("bandwidth")]
    size, zone = 8 << 20, (8 << 20) // 3 // 262144 * 262144
    assert [parameters["offset_bytes"] for parameters in zones] == [0, (size - zone) // 2, size - zone]
    assert {parameters["direct"] for parameters in zones} <= {"true", "false"}
    assert list((tmp_path / "work").iterdir()) == []


def test_seeks_are_measured_over_growing_distances(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("disk", "quick", lm_sources, test="seeks"), tmp_path / "work")
    assert_conforms(outcome, repetitions=5)
    distances = [dict(parameters)["distance_bytes"] for parameters in outcome.of("latency")]
    assert distances == [262144, 1048576, 4194304]
    assert list((tmp_path / "work").iterdir()) == []


def test_a_disk_given_by_the_user_is_only_read(lm_sources: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk.img"
    content = bytes(range(256)) * 16384
    disk.write_bytes(content)
    disk.chmod(0o444)
    before = disk.stat()
    outcome = run(
        [lm_sources / "build/disk", "--file", disk, "--zones=2", "--repetitions=1"], tmp_path / "work"
    )
    assert outcome.exit_code == 0, outcome.stderr
    after = disk.stat()
    assert (after.st_mtime_ns, after.st_ctime_ns) == (before.st_mtime_ns, before.st_ctime_ns)
    assert disk.read_bytes() == content


@pytest.mark.alone
def test_seeks_go_where_they_say(lm_sources: Path, tmp_path: Path) -> None:
    """Each read of one sector lies half to one and a half of the distance from the one before, within the file."""
    if shutil.which("strace") is None:
        pytest.skip("NOT TESTED: strace is not on PATH")
    trace = tmp_path / "trace"
    command = [lm_sources / "build/disk", "--test=seeks", "--mib=8", "--direct=no", "--repetitions=1"]
    outcome = run(["strace", "-f", "-qq", "-e", "trace=pread64", "-o", trace, *command], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    offsets: dict[str, list[int]] = {}
    for pid, offset in re.findall(
        r"^(\d+) +pread64\(.*, 4096, (\d+)\) += 4096$", trace.read_text(), re.MULTILINE
    ):
        offsets.setdefault(pid, []).append(int(offset))
    # A series that was begun again, on a busy machine, begins with the same seeks.
    series = list({tuple(found[:4]): found for found in offsets.values()}.values())
    for distance, found in zip([262144, 1048576, 4194304], series, strict=True):
        assert all(0 <= offset <= (8 << 20) - 4096 and offset % 4096 == 0 for offset in found)
        jumps = [abs(after - before) for before, after in itertools.pairwise(found)]
        assert len(jumps) >= 3
        assert min(jumps) >= distance // 2 - 4096
        assert max(jumps) <= distance * 3 // 2 + 4096


@pytest.mark.parametrize(
    "arguments",
    [
        ["--file", "not-there"],
        ["--file", "."],
        ["--file", "/dev/null"],
        ["--file", "small"],
        ["--mib", "0"],
        ["--zones", "0"],
        ["--block-kib", "6"],
        ["--parallel", "2"],
    ],
)
def test_what_is_no_disk_is_refused(
    lm_sources: Path, tmp_path: Path, arguments: list[str], golden: Golden
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/small").write_bytes(b"x" * 4096)
    outcome = run([lm_sources / "build/disk", *arguments], tmp_path / "work")
    assert outcome.exit_code == 2
    golden(shlex.join(["disk", *arguments]), outcome.stderr)
    assert (outcome.stdout, outcome.lines) == ("", [])


def test_lmdd_reports_one_bandwidth(lm_sources: Path, tmp_path: Path) -> None:
    outcome = run(command_of("lmdd", "quick", lm_sources), tmp_path / "work")
    assert_conforms(outcome, repetitions=1, metric="bandwidth", unit="MB/s")
    ((parameters, _),) = outcome.of("bandwidth").items()
    assert dict(parameters) == {
        "input": "/dev/zero", "output": "/dev/null", "block_bytes": 65536, "bytes": 1 << 30, "parallel": 1,
    }  # fmt: skip


def test_lmdd_copies_every_byte_through_pipes(lm_sources: Path, tmp_path: Path) -> None:
    content = bytes(range(251)) * 1000
    copied = subprocess.run(
        [lm_sources / "build/lmdd", "bs=4k"], input=content, cwd=tmp_path, capture_output=True, check=True
    )
    assert copied.stdout == content
    assert copied.stderr.startswith(b"lmdd block_bytes=4096: bandwidth ")


def test_lmdd_skips_and_seeks_as_dd_does(lm_sources: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"aaaabbbbccccdd")
    for name, program in {"dd": ["dd"], "lmdd": [lm_sources / "build/lmdd"]}.items():
        (tmp_path / name).write_bytes(b"0123456789ABCDEFGHIJ")
        keys = ["if=in", f"of={name}", "bs=4", "skip=1", "seek=2"]
        subprocess.run([*program, *keys], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "lmdd").read_bytes() == b"01234567bbbbccccdd"
    assert (tmp_path / "lmdd").read_bytes() == (tmp_path / "dd").read_bytes()


def test_lmdd_finds_a_block_in_the_wrong_place(lm_sources: Path, tmp_path: Path) -> None:
    lmdd = lm_sources / "build/lmdd"
    made = run([lmdd, "if=internal", "of=file", "bs=4k", "count=8", "opat=1", "fsync=1"], tmp_path / "work")
    assert made.exit_code == 0, made.stderr
    checked = run([lmdd, "if=file", "of=internal", "bs=1k", "skip=3", "ipat=1"], tmp_path / "work")
    assert checked.exit_code == 0, checked.stderr
    file = tmp_path / "work/file"
    content = file.read_bytes()
    file.write_bytes(content[:8192] + content[12288:16384] + content[12288:])
    wrong = run([lmdd, "if=file", "of=internal", "bs=4k", "ipat=1"], tmp_path / "work")
    assert wrong.exit_code == 1
    # Where, what the pattern has there, and what the file has.
    assert re.findall(r"\d+", wrong.stderr) == ["8192", "8192", "12288"]
    assert "error" in wrong.lines[-1]


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (["bs=0"], 2),
        (["bs=64q"], 2),
        (["bs=9999999999999999999g"], 2),
        (["count=0", "if=internal"], 2),
        (["if="], 2),
        (["if=internal", "of=internal"], 2),
        (["if=internal", "of=internal", "count=1"], 2),
        (["if=internal", "of=internal", "count=1", "opat=1", "bs=12"], 2),
        (["if=internal", "of=file", "count=1", "ipat=1"], 2),
        (["if=internal", "count=9223372036854775807"], 2),
        (["--parallel", "2"], 2),
        (["if=not-there", "of=internal"], 1),
        (["if=/dev/null", "of=internal"], 1),
        (["if=same", "of=same"], 1),
    ],
)  # fmt: skip
def test_lmdd_refuses_what_it_cannot_copy(
    lm_sources: Path, tmp_path: Path, arguments: list[str], exit_code: int, golden: Golden
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/same").write_text("kept")
    outcome = run([lm_sources / "build/lmdd", *arguments], tmp_path / "work")
    assert outcome.exit_code == exit_code
    golden(shlex.join(["lmdd", *arguments]), outcome.stderr)
    assert (tmp_path / "work/same").read_text() == "kept"
