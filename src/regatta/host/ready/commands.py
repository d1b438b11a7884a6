"""Run a helper program (a package manager, a build, a JVM query) and report its failure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.printable import with_lines


@dataclass(frozen=True)
class Done:
    """The result of a program: its exit code (negative: the signal), and its combined standard output and error."""

    command: str
    what: str
    fix: str
    returncode: int
    text: str

    def succeeded(self) -> str:
        """Return the output of a program that must succeed.

        Raises:
            HostError: the program failed; the message contains the last lines of its output.
        """
        if self.returncode == 0:
            return self.text
        lines = [line for line in self.text.splitlines() if line.strip()]
        got = with_lines(f"exit {self.returncode}", lines[-8:])
        raise HostError(self.what, f"`{self.command}` to succeed", got, self.fix)


def run_command(
    argv: Sequence[str],
    what: str,
    directory: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 1800,
    fix: str = "",
    inherited: bool = True,
) -> Done:
    """Run a program to its end, regardless of its exit code. Pass the arguments without a shell.

    If `inherited`, add `environment` to the environment of this process. Otherwise it is the whole environment.

    Raises:
        HostError: the program cannot be started, or exceeds the timeout.
    """
    try:
        done = subprocess.run(
            list(argv),
            cwd=directory,
            env={**(os.environ if inherited else {}), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise HostError(what, f"the program {argv[0]}", "missing", fix or f"install {argv[0]}") from error
    except subprocess.TimeoutExpired as error:
        raise HostError(what, f"`{argv[0]}` to end within {timeout_s:g} s", "timeout", fix) from error
    except OSError as error:
        raise HostError(what, f"`{argv[0]}` to start", str(error.strerror), fix) from error
    return Done(" ".join(argv), what, fix, done.returncode, done.stdout.decode("utf-8", "replace"))
