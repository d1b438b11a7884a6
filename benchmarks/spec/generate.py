#!/usr/bin/env python3
"""Makes the inputs of the SPEC-like suite: a text, a C program, a web server's log.

    python3 generate.py text --kib 256 --seed 1 --output text.txt

The same arguments give the same bytes on every machine and every Python from 3.9 on: the random numbers are
splitmix64 in integers, and nothing depends on floating point, the locale, the time zone or the order of a set.
Standard library only.
"""
# ruff: noqa: SIM905 - lists of many words are read more easily as one string

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import IO

MASK_64 = (1 << 64) - 1
LARGEST_SEED = MASK_64
#: Entries in the table from which a word is drawn by 16 random bits.
TABLE_BITS = 16


class SplitMix64:
    """A stream of 64-bit numbers.

    Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK_64

    def next(self) -> int:
        """Return the next number, 0 to 2^64 - 1."""
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & MASK_64
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK_64
        return z ^ (z >> 31)

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1; limit is far below 2^32, so that the bias is nothing."""
        return ((self.next() >> 32) * limit) >> 32

    def between(self, low: int, high: int) -> int:
        """Return a number from low to high, both included."""
        return low + self.below(high - low + 1)

    def choose(self, options: Sequence[str]) -> str:
        return options[self.below(len(options))]


# ---- text ----

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
VOCABULARY = 12000


