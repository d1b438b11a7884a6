"""File operations from lines of strace: most lines are recorded from strace 6.1 on Linux 6.18."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.models.page_cache import strace_reader
from regatta.models.page_cache.operations import Kind, Operations, read_operations, write_operations
from regatta.models.page_cache.strace_reader import read_strace, size_on_host, strace_arguments

#: a name with everything that a parser can trip over, as strace writes it in strings and in names of descriptors
HARD = '/tmp/d\303\251j\303\240 "vu"\n; rm -rf x<y>'.encode("latin-1").decode()
IN_STRING = r"/tmp/d\303\251j\303\240 \"vu\"\n; rm -rf x<y>"
IN_NAME = r"/tmp/d\303\251j\303\240 \"vu\"\n; rm -rf x\74y\76"


class Row(NamedTuple):
    kind: str
    path: str
    handle: int
    offset: int
    count: int


def read(text: str, folder: str = "/tmp", sizes: dict[str, int] | None = None) -> Operations:
    """Read lines of `pid call`; each gets a time."""
    lines = []
    for number, line in enumerate(text.strip().split("\n")):
        pid, _, rest = line.strip().partition(" ")
        lines.append(f"{pid} 1795728007.{number:06d} {rest}\n")
    return read_strace(lines, folder, None if sizes is None else lambda path: sizes.get(path, -1))


def rows(operations: Operations, *without: str) -> list[Row]:
    return [
        Row(Kind(kind).name, operations.paths[file] if file >= 0 else "", handle, offset, count)
        for kind, file, handle, offset, count in zip(
            *(operations[name].tolist() for name in ("kind", "file", "handle", "offset", "bytes")),
            strict=True,
        )
        if Kind(kind).name not in without
    ]


def test_reads_and_writes_move_the_position() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDWR) = 3</tmp/a> <0.000020>
        1 read(3</tmp/a>, ""..., 100) = 100 <0.000003>
        1 write(3</tmp/a>, ""..., 10) = 10 <0.000003>
        1 pread64(3</tmp/a>, ""..., 784, 64) = 784 <0.000005>
        1 readv(3</tmp/a>, 0x7fbf654ec1e0, 2) = 50 <0.000005>
        1 lseek(3</tmp/a>, -60, SEEK_END) = 940 <0.000006>
        1 read(3</tmp/a>, ""..., 100) = 60 <0.000003>
        1 read(3</tmp/a>, "", 100) = 0 <0.000003>
        1 pwritev2(3</tmp/a>, 0x7fbf654ec1e0, 1, 3, 0) = 10 <0.000005>
        1 preadv2(3</tmp/a>, 0x7fbf654ec1e0, 1, -1, 0) = 0 <0.000005>
        1 close(3</tmp/a>) = 0 <0.000004>
    """)
    assert [(row.kind, row.offset, row.count) for row in rows(found)] == [
        ("OPEN", 0, 0), ("READ", 0, 100), ("WRITE", 100, 10), ("READ", 64, 784), ("READ", 110, 50), ("READ", 940, 60),
        ("READ", 1000, 0), ("WRITE", 3, 10), ("READ", 1000, 0), ("CLOSE", 0, 0),
    ]  # fmt: skip
    assert found["duration_ns"].tolist()[:2] == [20_000, 3_000]
    assert found["time_ns"].tolist()[:2] == [1795728007_000000000, 1795728007_000001000]
    assert not found.facts.not_understood


