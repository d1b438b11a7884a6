"""Standard input, standard output and accepted exit codes of the commands of `regatta time`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

_IGNORE = "--ignore-failure"
#: the word of hyperfine
_ALL = "all-non-zero"


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
