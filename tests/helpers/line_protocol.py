"""Reading line protocol as its documentation describes it, without the product's code."""

from __future__ import annotations

import re

Field = bool | int | float | str


def split_line(line: bytes) -> tuple[str, dict[str, str], dict[str, Field], int]:
    """Measurement, tags, fields and time of one line, which ends in its newline.

    Source: docs.influxdata.com, "Line protocol".
    """
    whole = re.fullmatch(
        r'((?:[^ \\]|\\.)+) ((?:"(?:[^"\\]|\\.)*"|[^" ])+) (\d+)\n', line.decode(), re.DOTALL
    )
    assert whole, line
    key, fields, time = whole.groups()
    measurement, *pairs = re.split(r"(?<!\\),", key)
    tags = [re.split(r"(?<!\\)=", pair) for pair in pairs]
    unescaped = {name: re.sub(r"\\([,= ])", r"\1", value) for name, value in tags}
    values: dict[str, Field] = {}
    for name, text in re.findall(r'([a-z_0-9]+)=("(?:[^"\\]|\\.)*"|[^,]+)', fields, re.DOTALL):
        if text.startswith('"'):
            values[name] = re.sub(r'\\(["\\])', r"\1", text[1:-1])
        elif text in ("true", "false"):
            values[name] = text == "true"
        else:
            values[name] = int(text[:-1]) if text.endswith("i") else float(text)
    return measurement, unescaped, values, int(time)
