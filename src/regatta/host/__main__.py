"""Run a verb of the zipapp: `regatta.pyz VERB ...`. The verbs are all operations on a host."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

#: verb -> module and function; each imports only its own modules, because every segment pays for startup
_VERBS = {
    "segment": ("verbs.segment_command", "run_segment"),
    "detached": ("verbs.detached", "command"),
    "follow": ("verbs.follow", "command"),
    "ask": ("verbs.questions", "command"),
    "quiet": ("quiet.command", "main"),
    "events": ("events.worker", "command"),
    "role": ("roles.agent", "command"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb in the first argument. Return the exit code."""
    # The runner changes its directory, and starts helpers from the same archive.
    sys.argv[0] = os.path.abspath(sys.argv[0])
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] not in _VERBS:
        print(f"usage: regatta.pyz {'|'.join(_VERBS)} ...", file=sys.stderr)
        return 2
    module, name = _VERBS[words[0]]
    run: Callable[[Sequence[str]], int] = getattr(import_module(f"regatta.host.{module}"), name)
    return run(words[1:])


if __name__ == "__main__":
    sys.exit(main())