def test_dup_and_fork_share_the_position() -> None:
    found = read(f"""
        1 openat(AT_FDCWD</tmp>, "{IN_STRING}", O_RDWR|O_CREAT|O_TRUNC|O_APPEND|O_CLOEXEC, 0777) = 3<{IN_NAME}> <0.000048>
        1 write(3<{IN_NAME}>, ""..., 10000) = 10000 <0.000032>
        1 fcntl(3<{IN_NAME}>, F_DUPFD_CLOEXEC, 0) = 4<{IN_NAME}> <0.000007>
        1 lseek(4<{IN_NAME}>, 100, SEEK_SET) = 100 <0.000006>
        1 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD, child_tidptr=0x7fbf655c0590) = 2 <0.000393>
        2 read(3<{IN_NAME}>, ""..., 200) = 200 <0.000015>
        2 +++ exited with 0 +++
        1 read(4<{IN_NAME}>, ""..., 300) = 300 <0.000008>
        1 close(4<{IN_NAME}>) = 0 <0.000007>
        1 close(3<{IN_NAME}>) = 0 <0.000007>
    """)
    assert rows(found) == [
        Row("CREATE", HARD, 0, 0, 0), Row("WRITE", HARD, 0, 0, 10000), Row("READ", HARD, 0, 100, 200), Row("READ", HARD, 0, 300, 300),
        Row("CLOSE", HARD, 0, 0, 0),
    ]  # fmt: skip
    assert found["process"].tolist() == [1, 1, 2, 1, 1]


def test_a_child_that_appears_before_its_fork_returns_is_known() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDONLY|O_CLOEXEC) = 3</tmp/a> <0.000020>
        1 openat(AT_FDCWD</tmp>, "b", O_RDONLY) = 4</tmp/b> <0.000020>
        1 read(4</tmp/b>, ""..., 7) = 7 <0.000003>
        1 clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD, stack=0x7fbf64af8000, stack_size=0x9000}, 88 <unfinished ...>
        2 execve("/bin/sh", 0x7ffeada29810, 0x7ffeada2a170 <unfinished ...>
        1 <... clone3 resumed>) = 2 <0.001658>
        2 <... execve resumed>) = 0 <0.000255>
        2 read(4</tmp/b>, ""..., 5) = 5 <0.000003>
        2 openat(AT_FDCWD</tmp>, "c", O_RDONLY) = 3</tmp/c> <0.000020>
        2 +++ exited with 0 +++
        1 read(4</tmp/b>, ""..., 5) = 5 <0.000003>
    """)
    assert rows(found, "OPEN") == [
        Row("READ", "/tmp/b", 1, 0, 7), Row("MAP", "/bin/sh", -1, 0, 0), Row("READ", "/tmp/b", 1, 7, 5), Row("CLOSE", "/tmp/c", 2, 0, 0),
        Row("READ", "/tmp/b", 1, 12, 5),
    ]  # fmt: skip
    assert not found.facts.not_understood


def test_children_of_two_forks_in_progress_find_their_parents() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDONLY) = 3</tmp/a> <0.000020>
        2 openat(AT_FDCWD</tmp>, "b", O_RDONLY) = 3</tmp/b> <0.000020>
        1 vfork( <unfinished ...>
        2 vfork( <unfinished ...>
        4 read(3</tmp/b>, ""..., 5) = 5 <0.000003>
        3 read(3</tmp/a>, ""..., 6) = 6 <0.000003>
        1 <... vfork resumed>) = 3 <0.000003>
        2 <... vfork resumed>) = 4 <0.000003>
        1 read(3</tmp/a>, ""..., 1) = 1 <0.000003>
        2 read(3</tmp/b>, ""..., 1) = 1 <0.000003>
    """)
    assert [(row.path, row.offset) for row in rows(found, "OPEN")] == [
        ("/tmp/b", 0), ("/tmp/a", 0), ("/tmp/a", 6), ("/tmp/b", 5),
    ]  # fmt: skip


def test_threads_share_descriptors_and_the_folder() -> None:
    found = read("""
        1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, exit_signal=0} => {parent_tid=[2]}, 88) = 2 <0.000150>
        2 openat(AT_FDCWD</tmp>, "a", O_RDONLY) = 3</tmp/a> <0.000008>
        2 chdir("/var") = 0 <0.000007>
        2 +++ exited with 0 +++
        1 read(3</tmp/a>, ""..., 4) = 4 <0.000006>
        1 unlink("../tmp/a") = 0 <0.000010>
    """)
    assert [row.kind for row in rows(found)] == ["OPEN", "READ", "UNLINK"]
    assert found.paths == ("/tmp/a",)


