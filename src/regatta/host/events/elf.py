"""Find where a function of a program or shared library is in its file."""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.foreign import reason

#: ELF-64, little endian: the header from e_phoff on, a program header, a section header, a symbol
_HEADER = struct.Struct("<QQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_VERSION = struct.Struct("<H")
_PT_LOAD = 1
_SYMBOL_TABLES = (2, 11)
#: a section with the version of each dynamic symbol; the bit says that programs linked today get another one
_VERSIONS = 0x6FFFFFFF
_HIDDEN = 0x8000
_STT_FUNC, _STT_GNU_IFUNC = 2, 10


def program_path(name: str) -> Path:
    """Return the file of a program on PATH, of a shared library by its name, or of an absolute path.

    Raises:
        HostError: there is none.
    """
    found = name if name.startswith("/") else shutil.which(name)
    if found is None and ".so" in name:
        listed = subprocess.run(
            [shutil.which("ldconfig") or "/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False
        )
        paths = (
            line.split(" => ") for line in listed.stdout.splitlines() if line.strip().startswith(f"{name} (")
        )
        found = next((words[1].strip() for words in paths if len(words) == 2), None)
    if found is None or not Path(found).is_file():
        raise HostError(
            f"the probe in {name}", "a program or library", "no such file", "install it, or correct its name"
        )
    return Path(found).resolve()


def offset_of(program: Path, function: str) -> int:
    """Return the offset of a function in its file, as the kernel's probes take it.

    Args:
        program: an ELF file of 64 bits.
        function: a symbol of its tables (`nm`, or `nm -D` for a stripped file).

    Raises:
        HostError: the file is no such program, or has no such function.
    """
    try:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _offset(data, program, function)
    except HostError:
        raise
    except Exception as error:
        # Offsets of a damaged file can be of any size, and no list has every type of error that they cause.
        fix = "install it again, or correct its path"
        raise HostError(str(program), "a complete program to probe", reason(error), fix) from error


def _offset(data: mmap.mmap, program: Path, function: str) -> int:
    if data[:6] != b"\x7fELF\x02\x01":
        raise HostError(
            str(program), "an ELF program of 64 bits", repr(data[:6]), "give the path of the program itself"
        )
    segments_at, sections_at, _, _, segment_size, segments, section_size, sections, _ = _HEADER.unpack_from(
        data, 32
    )
    tables = [_SECTION.unpack_from(data, sections_at + at * section_size) for at in range(sections)]
    found = sorted(_addresses(data, tables, function.encode()))
    if found and found[0][2]:
        raise HostError(
            f"{program}",
            f"{function} as one function",
            "one of several that the processor decides (IFUNC)",
            "probe another one",
        )
    for address in (address for _, address, chosen in found if not chosen):
        for at in range(segments):
            kind, _, offset, virtual, _, size, _, _ = _SEGMENT.unpack_from(
                data, segments_at + at * segment_size
            )
            if kind == _PT_LOAD and virtual <= address < virtual + size:
                return int(address - virtual + offset)
    raise HostError(
        f"{program}", f"the function {function}", "no such symbol", "see `nm -D` for those that it exports"
    )


def _addresses(
    data: mmap.mmap, tables: list[tuple[int, ...]], function: bytes
) -> Iterator[tuple[bool, int, bool]]:
    """Yield for each version of a function whether only older programs get it, its address, and whether the processor decides it."""
    for number, table in enumerate(tables):
        if table[1] not in _SYMBOL_TABLES:
            continue
        names_at = tables[table[6]][4]
        versions_at = next((one[4] for one in tables if one[1] == _VERSIONS and one[6] == number), None)
        symbols = _SYMBOL.iter_unpack(data[table[4] : table[4] + table[5] - table[5] % _SYMBOL.size])
        for place, (name, info, _, section, address, _) in enumerate(symbols):
            if info & 15 in (_STT_FUNC, _STT_GNU_IFUNC) and section and address:
                begin, end = names_at + name, names_at + name + len(function)
                if data[begin : end + 1] == function + b"\0":
                    (version,) = (
                        (0,) if versions_at is None else _VERSION.unpack_from(data, versions_at + 2 * place)
                    )
                    yield bool(version & _HIDDEN), address, info & 15 == _STT_GNU_IFUNC
