"""A server and its client as processes, with the commands of a suite's roles."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

#: both are on this machine
ADDRESS = "127.0.0.1"


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen[str]
    port: str
    directory: Path


def command_of(
    suite: Mapping[str, Any], name: str, role: str, sources: Path, values: Mapping[str, object]
) -> list[str]:
    """The command of a role, or of a benchmark ("": on one host), at the quick size.

    `values` stand in for parameters of the size, or are of another role.
    """
    benchmark = suite["benchmarks"][name]
    ((build, model),) = suite["builds"].items()
    filled = {f"{build}.{output}": str(sources / path) for output, path in model["outputs"].items()}
    filled |= {key: str(value) for key, value in benchmark["sizes"]["quick"]["parameters"].items()}
    filled |= {"server.address": ADDRESS, **{key: str(value) for key, value in values.items()}}
    command: list[str] = (benchmark["roles"][role] if role else benchmark)["command"]
    return [re.sub(r"\{([^}]+)\}", lambda match: filled[match[1]], argument) for argument in command]


@contextmanager
def serving(
    suite: Mapping[str, Any], name: str, command: list[str], directory: Path, not_built: str = "\0"
) -> Iterator[Server]:
    """Run a server until the end of the block, and find it ready as the runner does.

    Args:
        suite: has the benchmark.
        name: of the benchmark.
        command: of the role `server`.
        directory: where it works, which is made.
        not_built: a message of a server that was built without a library.
    """
    directory.mkdir()
    process = subprocess.Popen(
        command, cwd=directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        if not line:
            told = process.stderr.read()
            if not_built in told:
                pytest.skip(f"NOT TESTED: {told}")
            raise AssertionError(told)
        ready = re.search(suite["benchmarks"][name]["roles"]["server"]["ready"]["output"], line)
        assert ready is not None, line
        yield Server(process, ready["port"], directory)
    finally:
        process.kill()
        process.communicate()