def test_appends_go_to_the_end() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_WRONLY|O_APPEND) = 3</tmp/a> <0.000020>
        1 fstat(3</tmp/a>, {st_mode=S_IFREG|0644, st_size=500, ...}) = 0 <0.000004>
        1 openat(AT_FDCWD</tmp>, "a", O_WRONLY) = 4</tmp/a> <0.000020>
        1 pwrite64(4</tmp/a>, ""..., 100, 900) = 100 <0.000003>
        1 write(3</tmp/a>, ""..., 10) = 10 <0.000003>
        1 fcntl(4</tmp/a>, F_SETFL, O_WRONLY|O_APPEND|O_LARGEFILE) = 0 <0.000003>
        1 write(4</tmp/a>, ""..., 1) = 1 <0.000003>
        1 openat(AT_FDCWD</tmp>, "b", O_WRONLY|O_APPEND) = 5</tmp/b> <0.000020>
        1 write(5</tmp/b>, ""..., 1) = 1 <0.000003>
    """)
    assert [row.offset for row in rows(found) if row.kind == "WRITE"] == [900, 1000, 1010, 0]
    assert found.sizes_bytes.tolist() == [500, -1]
    assert found.facts.not_understood == {"appends_at_unknown_size": 1}


def test_a_rename_keeps_the_identity_and_unlink_ends_it() -> None:
    found = read(f"""
        1 openat(AT_FDCWD</tmp>, "{IN_STRING}", O_RDWR|O_CREAT|O_EXCL, 0777) = 3<{IN_NAME}> <0.000048>
        1 rename("{IN_STRING}", "/tmp/moved") = 0 <0.000028>
        1 read(3</tmp/moved>, ""..., 4) = 4 <0.000006>
        1 unlink("/tmp/moved") = 0 <0.000010>
        1 read(3</tmp/moved>(deleted), ""..., 4) = 4 <0.000007>
        1 openat(AT_FDCWD</tmp>, "moved", O_WRONLY|O_CREAT, 0777) = 4</tmp/moved> <0.000028>
        1 write(4</tmp/moved>, ""..., 3) = 3 <0.000020>
        1 read(3</tmp/moved>(deleted), ""..., 4) = 4 <0.000007>
    """)
    assert found["file"].tolist() == [0, 0, 0, 0, 0, 1, 1, 0]
    assert [row.kind for row in rows(found)][3:6] == ["UNLINK", "READ", "CREATE"]
    assert found.paths == ("/tmp/moved", "/tmp/moved")
    assert not found.facts.not_understood


def test_a_rename_over_a_file_names_what_it_replaces() -> None:
    found = read("""
        1 creat("a", 0666) = 3</tmp/a> <0.000020>
        1 creat("b", 0666) = 4</tmp/b> <0.000020>
        1 renameat(AT_FDCWD</tmp>, "a", AT_FDCWD</tmp>, "b") = 0 <0.000020>
        1 read(3</tmp/b>, "", 4) = 0 <0.000006>
        1 renameat2(AT_FDCWD</tmp>, "b", AT_FDCWD</tmp>, "b", 0) = 0 <0.000020>
    """)
    assert found["peer"].tolist() == [-1, -1, 1, -1, -1]
    assert found["file"].tolist() == [0, 1, 0, 0, 0]


def test_a_renamed_folder_takes_its_files_along() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "old/a", O_RDONLY) = 3</tmp/old/a> <0.000020>
        1 rename("old", "new") = 0 <0.000020>
        1 openat(AT_FDCWD</tmp>, "new/a", O_RDONLY) = 4</tmp/new/a> <0.000020>
    """)
    opens = found["file"][found["kind"] == Kind.OPEN]
    assert opens[0] == opens[1]


