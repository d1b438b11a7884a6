"""Places of functions in their files: as `nm` says, and refusals of files that are no programs."""

from __future__ import annotations

import functools
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from regatta.host.errors import HostError
from regatta.host.events.elf import offset_of, program_path

#: offset of fields in the header of an ELF file of 64 bits
SECTIONS_AT = 40
LIBC = "libc.so.6"
needs_nm = pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")


@functools.cache
def libc() -> Path:
    return program_path(LIBC)


def by_nm(program: Path) -> dict[str, int]:
    """Addresses of the functions of a file that programs linked today get."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(program)], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in listed.stdout.splitlines()]
    return {
        row[2].partition("@@")[0]: int(row[0], 16)
        for row in rows
        if row[1] in "TW" and "@" not in row[2].replace("@@", "")
    }


def to_offset(program: Path, address: int) -> int:
    """Offset of an address in the file, by the segments that `readelf` lists."""
    listed = subprocess.run(["readelf", "-lW", str(program)], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"]:
            offset, virtual, size = (int(words[place], 16) for place in (1, 2, 4))
            if virtual <= address < virtual + size:
                return address - virtual + offset
    raise AssertionError(hex(address))


@needs_nm
def test_offsets_of_a_library_are_those_of_nm() -> None:
    listed = by_nm(libc())
    names = [
        "getppid",
        "malloc",
        "pthread_cond_wait",
        "pthread_cond_signal",
        "open",
        "regexec",
        *sorted(listed)[::97],
    ]
    assert {name: offset_of(libc(), name) for name in names if name in listed} == {
        name: to_offset(libc(), listed[name]) for name in names if name in listed
    }


@needs_nm
def test_offsets_of_a_program_are_those_of_nm() -> None:
    program = program_path("bash")
    listed = by_nm(program)
    names = sorted(listed)[::53]
    if not names:
        pytest.skip("bash exports no functions")
    assert [offset_of(program, name) for name in names] == [
        to_offset(program, listed[name]) for name in names
    ]


def compiled(folder: Path, *options: str) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    source = folder / "program.c"
    source.write_text("__attribute__((noinline)) static int inner(int x) { return x + 1; }\nint outer(int x) { return inner(x); }\n"
                      "int main(int n, char **v) { (void)v; return outer(n); }\n")  # fmt: skip
    subprocess.run(["gcc", "-O0", *options, "-o", str(folder / "program"), str(source)], check=True)
    return folder / "program"


@pytest.mark.parametrize("options", [(), ("-no-pie",), ("-static",)], ids=["pie", "no-pie", "static"])
def test_functions_of_an_unstripped_program_are_found(options: tuple[str, ...], tmp_path: Path) -> None:
    program = compiled(tmp_path, *options)
    listed = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    addresses = {
        words[-1]: int(words[0], 16) for words in map(str.split, listed.splitlines()) if len(words) == 3
    }
    for name in ("main", "outer", "inner"):
        assert offset_of(program, name) == to_offset(program, addresses[name])


def test_functions_of_a_stripped_program_are_missing(tmp_path: Path) -> None:
    program = compiled(tmp_path, "-s")
    with pytest.raises(HostError, match="inner"):
        offset_of(program, "inner")


@pytest.mark.parametrize("name", ["getppi", "getppidx", "", "no_such_function", "ä"])
def test_a_function_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(HostError) as caught:
        offset_of(libc(), name)
    assert str(libc()) in caught.value.problems[0].where


def test_undefined_functions_are_refused() -> None:
    with pytest.raises(HostError):
        offset_of(Path(sys.executable).resolve(), "getppid")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"#!/bin/sh\n",
        b"\x7fELF",
        b"\x7fELF\x01\x01\x01" + bytes(100),
        b"\x7fELF\x02\x02\x01" + bytes(100),
        b"\x7fELF\x02\x01\x01" + bytes(20),
        b"\x7fELF\x02\x01\x01" + bytes(100),
        b"\x7fELF\x02\x01\x01" + b"\xff" * 100,
    ],
    ids=["empty", "script", "magic", "32 bits", "big endian", "short", "zeros", "offsets beyond all"],
)
def test_foreign_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(data)
    with pytest.raises(HostError) as caught:
        offset_of(path, "main")
    assert str(path) in caught.value.problems[0].where


def test_truncated_files_are_refused(tmp_path: Path) -> None:
    data = program_path("cat").read_bytes()
    path = tmp_path / "truncated"
    for size in [*range(1, 200, 7), len(data) // 2, len(data) - 1, len(data) - 64]:
        path.write_bytes(data[:size])
        with pytest.raises(HostError):
            offset_of(path, "main")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    whole = libc().read_bytes()
    (sections_at,) = struct.unpack_from("<Q", whole, SECTIONS_AT)
    path = tmp_path / "damaged"
    for field in (4, 24, 32, 40):
        data = bytearray(whole)
        for number in range(60):
            place = sections_at + 64 * number + field
            if place + 8 <= len(data) and struct.unpack_from("<I", data, sections_at + 64 * number + 4)[
                0
            ] in (2, 11):
                struct.pack_into("<I" if field in (4, 40) else "<Q", data, place, 1 << 30)
        path.write_bytes(data)
        with pytest.raises(HostError):
            offset_of(path, "no_such_function")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(HostError):
            offset_of(path, "main")


def test_programs_are_found_by_name_path_and_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program_path("sh") == Path(shutil.which("sh") or "").resolve()
    assert program_path("/bin/sh") == Path("/bin/sh").resolve()
    assert program_path(LIBC).name.startswith("libc")
    own = tmp_path / "own"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    link = tmp_path / "link"
    link.symlink_to(own)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_path("own") == program_path("link") == program_path(str(link)) == own


@pytest.mark.parametrize("name", ["no-such-program", "/no/such/program", "libnothing.so.9", "/", ""])
def test_missing_programs_are_refused(name: str) -> None:
    with pytest.raises(HostError) as caught:
        program_path(name)
    assert name in caught.value.problems[0].where
