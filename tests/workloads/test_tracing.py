"""Tracing of real programs by real strace and bpftrace: known calls, great trees, and what cannot be traced."""

import ctypes
import errno
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.workloads.tracing_runs import HOME, PATIENCE_S, REGATTA, TABLE, needs, trace
from regatta.host.errors import HostError, VerificationError
from regatta.models.cli.trace import trace as trace_group
from regatta.models.system_calls.bpftrace import check_bpftrace
from regatta.models.system_calls.counting import Entry, count_calls
from regatta.models.system_calls.strace import UNTOLD_FAULTS
from regatta.models.system_calls.tools import choose_tool
from regatta.models.vectors.calls import FORK_ALONE, FORK_EXEC, FORK_FAULT, FORK_MAPPING, THREAD, Seen
from regatta.models.vectors.files import read_vector

#: the same number on every architecture
_CLONE3 = 435


def clone3_is_refused() -> bool:
    library = ctypes.CDLL(None, use_errno=True)
    return library.syscall(_CLONE3, None, 0) == -1 and ctypes.get_errno() == errno.ENOSYS


def test_known_calls_are_counted_exactly(tracing_tool, traced):
    tally = trace(tracing_tool, traced, "calls")
    assert tally.remarks == ((UNTOLD_FAULTS,) if tracing_tool == "strace" else ())
    counted = count_calls(tally, TABLE)
    found = {key: entry.count for key, entry in counted.entries.items()}
    sizes = {key: entry.sizes for key, entry in counted.entries.items() if entry.argument}
    assert sizes["file_write", ""] == {11: (7, 28000)}
    assert sizes["file_read", ""] == {9: (5, 3000)}
    assert sizes["mmap_read", "map-file"] == {14: (1, 20000)}
    assert found["fcntl", ""] == 1
    assert found["open_close", ""] == 1
    assert found["stat", ""] == 3
    assert found["open_close", "path-changed"] == 1
    assert 6 <= found["signal_install", ""] <= 9  # the C library installs some for its threads
    assert (found["pipe_call", ""], found["pipe_read", ""]) == (4, 4000)
    assert (found["socket_call", ""], found["socket_rw", ""]) == (3, 1500)
    # Five, one that a child inherits, one that does not wait for it. Four that are refused are none.
    assert found["tcp_connect", ""] == found["tcp_connect", "tcp-connect"] == 7
    # Both ends are traced: the server's receive and the client's.
    assert found["tcp_latency", ""] == 12
    # The client's request and the server's second write; its first is the reply, also where a child has closed its copy.
    assert found["tcp_send", ""] == 11
    assert found["tcp_transfer", ""] == 5 * (50 + 3000) + 50 + 100
    assert counted.covered["tcp-close"] == 14
    # An eventfd's write and read, a timerfd's read.
    assert found["null_call", "device"] == 3
    # The four that were refused, and where a container refuses clone3 the C library's try of it for the thread.
    assert found["null_call", "failed"] == 4 + clone3_is_refused()
    assert counted.covered["tcp-end"] == 5
    assert counted.unknown == {"quotactl": 2}
    processes = {seen.call: 0 for seen in tally.seen}
    for seen, (count, _) in tally.seen.items():
        processes[seen.call] += count
    assert (processes[FORK_EXEC], processes[FORK_ALONE], processes[THREAD]) == (7, 3, 1)
    assert processes["getppid"] == 11
    # Every program began with the same loader, which is what a simple process has in it already.
    assert not any(key[1].startswith("loader") for key in found)


def test_both_tools_see_the_same(tracefs, traced):
    needs("strace")
    needs("bpftrace")
    by_strace, by_bpftrace = trace("strace", traced, "calls"), trace("bpftrace", traced, "calls")
    timed = {
        "futex",
        "restart_syscall",
        "getrandom",
    }  # chance: whether a thread waits, how often a name is drawn

    # Memory of the forking process is the kernel's sum by processor there, and exact here.
    made = {FORK_EXEC, FORK_ALONE, FORK_MAPPING, FORK_FAULT}
    first, second = (
        {seen: told for seen, told in tally.seen.items() if seen.call not in timed | made}
        for tally in (by_strace, by_bpftrace)
    )
    assert first == second
    mappings = [tally.seen[Seen(FORK_MAPPING)][0] for tally in (by_strace, by_bpftrace)]
    # strace looks them up for one fork in 64.
    assert mappings[0] == pytest.approx(mappings[1], rel=0.3)