def test_exchanged_names_keep_their_files() -> None:
    found = read("""
        1 stat("a", {st_mode=S_IFREG|0644, st_size=5, ...}) = 0 <0.000020>
        1 stat("b", {st_mode=S_IFREG|0644, st_size=6, ...}) = 0 <0.000020>
        1 renameat2(AT_FDCWD</tmp>, "a", AT_FDCWD</tmp>, "b", RENAME_EXCHANGE) = 0 <0.000020>
        1 stat("a", {st_mode=S_IFREG|0644, st_size=6, ...}) = 0 <0.000020>
    """)
    assert found["file"].tolist() == [0, 1, 0, 1]


def test_a_second_name_keeps_the_file() -> None:
    found = read("""
        1 link("a", "b") = 0 <0.000020>
        1 unlink("a") = 0 <0.000020>
        1 unlinkat(AT_FDCWD</tmp>, "b", 0) = 0 <0.000020>
        1 unlinkat(AT_FDCWD</tmp>, "folder", AT_REMOVEDIR) = 0 <0.000020>
    """)
    assert [(row.kind, row.count) for row in rows(found)] == [("UNLINK", 1), ("UNLINK", 0)]
    assert found["file"].tolist() == [0, 0]


def test_o_creat_creates_only_what_was_missing() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDONLY) = -1 ENOENT (No such file or directory) <0.000009>
        1 openat(AT_FDCWD</tmp>, "a", O_WRONLY|O_CREAT, 0666) = 3</tmp/a> <0.000020>
        1 openat(AT_FDCWD</tmp>, "a", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 4</tmp/a> <0.000020>
        1 openat(AT_FDCWD</tmp>, "b", O_RDWR|O_CREAT, 0666) = 5</tmp/b> <0.000020>
        1 newfstatat(AT_FDCWD</tmp>, "c", 0x7ffeada29ac0, 0) = -1 ENOENT (No such file or directory) <0.000009>
        1 openat(AT_FDCWD</tmp>, "c", O_RDWR|O_CREAT, 0666) = 6</tmp/c> <0.000020>
        1 openat2(AT_FDCWD</tmp>, "d", {flags=O_WRONLY|O_CREAT|O_EXCL, mode=0644, resolve=0}, 24) = 7</tmp/d> <0.000020>
    """)
    assert [row.kind for row in rows(found)] == [
        "OPEN",
        "CREATE",
        "OPEN",
        "TRUNCATE",
        "OPEN",
        "STAT",
        "CREATE",
        "CREATE",
    ]
    assert found["failed"].tolist() == [True, False, False, False, False, True, False, False]
    assert found.sizes_bytes.tolist() == [0, -1, 0, 0]


def test_sizes_come_from_attributes_or_from_the_host() -> None:
    found = read(
        """
        1 newfstatat(AT_FDCWD</tmp>, "a", {st_mode=S_IFREG|0644, st_size=9678, ...}, 0) = 0 <0.000007>
        1 statx(AT_FDCWD</tmp>, "b", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL, stx_mode=S_IFREG|0644, stx_size=77, ...}) = 0 <0.000007>
        1 stat("folder", {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0 <0.000007>
        1 openat(AT_FDCWD</tmp>, "c", O_RDONLY) = 3</tmp/c> <0.000020>
        1 execve("./c", 0x7ffeada29810, 0x7ffeada2a170) = 0 <0.000255>
        1 access("/proc/1/x", R_OK) = 0 <0.000120>
        """,
        sizes={"/tmp/c": 42},
    )
    assert dict(zip(found.paths, found.sizes_bytes.tolist(), strict=True)) == {
        "/tmp/a": 9678, "/tmp/b": 77, "/tmp/folder": -1, "/tmp/c": 42,
    }  # fmt: skip
    assert rows(found)[-1] == Row("MAP", "/tmp/c", -1, 0, 42)


def test_links_of_folders_are_followed_as_the_kernel_did() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "/lib/libm.so.6", O_RDONLY|O_CLOEXEC) = 3</usr/lib/libm.so.6> <0.000064>
        1 stat("/lib/libm.so.6", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.000058>
        1 unlink("/lib/libm.so.6") = 0 <0.000058>
    """)
    assert found.paths == ("/usr/lib/libm.so.6",)


def test_mappings_are_recorded_with_their_range() -> None:
    found = read("""
        1 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7fbf658d6000 <0.000134>
        1 openat(AT_FDCWD</tmp>, "a", O_RDWR) = 3</tmp/a> <0.000020>
        1 mmap(0x7fbf65871000, 368640, PROT_READ, MAP_PRIVATE|MAP_FIXED, 3</tmp/a>, 0x84000) = 0x7fbf65871000 <0.000115>
        1 mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE, 3</tmp/a>, 0) = 0x7fbf65871000 <0.000115>
        1 mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3</tmp/a>, 0) = -1 ENOMEM (Cannot allocate memory) <0.000115>
        1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</tmp/a>, 0) = 0x7fbf65871000 <0.000115>
    """)
    assert [(row.offset, row.count) for row in rows(found) if row.kind == "MAP"] == [
        (0x84000, 368640),
        (0, 4096),
    ]
    assert found.facts.not_understood == {"writable_shared_maps": 1}


def test_copies_read_and_write() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDONLY) = 3</tmp/a> <0.000009>
        1 openat(AT_FDCWD</tmp>, "b", O_WRONLY|O_CREAT|O_EXCL, 0777) = 4</tmp/b> <0.000028>
        1 sendfile(4</tmp/b>, 3</tmp/a>, NULL, 100) = 100 <0.000023>
        1 sendfile(4</tmp/b>, 3</tmp/a>, [5] => [25], 20) = 20 <0.000023>
        1 sendfile(5<TCP:[127.0.0.1:1->127.0.0.1:2]>, 3</tmp/a>, NULL, 20) = 20 <0.000023>
        1 copy_file_range(3</tmp/a>, [0], 4</tmp/b>, NULL, 50, 0) = 50 <0.000007>
        1 copy_file_range(3</tmp/a>, 0x7ffeada29b18, 4</tmp/b>, NULL, 50, 0) = 50 <0.000007>
    """)
    assert [(row.kind, row.offset, row.count) for row in rows(found, "OPEN", "CREATE")] == [
        ("READ", 0, 100), ("WRITE", 0, 100), ("READ", 5, 20), ("WRITE", 100, 20), ("READ", 100, 20), ("READ", 0, 50), ("WRITE", 120, 50),
        ("WRITE", 170, 50),
    ]  # fmt: skip
    assert found.facts.not_understood == {"unknown_offsets": 1}


def test_truncation_and_syncs_are_recorded() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDWR|O_APPEND) = 3</tmp/a> <0.000009>
        1 ftruncate(3</tmp/a>, 100) = 0 <0.000019>
        1 write(3</tmp/a>, ""..., 10) = 10 <0.000003>
        1 truncate("a", 7) = 0 <0.000019>
        1 fsync(3</tmp/a>) = 0 <0.000571>
        1 fdatasync(3</tmp/a>) = 0 <0.000571>
        1 sync() = 0 <0.000571>
    """)
    assert [(row.kind, row.handle, row.offset) for row in rows(found)][1:] == [
        ("TRUNCATE", 0, 100), ("WRITE", 0, 100), ("TRUNCATE", -1, 7), ("FSYNC", 0, 0), ("FSYNC", 0, 0), ("FSYNC", -1, 0),
    ]  # fmt: skip
    assert found["file"].tolist()[-1] == -1


