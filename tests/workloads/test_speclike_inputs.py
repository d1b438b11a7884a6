"""The inputs of the SPEC-like suite: the same everywhere, and what they are said to be."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from helpers.workloads.speclike_runs import INPUTS, execute, generate, needs, sha256

SMALL = {
    "text": (["--kib", "64"], "251bc15ff83f15357ad292f22ec9880c00bfb405866918a0fb14ce93137ff1b4"),
    "program": (["--functions", "5"], "31f1b1f737ac2e09b5fe31e26c02d4cbf78974246999d7c582e06ea63708ee93"),
    "log": (["--lines", "500"], "f068bb206ca51c6313f23e2cdc9b912069d66cd95b4549ab8e6cf7ad8417e1cc"),
    "sql": (["--orders", "120"], "a3dd37d864ae5fb708ec59b152738d98d5a10985cf8102eab68e361370c02e75"),
}


@pytest.mark.parametrize("kind", SMALL)
def test_the_same_seed_gives_the_same_bytes_everywhere(kind: str, tmp_path: Path) -> None:
    size, expected = SMALL[kind]
    first = generate(tmp_path / "first", kind, *size, "--seed", "7", PYTHONHASHSEED="1", LC_ALL="C")
    again = generate(tmp_path / "again", kind, *size, "--seed", "7", PYTHONHASHSEED="2", TZ="Asia/Tokyo")
    assert first == again
    assert sha256(first) == expected


@pytest.mark.parametrize("kind", SMALL)
def test_another_seed_gives_other_bytes(kind: str, tmp_path: Path) -> None:
    size, expected = SMALL[kind]
    assert sha256(generate(tmp_path / "other", kind, *size, "--seed", "8")) != expected


def test_a_text_is_as_long_as_asked_for_and_follows_zipf(tmp_path: Path) -> None:
    text = generate(tmp_path / "text", "text", "--kib", "300", "--seed", "1").decode("ascii")
    assert len(text) == 300 * 1024
    words = re.findall(r"[a-z]+", text.lower())
    counts = sorted((words.count(word) for word in ("the", "that", "good")), reverse=True)
    # Zipf and Mandelbrot: frequency goes as 1 / (rank + 2.7), and "the" has rank 1, "that" rank 8, "good" 120.
    assert counts == [words.count(word) for word in ("the", "that", "good")]
    assert words.count("the") / words.count("that") == pytest.approx(10.7 / 3.7, rel=0.25)


@needs("gcc")
def test_a_generated_program_compiles_without_a_warning_and_means_the_same_at_every_level(
    tmp_path: Path,
) -> None:
    generate(tmp_path / "program.c", "program", "--functions", "12", "--seed", "42")
    printed = set()
    for flags in (["-O0"], ["-O2"], ["-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"]):
        command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, "-o", "prog", "program.c"]
        if subprocess.run(command, cwd=tmp_path, check=False).returncode != 0:
            assert "-fsanitize=undefined" in flags, "it must compile"
            continue
        printed.add(execute(["./prog"], tmp_path).decode())
    assert printed == {"checksum 971a52d4a028e668\n"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: kind"),
        (["novel", "--kib", "1"], "invalid choice: 'novel'"),
        (["text", "--kib", "0", "--seed", "1", "--output", "x"], "an integer from 1"),
        (["text", "--kib", "1", "--seed", "-1", "--output", "x"], "--seed"),
        (["program", "--functions", "many", "--seed", "1", "--output", "x"], "got 'many'"),
        (["log", "--lines", "5", "--output", "x"], "required: --seed"),
    ],
)
def test_bad_arguments_are_refused_with_a_message(arguments: list[str], message: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, INPUTS, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert message in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    command = [
        sys.executable,
        INPUTS,
        "text",
        "--kib",
        "1",
        "--seed",
        "1",
        "--output",
        tmp_path / "no/text",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert os.strerror(errno.ENOENT) in ended.stderr


# ---- the shop ----

Items = dict[int, dict[int, int]]


def rows(script: str, table: str) -> list[list[str]]:
    found = []
    for values in re.findall(rf"^INSERT INTO {table} VALUES\n(.*?);$", script, re.M | re.S):
        found += [re.split(", ", row) for row in re.findall(r"\((.*)\)", values)]
    return found


@needs("sqlite3")
def test_the_database_answers_what_the_orders_say(tmp_path: Path) -> None:
    script = generate(tmp_path / "shop.sql", "sql", "--orders", "300", "--seed", "5").decode("ascii")
    command = ["sqlite3", "-batch", "-bail", "-list", "-noheader", ":memory:", f".read '{tmp_path}/shop.sql'"]
    answers = [line.split("|") for line in execute(command, tmp_path).decode().splitlines()]
    items = [[int(value) for value in row] for row in rows(script, "item")]
    assert answers[0] == ["rows", "75", "30", "300", str(len(items))]

    city = {row[0]: row[2].strip("'") for row in rows(script, "customer")}
    buyer = {int(row[0]): row[1] for row in rows(script, "purchase")}
    revenue: Counter[str] = Counter()
    baskets: dict[int, set[int]] = {}
    for purchase, product, quantity, price in items:
        revenue[city[buyer[purchase]]] += quantity * price
        baskets.setdefault(purchase, set()).add(product)
    found = {answer[1]: int(answer[4]) for answer in answers if answer[0] == "city"}
    assert found == dict(revenue)
    pairs = Counter(pair for basket in baskets.values() for pair in combinations(sorted(basket), 2))
    most = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))[:20]
    together = [tuple(map(int, answer[1:])) for answer in answers if answer[0] == "together"]
    assert together == [(*pair, times) for pair, times in most]
    assert answers[-1] == ["ok"], "the integrity check"


def test_the_script_means_to_the_library_that_python_has_what_it_means_to_the_program(tmp_path: Path) -> None:
    script = generate(tmp_path / "shop.sql", "sql", "--orders", "200", "--seed", "6").decode("ascii")
    if sqlite3.sqlite_version_info < (3, 25):
        pytest.skip(f"NOT TESTED: SQLite {sqlite3.sqlite_version} has no window functions")
    lines = []
    database = sqlite3.connect(":memory:", isolation_level=None)
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            answer = database.execute(statement)
            lines += ["|".join("" if value is None else str(value) for value in row) for row in answer]
            statement = ""
    database.close()
    assert statement == ""
    assert (
        sha256("\n".join(lines).encode())
        == "63ac504bb063ca302b45b3d5fc05c8c05086381be4a15ef0d0887c003de3f3b2"
    )
