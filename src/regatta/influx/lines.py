"""Line protocol: points as bytes that InfluxDB takes, and text as it may stand in InfluxQL. Nothing is sent here.

A tag is written so that every database of the three versions takes it and nothing is lost: what is not printable, backslashes and
`%` are percent-encoded (their UTF-8), and an empty value, which a tag cannot have, is `none`.

Source: docs.influxdata.com, "Line protocol": special characters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote

from regatta.influx.points import FIELDS, LONGEST_TAG_BYTES, TAGS, Field, Point

#: what an empty value is called in a tag
NONE = "none"
#: integers of InfluxDB end below it
_END = 2**63
#: printable, but not taken as they are; U+FFFD stands for what could not be read, and databases that check their keys refuse it
_ENCODED = frozenset("\\%\ufffd")
#: A line of line protocol: newlines are in strings only, and quotes mean something after the first bare space only.
_LINE = re.compile(rb'(?:[^ \\\n]|\\.)+ (?:"(?:[^"\\]|\\.)*"|[^"\n])*\n', re.DOTALL)


def encode(point: Point) -> bytes:
    """One point as a line, its newline included.

    Raises:
        ValueError: it has no field, or one that is not of its measurement.
    """
    return clean_bytes(encode_text(point))


def encode_text(point: Point) -> str:
    """The same as text."""
    known = FIELDS[point.measurement]
    if not point.fields or not point.fields.keys() <= known.keys():
        raise ValueError(f"fields of {point.measurement}: {sorted(point.fields)}")
    fields = ",".join(f"{name}={field_text(value)}" for name, value in point.fields.items())
    return f"{series_key(point.measurement, point.tags)} {fields} {point.time_ns}\n"


def series_key(measurement: str, tags: tuple[str, ...]) -> str:
    """What a line begins with: measurement and tags. Equal keys are one series."""
    names = TAGS[measurement]
    if len(names) != len(tags):
        raise ValueError(f"{measurement} has {len(names)} tags, not {len(tags)}")
    return ",".join((measurement, *(f"{n}={escaped(tag_text(v))}" for n, v in zip(names, tags, strict=True))))


def field_text(value: Field) -> str:
    """A field's value as line protocol writes it; floats to the last digit."""
    # A bool is an int to Python.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}i"
    if isinstance(value, float):
        return repr(value)
    if "\\" in value or '"' in value:
        value = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{value}"'


def plain_fields(values: Mapping[str, object], kinds: Mapping[str, type]) -> str | None:
    """The fields of one point at once, as `encode` writes them, where every value is of its field's type and can be held.

    Args:
        values: by name; None and what is no field is left out.
        kinds: the types of the measurement's fields.

    Returns:
        None where one value is not, so that `make_point` has to look.
    """
    texts = []
    for name, value in values.items():
        kind = kinds.get(name)
        if value is None or kind is None:
            continue
        if type(value) is not kind:
            return None
        if kind is int:
            if not -_END <= value < _END:  # type: ignore[operator]
                return None
            texts.append(f"{name}={value}i")
        elif kind is float and (value - value != 0 or not value):  # type: ignore[operator]
            if value != 0 or str(value) == "-0.0":
                return None
            texts.append(f"{name}=0.0")
        else:
            texts.append(f"{name}={field_text(value)}")  # type: ignore[arg-type]
    return ",".join(texts)


def clean_bytes(text: str) -> bytes:
    """UTF-8; what is no Unicode (lone surrogates that a program printed) as the journal and the tables write it."""
    return text.encode("utf-8", "backslashreplace")


@lru_cache(maxsize=65_536)
def tag_text(value: str) -> str:
    """A tag's value as the database holds it. One that is too long is cut and ends in a digest of all of it."""
    if not value:
        return NONE
    if not value.isascii():
        value = clean_bytes(value).decode()
    data = value.encode()
    if len(data) > LONGEST_TAG_BYTES:
        digest = hashlib.sha256(data).hexdigest()[:16]
        value = f"{data[: LONGEST_TAG_BYTES - 20].decode(errors='ignore')}…{digest}"
    if value.isprintable() and not set(value) & _ENCODED:
        return value
    return "".join(map(_percent, value))


def tag_value(text: str) -> str:
    """The reverse of `tag_text`, but for `none` and for what was cut."""
    return unquote(text, errors="strict") if "%" in text else text


def escaped(text: str) -> str:
    """A tag's text in line protocol."""
    for character in (",", "=", " "):
        if character in text:
            text = text.replace(character, "\\" + character)
    return text


def quoted(text: str) -> str:
    """A string in InfluxQL, such as what a tag is compared with (give `tag_text` of it)."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def identifier(name: str) -> str:
    """A name in InfluxQL: of a database, a measurement, a tag or a field."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _percent(character: str) -> str:
    if character.isprintable() and character not in _ENCODED:
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode())


def split_lines(data: bytes) -> list[bytes]:
    """Split line protocol into its lines, each with its newline; a newline in a string ends none."""
    lines = []
    at = 0
    while at < len(data):
        match = _LINE.match(data, at)
        # What is no line goes up to the next newline: the database says what is wrong with it.
        end = match.end() if match else data.find(b"\n", at) + 1 or len(data)
        lines.append(data[at:end])
        at = end
    return lines
