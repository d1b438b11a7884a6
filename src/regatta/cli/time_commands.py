"""What the command line of `regatta time` says: commands, names, values of parameters, streams and exit codes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from regatta.cli.options import split_command

_LONGEST_NAME = 40
#: of one parameter: each is a cell
_MOST_VALUES = 1000
#: the way out of equal commands
WITH_ITSELF = "to compare it with itself, name both: -n a -n b"
_IGNORE = "--ignore-failure"
#: the word of hyperfine
_ALL = "all-non-zero"
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


@dataclass(frozen=True)
class Alternative:
    """A command to measure: its name, and its words with `{NAME}` for parameters."""

    name: str
    words: list[str]
    #: values of the parameters that decide its program, which its words no longer contain
    chosen: Mapping[str, str] = field(default_factory=dict)

    def for_each(self, parameter: str, values: Sequence[str]) -> list[Alternative]:
        """Return one command per value of a parameter; itself if it does not contain the parameter."""
        if not uses(self.words, parameter):
            return [self]
        return [
            Alternative(
                "-".join(filter(None, (self.name, value))),
                [word.replace(f"{{{parameter}}}", value) for word in self.words],
                {**self.chosen, parameter: value},
            )
            for value in values
        ]


def alternatives(
    commands: Sequence[list[str]], names: Sequence[str], given: dict[str, list[str]]
) -> list[Alternative]:
    """Return the named commands. A parameter in the place of a program gives one command per value.

    Such parameters are removed from `given`. Commands with given names may be equal (A/A comparison).
    """
    called = names or [""] * len(commands)
    found = [Alternative(name, words) for name, words in zip(called, commands, strict=True)]
    for parameter in [name for name in given if any(f"{{{name}}}" in words[0] for words in commands)]:
        values = given.pop(parameter)
        found = [each for one in found for each in one.for_each(parameter, values)]
    whole = [one.words for one in found]
    for place, words in enumerate(whole):
        if words in whole[:place] and not names:
            raise click.UsageError(f"{shlex.join(words)} is the same command twice; {WITH_ITSELF}")
    called = [_slug(one.name) for one in found] if names else _names(whole)
    if len(set(called)) != len(called):
        raise click.UsageError(f"expected different names, got {', '.join(called)}")
    return [replace(one, name=name) for one, name in zip(found, called, strict=True)]


def repeated(commands: Sequence[Alternative], programs: Mapping[str, str]) -> list[str]:
    """Return the names of commands that may equal an earlier one, with some values: both have a program of the same name.

    `programs`: first word of a command -> path of its program.
    """
    found = [Path(programs[one.words[0]]).name for one in commands]
    return [one.name for place, one in enumerate(commands) if found[place] in found[:place]]


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


def input_of(where: str | None) -> str:
    """Return the absolute path of --input; "" for `null`. Raises UsageError."""
    if where in (None, "null"):
        return ""
    path = Path(str(where)).absolute()
    if not _is_plain(path) or not os.access(path, os.R_OK):
        raise click.UsageError(f"--input: expected null, or a file that can be read · got {where}")
    return str(path)


def output_of(where: str | None) -> str:
    """Return the absolute path of --output; "" for `pipe`. Raises UsageError."""
    if where in (None, "pipe"):
        return ""
    if where == "inherit":
        raise click.UsageError("--output: expected null, pipe or a file · got inherit · fix: --show-output")
    path = Path(os.devnull if where == "null" else str(where)).absolute()
    if not os.access(path if path.exists() else path.parent, os.W_OK) or (
        path.exists() and not _is_plain(path)
    ):
        raise click.UsageError(f"--output: expected null, pipe, or a file that can be written · got {where}")
    return str(path)


def _is_plain(path: Path) -> bool:
    return path.is_file() or path.is_char_device()


class WithOptionalCodes(click.Command):
    """A command with `--ignore-failure[=CODES]`: without `=`, the next argument is a command, as in hyperfine."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [*map(_with_value, args[:end]), *args[end:]])


def _with_value(argument: str) -> str:
    if argument in ("-i", _IGNORE):
        return f"{_IGNORE}={_ALL}"
    return f"{_IGNORE}={argument[3:]}" if argument.startswith("-i=") else argument


class ExitCodes(click.ParamType[Any]):
    """Exit codes to accept in addition to 0: `1,3`, or all. The value is `exit_codes` of the suite."""

    name = "codes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from regatta.spec.suite_schema import ANY, MAX_EXIT_CODE

        if value == _ALL:
            return ANY
        codes = value.split(",")
        longest = len(str(MAX_EXIT_CODE))
        if not all(
            code.isdecimal() and len(code) <= longest and int(code) <= MAX_EXIT_CODE for code in codes
        ):
            self.fail(f"expected exit codes from 0 to {MAX_EXIT_CODE}, such as 1,3 · got {value}", param, ctx)
        return sorted({0, *map(int, codes)})