def test_other_descriptors_are_no_files() -> None:
    found = read("""
        1 read(0</dev/pts/3<char 136:3>>, ""..., 100) = 5 <0.000003>
        1 write(1<pipe:[123]>, ""..., 100) = 100 <0.000003>
        1 openat(AT_FDCWD</tmp>, "/proc/self/maps", O_RDONLY) = 3</proc/1/maps> <0.000009>
        1 read(3</proc/1/maps>, ""..., 100) = 100 <0.000003>
        1 write(4<TCP:[127.0.0.1:1->127.0.0.1:2]>, ""..., 100) = 100 <0.000003>
        1 read(5</memfd:x>(deleted), ""..., 100) = 100 <0.000003>
        1 fstat(1<pipe:[123]>, {st_mode=S_IFIFO|0600, st_size=0, ...}) = 0 <0.000003>
    """)
    assert rows(found) == []
    assert not found.facts.not_understood


def test_descriptors_that_change_unseen_are_corrected_and_counted() -> None:
    found = read("""
        1 read(3</tmp/before>, ""..., 100) = 100 <0.000003>
        1 read(3</tmp/other>, ""..., 100) = 100 <0.000003>
        1 read(3<pipe:[5]>, ""..., 100) = 100 <0.000003>
    """)
    assert [(row.kind, row.path) for row in rows(found)] == [
        ("READ", "/tmp/before"), ("CLOSE", "/tmp/before"), ("READ", "/tmp/other"), ("CLOSE", "/tmp/other"),
    ]  # fmt: skip
    assert found.facts.not_understood == {
        "descriptors_opened_before": 1,
        "descriptors_changed_unseen": 2,
    }


