"""Line protocol: encode points as bytes for InfluxDB, and quote text for InfluxQL. Nothing is sent here.

Tags are encoded so that InfluxDB 1, 2 and 3 accept them without loss: non-printable characters, backslashes and `%` are
percent-encoded (their UTF-8). An empty value, which a tag cannot have, is `none`.

Source: docs.influxdata.com, "Line protocol": special characters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

from regatta.influx.points import FIELDS, LONGEST_TAG_BYTES, TAGS, Field, Point

#: tag text of an empty value
NONE = "none"
#: upper bound (exclusive) of InfluxDB integers
_END = 2**63
#: printable, but encoded; U+FFFD replaces unreadable bytes, and databases that check their keys refuse it
_ENCODED = frozenset("\\%\ufffd")
#: A line of line protocol: newlines occur in strings only, and quotes are special only after the first unescaped space.
_LINE = re.compile(rb'(?:[^ \\\n]|\\.)+ (?:"(?:[^"\\]|\\.)*"|[^"\n])*\n', re.DOTALL)


def encode(point: Point) -> bytes:
    """Encode one point as a line, newline included.

    Raises:
        ValueError: the point has no field, or a field that its measurement lacks.
    """
    return clean_bytes(encode_text(point))


def encode_text(point: Point) -> str:
    """Encode one point as text."""
    known = FIELDS[point.measurement]
    if not point.fields or not point.fields.keys() <= known.keys():
        raise ValueError(f"fields of {point.measurement}: {sorted(point.fields)}")
    fields = ",".join(f"{name}={field_text(value)}" for name, value in point.fields.items())
    return f"{series_key(point.measurement, point.tags)} {fields} {point.time_ns}\n"


def series_key(measurement: str, tags: tuple[str, ...]) -> str:
    """Return the beginning of a line: measurement and tags. Equal keys are one series."""
    names = TAGS[measurement]
    if len(names) != len(tags):
        raise ValueError(f"{measurement} has {len(names)} tags, not {len(tags)}")
    return ",".join((measurement, *(f"{n}={escaped(tag_text(v))}" for n, v in zip(names, tags, strict=True))))


def field_text(value: Field) -> str:
    """Return the value of a field in line protocol; floats keep all digits."""
    # A bool is an int in Python.
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
    """Return the fields of one point as `encode` writes them, if every value has the type of its field and can be stored.

    Args:
        values: by name; None and unknown fields are skipped.
        kinds: types of the fields of the measurement.

    Returns:
        None if a value does not fit, so that `make_point` must handle it.
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
    """Encode as UTF-8; replace lone surrogates (printed by a program) as the journal and the tables do."""
    return text.encode("utf-8", "backslashreplace")


@lru_cache(maxsize=65_536)
def tag_text(value: str) -> str:
    """Return the value of a tag as the database holds it. A value that is too long is cut and ends with a digest of the whole."""
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


def escaped(text: str) -> str:
    """Escape the text of a tag for line protocol."""
    for character in (",", "=", " "):
        if character in text:
            text = text.replace(character, "\\" + character)
    return text


def quoted(text: str) -> str:
    """Quote a string for InfluxQL, for example the `tag_text` of a tag for a comparison."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def identifier(name: str) -> str:
    """Quote the name of a database, a measurement, a tag or a field for InfluxQL."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _percent(character: str) -> str:
    if character.isprintable() and character not in _ENCODED:
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode())


def split_lines(data: bytes) -> list[bytes]:
    """Split line protocol into lines with their newlines; a newline in a string does not end a line."""
    lines = []
    at = 0
    while at < len(data):
        match = _LINE.match(data, at)
        # An invalid line ends at the next newline: the database reports its error.
        end = match.end() if match else data.find(b"\n", at) + 1 or len(data)
        lines.append(data[at:end])
        at = end
    return lines
