"""Hold a program in its started container until the container is checked, then release it with one byte.

The clock therefore starts with the program, and no measurement includes the cost of making the container. A shell of the
image holds the gate. It wraps the program as the first process of the container. It reaps orphaned processes and keeps the
control group alive until it is read. It gives signals their ordinary meaning for the program: a first process handles them
differently. It ends when the runner's end of a pipe is closed for any reason.
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
#: The shell passes arguments on without parsing them, and removes the variables that it adds to the environment. It opens its
#: own two pipes while the runner is certain to exist: opening one later could block forever if the runner was killed.
SCRIPT = (
    'exec 9<"$0/stay" 8>"$0/end"\n'
    '(exec 8>&- 9<&-; [ -z "$1" ] || ulimit -S -v "$1" || exit 125; shift; read -r regatta_gate <"$0/go" || exit 125;'
    ' unset regatta_gate PWD OLDPWD SHLVL; exec "$@") >"$0/out" 2>"$0/err"\n'
    'echo "$?" >&8\n'
    "read -r regatta_gate <&9\n"
)
SHELL = "/bin/sh"
#: From the end of the program to the shell's report of the exit code: less than 1 ms, unless the machine is stuck.
_WORD_S = 10.0
_LOOK_S = 0.0003


class Gate:
    """The pipes of one container, in a folder mounted at the same path inside."""

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
        # Read and write: this opens without blocking, and gives the shell's end a peer.
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
        """Return the container's command.

        Args:
            command: of the program.
            address_space_bytes: limit of its virtual memory, for which Docker has no option.
        """
        limit_kib = "" if address_space_bytes is None else str(address_space_bytes // 1024)
        return [SHELL, "-c", SCRIPT, str(self.directory), limit_kib, *command]

    def is_reached(self) -> bool:
        """Return whether the program's process waits at the gate."""
        try:
            self._go = self._fd(_GO, os.O_WRONLY)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return False
            raise
        return True

    def wait(self, until: float) -> bool:
        """Poll until the program waits at the gate, or until a time (monotonic, s)."""
        while not self.is_reached():
            if time.monotonic() > until:
                return False
            time.sleep(_LOOK_S)
        return True

    def release(self) -> None:
        """Release the program."""
        os.write(self._go, b"\n")

    def exit_word(self, patience_s: float = _WORD_S) -> int | None:
        """Return the exit code of the program as the shell reports it (128 and more: by a signal), or None without a report."""
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
        """Close and remove the pipes and the folder."""
        for fd in list(self._open):
            self._close(fd)
        with suppress(OSError):
            remove_tree(self.directory)
