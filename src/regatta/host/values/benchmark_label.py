"""Build and parse labels of benchmarks: suite, name, size and chosen parameters. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.host.values.template import scalar_text

_CHOSEN = re.compile(r' ([A-Za-z_][A-Za-z0-9_]*)=("(?:[^"\\]|\\.)*"|[^ "]+)')


@dataclass(frozen=True)
class LabelParts:
    """The parts of a label. `suite` and `size` are "" if the label has none."""

    suite: str
    name: str
    size: str
    #: chosen parameters as text
    chosen: Mapping[str, str] = field(default_factory=dict)


def benchmark_label(suite: str, name: str, size: str, chosen: Mapping[str, object]) -> str:
    """Return `suite/name:size`, then the chosen parameters by name (`suite/name:size parallel=2`)."""
    texts = "".join(f" {key}={_quoted(scalar_text(value))}" for key, value in sorted(chosen.items()))
    return f"{suite}/{name}:{size}{texts}"


def parts_of_label(label: str) -> LabelParts:
    """Parse a label; the reverse of `benchmark_label`. Names of suites, benchmarks and sizes have no space, slash or colon."""
    head, _, _ = label.partition(" ")
    chosen = {
        key: json.loads(text) if text.startswith('"') else text
        for key, text in _CHOSEN.findall(label[len(head) :])
    }
    before, slash, after = head.rpartition("/")
    name, _, size = after.partition(":")
    return LabelParts(before if slash else "", name, size, chosen)


def _quoted(text: str) -> str:
    """Quote a value whose end would otherwise be ambiguous in a label."""
    plain = text.isprintable() and text and not set(text) & set(" =\\\"'")
    return text if plain else json.dumps(text, ensure_ascii=False)