def test_mappings_and_faults_of_forking_processes_are_counted_beyond_those_of_the_primitive(
    tracing_tool, lm_sources, tmp_path
):
    program, quick = (
        lm_sources / "build/lat_simple",
        ("--resident-kib=0", "--interval-us=20000", "--repetitions=30", "--user-share-us=0"),
    )
    for more in (0, 100):
        tally = trace(tracing_tool, program, *quick, f"--mappings={more}")
        counted = count_calls(tally, TABLE).entries
        processes = counted["simple_process", ""].count
        assert processes > 10
        found = counted.get(("fork_mapping", ""), Entry()).count / processes
        # Half a dozen more or fewer by another C library or kernel; the first process of all has no more than its own.
        assert found == pytest.approx(more, abs=8 + more / processes)
        faults = sum(count for seen, (count, _) in tally.seen.items() if seen.call == FORK_FAULT) / processes
        assert faults == pytest.approx(18, abs=5) if tracing_tool == "bpftrace" else faults == 0


def test_a_tree_of_ten_thousand_children_is_counted_by_bpftrace(tracefs, traced):
    needs("bpftrace")
    tally = trace("bpftrace", traced, "forks", "10000")
    forks = sum(count for seen, (count, _) in tally.seen.items() if seen.call == FORK_ALONE)
    ends = sum(count for seen, (count, _) in tally.seen.items() if seen.call == "exit_group")
    assert (forks, ends, tally.remarks) == (10_000, 10_001, ())


@pytest.mark.long
def test_a_tree_of_ten_thousand_children_is_counted_by_strace(traced):
    needs("strace")
    tally = trace("strace", traced, "forks", "10000")
    forks = sum(count for seen, (count, _) in tally.seen.items() if seen.call == FORK_ALONE)
    assert (forks, tally.remarks) == (10_000, (UNTOLD_FAULTS,))


def test_a_command_becomes_a_vector_with_its_overhead(traced, tmp_path):
    needs("strace")
    script = f'{traced} calls; echo "{{\\"served\\": 4}}"'
    done = subprocess.run(
        [*REGATTA, "trace", "os", "--tool", "strace", "--overhead", "2", "--per", "request", "--units-from=-:served", "--name", "known",
         "-o", "known.yml", "--", "sh", "-c", script],
        cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "REGATTA_HOME": str(HOME)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "overhead of strace: " in done.stdout
    assert "unknown: quotactl 4" in done.stderr
    vector = read_vector(tmp_path / "known.yml")
    assert (vector.name, vector.per, vector.provenance["units"]) == ("known", "request", "4 4")
    assert "2 pairs of runs" in vector.provenance["overhead"]
    (written,) = [count for count in vector.counts if count.primitive == "file_write"]
    # Seven of the program's, and the shell's one line.
    assert (written.count.value, written.count.n) == (2.0, 2)
    assert [share.share for share in written.distribution if share.arguments == {"bytes": 4000}] == [7 / 8]
    assert vector.user_time.n == 2


def test_a_failing_command_is_an_error():
    needs("strace")
    with pytest.raises(VerificationError, match="false: ") as caught:
        trace("strace", "false")
    assert caught.value.problems[0].got == "exit code 1"


def test_a_missing_program_is_an_error_and_one_that_cannot_run_is(tmp_path):
    needs("strace")
    with pytest.raises(HostError, match="no-such-program: ") as caught:
        trace("strace", "no-such-program")
    assert caught.value.problems[0].got == "no such program"
    program = tmp_path / "program"
    program.write_text("neither a script nor a binary")
    program.chmod(0o755)
    with pytest.raises(HostError, match=f"{program}: ") as caught:
        trace("strace", str(program))
    assert caught.value.problems[0].got == os.strerror(errno.ENOEXEC)


def test_auto_takes_strace_where_bpftrace_cannot_and_says_why(monkeypatch):
    needs("strace")
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **_: None if name == "bpftrace" else which(name))
    tool, why = choose_tool("auto")
    assert tool == "strace"
    assert re.search(r"bpftrace: .* PATH, got none", why)
    with pytest.raises(HostError, match=r"install bpftrace`.* --tool strace"):
        choose_tool("bpftrace")
    monkeypatch.setattr(shutil, "which", lambda name, **_: None)
    with pytest.raises(HostError, match="apt-get install strace bpftrace`"):
        choose_tool("auto")


