"""An English-like text for a compressor."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import IO

from splitmix import SplitMix64
from words import TABLE_BITS, make_vocabulary, zipf_table

VOCABULARY = 12000


def sentences(random: SplitMix64, table: Sequence[str]) -> Iterator[str]:
    """Yield an infinite sequence of sentences, each with the blank or empty line that follows."""
    mask = (1 << TABLE_BITS) - 1
    paragraph = random.between(3, 9)
    column = 0
    while True:
        length = random.between(4, 27)
        words: list[str] = []
        while len(words) < length:
            bits = random.next()
            words += (
                table[bits & mask],
                table[bits >> 16 & mask],
                table[bits >> 32 & mask],
                table[bits >> 48],
            )
        del words[length:]
        words[0] = words[0].capitalize()
        if length > 9:
            words[length // 2 - 1] += random.choose((",", ",", ",", ";", ""))
        # Lines break at about 80 characters.
        for i, word in enumerate(words):
            column += len(word) + 1
            if column > 80 and i + 1 < length:
                words[i] = word + "\n"
                column = 0
        text = " ".join(words).replace("\n ", "\n") + random.choose((".", ".", ".", ".", ".", ".", "?", "!"))
        paragraph -= 1
        if paragraph == 0:
            paragraph = random.between(3, 9)
            column = 0
            yield text + "\n\n"
        else:
            yield text + " "


def write_text(random: SplitMix64, options: argparse.Namespace, out: IO[str]) -> None:
    """Write exactly `options.kib` KiB of English-like text."""
    remaining = options.kib * 1024
    table = zipf_table(make_vocabulary(random, VOCABULARY))
    for sentence in sentences(random, table):
        if len(sentence) >= remaining:
            out.write(sentence[: remaining - 1] + "\n")
            return
        out.write(sentence)
        remaining -= len(sentence)
