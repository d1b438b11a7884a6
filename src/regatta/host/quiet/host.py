"""The host as the knobs see it: files below a root, commands, affinities. Tests use another root or a subclass."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.values.cpu_list import cpu_list_text, parse_cpu_list

CPU = "sys/devices/system/cpu"
#: enough for swapoff to read some GiB back from a slow disk
_COMMAND_TIMEOUT_S = 600.0


class QuietHost:
    """A host and its CPUs to make quiet.

    Attributes:
        root: parent of `proc` and `sys`; commands are run only if it is the real root.
        measured: CPUs to measure on; empty: not given.
        siblings: hardware threads that share a core with these, and are neither measured on nor given for housekeeping.
        shared: hardware threads that share a core with measured ones but were requested explicitly.
        housekeeping: CPUs for everything else; by default all that are neither measured on nor siblings.
        isolate: whether to make the measured CPUs a partition, which a process must enter to use them.
    """

    def __init__(
        self,
        root: Path = Path("/"),
        measured: Iterable[int] = (),
        housekeeping: Iterable[int] = (),
        isolate: bool = False,
    ) -> None:
        """Read the CPUs of the host.

        Raises:
            HostError: a CPU does not exist, or is listed both for measuring and for housekeeping.
        """
        self.root = root
        self.is_real = root == Path("/")
        self.isolate = isolate
        self.measured = sorted(set(measured))
        self.named_housekeeping = sorted(set(housekeeping))
        self._check(self._present())
        self.look_again()

    def _present(self) -> list[int]:
        return parse_cpu_list(self.read(f"{CPU}/present") or "") or sorted(os.sched_getaffinity(0))

    def look_again(self) -> None:
        """Find siblings and housekeeping CPUs among the online CPUs."""
        online = parse_cpu_list(self.read(f"{CPU}/online") or "") or self._present()
        beside = [
            set(parse_cpu_list(self.read(f"{CPU}/cpu{cpu}/topology/thread_siblings_list") or "")) - {cpu}
            for cpu in self.measured
        ]
        wanted = {*self.measured, *self.named_housekeeping}
        self.siblings = sorted(set().union(*beside) - wanted)
        self.shared = sorted(set().union(*beside) & wanted)
        self.noisy = set(self.measured) | set(self.siblings)
        self.housekeeping = self.named_housekeeping or sorted(set(online) - self.noisy)

    def _check(self, present: Sequence[int]) -> None:
        for name, cpus in (("--cpus", self.measured), ("--housekeeping", self.named_housekeeping)):
            absent = sorted(set(cpus) - set(present))
            if absent:
                raise HostError(
                    name,
                    f"existing CPUs ({cpu_list_text(present)})",
                    f"CPU {absent[0]}",
                    "correct regatta_cpus and regatta_housekeeping_cpus in the inventory",
                )
        both = sorted(set(self.measured) & set(self.named_housekeeping))
        if both:
            raise HostError(
                "--housekeeping",
                "CPUs that are not measured",
                f"CPU {both[0]} in both lists",
                "correct regatta_cpus and regatta_housekeeping_cpus in the inventory",
            )

    @property
    def proc(self) -> str:
        """Return the folder of the processes."""
        return str(self.root / "proc")

    @property
    def boot_id(self) -> str:
        """Return the kernel's ID of this boot; volatile settings last as long."""
        return self.read("proc/sys/kernel/random/boot_id") or "unknown"

    def read(self, key: str) -> str | None:
        """Return a file's text, stripped; None if it does not exist or cannot be read."""
        try:
            return (self.root / key).read_text(errors="replace").strip()
        except OSError:
            return None

    def find(self, pattern: str) -> list[str]:
        """Return keys of the files that match, in numeric order."""
        found = (str(path.relative_to(self.root)) for path in self.root.glob(pattern))
        return sorted(found, key=lambda key: [(len(part), part) for part in key.split("/")])

    def why_fixed(self, key: str) -> str:
        """Return the reason why a file can never be written (it does not exist, or its file system is read-only), or ""."""
        path = self.root / key
        try:
            status = os.statvfs(path)
        except OSError:
            return f"/{key} does not exist"
        return f"/{key} is read-only" if status.f_flag & os.ST_RDONLY else ""

    def write(self, key: str, text: str) -> None:
        """Write to an existing file in a single call, as the kernel requires.

        Raises:
            OSError: refused.
        """
        fd = os.open(self.root / key, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(fd, (text + "\n").encode())
        finally:
            os.close(fd)

    def make_folder(self, key: str) -> None:
        """Make a control group. Raises OSError."""
        (self.root / key).mkdir(exist_ok=True)

    def remove_folder(self, key: str) -> None:
        """Remove a control group. Raises OSError."""
        (self.root / key).rmdir()

    def set_affinity(self, pid: int, cpus: Sequence[int]) -> None:
        """Restrict a task to these CPUs. Raises OSError."""
        if not self.is_real:
            raise OSError(errno.EOPNOTSUPP, "tasks outside this root are not changed")
        os.sched_setaffinity(pid, cpus)

    def has_program(self, name: str) -> bool:
        """Return whether a command can be run here."""
        return self.is_real and shutil.which(name, path=_path()) is not None

    def run(self, argv: Sequence[str]) -> str:
        """Run a command; return its output.

        Raises:
            OSError: it cannot be run, or failed; with its error message.
        """
        try:
            done = subprocess.run(
                list(argv), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=_COMMAND_TIMEOUT_S, env={"PATH": _path(), "LC_ALL": "C"}, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise OSError(errno.ETIMEDOUT, f"{argv[0]} timed out after {_COMMAND_TIMEOUT_S:g} s") from None
        if done.returncode != 0:
            words = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            refused = "not permitted" in words or "ermission denied" in words
            raise OSError(errno.EPERM if refused else errno.EIO, words)
        return done.stdout


def _path() -> str:
    """Return a PATH with the system directories, independent of the PATH of the user who became root."""
    return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
