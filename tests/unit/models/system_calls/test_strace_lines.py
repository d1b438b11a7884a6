"""strace's lines: calls in two halves, threads, forks in any order, hostile paths, damage."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.golden import Golden
from regatta.models.system_calls.strace_lines import StraceReader
from regatta.models.system_calls.tree import CLOSED_CONNECTIONS, Memory
from regatta.models.vectors.calls import FORK_ALONE, FORK_EXEC, FORK_MAPPING, THREAD, Seen, read_calls

TABLE = read_calls(Path(__file__).parents[4] / "configs" / "primitives" / "os-calls.yml")


def read(*lines, roots=(10,), memory=Memory, gate=None):
    reader = StraceReader(TABLE, memory, roots, gate)
    for line in lines:
        reader.read(line + "\n")
    return reader.finish()


def test_a_whole_call_is_counted_with_its_kind_result_and_bytes():
    tally = read('10 read(3</etc/passwd>, ""..., 4096) = 1498', "10 getpid() = 10")
    assert dict(tally.seen) == {
        Seen("read", "file", "some", size=10): (1, 1498),
        Seen("getpid", ending="some"): (1, 0),
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TCP:[127.0.0.1:80->127.0.0.1:5000]", "tcp"),
        ("TCPv6:[[::1]:80->[::1]:5000]", "tcp"),
        ("UDP:[0.0.0.0:53]", "udp"),
        ('UNIX-STREAM:[123->124,"/run/x"]', "unix"),
        ("UNIX-DGRAM:[123]", "socket"),
        ("NETLINK:[ROUTE:7]", "socket"),
        ("socket:[12345]", "socket"),
        ("pipe:[123]", "fifo"),
        ("/dev/null<char 1:3>", "device"),
        ("anon_inode:[eventfd]", "anonymous"),
        ("signalfd:[USR1]", "anonymous"),
        ("pid:4711", "anonymous"),
        ("/tmp/a = 5", "file"),
        ("/tmp/gone (deleted)", "file"),
    ],
)
def test_the_kind_of_a_descriptor_is_what_strace_names_it(name, kind):
    tally = read(f'10 read(3<{name}>, ""..., 100) = 7')
    assert dict(tally.seen) == {Seen("read", kind, "some", size=2): (1, 7)}


def test_two_halves_with_other_processes_between_are_one_call(golden: Golden):
    tally = read(
        "10 read(3<pipe:[1]>,  <unfinished ...>",
        '11 write(4<pipe:[1]>, ""..., 5 <unfinished ...>',
        "--- nonsense",
        '10 <... read resumed>""..., 100) = 5',
        "11 <... write resumed>) = 5",
        roots=(10, 11),
    )
    assert tally.seen[Seen("read", "fifo", "some", size=2)] == (1, 5)
    assert tally.seen[Seen("write", "fifo", "some", size=2)] == (1, 5)
    (remark,) = tally.remarks
    golden("unreadable line", remark)


def test_a_path_that_looks_like_a_result_is_not_one():
    tally = read(
        '10 openat(AT_FDCWD</tmp>, "/tmp/x) = 77", O_RDONLY) = -1 ENOENT (No such file or directory)',
        '10 read(3</tmp/y) = 99>, ""..., 100) = 3',
        r'10 openat(AT_FDCWD</tmp>, "/tmp/a\") = 77", O_RDONLY) = 4</tmp/a\") = 77>',
    )
    assert tally.seen[Seen("openat", ending="failed")] == (1, 0)
    assert tally.seen[Seen("read", "file", "some", size=1)] == (1, 3)
    assert tally.seen[Seen("openat", ending="some")] == (1, 0)


@pytest.mark.parametrize("child_first", [False, True])
@pytest.mark.parametrize("call", ["fork()", "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD)"])
def test_fork_and_exec_are_one_process_whichever_line_comes_first(child_first, call):
    fork = [f"10 {call} = 11"]
    child = ['11 execve("/bin/x", 0x1, 0x2) = 0', "11 exit_group(0) = ?", "11 +++ exited with 0 +++"]
    tally = read(*(child + fork if child_first else fork + child), memory=lambda pid: Memory(500, 85))
    assert tally.seen[Seen(FORK_EXEC, size=8)] == (1, 500)
    assert tally.seen[Seen(FORK_MAPPING)] == (85, 1)
    assert {seen.call for seen in tally.seen} == {FORK_EXEC, FORK_MAPPING, "exit_group"}


@pytest.mark.parametrize(
    "call", ["clone(child_stack=NULL, flags=CLONE_NEWPID|SIGCHLD) = 11", "unshare(CLONE_NEWPID) = 0"]
)
def test_a_namespace_of_its_own_in_which_numbers_are_others_is_told(call):
    (remark,) = read(f"10 {call}").remarks
    assert remark.startswith("1 new PID namespaces")
    assert not read("10 unshare(CLONE_NEWNS) = 0", "10 unshare(CLONE_NEWPID) = -1 EPERM (x)").remarks


def test_a_fork_that_shares_memory_copies_none():
    tally = read(
        "10 vfork( <unfinished ...>",
        '11 execve("/x", 0, 0) = 0',
        "10 <... vfork resumed>) = 11",
        memory=lambda _: Memory(500, 85),
    )
    assert dict(tally.seen) == {Seen(FORK_EXEC): (1, 0)}


def test_forks_without_exec_and_threads_are_told_apart():
    tally = read(
        "10 clone3({flags=CLONE_VM|CLONE_THREAD|CLONE_SIGHAND, stack=0x1}, 88) = 11",
        "10 fork() = 12",
        "11 +++ exited with 0 +++",
        "12 +++ killed by SIGKILL (core dumped) +++",
        "10 fork() = 13",
    )
    assert dict(tally.seen) == {Seen(THREAD): (1, 0), Seen(FORK_ALONE, size=3): (2, 20)}


def test_the_loader_ends_with_its_munmap_and_the_programs_calls_are_its_own():
    tally = read(
        "10 fork() = 11",
        '11 close(3</tmp/inherited>) = 0',
        '11 execve("/bin/x", 0, 0) = 0',
        "11 close(3</etc/ld.so.cache>) = 0",
        "11 munmap(0x7f, 41235) = 0",
        "11 close(4</tmp/x>) = 0",
    )  # fmt: skip
    assert tally.seen[Seen("close", "file", "zero", phase="loader")] == (1, 0)
    assert tally.seen[Seen("close", "file", "zero")] == (2, 0)


def test_the_loader_ends_with_a_call_that_no_loader_makes():
    tally = read(
        "10 fork() = 11",
        '11 execve("/x", 0, 0) = 0',
        "11 brk(NULL) = 0x5",
        "11 getuid() = 0",
        "11 brk(NULL) = 0x5",
    )
    assert tally.seen[Seen("brk", ending="some", phase="loader")] == (1, 0)
    assert tally.seen[Seen("brk", ending="some")] == (1, 0)


def test_a_threads_exec_goes_on_under_the_number_of_the_process():
    tally = read(
        "10 fork() = 20",
        "20 clone(flags=CLONE_THREAD) = 21",
        '21 execve("/x", 0, 0 <unfinished ...>',
        "20 +++ superseded by execve in pid 21 +++",
        "20 <... execve resumed>) = 0",
    )
    assert tally.seen[Seen(FORK_EXEC, size=3)] == (1, 10)
    assert not tally.remarks


def test_the_first_write_after_a_read_on_a_connection_is_the_reply():
    a, b = "TCP:[1.1.1.1:80->2.2.2.2:1]", "TCP:[1.1.1.1:80->2.2.2.2:2]"
    tally = read(
        f'10 read(3<{a}>, ""..., 100) = 8',
        f'10 write(4<{b}>, ""..., 8) = 8',
        f'10 writev(3<{a}>, [], 2) = 8',
        f'10 write(3<{a}>, ""..., 8) = 8',
        f'10 read(4<{b}>, ""..., 100) = 8',
        f"10 close(4<{b}>) = 0",
        f"10 accept4(5<TCP:[1.1.1.1:80]>, 0x1, 0x2, 0) = 4<{b}>",
        f'10 write(4<{b}>, ""..., 8) = 8',
    )  # fmt: skip
    assert tally.seen[Seen("writev", "tcp", "some", "reply", size=3)] == (1, 8)
    assert tally.seen[Seen("write", "tcp", "some", "further", size=3)] == (3, 24)


def test_a_child_that_closes_the_connection_it_inherits_leaves_the_reply_to_its_parent():
    a = "TCP:[1.1.1.1:80->2.2.2.2:1]"
    tally = read(
        f'10 read(3<{a}>, ""..., 100) = 8',
        "10 fork() = 11",
        f"11 close(3<{a}>) = 0",
        f"10 writev(3<{a}>, [], 2) = 8",
        f"10 writev(3<{a}>, [], 2) = 8",
    )
    assert tally.seen[Seen("writev", "tcp", "some", "reply", size=3)] == (1, 8)
    assert tally.seen[Seen("writev", "tcp", "some", "further", size=3)] == (1, 8)


@pytest.mark.parametrize("result", ["0", "-1 EINPROGRESS (Operation now in progress)"])
def test_a_new_connection_under_an_old_name_has_nothing_to_reply_to(result):
    a = "TCP:[2.2.2.2:1->1.1.1.1:80]"
    tally = read(
        f'10 read(3<{a}>, ""..., 100) = 8',
        f"10 close(3<{a}>) = 0",
        f"10 connect(3<TCP:[12345]>, {{sa_family=AF_INET}}, 16) = {result}",
        f'10 write(3<{a}>, ""..., 8) = 8',
        f'10 read(3<{a}>, ""..., 100) = 8',
        f'10 write(3<{a}>, ""..., 8) = 8',
    )
    assert tally.seen[Seen("connect", "tcp", "zero")] == (1, 0)
    assert tally.seen[Seen("write", "tcp", "some", "further", size=3)] == (1, 8)
    assert tally.seen[Seen("write", "tcp", "some", "reply", size=3)] == (1, 8)


def test_a_connection_that_is_refused_has_failed():
    tally = read("10 connect(3<TCP:[12345]>, {sa_family=AF_INET}, 16) = -1 ECONNREFUSED (Connection refused)")
    assert dict(tally.seen) == {Seen("connect", "tcp", "failed"): (1, 0)}


def test_nothing_of_a_gated_command_counts_before_its_exec():
    tally = read(
        '10 read(7<pipe:[1]>, ""..., 1) = 1',
        '10 execve("/x", 0, 0) = 0',
        "10 getpid() = 10",
        roots=(),
        gate=10,
    )
    assert dict(tally.seen) == {Seen(FORK_EXEC): (1, 0), Seen("getpid", ending="some"): (1, 0)}


def test_a_mapped_file_has_the_bytes_of_the_mapping():
    tally = read(
        "10 mmap(NULL, 9000, PROT_READ, MAP_SHARED, 5</srv/x, y>, 0) = 0x7f",
        "10 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f",
    )
    assert tally.seen[Seen("mmap", "file", "some", size=13)] == (1, 9000)
    assert tally.seen[Seen("mmap", "memory", "some", size=12)] == (1, 4096)


def test_what_was_under_way_before_and_after_the_trace_is_no_damage():
    tally = read(
        "10 <... accept4 resumed>{sa_family=AF_INET}, [16], 0) = 4<TCP:[1.1.1.1:1->1.1.1.1:2]>",
        "10 accept4(3<TCP:[1.1.1.1:80]>, 0x1, 0x2, 0 <detached ...>",
    )
    assert not tally.remarks


@pytest.mark.parametrize(
    "line",
    [
        "10 read(3</x>, ",
        "10 read(3</x>, 5) = five",
        "10 <... read resumed>) = 5",
        "garbage",
        "10 read" + "(" * 70_000,
        "\x00\xff",
        "9" * 5000 + " getpid() = 5",
        "9" * 5000 + " <... read resumed>) = 5",
        "9" * 5000 + " +++ exited with 0 +++",
        "10 +++ superseded by execve in pid " + "9" * 5000 + " +++",
    ],
)
def test_damaged_lines_are_numbered_and_count_nothing(line):
    tally = read("10 getpid() = 10", line)
    assert tally.calls == 1
    assert tally.remarks[0].startswith("unreadable lines of strace: 1 ")


def test_a_map_of_a_size_beyond_all_has_an_unknown_kind():
    tally = read(f"10 mmap(NULL, {'9' * 5000}, PROT_READ, MAP_SHARED, 3</x>, 0) = 0x7f0000000000")
    (seen,) = tally.seen
    assert (seen.kind, tally.remarks) == ("unknown", ())


LINES = st.one_of(
    st.text(max_size=80),
    st.from_regex(
        r"[0-9]{1,3} (read|write|close|mmap|clone|execve|fork|exit)\([^\n]{0,40}\) = [-0-9a-fx?]{1,5}",
        fullmatch=True,
    ),
    st.from_regex(
        r"1[0-3] (read|vfork|execve)\([0-9]<(TCP|pipe):\[[0-9]*\]>, <unfinished \.\.\.>", fullmatch=True
    ),
    st.from_regex(r"1[0-3] <\.\.\. (read|vfork|execve) resumed>\) = [0-9?]{1,4}", fullmatch=True),
    st.from_regex(
        r"1[0-3] \+\+\+ (exited with|killed by|superseded by execve in pid) 1[0-3] \+\+\+", fullmatch=True
    ),
)


@given(st.lists(LINES, max_size=40))
def test_no_line_breaks_the_reader_and_every_one_is_counted_or_known(lines):
    reader = StraceReader(TABLE, lambda pid: Memory(1), (10,))
    for line in lines:
        reader.read(line + "\n")
    tally = reader.finish()
    assert tally.calls + reader.damaged <= 3 * len(lines)
    assert all(count > 0 and size >= 0 for count, size in tally.seen.values())


def test_memory_is_bounded_by_what_is_there_at_a_time():
    reader = StraceReader(TABLE, lambda pid: Memory(1), (10,))
    for child in range(11, 20_011):
        for line in (
            f"10 fork() = {child}",
            f'{child} execve("/x", 0, 0) = 0',
            f'{child} read(3<TCP:[1.1.1.1:80->1.1.1.1:{child}]>, ""..., 9) = 9',
            f"{child} close(3<TCP:[1.1.1.1:80->1.1.1.1:{child}]>) = 0",
            f"{child} connect(4<TCP:[1]>, 0x1, 16) = 0",
            f"{child} +++ exited with 0 +++",
        ):
            reader.read(line + "\n")
    tree = reader.tree
    kept = (
        tree.known,
        tree.phases,
        tree.forked,
        tree.early_execs,
        tree.early_ends,
        tree.replies,
        tree.connecting,
        reader.unfinished,
        reader.heard,
    )
    assert max(map(len, kept)) <= 1
    assert len(tree.closed_replies) == CLOSED_CONNECTIONS
    assert reader.finish().seen[Seen(FORK_EXEC)] == (20_000, 20_000)
