"""The zipapp's verb `quiet`: show the host's state, make it quiet, restore it. Prints one JSON object."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from regatta.host.errors import HostError, RegattaError
from regatta.host.quiet.engine import KEYS, NAMES, apply, restore, status
from regatta.host.quiet.groups import partition_entry
from regatta.host.quiet.host import QuietHost
from regatta.host.quiet.state import StateFolder
from regatta.host.values.cpu_list import parse_cpu_list

_UNFIT = 3


def main(argv: Sequence[str]) -> int:
    """Run the verb; return 0, or 3 if an available knob could not be set.

    Args:
        argv: the arguments after `quiet` in the command line.
    """
    arguments = _parser().parse_args(argv)
    try:
        host = QuietHost(arguments.root.resolve(), arguments.cpus, arguments.housekeeping, arguments.isolate)
        if arguments.verb == "enter":
            return _enter(host, arguments.command)
        folder = StateFolder(arguments.state, KEYS)
        if arguments.verb == "status":
            outcome = status(host, folder, arguments.leave)
        else:
            with folder.locked():
                if arguments.verb == "apply":
                    outcome = apply(host, folder, arguments.leave)
                else:
                    outcome = restore(host, folder)
    except RegattaError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error: {error.filename or 'the host'}: {error.strerror}", file=sys.stderr)
        return _UNFIT
    print(json.dumps(outcome.to_json()))
    return _UNFIT if outcome.failed else 0


def _enter(host: QuietHost, command: Sequence[str]) -> int:
    """Enter the partition of the measured CPUs and execute a command; return only on failure."""
    entry = partition_entry(host)
    if entry is None:
        raise HostError(
            "quiet enter", "a partition of the measured CPUs", "missing", "run `quiet apply --isolate`"
        )
    host.write(entry, str(os.getpid()))
    os.execvp(command[0], list(command))


def _cpus(text: str) -> list[int]:
    try:
        return parse_cpu_list(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected CPU numbers and ranges such as 2-5,8, got {text!r}"
        ) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="regatta quiet", description="Make this host quiet for measurements, or restore its settings."
    )
    parser.set_defaults(isolate=False, cpus=[], housekeeping=[], leave=[])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, what in (
        ("status", "show the settings without changes"),
        ("apply", "store the settings, then make the host quiet"),
        ("restore", "restore the stored settings"),
    ):
        verb = verbs.add_parser(name, help=what, description=what)
        verb.add_argument(
            "--state", type=Path, required=True, help="folder on this host for the stored settings"
        )
        verb.add_argument("--root", type=Path, default=Path("/"), help="folder that contains proc and sys")
        if name != "restore":
            verb.add_argument("--cpus", type=_cpus, default=[], help="measured CPUs, such as 2-5,8")
            verb.add_argument("--housekeeping", type=_cpus, default=[], help="housekeeping CPUs [all others]")
            verb.add_argument(
                "--isolate", action="store_true", help="isolate the measured CPUs in a partition"
            )
            verb.add_argument(
                "--leave",
                action="append",
                default=[],
                choices=NAMES,
                help="a setting to leave unchanged; may be repeated",
            )
    enter = verbs.add_parser("enter", help="run a command on the CPUs of --isolate")
    enter.add_argument("--root", type=Path, default=Path("/"), help="folder that contains proc and sys")
    enter.add_argument("command", nargs="+", help="the command and its arguments")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
