"""What `regatta time` makes of its arguments before it measures anything."""

from __future__ import annotations

import click
import pytest

from regatta.cli.time_answer import marked_up
from regatta.cli.time_commands import scanned, words_of
from regatta.figures.section import Table


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("./fast '*.c' \"a?\" \\~ '{x}'", ["./fast", "*.c", "a?", "~", "{x}"]),
        ("awk '{print $1}' f", ["awk", "{print $1}", "f"]),
        ("dd if=/dev/zero of=x~ bs={n}", ["dd", "if=/dev/zero", "of=x~", "bs={n}"]),
        ("test [ a ]", ["test", "[", "a", "]"]),
        ("'FOO=1' x", ["FOO=1", "x"]),
    ],
)
def test_what_no_shell_would_change_stays_as_it_is(command: str, words: list[str]) -> None:
    assert words_of(command, ["n"]) == words


@pytest.mark.parametrize(
    ("command", "sign", "fix"),
    [
        ("./fast *.c", "*", "sh -c"),
        ("./fast a?", "?", "sh -c"),
        ("ls ~/here", "~", "sh -c"),
        ("ls [ab]", "[ab]", "quote"),
        ("FOO=1 BAR='2 3' ./fast -x", "FOO=", "--environment FOO=1"),
        ("./fast {x}", "{x}", "--parameter x"),
        ("a | b", "|", "sh -c"),
    ],
)
def test_what_only_a_shell_would_replace_is_refused_with_the_way_out(
    command: str, sign: str, fix: str
) -> None:
    with pytest.raises(click.UsageError) as refused:
        words_of(command, ["n"])
    assert refused.value.message.startswith(sign)
    assert fix in refused.value.message


@pytest.mark.parametrize(
    ("least", "most", "step", "values"),
    [
        ("1", "3", "1", ["1", "2", "3"]),
        ("0.1", "0.4", "0.1", ["0.1", "0.2", "0.3", "0.4"]),
        ("-1", "2", "2", ["-1", "1"]),
        ("10", "30", "1e1", ["10", "20", "30"]),
        ("5", "5", "0.5", ["5.0"]),
    ],
)
def test_a_scan_has_the_numbers_as_they_are_written(
    least: str, most: str, step: str, values: list[str]
) -> None:
    assert scanned("n", least, most, step) == values


@pytest.mark.parametrize(
    ("name", "least", "most", "step"),
    [("n", "1", "x", "1"), ("n", "2", "1", "1"), ("n", "1", "2", "0"), ("n", "0", "1", "0.0001"), ("n", "1", "inf", "1"), ("1n", "1", "2", "1")],
)  # fmt: skip
def test_a_scan_that_is_no_range_is_refused(name: str, least: str, most: str, step: str) -> None:
    with pytest.raises(click.BadParameter):
        scanned(name, least, most, step)


def test_tables_are_written_in_three_markups() -> None:
    table = Table("t", ("a", "b"), [("1", "x | y")], frozenset({0}))
    assert marked_up(table, "markdown").splitlines() == ["| a | b |", "| --- | --- |", "| 1 | x \\| y |"]
    assert marked_up(table, "org").splitlines() == ["| a | b |", "|---+---|", "| 1 | x \\vert{} y |"]
    assert marked_up(table, "asciidoc").splitlines() == [
        '[options="header"]', "|===", "| a | b", "| 1 | x \\| y", "|==="
    ]  # fmt: skip
