"""Generate the inputs of the SPEC-like suite: a text, a C program, the log of a web server, an SQL script.

    python3 benchmarks/spec/inputs text --kib 256 --seed 1 --output text.txt

The same arguments give the same bytes on every machine and with every Python from 3.9. The random numbers are splitmix64
in integers. The output is independent of floating point, the locale, the time zone and the order of sets. It uses the
standard library only.
"""

from __future__ import annotations

import sys

# The folder can be read-only.
sys.dont_write_bytecode = True

import argparse  # noqa: E402
import os  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402

from c_program import write_program  # noqa: E402
from splitmix import MASK_64, SplitMix64  # noqa: E402
from sql_script import write_sql  # noqa: E402
from text import write_text  # noqa: E402
from web_log import write_log  # noqa: E402

#: kind -> description, option of the size, maximum size, help of the option, writer
KINDS = {
    "text": ("English-like text for a compressor", "--kib", 1 << 22, "size of the text in KiB", write_text),
    "program": (
        "a C program for a compiler",
        "--functions",
        10**6,
        "number of functions",
        write_program,
    ),
    "log": ("log of a web server for a script", "--lines", 10**9, "number of requests", write_log),
    "sql": ("a script for a database", "--orders", 10**8, "number of orders", write_sql),
}


def integer(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of integers from low to high, for argparse."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"expected an integer from {low} to {high}, got {text!r}")
        return int(text)

    return parse


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="inputs", description="Generate a seeded input. The same arguments give the same bytes."
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, (what, option, most, meaning, write) in KINDS.items():
        kind = kinds.add_parser(name, help=what)
        kind.add_argument(option, type=integer(1, most), required=True, help=meaning)
        kind.add_argument(
            "--seed", type=integer(0, MASK_64), required=True, help="seed of the random numbers"
        )
        kind.add_argument("--output", required=True, help="file to write; created when complete")
        kind.set_defaults(write=write)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    partial = f"{options.output}.partial"
    try:
        # ASCII and "\n", independent of the locale and the system.
        with open(partial, "w", encoding="ascii", newline="\n") as out:
            options.write(SplitMix64(options.seed), options, out)
        os.replace(partial, options.output)
    except OSError as error:
        print(f"inputs: {options.output}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
