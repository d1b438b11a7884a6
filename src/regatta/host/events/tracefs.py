"""The kernel's trace buffers (tracefs): an instance with events and probes, which nothing else uses."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from regatta.host.errors import HostError
from regatta.host.events.elf import offset_of, program_path
from regatta.host.processes import effective_capabilities
from regatta.host.values.events import GROUPS, REQUIRED, Events

PLACES = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))

#: include/uapi/linux/capability.h
_CAP_SYS_ADMIN = 21
#: machine -> register of the first argument of a function
_MACHINES = {"x86_64": "%di", "aarch64": "%x0"}


def _prefix() -> str:
    """Return how names of this machine's recorders begin. The same number of another PID namespace is another process."""
    return f"regatta_{os.stat('/proc/self/ns/pid').st_ino}_"


def mounted() -> Path | None:
    """Return where tracefs is mounted, or None."""
    return next((place for place in PLACES if (place / "instances").is_dir()), None)


def missing_for_events() -> str:
    """Return what this host lacks to record events; "" if nothing."""
    if os.geteuid() != 0:
        return "root"
    with open("/proc/filesystems", encoding="ascii") as file:
        if "tracefs" not in file.read():
            return "a kernel with tracefs"
    if shutil.which("trace-cmd") is None:
        return "trace-cmd (`apt-get install trace-cmd`)"
    if mounted() is None and shutil.which("unshare") is None:
        return "tracefs (`mount -t tracefs nodev /sys/kernel/tracing`)"
    if mounted() is None and not effective_capabilities(os.getpid()) >> _CAP_SYS_ADMIN & 1:
        return "the capability SYS_ADMIN, which containers lack, to mount tracefs"
    return ""


class Instance:
    """One buffer of the kernel with its events. Removed by `close`; that of a killed recorder by the next one."""

    def __init__(self, tracefs: Path, events: Events) -> None:
        self._tracefs = tracefs
        self.name = f"{_prefix()}{os.getpid()}"
        self.folder = tracefs / "instances" / self.name
        self._events = events
        #: tracepoints that this kernel lacks
        self.missing: list[str] = []

    def open(self) -> None:
        """Make the buffer and enable the events in it, without recording.

        Raises:
            HostError: the kernel refuses, a required tracepoint or a probed function does not exist.
        """
        try:
            self._remove_those_of_the_dead()
            self.folder.mkdir()
            self._write("tracing_on", "0")
            self._write("trace_clock", "mono")
            # The first events are kept and the later ones are lost, so that the window is without gaps until its end.
            self._write("options/overwrite", "0")
            self._write("buffer_size_kb", str(self._events.buffer_mib << 10))
            self._enable_probes()
            for group in self._events.groups:
                for event in GROUPS[group]:
                    self._enable(event)
            if "marks" in self._events.groups:
                self._copy_marks()
        except OSError as error:
            raise HostError(
                str(error.filename or self.folder),
                "a kernel that records this",
                error.strerror or str(error),
                self._last_error() or "run as root, with less --buffer",
            ) from error

    def _enable(self, event: str) -> None:
        path = f"events/{event}/enable"
        if (self.folder / path).exists():
            self._write(path, "1")
        elif event in REQUIRED:
            raise HostError(
                "tracing", f"the tracepoint {event}", "none in this kernel", "use a kernel with it"
            )
        else:
            self.missing.append(event)

    def _copy_marks(self) -> None:
        """Let the buffer have what programs write to `trace_marker` of the kernel, which is another buffer."""
        option = "options/copy_trace_marker"
        if (self.folder / option).exists():
            self._write(option, "1")
        else:
            self.missing.append("copy_trace_marker, for marks of programs,")

    def _enable_probes(self) -> None:
        for number, probe in enumerate(self._events.probes):
            program = program_path(probe.program)
            offset = offset_of(program, probe.function)
            letter = "r" if probe.at == "return" else "p"
            place = f"{program}:0x{offset:x}"
            if any(" arg1 " in mark for mark in probe.means):
                place += f" arg1={_first_argument(probe.function)}:u64"
            _append(self._tracefs / "uprobe_events", f"{letter}:{self.name}/p{number} {place}\n")
            self._write(f"events/{self.name}/p{number}/enable", "1")

    def record(self, on: bool) -> None:
        """Begin or end to record."""
        self._write("tracing_on", "1" if on else "0")

    def lost(self) -> dict[str, int]:
        """Return the number of events that were lost, per CPU."""
        found = {}
        for path in sorted((self.folder / "per_cpu").glob("cpu*/stats")):
            numbers = dict(
                line.split(":", 1) for line in path.read_text(encoding="ascii").splitlines() if ":" in line
            )
            lost = sum(int(numbers.get(key, 0)) for key in ("overrun", "commit overrun", "dropped events"))
            if lost:
                found[path.parent.name[3:]] = lost
        return found

    def extract(self, path: Path) -> None:
        """Write the buffer to a file of trace-cmd, and remove the buffer.

        Raises:
            HostError: trace-cmd fails.
        """
        done = subprocess.run(
            ["trace-cmd", "extract", "-B", self.name, "-o", str(path)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd=path.parent,
        )
        if done.returncode or not path.exists():
            raise HostError(
                "trace-cmd extract", "a trace", (done.stderr or done.stdout).strip()[-300:], "free disk space"
            )

    def close(self) -> None:
        """Remove the buffer and the probes."""
        self._remove(self.name)

    def _remove(self, name: str) -> None:
        folder = self._tracefs / "instances" / name
        with contextlib.suppress(OSError):
            (folder / "tracing_on").write_text("0", encoding="ascii")
        with contextlib.suppress(OSError):
            (folder / "events" / "enable").write_text("0", encoding="ascii")
        with contextlib.suppress(OSError):
            folder.rmdir()
        probes = self._tracefs / "uprobe_events"
        for line in self._probes().splitlines():
            if f":{name}/" in line:
                event = line.split()[0][2:]
                with contextlib.suppress(OSError):
                    _append(probes, f"-:{event}\n")

    def _probes(self) -> str:
        """Return all probes of the kernel, a line each; "" of a kernel without probes in programs."""
        try:
            return (self._tracefs / "uprobe_events").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def _remove_those_of_the_dead(self) -> None:
        lines = self._probes()
        names = [path.name for path in (self._tracefs / "instances").iterdir()]
        for pid in {int(found) for found in re.findall(_prefix() + r"(\d+)", " ".join([*names, lines]))}:
            if pid == os.getpid() or not _records(pid):
                self._remove(f"{_prefix()}{pid}")

    def _write(self, name: str, text: str) -> None:
        with open(self.folder / name, "w", encoding="ascii") as file:
            file.write(text)

    def _last_error(self) -> str:
        try:
            lines = (self._tracefs / "error_log").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return next((line.split("error:", 1)[1].strip() for line in reversed(lines) if "error:" in line), "")


def _records(pid: int) -> bool:
    """Return whether a process lives and is a recorder: another one may have its number now, or its parent never asked how it ended."""
    try:
        return b"events" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False


def _first_argument(function: str) -> str:
    """Return the register of the first argument of a function.

    Raises:
        HostError: it is not known for this machine.
    """
    machine = platform.machine()
    if machine not in _MACHINES:
        raise HostError(
            f"the argument of {function}",
            f"a machine of {' or '.join(_MACHINES)}",
            machine,
            "leave out `arg1`",
        )
    return _MACHINES[machine]


def _append(path: Path, line: str) -> None:
    """Write a line to a file of the kernel in which Python cannot seek.

    Raises:
        OSError: the kernel refuses the line.
    """
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)
