"""A C program for a compiler."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import IO

from splitmix import SplitMix64
from words import FUNCTION_WORDS

# The program has the same result with every compiler and on every architecture. It uses unsigned integers of fixed width,
# masked shifts and indices, nonzero divisors, and is independent of the order of evaluation. Values have 64 bits, because
# types narrower than int are promoted to it, and their products could overflow. `mix` does not multiply by a constant:
# gcc 12 spends more than half of its time on vectorizing such multiplications, which is untypical of real programs.

PROLOGUE = """\
/* Made by benchmarks/spec/inputs: input of the gcc benchmark. It prints a checksum of all it computes. */
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
    """Return one function. It can call two earlier functions; `budget` limits the depth of calls."""
    names = ("a", "b", "c")
    lines = [f"static uint64_t work_{number}(uint64_t a, uint64_t b, unsigned budget) {{"]
    lines += [f"    uint64_t c = {expression(random, 2, ('a', 'b'))};"]
    for _ in range(random.between(2, 4)):
        block = BLOCKS[random.below(len(BLOCKS))]
        # A separate scope, so that the variables of the blocks do not collide.
        lines += ["    {", *("    " + line for line in block(random, names)), "    }"]
    if number > 0:
        lines += ["    if (budget > 0) {"]
        for target in ("b", "c"):
            # Mostly a nearby function, as in real programs.
            callee = max(0, number - 1 - random.below(12)) if random.below(4) else random.below(number)
            lines += [f"        {target} ^= work_{callee}(a + {random.below(100)}u, {target}, budget - 1u);"]
        lines += ["    }"]
    else:
        lines += ["    c += budget;"]
    return "\n".join([*lines, f"    return mix(a ^ rotate(b, {random.between(1, 63)}u) ^ c);", "}", "", ""])


def write_program(random: SplitMix64, options: argparse.Namespace, out: IO[str]) -> None:
    """Write a C program of `options.functions` functions, plus main and three helpers."""
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
