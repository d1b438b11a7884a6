"""Read lines of docs/protocol.md from the client and write them for the runner."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable

#: environment variable with the path of the results file
RESULTS = "REGATTA_RESULTS"


def parse_lines(printed: bytes) -> list[dict[str, object]]:
    """Return the lines of the client; print other output (such as a JVM warning) to standard error."""
    lines = []
    for text in printed.decode("utf-8", "replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if isinstance(line, dict):
            lines.append(line)
        else:
            print(text, file=sys.stderr)
    return lines


def write_lines(lines: Iterable[dict[str, object]]) -> None:
    """Append lines to the file named by REGATTA_RESULTS; if unset, print them."""
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    path = os.environ.get(RESULTS)
    if not path:
        sys.stdout.write(text)
        return
    with open(path, "a", encoding="utf-8") as results:
        results.write(text)
