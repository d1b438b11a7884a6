"""The commands of `regatta time`: their words, their names, and the values of their parameters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

import click

from regatta.cli.options import split_command

_LONGEST_NAME = 40
#: of one parameter: each is a cell
_MOST_VALUES = 1000
#: the way out of equal commands
WITH_ITSELF = "to compare it with itself, name both: -n a -n b"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def words_of(command: str, parameters: Collection[str] = ()) -> list[str]:
    """Return the words of a command.

    Args:
        command: quoted as for a shell.
        parameters: names that it may contain as `{NAME}`.

    Raises:
        UsageError: it is empty, or has a part that only a shell would replace.
    """
    words = split_command(command)
    # Without quoted parts; a space stays between words.
    bare = re.sub(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.""", "''", command)
    if found := re.match(rf"\s*({_NAME})=(\S*)", bare):
        fix = f"--environment {shlex.quote(words[0])} {shlex.quote(shlex.join(words[1:]))}"
        raise click.UsageError(f"{found[1]}=... before a program needs a shell; without one: {fix}")
    if found := re.search(r"[|&;<>$`]", bare):
        raise click.UsageError(f"{found[0]} needs a shell, as in: sh -c {shlex.quote(command)}")
    if found := re.search(r"[*?]|(?<!\S)~|\[[^\s\]]+\]", bare):
        raise click.UsageError(
            f"{found[0]} needs a shell, as in: sh -c {shlex.quote(command)}; or quote it, to pass it as it is"
        )
    for name in re.findall(rf"\{{({_NAME})\}}", bare):
        if name not in parameters:
            raise click.UsageError(
                f"{{{name}}} has no values: add --parameter {name} V1,V2, or quote it, to pass it as it is"
            )
    return words


def values_of(name: str, text: str) -> list[str]:
    """Return the values of `--parameter NAME V1,V2`. Raises BadParameter."""
    values = [value for value in text.split(",") if value]
    if not re.fullmatch(_NAME, name) or not values:
        raise click.BadParameter(f"expected NAME and VALUE,... · got {name} {text}", param_hint="--parameter")
    return values


def scanned(name: str, least: str, most: str, step: str) -> list[str]:
    """Return the values of `--parameter-scan NAME MIN MAX`, in decimal arithmetic as they are written. Raises BadParameter."""

    def wrong(expected: str) -> click.BadParameter:
        got = f"{name} {least} {most} with step {step}"
        return click.BadParameter(f"expected {expected} · got {got}", param_hint="--parameter-scan")

    try:
        first, last, width = Decimal(least), Decimal(most), Decimal(step)
    except InvalidOperation:
        raise wrong("NAME MIN MAX with decimal numbers") from None
    if not re.fullmatch(_NAME, name) or not all(number.is_finite() for number in (first, last, width)):
        raise wrong("NAME MIN MAX with decimal numbers")
    if width <= 0 or first > last:
        raise wrong("MIN <= MAX and a step above 0")
    count = int((last - first) / width) + 1
    if count > _MOST_VALUES:
        raise wrong(f"at most {_MOST_VALUES} values")
    return [f"{first + place * width:f}" for place in range(count)]


def with_programs(
    commands: list[list[str]], names: list[str], given: dict[str, list[str]]
) -> tuple[list[list[str]], list[str], list[dict[str, str]]]:
    """Return the commands, their names, and the values of the parameters that decide their programs. A parameter in the place of a program gives one command per value.

    Such parameters are removed from `given`. Commands with given names may be equal (A/A comparison).
    """
    chosen: list[dict[str, str]] = [{} for _ in commands]
    for name in [name for name in given if any(f"{{{name}}}" in words[0] for words in commands)]:
        parts = [
            (words, own, value)
            for words, own in zip(commands, chosen, strict=True)
            for value in (given[name] if uses(words, name) else [""])
        ]
        if names:
            names = [
                "-".join(filter(None, (called, value)))
                for words, called in zip(commands, names, strict=True)
                for value in (given[name] if uses(words, name) else [""])
            ]
        commands = [[word.replace(f"{{{name}}}", value) for word in words] for words, _, value in parts]
        chosen = [{**own, name: value} if value else own for _, own, value in parts]
        del given[name]
    for place, words in enumerate(commands):
        if words in commands[:place] and not names:
            raise click.UsageError(f"{shlex.join(words)} is the same command twice; {WITH_ITSELF}")
    called = [_slug(name) for name in names] or _names(commands)
    if len(set(called)) != len(called):
        raise click.UsageError(f"expected different names, got {', '.join(called)}")
    return commands, called, chosen


def repeated(
    names: Sequence[str], commands: Sequence[Sequence[str]], programs: Mapping[str, str]
) -> list[str]:
    """Return the names of commands that may equal an earlier one, with some values: both have a program of the same name.

    Args:
        names, commands: in their order.
        programs: first word of a command -> path of its program.
    """
    found = [Path(programs[words[0]]).name for words in commands]
    return [name for place, name in enumerate(names) if found[place] in found[:place]]


def uses(words: Sequence[str], name: str) -> bool:
    return any(f"{{{name}}}" in word for word in words)


def _names(commands: Sequence[Sequence[str]]) -> list[str]:
    """Return short unique names: the program where it differs, else the command, of a long one what differs."""
    found = [_slug(" ".join(words)) for words in _distinguishing(commands)]
    return [
        name if name not in found[:place] else f"{name[: _LONGEST_NAME - 3]}-{place + 1}"
        for place, name in enumerate(found)
    ]


def _distinguishing(commands: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the words that names are made of: if a whole command is too long, without what all commands have."""
    programs = [Path(words[0]).name for words in commands]
    if len(set(programs)) == len(programs):
        return [[program] for program in programs]
    if max(len(" ".join(words)) for words in commands) <= _LONGEST_NAME:
        return [list(words) for words in commands]
    common = set.intersection(*(set(words[1:]) for words in commands))
    return [
        [program, *(word for word in words[1:] if word not in common)]
        for program, words in zip(programs, commands, strict=True)
    ]


def shell_text(words: Sequence[str]) -> str:
    """Return a command as in a shell, shortened."""
    text = " ".join(shlex.join(words).split())
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def _slug(text: str) -> str:
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", text).replace("..", ".").strip("-.")
    return slug[:_LONGEST_NAME].rstrip("-.") or "command"
