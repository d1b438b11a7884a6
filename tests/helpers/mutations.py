"""Damage to files: of bytes, numbers, lines, JSON values, and files that are none of their kind."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_BEGINNING_BYTES, _MOST_BYTES = 4096, 8 << 20
#: around the limits of types, of columns and of plain sense
_NUMBERS = (
    b"0", b"-1", b"1", b"32767", b"65536", b"2147483648", b"-9223372036854775809", b"18446744073709551616", b"9" * 40, b"9" * 5000,
    b"1e308", b"1e999", b"NaN", b"-Infinity", b"0.1", b"",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**31, 2**63, -(2**63) - 1, 10**7, 1e308, float("nan"), float("inf"), "", "x", "\x1b[2J", "\udcff",
    "9" * 5000, [], {}, [[]], {"": 0}, [0] * 1000,
)  # fmt: skip


def changed_bytes(data: bytes, random: random.Random) -> bytes:
    """Flip, insert, remove, repeat or cut some bytes."""
    for _ in range(random.choice((1, 1, 2, 8, 64))):
        at, length = random.randrange(len(data) + 1), random.choice((1, 1, 4, 64, 1000))
        noise = random.choice((random.randbytes(length), b"\0" * length, b"\xff" * length, b"\x1b[2J"))
        kind = random.randrange(5)
        rest = (data[at + length :], data[at:], data[at + length :], data[at:], b"")[kind]
        data = data[:at] + (noise, noise, b"", data[at : at + length], b"")[kind] + rest
    return data


def replaced_bytes(data: bytes, random: random.Random) -> bytes:
    """Replace some bytes; all others stay where they are, so that lengths and offsets in the file hold."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 4))):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def changed_beginning(data: bytes, random: random.Random) -> bytes:
    """Damage the first bytes, where binary formats have their headers and tables."""
    return changed_bytes(data[:_BEGINNING_BYTES], random) + data[_BEGINNING_BYTES:]


def changed_numbers(data: bytes, random: random.Random) -> bytes:
    """Replace some numbers of a text."""
    places = [found.span() for found in _NUMBER.finditer(data)]
    for begin, end in sorted(
        random.sample(places, min(len(places), random.choice((1, 1, 2, 5)))), reverse=True
    ):
        data = data[:begin] + random.choice(_NUMBERS) + data[end:]
    return data


def changed_lines(data: bytes, random: random.Random) -> bytes:
    """Remove, repeat, exchange or join some lines."""
    lines = data.splitlines(keepends=True)
    for _ in range(random.choice((1, 2, 10))):
        if not lines:
            break
        at, other = random.randrange(len(lines)), random.randrange(len(lines))
        match random.randrange(5):
            case 0:
                del lines[at]
            case 1:
                lines.insert(other, lines[at])
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = lines[at].rstrip(b"\n")
            case _:
                times = random.choice((2, 1000))
                # A line can be chosen again: the file must not grow without a limit.
                lines[at] *= times if len(lines[at]) * times < _MOST_BYTES else 1
    return b"".join(lines)


def changed_values(data: bytes, random: random.Random) -> bytes:
    """Replace, remove or add a value of JSON, or of one line of several documents."""
    try:
        return _encoded(_with_changes(json.loads(data), random))
    except ValueError:
        lines = data.splitlines(keepends=True)
    at = random.randrange(len(lines))
    lines[at] = _encoded(_with_changes(json.loads(lines[at]), random)) + b"\n"
    return b"".join(lines)


def changed_keys(data: bytes, random: random.Random) -> bytes:
    """Replace, remove or add a value of YAML; the result is JSON, which is YAML too."""
    import yaml

    return _encoded(_with_changes(yaml.safe_load(data), random))


def changed_records(data: bytes, random: random.Random) -> bytes:
    """Replace, remove or add a value of a line of a journal; its checksum is right."""
    lines = data.splitlines(keepends=True)
    at = random.randrange(len(lines))
    document = json.loads(lines[at])
    del document["crc32"]
    body = _encoded(_with_changes(document, random))[:-1]
    lines[at] = b'%b,"crc32":"%08x"}\n' % (body, zlib.crc32(body))
    return b"".join(lines)


def _encoded(document: Any) -> bytes:
    # Dates of YAML become texts.
    return json.dumps(document, separators=(",", ":"), default=str).encode(errors="surrogatepass")


def _with_changes(document: Any, random: random.Random) -> Any:
    for _ in range(random.choice((1, 1, 2))):
        owner, key = random.choice([*_places(document)] or [([document], 0)])
        match random.randrange(4):
            case 0 if isinstance(owner, dict):
                del owner[key]
            case 1 if isinstance(owner, dict):
                owner[random.choice(("other", "", "v" * 100))] = deepcopy(random.choice(_VALUES))
            case _:
                owner[key] = deepcopy(random.choice(_VALUES))
    return document


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return the containers of all values, with their keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


Mutator = Callable[[bytes, random.Random], bytes]
BYTES: tuple[Mutator, ...] = (changed_bytes,)
BINARY: tuple[Mutator, ...] = (changed_bytes, changed_beginning, changed_beginning)
RECORDING: tuple[Mutator, ...] = (*BINARY, replaced_bytes, replaced_bytes, replaced_bytes)
JOURNAL: tuple[Mutator, ...] = (
    changed_bytes,
    changed_records,
    changed_records,
    changed_records,
    changed_lines,
)
TEXT: tuple[Mutator, ...] = (changed_bytes, changed_numbers, changed_numbers, changed_lines)
YAML: tuple[Mutator, ...] = (*TEXT, changed_keys, changed_keys, changed_keys)
JSON: tuple[Mutator, ...] = (changed_bytes, changed_numbers, changed_values, changed_values)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(6 << 30)


#: name -> what puts a file in a path that does not exist
SPECIAL: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: None,
    "empty": lambda path: path.write_bytes(b""),
    "zeros": lambda path: path.write_bytes(b"\0" * 100_000),
    "sparse": _sparse,
    "one line": lambda path: path.write_bytes(b"x" * 50_000_000),
    "brackets": lambda path: path.write_bytes(b"[" * 100_000),
    "objects": lambda path: path.write_bytes(b'{"a":' * 100_000),
    "keys": lambda path: path.write_text(json.dumps({str(key): key for key in range(50_000)})),
    "lines": lambda path: path.write_bytes(b"\n" * 1_000_000),
    "UTF-16": lambda path: path.write_bytes("name: x\n".encode("utf-16")),
    "folder": lambda path: path.mkdir(),
    "loop": lambda path: path.symlink_to(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "memory": lambda path: path.symlink_to("/proc/self/mem"),
}