def test_exec_and_close_range_close_descriptors() -> None:
    opened = "\n".join(
        f'1 openat(AT_FDCWD</tmp>, "{name}", O_RDONLY{more}) = {number}</tmp/{name}> <0.000009>'
        for number, name, more in ((3, "a", "|O_CLOEXEC"), (4, "b", ""), (5, "c", ""), (6, "d", ""))
    )
    found = read(
        opened
        + """
        1 fcntl(4</tmp/b>, F_SETFD, FD_CLOEXEC) = 0 <0.000003>
        1 dup2(6</tmp/d>, 6</tmp/d>) = 6</tmp/d> <0.000003>
        1 execve("/bin/x", 0x7ffeada29810, 0x7ffeada2a170) = 0 <0.000255>
        1 close_range(6, 4294967295, 0) = 0 <0.000003>
        1 +++ killed by SIGKILL +++
    """
    )
    assert [row.path for row in rows(found) if row.kind == "CLOSE"] == [
        "/tmp/a",
        "/tmp/b",
        "/tmp/d",
        "/tmp/c",
    ]


def test_the_exec_of_a_thread_continues_under_the_number_of_the_process() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDONLY) = 3</tmp/a> <0.000009>
        1 read(3</tmp/a>, ""..., 8) = 8 <0.000003>
        1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD}, 88) = 2 <0.000150>
        2 execve("/bin/x", 0x7ffeada29810, 0x7ffeada2a170 <unfinished ...>
        1 +++ superseded by execve in pid 2 +++
        1 <... execve resumed>) = 0 <0.000255>
        1 read(3</tmp/a>, ""..., 100) = 100 <0.000003>
    """)
    assert rows(found)[-1].offset == 8
    assert not found.facts.not_understood


def test_calls_that_are_not_followed_are_counted_by_name() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDWR) = 3</tmp/a> <0.000009>
        1 fallocate(3</tmp/a>, 0, 0, 4096) = 0 <0.000009>
        1 fadvise64(3</tmp/a>, 0, 0, POSIX_FADV_SEQUENTIAL) = 0 <0.000009>
        1 fadvise64(0<pipe:[1]>, 0, 0, POSIX_FADV_SEQUENTIAL) = -1 ESPIPE (Illegal seek) <0.000009>
        1 io_uring_enter(5<anon_inode:[io_uring]>, 1, 1, IORING_ENTER_GETEVENTS, NULL, 8) = 1 <0.000009>
    """)
    assert found.facts.not_understood == {"fallocate": 1, "fadvise64": 1, "io_uring_enter": 1}


