"""Lines of lackey become pages of files and of anonymous memory; lines that are not understood are counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from regatta.models.page_cache import process
from regatta.models.page_cache.cache import FILE_PAGES
from regatta.models.page_cache.lackey import INSTRUCTION, LOAD, MODIFY, STORE, parse
from regatta.models.page_cache.mappings import Mapping, Mappings, parse_mappings
from regatta.models.page_cache.process import Files, ProcessReader

KINDS = {INSTRUCTION: "I ", LOAD: " L", STORE: " S", MODIFY: " M"}
HEAD = b"==17== Lackey, an example Valgrind tool\n"
MMAP = b"SYSCALL[17,1](9) sys_mmap ( 0x0, 8192, 1, 2, 4, 0 ) --> [pre-success] Success(0x4835000) \n"
SUMMARY = b"==17==   guest instrs:  %d\n"
MAPS = """\
00100000-00102000 r-xp 00003000 fe:00 5   /bin/program
00102000-00104000 rw-p 00000000 00:00 0   [heap]
00200000-00204000 rw-p 00000000 fe:00 7   /data/private file
00300000-00304000 rw-s 00001000 fe:00 7   /data/private file
00400000-00401000 rw-s 00000000 00:01 9   /memfd:x (deleted)
00500000-00501000 r--p 00000000 fe:00 8   /usr/libexec/valgrind/vgpreload_core-amd64-linux.so
"""


def lines(*references: tuple[str, int, int]) -> bytes:
    return "".join(
        f"{kind if kind == 'I ' else ' ' + kind} {address:08x},{size}\n" for kind, address, size in references
    ).encode()


class Read:
    """What a reader makes of texts."""

    def __init__(self, *texts: bytes, maps: str = MAPS) -> None:
        self.problems: Counter[str] = Counter()
        self.files = Files()
        reader = ProcessReader(self.files, self.problems, lambda pid: parse_mappings(maps), lambda pid: "/")
        parts = [reader.read(text) for text in texts]
        reader.finish()
        self.references = reader.references
        self.pages = [
            (self.files.rows[page // FILE_PAGES].path, page % FILE_PAGES) for part in parts for page in part
        ]


ANONYMOUS = "anonymous memory of process 17"


def test_addresses_become_pages_of_the_mapped_files() -> None:
    found = Read(
        HEAD,
        lines(("I ", 0x100FFE, 2), ("L", 0x103008, 8), ("L", 0x303000, 4), ("L", 0x400000, 1)),
        SUMMARY % 1,
    )
    assert found.pages == [
        ("/bin/program", 3),
        (ANONYMOUS, 0x103),
        ("/data/private file", 4),
        (ANONYMOUS, 0x400),
    ]
    assert found.problems == {}
    assert [one.executable for one in found.files.rows if one.path == "/bin/program"] == [True]


def test_a_reference_across_the_end_of_a_page_is_one_to_each() -> None:
    found = Read(HEAD, lines(("L", 0x300FFC, 8), ("L", 0x301FF8, 8)), SUMMARY % 0)
    assert [page for _, page in found.pages] == [1, 2, 2]


def test_a_write_to_a_private_map_reads_the_file_and_then_uses_a_copy() -> None:
    found = Read(
        HEAD,
        lines(("L", 0x200000, 1), ("S", 0x200000, 1), ("L", 0x200008, 1), ("L", 0x201000, 1)),
        lines(("M", 0x200010, 4), ("S", 0x300000, 1), ("L", 0x300000, 1)),
        SUMMARY % 0,
    )
    file = "/data/private file"
    assert found.pages == [
        *((file, 0), (file, 0), (ANONYMOUS, 0x200), (ANONYMOUS, 0x200), (file, 1), (ANONYMOUS, 0x200)),
        *((file, 1), (file, 1)),
    ]


def test_what_valgrind_loads_itself_is_no_memory_of_the_program() -> None:
    assert Read(HEAD, lines(("L", 0x500000, 1)), SUMMARY % 0).pages == []


def test_lines_may_arrive_in_any_pieces() -> None:
    text = (
        HEAD
        + lines(("I ", 0x100000, 3), ("S", 0x200000, 8))
        + MMAP
        + lines(("L", 0x300000, 16))
        + SUMMARY % 1
    )
    whole = Read(text)
    for size in (1, 7, 64):
        pieces = Read(*(text[at : at + size] for at in range(0, len(text), size)))
        assert (pieces.pages, pieces.problems) == (whole.pages, whole.problems)


def test_broken_lines_are_counted_and_named() -> None:
    broken = [
        b" L 00300000,\n", b" L 00300000\n", b" L 300000,4\n", b" L 00300z00,4\n", b" X 00300000,4\n", b"I  00300000,0\n",
        b" L 0000000000300000,4\n", b"I L00300000,4\n", b" L 00300000,99999\n", b"  L00300000,4\n", b"\xff\x00\n",
        b" I 00300000,4\n", b" L 00300000,4 \n",
    ]  # fmt: skip
    found = Read(HEAD, *broken, lines(("L", 0x300000, 4)), b"\n", SUMMARY % 0, b" L 003")
    assert found.problems == {process.UNKNOWN_LINE: len(broken) + 1}
    assert len(found.pages) == found.references == 1


def test_a_line_without_end_is_not_kept_in_memory() -> None:
    found = Read(HEAD, *[b"x" * 40_000] * 4, b"\n", SUMMARY % 0)
    assert found.problems[process.UNKNOWN_LINE] >= 2


def test_missing_instructions_and_a_missing_summary_are_counted_and_named() -> None:
    assert Read(HEAD, lines(("I ", 0x100000, 3)), b"==17==   guest instrs:  1,004\n").problems == {
        process.LOST: 1003
    }
    assert Read(HEAD, lines(("I ", 0x100000, 3))).problems == {process.NO_SUMMARY: 1}


def test_a_process_that_becomes_another_program_is_complete() -> None:
    becomes = b"SYSCALL[17,1](59) sys_execve ( 0x4032fd0(/bin/true), 0x4032fe0, 0x4032ff0 )"
    assert Read(HEAD, lines(("I ", 0x100000, 3)), becomes).problems == {}


def test_forks_and_maps_without_a_name_are_counted_and_named() -> None:
    fork = b"SYSCALL[17,1](56) sys_clone ( 1200011, 0x0, 0x0, 0x4a28a10, 0x0 )   clone(fork): process 17 created child 18\n"
    thread = b"SYSCALL[17,1](56) sys_clone ( 3d0f00, 0x0, 0x0, 0x4a28a10, 0x0 )\n --> [pre-success] Success(0x12) \n"
    found = Read(HEAD, fork, thread, MMAP, lines(("L", 0x4835000, 1)), SUMMARY % 0, maps="")
    assert found.problems == {process.FORKED: 1, process.NO_NAME: 1, process.NO_MAPS: 1}
    assert found.pages == [(ANONYMOUS, 0x4835)]


OPEN = b"SYSCALL[17,1](257) sys_openat ( 4294967196, 0x40290b1(%s), 524288 ) --> [async] ... \n"
OPENED = b"SYSCALL[17,1](257) ... [async] --> Success(0x4) \n"
FAILED = b"SYSCALL[17,1](257) ... [async] --> Failure(0x2) \n"
MUNMAP = b"SYSCALL[17,1](11) sys_munmap ( 0x4835000, 4096 )[sync] --> Success(0x0) \n"
MREMAP = (
    b"SYSCALL[17,1](25) sys_mremap ( 0x4836000, 4096, 8192, 0x1 ) --> [pre-success] Success(0x5000000) \n"
)


def test_files_that_the_trace_maps_are_known_by_name_though_the_process_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "a file (1), 2"
    path.write_bytes(bytes(8192))
    texts = [
        lines(("L", 0x303000, 1)),
        *(OPEN % b"/no/such", FAILED, OPEN % str(path).encode(), OPENED, MMAP),
        *(lines(("L", 0x4836000, 1)), MUNMAP, lines(("L", 0x4835000, 1))),
        *(MREMAP, lines(("L", 0x5001000, 1), ("L", 0x4836000, 1)), SUMMARY % 0),
    ]
    found = Read(HEAD, *texts)
    assert found.pages[1:] == [(str(path), 1), (ANONYMOUS, 0x4835), (str(path), 2), (ANONYMOUS, 0x4836)]
    assert found.problems == {}


def test_relative_names_follow_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(8192))
    chdir = (
        b"SYSCALL[17,1](80) sys_chdir ( 0x40290b1(%s) )[sync] --> Success(0x0) \n" % str(tmp_path).encode()
    )
    fchdir = b"SYSCALL[17,1](81) sys_fchdir ( 9 )[sync] --> Success(0x0) \n"
    begin = lines(("L", 0x303000, 1))
    for changes, path, unknown in ((chdir, tmp_path / "data", {}), (fchdir, ANONYMOUS, {process.NO_NAME: 1})):
        found = Read(
            HEAD, begin, changes, OPEN % b"data", OPENED, MMAP, lines(("L", 0x4835000, 1)), SUMMARY % 0
        )
        assert found.pages[-1][0] == str(path)
        assert found.problems == unknown


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(1, 6)), max_size=20))
def test_ranges_never_overlap_and_each_page_belongs_to_the_last_map(
    changes: list[tuple[bool, int, int]],
) -> None:
    mappings = Mappings("/", lambda: None)
    for line in (OPEN % b"/data", OPENED):
        mappings.apply(line)
    expected: dict[int, int] = {}
    for number, (maps, start, pages) in enumerate(changes):
        address, size, offset = 0x10000000 + start * 4096, pages * 4096 - 5, number << 20
        if maps:
            line = f"SYSCALL[17,1](9) sys_mmap ( 0x0, {size}, 1, 1, 4, {offset} ) --> [pre-success] Success(0x{address:x}) "
        else:
            line = f"SYSCALL[17,1](11) sys_munmap ( 0x{address:x}, {size} )[sync] --> Success(0x0) "
        assert mappings.apply(line.encode())
        for page in range(pages):
            expected.pop(address + page * 4096, None)
            if maps:
                expected[address + page * 4096] = offset + page * 4096
    found = [
        (page, one.offset + page - one.start)
        for one in mappings.ranges
        for page in range(one.start, one.end, 4096)
    ]
    assert found == sorted(expected.items())


def test_mappings_are_read_as_the_kernel_writes_them() -> None:
    text = MAPS + "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\nnonsense\n"
    found = parse_mappings(text)
    assert len(found) == 6
    assert found[0] == Mapping(0x100000, 0x102000, True, False, 0x3000, ("fe:00", 5), "/bin/program")
    assert found[1].file is found[4].file is None
    assert found[3].shared


@given(
    st.lists(
        st.tuples(st.sampled_from(list(KINDS)), st.integers(0, 2**47 - 1), st.integers(1, 4096)), max_size=50
    )
)
def test_every_reference_is_read_as_it_was_written(references: list[tuple[int, int, int]]) -> None:
    text = "".join(f"{KINDS[kind]} {address:08x},{size}\n" for kind, address, size in references).encode()
    (found,) = parse(text)
    assert list(zip(found.kinds, found.addresses, found.sizes, strict=True)) == references
    assert not found.line


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(text: bytes) -> None:
    found = Read(text, text)
    assert found.references <= text.count(b"\n") * 2 + 2
