"""The command `regatta`, without a new interpreter where that is not what a test is about."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from regatta.cli.main import main

PROGRAM = Path(sys.executable).with_name("regatta")
#: verbs that only read, print, and write the files that their options name
READING = frozenset({"advise", "analyze", "audit", "compare", "explain", "history", "model", "plan", "predict", "records", "report", "status", "vector", "verify"})  # fmt: skip


def regatta(
    *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a verb to its end, within this process where it only reads or explains itself."""
    environment = os.environ if environment is None else environment
    if arguments[0] not in READING and "--help" not in arguments:
        return subprocess.run(
            [PROGRAM, *arguments], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, text=True,
            capture_output=True, check=False,
        )  # fmt: skip
    raws = (io.BytesIO(), io.BytesIO())
    out, err = (io.TextIOWrapper(raw, encoding="utf-8", write_through=True) for raw in raws)
    code = 0
    with _as_a_process(["regatta", *arguments], cwd, dict(environment), out, err):
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    told = [raw.getvalue().decode() for raw in raws]
    return subprocess.CompletedProcess(["regatta", *arguments], code, *told)


@contextlib.contextmanager
def _as_a_process(
    argv: list[str], cwd: Path, environment: dict[str, str], out: io.TextIOWrapper, err: io.TextIOWrapper
) -> Iterator[None]:
    """Give this process other arguments, another directory, environment and streams for a while."""
    with (
        contextlib.chdir(cwd),
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", argv),
        mock.patch.object(sys, "stdin", io.StringIO()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        yield
