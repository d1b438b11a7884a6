"""Read the state of the host around an invocation from files that stay open: about 50 us per reading."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from regatta.host.values.record import State

_TICKS = os.sysconf("SC_CLK_TCK")
_Pressure = Literal[
    "psi_cpu_some_us", "psi_memory_some_us", "psi_memory_full_us", "psi_io_some_us", "psi_io_full_us"
]
#: file -> (key of the state, beginning of its line)
_PRESSURES: dict[str, tuple[tuple[_Pressure, bytes], ...]] = {
    "cpu": (("psi_cpu_some_us", b"some"),),
    "memory": (("psi_memory_some_us", b"some"), ("psi_memory_full_us", b"full")),
    "io": (("psi_io_some_us", b"some"), ("psi_io_full_us", b"full")),
}
_LONGEST_NUMBER = 20


def _open(path: str | Path) -> int | None:
    try:
        fd = os.open(path, os.O_RDONLY)
        os.pread(fd, 1, 0)
    except OSError:
        return None
    return fd


def _read(fd: int, size: int = 4096) -> bytes:
    try:
        return os.pread(fd, size, 0)
    except OSError:
        return b""


def _after(text: bytes, key: bytes, start: int = 0) -> int | None:
    """Return the number after the first `key` from `start` on."""
    position = text.find(key, start)
    if position < 0:
        return None
    position += len(key)
    word = text[position : position + _LONGEST_NUMBER].split(None, 1)[:1]
    return int(word[0]) if word and word[0].isdigit() else None


class HostState:
    """Reads load, pressure, CPU time, swapping, frequency, temperature and throttling; None for missing values."""

    def __init__(self, cores: list[int], root: Path = Path("/"), oom_kills: bool = True) -> None:
        """Open the files.

        Args:
            cores: CPUs whose frequency and throttling are read.
            root: parent of `proc` and `sys`; another tree in tests.
            oom_kills: whether to read the OOM kills of the whole host, because those of a process tree are not available.
        """
        proc, sys = root / "proc", root / "sys"
        self._loadavg = _open(proc / "loadavg")
        self._stat = _open(proc / "stat")
        self._vmstat = _open(proc / "vmstat")
        self._swaps = _open(proc / "swaps")
        self._oom_kills = oom_kills
        self._swap_used = True
        self._paging: State = {}
        self._pressure = [(lines, _open(proc / "pressure" / kind)) for kind, lines in _PRESSURES.items()]
        cpu = sys / "devices/system/cpu"
        self._frequency = self._all(cpu / f"cpu{n}/cpufreq/scaling_cur_freq" for n in cores)
        self._throttle = self._all(
            cpu / f"cpu{n}/thermal_throttle/{name}_throttle_count"
            for n in cores
            for name in ("core", "package")
        )
        self._zones = self._all(sorted((sys / "class/thermal").glob("thermal_zone*/temp")))

    @staticmethod
    def _all(paths: object) -> list[int]:
        return [fd for fd in map(_open, paths) if fd is not None]  # type: ignore[call-overload]

    @staticmethod
    def _numbers(fds: list[int]) -> list[int]:
        return [int(text) for fd in fds if (text := _read(fd, 64).strip()).lstrip(b"-").isdigit()]

    def close(self) -> None:
        """Close the files."""
        single = (self._loadavg, self._stat, self._vmstat, self._swaps, *(fd for _, fd in self._pressure))
        for fd in (*single, *self._frequency, *self._throttle, *self._zones):
            if fd is not None:
                os.close(fd)

    def read(self) -> State:
        """Return a reading; `docs/protocol.md` lists the keys for `host_before` and `host_after`."""
        state: State = {"load1": None}
        if self._loadavg is not None:
            state["load1"] = float(_read(self._loadavg, 64).split(b" ", 1)[0])
        for lines, fd in self._pressure:
            text = _read(fd, 256) if fd is not None else b""
            for key, line in lines:
                position = text.find(line)
                state[key] = _after(text, b"total=", position) if position >= 0 else None
        self._read_cpu(state)
        state.update(self._read_paging())
        frequencies = sorted(self._numbers(self._frequency))
        state["frequency_khz"] = frequencies[len(frequencies) // 2] if frequencies else None
        state["temperature_mc"] = max(self._numbers(self._zones), default=None)
        throttles = self._numbers(self._throttle)
        state["throttle_events"] = sum(throttles) if throttles else None
        return state

    def _read_cpu(self, state: State) -> None:
        """Read the seconds since boot over all CPUs: busy (without steal and iowait) and stolen by the hypervisor."""
        state["busy_s"] = state["steal_s"] = None
        if self._stat is None:
            return
        # cpu user nice system idle iowait irq softirq steal guest guest_nice; guest time is inside user and nice
        words = _read(self._stat, 256).split(b"\n", 1)[0].split()
        if len(words) >= 9:
            user, nice, system, _idle, _iowait, irq, softirq, steal = (int(w) for w in words[1:9])
            state["busy_s"] = (user + nice + system + irq + softirq) / _TICKS
            state["steal_s"] = steal / _TICKS

    def _read_paging(self) -> State:
        """Return swapped pages and OOM kills of the whole host since boot.

        The kernel needs as long for vmstat as for all other files (20 us on two CPUs, more on more). Without swap, its swap
        counters do not change, so it is read only once, unless OOM kills are needed too.
        """
        has_swap = self._swaps is None or _read(self._swaps, 256).count(b"\n") > 1
        if has_swap or self._swap_used or self._oom_kills:
            self._swap_used = has_swap
            text = _read(self._vmstat, 16384) if self._vmstat is not None else b""
            swapped_in, swapped_out = _after(text, b"\npswpin "), _after(text, b"\npswpout ")
            known = swapped_in is not None or swapped_out is not None
            self._paging = {
                "swap_pages": (swapped_in or 0) + (swapped_out or 0) if known else None,
                "oom_kills": _after(text, b"\noom_kill ") if self._oom_kills else None,
            }
        return self._paging
