"""The state of the host around an invocation, from files that stay open: some 50 us a reading."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

Number = Union[int, float, None]

_TICKS = os.sysconf("SC_CLK_TCK")
_PRESSURES = (("cpu", ("some",)), ("memory", ("some", "full")), ("io", ("some", "full")))


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


def _after(text: bytes, key: bytes) -> int | None:
    """The number behind `key`, which begins a line or stands after a space."""
    start = text.find(key)
    if start < 0:
        return None
    start += len(key)
    end = start
    while end < len(text) and 48 <= text[end] <= 57:
        end += 1
    return int(text[start:end]) if end > start else None


class HostState:
    """Reads load, pressure, CPU time, swapping, frequency, temperature and throttling; None for what is not there."""

    def __init__(self, cores: list[int], root: Path = Path("/")) -> None:
        """Args:
        cores: CPUs whose frequency and throttling count.
        root: where `proc` and `sys` lie; another tree in tests.
        """
        proc, sys = root / "proc", root / "sys"
        self._loadavg = _open(proc / "loadavg")
        self._stat = _open(proc / "stat")
        self._vmstat = _open(proc / "vmstat")
        self._pressure = [(kind, lines, _open(proc / "pressure" / kind)) for kind, lines in _PRESSURES]
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

    def read(self) -> dict[str, Number]:
        """One reading; keys as `docs/protocol.md` lists them for `host_before` and `host_after`."""
        state: dict[str, Number] = {"load1": None}
        if self._loadavg is not None:
            state["load1"] = float(_read(self._loadavg, 64).split(b" ", 1)[0])
        for kind, lines, fd in self._pressure:
            text = _read(fd, 256) if fd is not None else b""
            for line in lines:
                position = text.find(line.encode())
                total = _after(text[position:], b"total=") if position >= 0 else None
                state[f"psi_{kind}_{line}_us"] = total
        self._read_cpu(state)
        text = _read(self._vmstat, 16384) if self._vmstat is not None else b""
        swapped = [_after(text, b"\n" + key) for key in (b"pswpin ", b"pswpout ")]
        state["swap_pages"] = (
            sum(n for n in swapped if n is not None) if any(n is not None for n in swapped) else None
        )
        state["oom_kills"] = _after(text, b"\noom_kill ")
        frequencies = sorted(self._numbers(self._frequency))
        state["frequency_khz"] = frequencies[len(frequencies) // 2] if frequencies else None
        state["temperature_mc"] = max(self._numbers(self._zones), default=None)
        throttles = self._numbers(self._throttle)
        state["throttle_events"] = sum(throttles) if throttles else None
        return state

    def _read_cpu(self, state: dict[str, Number]) -> None:
        """Seconds over all CPUs since the start: busy (without steal and waiting) and stolen by the hypervisor."""
        state["busy_s"] = state["steal_s"] = None
        if self._stat is None:
            return
        # cpu user nice system idle iowait irq softirq steal guest guest_nice; guest time is inside user and nice
        words = _read(self._stat, 256).split(b"\n", 1)[0].split()
        if len(words) >= 9:
            user, nice, system, _idle, _iowait, irq, softirq, steal = (int(w) for w in words[1:9])
            state["busy_s"] = (user + nice + system + irq + softirq) / _TICKS
            state["steal_s"] = steal / _TICKS
