#!/usr/bin/env python3
"""Analyze a text: the work of the benchmark of the Python interpreter.

    python3 study.py text.txt

The program has a scanner, a trie, Huffman and LZ78 codes, a search for misspelled words and a walk through the graph of
neighboring words. All are written in Python, so that the interpreter does the work and not a C library. All numbers are
integers, every list is sorted with ties broken by name, and no result depends on the order of a set. The report is
therefore identical with every Python from 3.9.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
MASK = (1 << 61) - 1
TOP = 8


class WrongError(Exception):
    """Decoding does not reproduce the encoded text."""


# ---- scanning ----


class Scanner:
    """Splits a text into words and ends of sentences, one character at a time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.lines = 1

    def tokens(self) -> Iterator[tuple[str, str]]:
        """Yield (kind, word): kind is `word`, `end` or `mark`."""
        text, end = self.text, len(self.text)
        while self.position < end:
            letter = text[self.position].lower()
            if letter in LETTERS:
                start = self.position
                while self.position < end and text[self.position].lower() in LETTERS:
                    self.position += 1
                yield "word", text[start : self.position].lower()
                continue
            if letter == "\n":
                self.lines += 1
            elif letter in ".?!":
                yield "end", letter
            elif letter not in " \t":
                yield "mark", letter
            self.position += 1


# ---- a trie of all words ----


class Node:
    """One letter of a path to words."""

    __slots__ = ("below", "ending", "passing")

    def __init__(self) -> None:
        self.below: dict[str, Node] = {}
        self.passing = 0
        self.ending = 0


class Trie:
    """Counts words, and words with a common prefix."""

    def __init__(self) -> None:
        self.root = Node()

    def add(self, word: str) -> None:
        node = self.root
        for letter in word:
            node.passing += 1
            found = node.below.get(letter)
            if found is None:
                found = node.below[letter] = Node()
            node = found
        node.passing += 1
        node.ending += 1

    def walk(self, node: Node, prefix: str = "") -> Iterator[tuple[str, Node]]:
        """Yield every (prefix, node) in alphabetical order."""
        yield prefix, node
        for letter in sorted(node.below):
            yield from self.walk(node.below[letter], prefix + letter)


# ---- codes ----