@pytest.mark.parametrize(
    ("name", "value", "fix"),
    [
        ("_TRACEFS", (Path("/nowhere"),), "mount -t tracefs"),
        ("_BTF", Path("/nowhere"), "CONFIG_DEBUG_INFO_BTF"),
        ("_FIRST_NAMESPACE", 1, "container .*--tool strace"),
    ],
)
def test_what_bpftrace_lacks_is_told_with_the_way_to_it(tracefs, monkeypatch, name, value, fix):
    needs("bpftrace")
    monkeypatch.setattr(f"regatta.models.system_calls.bpftrace.{name}", value)
    with pytest.raises(HostError, match=fix):
        check_bpftrace()


def test_bpftrace_is_for_root(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name, **_: f"/usr/bin/{name}")
    with pytest.raises(HostError, match="expected root · got user 1000"):
        check_bpftrace()


def test_a_full_map_is_an_error_and_no_vector(tracefs, traced, monkeypatch):
    needs("bpftrace")
    monkeypatch.setattr("regatta.models.system_calls.bpftrace.MAP_KEYS", 32)
    with pytest.raises(HostError, match="count of all calls"):
        trace("bpftrace", traced, "calls")


def test_a_command_reads_nothing_in_every_run(tmp_path):
    needs("strace")
    done = subprocess.run(
        [*REGATTA, "trace", "os", "--tool", "strace", "--overhead", "1", "-o", "cat.yml", "--", "sh", "-c", 'test -z "$(cat)"'],
        cwd=tmp_path, input="for the caller", capture_output=True, text=True, timeout=2 * PATIENCE_S,
        env={**os.environ, "REGATTA_HOME": str(HOME)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_what_cannot_be_read_of_a_tracer_is_an_error(tracing_tool, traced, monkeypatch):
    def broken(*_):
        raise TypeError("broken")

    if tracing_tool == "strace":
        monkeypatch.setattr("regatta.models.system_calls.strace.StraceReader.read", broken)
    else:
        loads = json.loads
        monkeypatch.setattr(json, "loads", lambda line: broken() if '"map"' in line else loads(line))
    with pytest.raises(HostError, match=f"output of {tracing_tool}: ") as caught:
        trace(tracing_tool, traced, "forks", "3")
    assert caught.value.problems[0].got == "TypeError: broken"


@pytest.mark.parametrize(
    "words",
    [
        ["-o", "x.yml"],
        ["-o", "x.yml", "--pid", "1", "true"],
        ["true"],
        ["-o", "x.yml", "--for", "1", "true"],
        ["-o", "x.yml", "--units", "1", "--units-from=-:a", "true"],
        ["-o", "x.yml", "--units-from", "a", "true"],
        ["-o", "x.yml", "--pid", "1", "--overhead", "2"],
    ],
)
def test_options_that_do_not_fit_are_told(words, golden):
    done = CliRunner().invoke(trace_group, ["os", *words])
    assert done.exit_code == 2
    golden(shlex.join(["os", *words]), done.output.splitlines()[-1])


def test_an_option_that_does_not_exist_is_told():
    done = CliRunner().invoke(trace_group, ["os", "-o", "x.yml", "--tol", "strace", "true"])
    assert done.exit_code == 2
    assert "'--tol'" in done.output
