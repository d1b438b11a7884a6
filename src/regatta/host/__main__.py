"""Run a verb of the zipapp: `regatta.pyz VERB ...`. The verbs are all operations on a host."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence


def _segment(argv: Sequence[str]) -> int:
    from regatta.host.verbs.segment_command import run_segment

    return run_segment(argv)


def _detached(argv: Sequence[str]) -> int:
    from regatta.host.verbs.detached import command

    return command(argv)


def _follow(argv: Sequence[str]) -> int:
    from regatta.host.verbs.follow import command

    return command(argv)


def _ask(argv: Sequence[str]) -> int:
    from regatta.host.verbs.questions import command

    return command(argv)


def _quiet(argv: Sequence[str]) -> int:
    from regatta.host.quiet.command import main as command

    return command(argv)


def _events(argv: Sequence[str]) -> int:
    from regatta.host.events.worker import command

    return command(argv)


def _role(argv: Sequence[str]) -> int:
    from regatta.host.roles.agent import command

    return command(argv)


#: verb -> function; each imports only its own modules, because every segment pays for startup
_VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "segment": _segment,
    "detached": _detached,
    "follow": _follow,
    "ask": _ask,
    "quiet": _quiet,
    "events": _events,
    "role": _role,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb in the first argument. Return the exit code."""
    # The runner changes its directory, and starts helpers from the same archive.
    sys.argv[0] = os.path.abspath(sys.argv[0])
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] not in _VERBS:
        print(f"usage: regatta.pyz {'|'.join(_VERBS)} ...", file=sys.stderr)
        return 2
    return _VERBS[words[0]](words[1:])


if __name__ == "__main__":
    sys.exit(main())
