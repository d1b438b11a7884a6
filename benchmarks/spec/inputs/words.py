"""Artificial English-like words with the frequencies of a natural language."""
# ruff: noqa: SIM905 - lists of many words are read more easily as one string

from __future__ import annotations

from collections.abc import Sequence

from splitmix import SplitMix64

#: Binary logarithm of the table size: 16 random bits select a word.
TABLE_BITS = 16
FUNCTION_WORDS = (
    "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they "
    "which one you were all her she there would their we him been has when who will no more if out so up said what "
    "its about than into them can only other time new some could these two may first then do any like my now over "
    "such our man me even most made after also did many before must through back years where much your way well "
    "down should because each just those people how too little good"
).split()
ONSETS = "b c d f g h j l m n p r s t v w br ch cl cr dr fl fr gr pl pr qu sc sh sl sp st str th tr".split()
NUCLEI = "a a e e i i o o u ai ea ee ie io oa ou".split()
CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "d", "ck", "nd", "ng", "nt", "rd", "st", "ss"]
ENDINGS = ["", "", "", "", "s", "ed", "er", "ing", "ion", "al", "ly", "ment", "ness", "able"]


def make_vocabulary(random: SplitMix64, size: int) -> list[str]:
    """Return `size` different words, most frequent first."""
    words = list(FUNCTION_WORDS)
    known = set(words)
    while len(words) < size:
        syllables = 1 + (random.below(10) >= 4) + (random.below(10) >= 8)
        stem = "".join(
            random.choose(ONSETS) + random.choose(NUCLEI) + random.choose(CODAS) for _ in range(syllables)
        )
        word = stem + random.choose(ENDINGS)
        if word not in known:
            known.add(word)
            words.append(word)
    return words


def zipf_table(words: Sequence[str]) -> list[str]:
    """Return 2^TABLE_BITS words, each with the frequency of its rank.

    Source: Mandelbrot 1953, frequency proportional to 1 / (rank + 2.7); in integers, scaled by ten.
    Words below one entry are omitted.
    """
    weights = [10**12 // (10 * rank + 27) for rank in range(1, len(words) + 1)]
    total = sum(weights)
    entries = 1 << TABLE_BITS
    table: list[str] = []
    reached = 0
    for word, weight in zip(words, weights):  # noqa: B905 - strict came with 3.10
        reached += weight
        table.extend([word] * (reached * entries // total - len(table)))
    return table