class Heap:
    """A binary heap of tuples, smallest first."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return len(self.kept)

    def push(self, entry: tuple[int, ...]) -> None:
        kept = self.kept
        kept.append(entry)
        at = len(kept) - 1
        while at > 0 and kept[at] < kept[(at - 1) >> 1]:
            above = (at - 1) >> 1
            kept[at], kept[above] = kept[above], kept[at]
            at = above

    def pop(self) -> tuple[int, ...]:
        kept = self.kept
        least, last = kept[0], kept.pop()
        if kept:
            kept[0] = last
            at, size = 0, len(kept)
            while True:
                child = 2 * at + 1
                if child >= size:
                    break
                if child + 1 < size and kept[child + 1] < kept[child]:
                    child += 1
                if not kept[child] < kept[at]:
                    break
                kept[at], kept[child] = kept[child], kept[at]
                at = child
        return least


def huffman(text: str) -> tuple[int, int]:
    """Encode and decode a text of at least two letters; return the number of bits and their checksum."""
    counts: dict[str, int] = {}
    for letter in text:
        counts[letter] = counts.get(letter, 0) + 1
    alphabet = sorted(counts)
    heap = Heap()
    for number, letter in enumerate(alphabet):
        heap.push((counts[letter], number))
    children: dict[int, tuple[int, int]] = {}
    while len(heap) > 1:
        one, other = heap.pop(), heap.pop()
        number = len(alphabet) + len(children)
        children[number] = (one[1], other[1])
        heap.push((one[0] + other[0], number))
    root = heap.pop()[1]
    codes: dict[str, str] = {}
    open_nodes = [(root, "")]
    while open_nodes:
        number, code = open_nodes.pop()
        if number in children:
            left, right = children[number]
            open_nodes += [(left, code + "0"), (right, code + "1")]
        else:
            codes[alphabet[number]] = code
    bits = "".join([codes[letter] for letter in text])
    checksum, at = 0, root
    decoded: list[str] = []
    for bit in bits:
        checksum = (checksum * 3 + (bit == "1")) & MASK
        at = children[at][bit == "1"]
        if at not in children:
            decoded.append(alphabet[at])
            at = root
    if "".join(decoded) != text:
        raise WrongError("Huffman")
    return len(bits), checksum


def lz78(text: str) -> tuple[int, int]:
    """Encode a text as (known phrase, next letter) and decode it; return the number of pairs and their checksum."""
    known: dict[tuple[int, str], int] = {}
    pairs: list[tuple[int, str]] = []
    phrase = 0
    for letter in text:
        longer = known.get((phrase, letter))
        if longer is not None:
            phrase = longer
            continue
        pairs.append((phrase, letter))
        known[phrase, letter] = len(pairs)
        phrase = 0
    pairs.append((phrase, ""))
    phrases = [""]
    checksum = 0
    for phrase, letter in pairs:
        phrases.append(phrases[phrase] + letter)
        checksum = (checksum * 31 + phrase * 257 + ord(letter or "\0")) & MASK
    if "".join(phrases) != text:
        raise WrongError("LZ78")
    return len(pairs), checksum


# ---- misspelled words ----


def distance(one: str, other: str) -> int:
    """Return the number of letters to insert, delete or change. Source: Levenshtein 1966."""
    before = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            changed = before[j - 1] + (a != b)
            least = before[j] if before[j] < row[j - 1] else row[j - 1]
            row.append(changed if changed <= least else least + 1)
        before = row
    return before[-1]


class Speller:
    """Finds words near a given word. Source: Burkhard and Keller, CACM 1973."""

    def __init__(self, words: list[str]) -> None:
        self.root = words[0]
        self.below: dict[str, dict[int, str]] = {self.root: {}}
        for word in words[1:]:
            at = self.root
            while True:
                far = distance(word, at)
                if far not in self.below[at]:
                    self.below[at][far] = word
                    self.below[word] = {}
                    break
                at = self.below[at][far]

    def near(self, word: str, most: int) -> list[tuple[int, str]]:
        """Return each (distance, word) within `most`, nearest first."""
        found: list[tuple[int, str]] = []
        waiting = [self.root]
        while waiting:
            at = waiting.pop()
            far = distance(word, at)
            if far <= most:
                found.append((far, at))
            waiting += [below for way, below in self.below[at].items() if far - most <= way <= far + most]
        return sorted(found)


def misspell(word: str, draw: int) -> str:
    """Swap two letters, drop one or double one."""
    at = draw % len(word)
    if draw % 3 == 0 and at + 1 < len(word):
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + (word[at] * 2 if draw % 3 == 1 else "") + word[at + 1 :]


# ---- the graph of neighbors ----


def reach(neighbours: list[dict[int, int]], start: int) -> list[int]:
    """Return the length of the shortest path to each word, -1 if none: frequent neighbors are near."""
    lengths = [-1] * len(neighbours)
    heap = Heap()
    heap.push((0, start))
    while len(heap):
        length, at = heap.pop()
        if lengths[at] >= 0:
            continue
        lengths[at] = length
        for other, times in neighbours[at].items():
            if lengths[other] < 0:
                heap.push((length + 1 + 64 // times, other))
    return lengths


# ---- the report ----


def study(text: str) -> Iterator[str]:
    """Yield the lines of the report."""
    scanner = Scanner(text)
    trie = Trie()
    words: list[str] = []
    sentences = marks = 0
    for kind, word in scanner.tokens():
        if kind == "word":
            words.append(word)
            trie.add(word)
        elif kind == "end":
            sentences += 1
        else:
            marks += 1
    counts = {prefix: node.ending for prefix, node in trie.walk(trie.root) if node.ending}
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    yield f"lines {scanner.lines} words {len(words)} different {len(ranked)} sentences {sentences} marks {marks}"
    yield "frequent " + " ".join(f"{word}:{counts[word]}" for word in ranked[:TOP])
    starts = [(node.passing, prefix) for prefix, node in trie.walk(trie.root) if len(prefix) == 3]
    starts.sort(key=lambda start: (-start[0], start[1]))
    yield "beginnings " + " ".join(f"{prefix}:{passing}" for passing, prefix in starts[:TOP])
    yield "huffman {} {}".format(*huffman(text))
    yield "lz78 {} {}".format(*lz78(text))

    speller = Speller(sorted(ranked[:1500], key=lambda word: (len(word), word[::-1])))
    right = near = checksum = 0
    for number in range(0, len(words), 400):
        checksum = (checksum * 6364136223846793005 + number + 1) & MASK
        found = speller.near(misspell(words[number], checksum >> 20), 1)
        right += any(word == words[number] for _, word in found)
        near += len(found)
    yield f"misspelt {len(range(0, len(words), 400))} found {right} near {near}"

    index = {word: number for number, word in enumerate(ranked)}
    neighbours: list[dict[int, int]] = [{} for _ in ranked]
    for one, other in zip(words, words[1:]):  # noqa: B905, RUF007 - strict and pairwise came with 3.10
        out = neighbours[index[one]]
        out[index[other]] = out.get(index[other], 0) + 1
    for start in range(min(len(ranked), 3)):
        lengths = reach(neighbours, start)
        reached = [length for length in lengths if length >= 0]
        yield f"from {ranked[start]} {len(reached)} longest {max(reached)} sum {sum(reached)}"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: study.py TEXT", file=sys.stderr)
        return 2
    try:
        with open(arguments[0], encoding="ascii") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        print(f"study.py: {arguments[0]}: expected a text in ASCII, got {error}", file=sys.stderr)
        return 1
    if len(set(text)) < 2 or not any(letter.lower() in LETTERS for letter in text):
        print(f"study.py: {arguments[0]}: expected a text with words, got {text[:20]!r}", file=sys.stderr)
        return 1
    try:
        for line in study(text):
            print(line)
    except WrongError as error:
        print(f"study.py: wrong output: {error} does not reproduce the text", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
