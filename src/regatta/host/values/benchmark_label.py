"""What a benchmark with its size and chosen parameters is called, and what such a name says. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.host.values.template import scalar_text

_CHOSEN = re.compile(r' ([A-Za-z_][A-Za-z0-9_]*)=("(?:[^"\\]|\\.)*"|[^ "]+)')


@dataclass(frozen=True)
class LabelParts:
    """The parts of a label; `suite` and `size` are "" where it has none."""

    suite: str
    name: str
    size: str
    #: chosen parameters as text
    chosen: Mapping[str, str] = field(default_factory=dict)


def benchmark_label(suite: str, name: str, size: str, chosen: Mapping[str, object]) -> str:
    """`suite/name:size`, then what was chosen beside the size (`suite/name:size parallel=2`), by name."""
    texts = "".join(f" {key}={_quoted(scalar_text(value))}" for key, value in sorted(chosen.items()))
    return f"{suite}/{name}:{size}{texts}"


def parts_of_label(label: str) -> LabelParts:
    """The reverse of `benchmark_label`: no name of a suite, benchmark or size has a space, a slash or a colon."""
    head, _, _ = label.partition(" ")
    chosen = {
        key: json.loads(text) if text.startswith('"') else text
        for key, text in _CHOSEN.findall(label[len(head) :])
    }
    before, slash, after = head.rpartition("/")
    name, _, size = after.partition(":")
    return LabelParts(before if slash else "", name, size, chosen)


def _quoted(text: str) -> str:
    """In quotes where a label's reader could not tell where the value ends."""
    plain = text.isprintable() and text and not set(text) & set(" =\\\"'")
    return text if plain else json.dumps(text, ensure_ascii=False)