def make_vocabulary(random: SplitMix64, size: int) -> list[str]:
    """Return `size` different words, the frequent ones first."""
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
    """Return 2^TABLE_BITS words, each as often as its rank asks for.

    Source: Mandelbrot 1953, frequency proportional to 1 / (rank + 2.7); in integers, scaled by ten.
    A word rarer than one entry is left out.
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


def sentences(random: SplitMix64, table: Sequence[str]) -> Iterator[str]:
    """Yield sentences without end, each with the blank or the empty line that follows it."""
    mask = (1 << TABLE_BITS) - 1
    paragraph = random.between(3, 9)
    column = 0
    while True:
        length = random.between(4, 27)
        words = []
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
        # Lines break where they are about 80 characters long.
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


# ---- program ----
#
# Only unsigned integers of fixed width, masked shifts and masked indices, divisors that cannot be zero, and no order of
# evaluation that matters: the program means the same on every compiler and architecture. 64-bit values are used, because
# narrower ones than int would be promoted to it, and their products could overflow. `mix` has no multiplication by a
# constant: gcc 12 spends more than half of all its time on vectorising those, which no real program makes it do.

PROLOGUE = """\
/* Made by benchmarks/spec/generate.py: input of the gcc benchmark. It prints a checksum of all it computes. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct node {
    uint64_t key, weight;
    uint32_t left, right;
};

static uint64_t rotate(uint64_t value, unsigned count) {
    return value << (count & 63u) | value >> ((64u - (count & 63u)) & 63u);
}

static uint64_t mix(uint64_t value) {
    value += UINT64_C(0x7fb5d329728ea185);
    value ^= value << 13;
    value ^= value >> 7;
    return value ^ value << 17;
}

static uint64_t larger(uint64_t one, uint64_t other) {
    return one > other ? one : mix(other);
}

"""


def expression(random: SplitMix64, depth: int, names: Sequence[str]) -> str:
    """Return an expression of type uint64_t over `names`."""
    if depth == 0:
        if random.below(4) == 0:
            return f"UINT64_C({random.between(1, 65535)})"
        return random.choose(names)
    left = expression(random, depth - 1, names)
    right = expression(random, random.below(depth), names)
    kind = random.below(12)
    if kind < 8:
        return f"({left} {'+-*^&|+^'[kind]} {right})"
    if kind == 8:
        return f"({left} / (({right} & 1023u) + {random.between(1, 9)}u))"
    if kind == 9:
        return f"({left} >> ({random.between(1, 31)}u))"
    if kind == 10:
        return f"rotate({left}, {random.between(1, 63)}u)"
    return f"larger({left}, {right})"


def block_array(random: SplitMix64, names: Sequence[str]) -> list[str]:
    size = 1 << random.between(3, 6)
    step = expression(random, 1, names)
    return [
        f"    uint64_t table[{size}];",
        f"    unsigned used = {size // 2}u + (unsigned)(b & {size // 2 - 1}u);",
        "    for (unsigned i = 0; i < used; i++) {",
        f"        table[i] = mix(a + i * {random.between(3, 99)}u) ^ {step};",
        "    }",
        "    for (unsigned i = 1; i < used; i++) {",
        "        for (unsigned j = i; j > 0 && table[j - 1] > table[j]; j--) {",
        "            uint64_t kept = table[j];",
        "            table[j] = table[j - 1];",
        "            table[j - 1] = kept;",
        "        }",
        "    }",
        f"    b ^= table[(unsigned)(a & {size // 2 - 1}u)] + table[{random.below(size // 2)}];",
    ]


def block_switch(random: SplitMix64, names: Sequence[str]) -> list[str]:
    lines = [
        f"    for (unsigned round = 0; round < {random.between(3, 20)}u; round++) {{",
        "        switch (a & 7u) {",
    ]
    for case in range(random.between(4, 7)):
        target = random.choose(("a", "b", "c"))
        lines += [f"        case {case}:", f"            {target} += {expression(random, 2, names)};"]
        lines += ["            break;"]
    lines += [
        "        default:",
        f"            c ^= {expression(random, 1, names)};",
        "            break;",
        "        }",
    ]
    return [*lines, f"        a = mix(a + round + {random.between(1, 999)}u);", "    }"]


def block_tree(random: SplitMix64, names: Sequence[str]) -> list[str]:
    size = random.between(6, 24)
    return [
        f"    struct node nodes[{size}];",
        "    memset(nodes, 0, sizeof nodes);",
        "    nodes[0].key = a;",
        f"    for (uint32_t n = 1; n < {size}u; n++) {{",
        "        uint32_t at = 0;",
        f"        nodes[n].key = mix({expression(random, 1, names)} + n);",
        "        for (;;) {",
        "            uint32_t *next = nodes[n].key < nodes[at].key ? &nodes[at].left : &nodes[at].right;",
        "            nodes[at].weight++;",
        "            if (*next == 0) {",
        "                *next = n;",
        "                break;",
        "            }",
        "            at = *next;",
        "        }",
        "    }",
        f"    for (uint32_t n = 0; n < {size}u; n++) {{",
        "        c = rotate(c ^ nodes[n].key, 7u) + nodes[n].weight;",
        "    }",
    ]


def block_string(random: SplitMix64, names: Sequence[str]) -> list[str]:
    phrase = " ".join(random.choose(FUNCTION_WORDS) for _ in range(random.between(4, 10)))
    return [
        f'    static const char phrase[] = "{phrase}";',
        f"    uint64_t hash = {expression(random, 1, names)};",
        "    unsigned words = 1;",
        "    for (const char *letter = phrase; *letter != '\\0'; letter++) {",
        "        if (*letter == ' ') {",
        "            words++;",
        "        } else {",
        "            hash = (hash ^ (uint64_t)(unsigned char)*letter) * UINT64_C(1099511628211);",
        "        }",
        "    }",
        f"    b += hash + words * {random.between(1, 99)}u;",
    ]


def block_condition(random: SplitMix64, names: Sequence[str]) -> list[str]:
    lines = []
    for number in range(random.between(2, 4)):
        bit = random.below(16)
        lines += [
            f"    {'} else ' if number else ''}if ((b >> {bit} & 1u) != 0 && a > {expression(random, 1, names)}) {{"
        ]
        lines += [f"        {random.choose(('a', 'b', 'c'))} = {expression(random, 3, names)};"]
    return [*lines, "    } else {", f"        c -= {expression(random, 2, names)};", "    }"]


BLOCKS = (block_array, block_switch, block_tree, block_string, block_condition, block_condition, block_switch)


def function(random: SplitMix64, number: int) -> str:
    """Return one function. It may call two of those before it; `budget` bounds how deep that goes."""
    names = ("a", "b", "c")
    lines = [f"static uint64_t work_{number}(uint64_t a, uint64_t b, unsigned budget) {{"]
    lines += [f"    uint64_t c = {expression(random, 2, ('a', 'b'))};"]
    for _ in range(random.between(2, 4)):
        block = BLOCKS[random.below(len(BLOCKS))]
        # A scope of its own, so that the blocks' variables do not meet.
        lines += ["    {", *("    " + line for line in block(random, names)), "    }"]
    if number > 0:
        lines += ["    if (budget > 0) {"]
        for target in ("b", "c"):
            # Mostly a near one, as in real programs.
            callee = max(0, number - 1 - random.below(12)) if random.below(4) else random.below(number)
            lines += [f"        {target} ^= work_{callee}(a + {random.below(100)}u, {target}, budget - 1u);"]
        lines += ["    }"]
    else:
        lines += ["    c += budget;"]
    return "\n".join([*lines, f"    return mix(a ^ rotate(b, {random.between(1, 63)}u) ^ c);", "}", "", ""])


def write_program(random: SplitMix64, options: argparse.Namespace, out: IO[str]) -> None:
    """Write a C program of `options.functions` functions besides main and three helpers."""
    out.write(PROLOGUE)
    for number in range(options.functions):
        out.write(function(random, number))
    entries = "".join(f"    work_{number},\n" for number in range(options.functions))
    out.write(f"static uint64_t (*const WORK[])(uint64_t, uint64_t, unsigned) = {{\n{entries}}};\n\n")
    out.write(
        "int main(void) {\n"
        f"    uint64_t checksum = UINT64_C({random.next()});\n"
        "    for (size_t i = 0; i < sizeof WORK / sizeof WORK[0]; i++) {\n"
        "        checksum = rotate(checksum, 5u) ^ WORK[i](checksum, i, 2u);\n"
        "    }\n"
        '    return printf("checksum %016" PRIx64 "\\n", checksum) < 0;\n'
        "}\n"
    )


# ---- log ----

MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # 2024
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:{v}.0) Gecko/20100101 Firefox/{v}.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{v}.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{v}.1 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 Version/{v}.4 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (compatible; Examplebot/{v}.1; +https://bot.example/about)",
    "curl/8.{v}.0",
    "-",
)
SECTIONS = "news shop blog docs images api forum help".split()
EXTENSIONS = {"images": (".png", ".jpg", ".svg"), "docs": (".html", ".pdf"), "api": ("", "", ".json")}
METHODS = ["GET"] * 17 + ["POST", "POST", "HEAD"]
STATUSES = [200] * 30 + [304] * 5 + [301, 302, 404, 404, 403, 500, 503]


def timestamp(seconds: int) -> str:
    """Return a time of 2024 in the form of a web server's log; the year begins again when it is over."""
    days, second_of_day = divmod(seconds, 86400)
    days %= 366
    month = 0
    while days >= MONTH_DAYS[month]:
        days -= MONTH_DAYS[month]
        month += 1
    hour, rest = divmod(second_of_day, 3600)
    return f"{days + 1:02d}/{MONTHS[month]}/2024:{hour:02d}:{rest // 60:02d}:{rest % 60:02d} +0000"


def write_log(random: SplitMix64, options: argparse.Namespace, out: IO[str]) -> None:
    """Write `options.lines` lines of a log in the "combined" form of Apache httpd."""
    words = make_vocabulary(random, 2000)
    table = zipf_table(words)
    paths = []
    for _ in range(700):
        section = random.choose(SECTIONS)
        depth = "".join(f"/{random.choose(words)}" for _ in range(random.between(1, 3)))
        paths.append(f"/{section}{depth}{random.choose(EXTENSIONS.get(section, ('', '/', '.html')))}")
    path_table = zipf_table(paths)
    clients = [
        f"{random.between(11, 99)}.{random.below(40)}.{random.below(250)}.{random.between(1, 254)}"
        for _ in range(3000)
    ]
    client_table = zipf_table(clients)
    mask = (1 << TABLE_BITS) - 1
    seconds = 0
    for _ in range(options.lines):
        seconds += random.below(8)
        bits = random.next()
        path = path_table[bits & mask]
        client = client_table[bits >> 16 & mask]
        if random.below(6) == 0:
            terms = "+".join(table[random.next() & mask] for _ in range(random.between(1, 4)))
            path = f"/search?q={terms}%2C{bits >> 60}&page={random.between(1, 9)}"
        referer = "-" if bits >> 40 & 3 == 0 else f"https://www.example.org{path_table[bits >> 48]}"
        # A client keeps its agent: it comes from the address, not from the stream.
        trait = sum(map(ord, client))
        agent = AGENTS[trait % len(AGENTS)].format(v=100 + trait % 23)
        size = random.below(1 << random.between(4, 20))
        out.write(
            f'{client} - - [{timestamp(seconds)}] "{random.choose(METHODS)} {path} HTTP/1.1" '
            f'{STATUSES[random.below(len(STATUSES))]} {size} "{referer}" "{agent}"\n'
        )


# ---- command line ----


def integer(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of integers from low to high, for argparse."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"expected an integer from {low} to {high}, got {text!r}")
        return int(text)

    return parse


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Makes a seeded input: the same arguments give the same bytes."
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    text = kinds.add_parser("text", help="English-like text for a compressor")
    text.add_argument("--kib", type=integer(1, 1 << 22), required=True, help="size of the text in KiB")
    text.set_defaults(write=write_text)
    program = kinds.add_parser("program", help="a C program for a compiler")
    program.add_argument(
        "--functions", type=integer(1, 1_000_000), required=True, help="how many functions it has"
    )
    program.set_defaults(write=write_program)
    log = kinds.add_parser("log", help="a web server's log for a script")
    log.add_argument(
        "--lines", type=integer(1, 1_000_000_000), required=True, help="how many requests it holds"
    )
    log.set_defaults(write=write_log)
    for kind in (text, program, log):
        kind.add_argument(
            "--seed", type=integer(0, LARGEST_SEED), required=True, help="where the random numbers begin"
        )
        kind.add_argument("--output", required=True, help="file to write; it appears when it is complete")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    partial = f"{options.output}.partial"
    try:
        # ASCII and "\n" everywhere, whatever the locale and the system.
        with open(partial, "w", encoding="ascii", newline="\n") as out:
            options.write(SplitMix64(options.seed), options, out)
        os.replace(partial, options.output)
    except OSError as error:
        print(f"generate.py: {options.output}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
