"""The gate: a container is made, started and looked at while its program waits; then one byte lets it go.

So the clock starts when the program does, not when Docker begins to make a container, and what making it costs is in none of
the program's numbers. A shell of the image holds the gate. Around the program it is the container's first process: it reaps
what loses its parent there, gives signals their ordinary meaning to the program (they have another for a first process), and
keeps the control group alive until it has been read. It ends when the runner lets go of its end of a pipe, however that comes.
"""

from __future__ import annotations

import errno
import os
import select
import time
from contextlib import suppress
from pathlib import Path

from regatta.host.measure.scratch import remove_tree

_STAY, _GO, _OUT, _ERR, _END = "stay", "go", "out", "err", "end"
#: Arguments are handed on, never read by the shell. What it adds to the environment is taken out again. Its own two pipes are
#: opened while the runner is sure to be there: opening one later could wait for ever for a runner that was killed.
SCRIPT = (
    'exec 9<"$0/stay" 8>"$0/end"\n'
    '(exec 8>&- 9<&-; [ -z "$1" ] || ulimit -S -v "$1" || exit 125; shift; read -r regatta_gate <"$0/go" || exit 125;'
    ' unset regatta_gate PWD OLDPWD SHLVL; exec "$@") >"$0/out" 2>"$0/err"\n'
    'echo "$?" >&8\n'
    "read -r regatta_gate <&9\n"
)
SHELL = "/bin/sh"
#: from the shell's wait for the program to its word about the exit code: less than a millisecond, if the machine is not stuck
_WORD_S = 10.0
_LOOK_S = 0.0003


class Gate:
    """The pipes of one container, in a folder that it sees under the same path."""

    def __init__(self, directory: Path) -> None:
        """Make the folder and its pipes, and open the runner's ends.

        Raises:
            OSError: they cannot be made.
        """
        self.directory = directory
        remove_tree(directory)
        directory.mkdir(mode=0o700, parents=True)
        for name in (_STAY, _GO, _OUT, _ERR, _END):
            os.mkfifo(directory / name, 0o600)
        self._open: list[int] = []
        # Read and write: that opens at once, and the shell on the other side has somebody to read from.
        self._stay = self._fd(_STAY, os.O_RDWR)
        self.stdout = self._fd(_OUT, os.O_RDONLY)
        self.stderr = self._fd(_ERR, os.O_RDONLY)
        self._end = self._fd(_END, os.O_RDONLY)
        self._go = -1

    def _fd(self, name: str, flags: int) -> int:
        fd = os.open(self.directory / name, flags | os.O_NONBLOCK | os.O_CLOEXEC)
        self._open.append(fd)
        return fd

    def argv(self, command: list[str], address_space_bytes: int | None = None) -> list[str]:
        """The container's command.

        Args:
            command: the program's.
            address_space_bytes: limit of its virtual memory, which Docker has no word for.
        """
        limit_kib = "" if address_space_bytes is None else str(address_space_bytes // 1024)
        return [SHELL, "-c", SCRIPT, str(self.directory), limit_kib, *command]

    def is_reached(self) -> bool:
        """Whether the program's process stands at the gate."""
        try:
            self._go = self._fd(_GO, os.O_WRONLY)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return False
            raise
        return True

    def wait(self, until: float) -> bool:
        """Look again and again until it stands there, or until a time (monotonic, s)."""
        while not self.is_reached():
            if time.monotonic() > until:
                return False
            time.sleep(_LOOK_S)
        return True

    def release(self) -> None:
        """Let the program go."""
        os.write(self._go, b"\n")

    def exit_word(self, patience_s: float = _WORD_S) -> int | None:
        """What the shell says that the program ended with (128 and more: by a signal); None when it says nothing."""
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        poll.poll(patience_s * 1e3)
        try:
            word = os.read(self._end, 16).strip()
        except BlockingIOError:
            return None
        return int(word) if word.isdigit() and len(word) <= 3 else None

    def let_go(self) -> None:
        """Let the container end."""
        self._close(self._stay)

    def _close(self, fd: int) -> None:
        if fd in self._open:
            self._open.remove(fd)
            os.close(fd)

    def close(self) -> None:
        """Close and remove everything."""
        for fd in list(self._open):
            self._close(fd)
        with suppress(OSError):
            remove_tree(self.directory)