@pytest.mark.parametrize(
    "line",
    [
        '1 99999999999.000000 read(3</a>, "", 1) = 1 <0.1>',
        '1 5.000000 read(3</a>, "", 1) = 99999999999999999999 <0.1>',
        '1 5.000000 read(3</a>, "", 1) = 5000000000 <0.1>',
        '1 5.000000 pread64(3</a>, "", 1, 9223372036854775807) = 1 <0.1>',
        "1 5.000000 mmap(NULL, 0xffffffffffffffff, PROT_READ, MAP_PRIVATE, 3</a>, 0) = 0x7f <0.1>",
        "1 5.000000 ftruncate(3</a>, 9223372036854775807) = 0 <0.1>",
    ],
)
def test_impossible_values_are_counted(line: str) -> None:
    found = read_strace(
        [line, "1 6.000000 fstat(3</a>, {st_mode=S_IFREG|0644, st_size=9999999999999999999, ...}) = 0 <0.1>"]
    )
    assert found.facts.not_understood["impossible_values"] == 1
    assert rows(found) == [Row("STAT", "/a", 0, 0, 0)]


def test_numbers_that_are_no_processes_are_unreadable() -> None:
    found = read_strace(['99999999999 5.000000 read(3</a>, "", 1) = 1 <0.1>'])
    assert found.facts.not_understood == {"unreadable_lines": 1}


def test_direct_opens_are_counted() -> None:
    found = read("""
        1 openat(AT_FDCWD</tmp>, "a", O_RDONLY|O_DIRECT) = 3</tmp/a> <0.000009>
        1 openat(AT_FDCWD</tmp>, "b", O_RDONLY|O_DIRECTORY) = 4</tmp/b> <0.000009>
    """)
    assert found.facts.not_understood == {"direct_opens": 1}


def test_every_count_is_described() -> None:
    source = Path(strace_reader.__file__).read_text()
    counted = set(re.findall(r'missed\["(\w+)"\]', source))
    assert counted == set(strace_reader.NOT_UNDERSTOOD)


def test_broken_lines_are_counted_and_the_rest_is_read() -> None:
    lines = [
        "nonsense\n",
        "1 1795728007.000000 read(3</tmp/a>, \n",
        "1 1795728007.000001 <... read resumed>) = 5 <0.000001>\n",
        '1 1795728007.000002 read(3</tmp/a>, ""..., 5) = 5 <0.000001>\n',
        '1 1795728007.000003 read(3</tmp/a>, ""..., 5 <unfinished ...>\n',
        '1 1795728007.000004 read(3</tmp/a>, ""..., 5 <unfinished ...>\n',
        '1 1795728007.000005 read(3</tmp/a>, ""..., 5) = ? ERESTARTSYS (To be restarted) <0.000001>\n',
        "1 1795728007.000006 --- SIGCHLD {si_signo=SIGCHLD} ---\n",
        '1 1795728007.000006 openat(AT_FDCWD, "' + "x" * (1 << 17) + '") = 3\n',
        "\n",
        "\udcff\udcfe\n",
    ]
    found = read_strace(lines)
    assert [row.count for row in rows(found)] == [5]
    assert found.facts.not_understood == {
        "unreadable_lines": 6, "descriptors_opened_before": 1, "unreturned_calls": 1,
    }  # fmt: skip
    assert "nonsense" in found.facts.remarks[0]


@pytest.mark.parametrize(
    "call",
    [
        "openat()", "openat(AT_FDCWD)", "read()", "mmap(NULL)", "mmap(NULL, x, y, MAP_PRIVATE, 3</a>, z)", "rename(\"a\")", "dup()", "fcntl(3</a>)",
        "close(x)", "close_range()", "lseek(3</a>)", "ftruncate(3</a>, -5)", "sendfile()", "copy_file_range(3</a>)", "execve(0x1)", "fchdir(3)",
        "chdir(0x5)", "pread64(3</a>, \"\"..., 5)", "unlinkat()", "statx(3</a>, \"\")", "newfstatat(AT_FDCWD, \"\")", "truncate(0x1, 5)",
        "openat(AT_FDCWD</>, \"a\", O_RDONLY", "clone(", "unknown_call(3</a>)",
    ],
)  # fmt: skip
def test_calls_without_their_arguments_are_not_fatal(call: str) -> None:
    ends = ") = 3</a> <0.000001>" if not call.endswith(")") else " = 3</a> <0.000001>"
    found = read(f'1 {call}{ends}\n1 read(7</b>, ""..., 1) = 1 <0.000001>')
    assert rows(found)[-1] == Row("READ", "/b", found["handle"].tolist()[-1], 0, 1)


LINES = (
    f'1 1795728007.000001 openat(AT_FDCWD</tmp>, "{IN_STRING}", O_RDWR|O_CREAT, 0777) = 3<{IN_NAME}> <0.000048>',
    f'1 1795728007.000002 read(3<{IN_NAME}>, ""..., 200) = 200 <0.000015>',
    "1 1795728007.000003 clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD}, 88 <unfinished ...>",
    "1 1795728007.000004 <... clone3 resumed>) = 2 <0.001658>",
    '1 1795728007.000005 rename("/tmp/a", "/tmp/b") = 0 <0.000028>',
    "1 1795728007.000006 +++ superseded by execve in pid 2 +++",
)


@given(
    st.lists(
        st.tuples(st.sampled_from(LINES), st.integers(0, 120), st.integers(0, 120), st.text(max_size=3)),
        max_size=12,
    )
)
def test_damaged_lines_are_never_fatal(parts: list[tuple[str, int, int, str]]) -> None:
    found = read_strace([line[:cut] + text + line[from_:] for line, cut, from_, text in parts])
    assert (found["offset"] >= 0).all()


@given(parts=st.lists(st.sampled_from(LINES), max_size=12))
def test_what_was_read_can_be_stored(parts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trace")
    found = read_strace(parts)
    write_operations(folder, found)
    assert read_operations(folder).paths == found.paths


# strace itself

PROGRAM = """
import os, sys
name = sys.argv[1] + '/d\\u00e9j\\u00e0 "vu"\\n; rm -rf x<y>'
file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
os.write(file, b"x" * 10000)
os.lseek(file, 100, 0)
if os.fork() == 0:
    os.read(file, 200)
    os._exit(0)
os.wait()
os.read(os.dup(file), 300)
os.rename(name, sys.argv[1] + "/moved")
os.truncate(sys.argv[1] + "/moved", 50)
os.unlink(sys.argv[1] + "/moved")
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_operations_of_a_real_program(tmp_path: Path) -> None:
    output = tmp_path / "strace.txt"
    command = strace_arguments(output, [sys.executable, "-I", "-S", "-c", PROGRAM, str(tmp_path)])
    subprocess.run(command, check=True, cwd=tmp_path, timeout=60, env={**os.environ, "LC_ALL": "C"})
    with output.open(errors="surrogateescape", newline="\n") as lines:
        found = read_strace(lines, str(tmp_path), size_on_host)
    mine = [row for row in rows(found) if row.path == f"{tmp_path}/moved"]
    assert [(row.kind, row.offset, row.count) for row in mine] == [
        ("CREATE" if mine[0].kind == "CREATE" else "OPEN", 0, 0), ("WRITE", 0, 10000), ("READ", 100, 200), ("READ", 300, 300),
        ("RENAME", 0, 0), ("TRUNCATE", 50, 0), ("UNLINK", 0, 0), ("CLOSE", 0, 0),
    ]  # fmt: skip
    assert "unreadable_lines" not in found.facts.not_understood
