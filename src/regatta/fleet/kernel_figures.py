"""Processor facts from the kernel: frequency, cache line, clock. None if unavailable."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/")


@dataclass(frozen=True)
class KernelFrequency:
    """Frequency of a processor according to the kernel.

    `kind`: `constant` (lowest equals highest, no boost), `variable` (they differ; `mhz` is the current value), or
    `nominal` (value at boot, on a host where the kernel does not control the frequency).
    """

    mhz: float
    kind: str


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None


def _cpuinfo_mhz(text: str, cpu: int) -> float | None:
    """Return `cpu MHz` of a processor in /proc/cpuinfo; only x86 has it."""
    for part in text.split("\n\n"):
        fields = {
            name.strip(): value.strip()
            for name, _, value in (line.partition(":") for line in part.splitlines())
        }
        if fields.get("processor") == str(cpu):
            try:
                return float(fields.get("cpu MHz", ""))
            except ValueError:
                return None
    return None


def _boosts(cpu_root: Path) -> bool:
    """Return whether boost is enabled, by the switch of either driver."""
    return _text(cpu_root / "cpufreq/boost") == "1" or _text(cpu_root / "intel_pstate/no_turbo") == "0"


def kernel_frequency(cpu: int, root: Path = _ROOT) -> KernelFrequency | None:
    """Return the frequency of one CPU. `root`: parent of `proc` and `sys`."""
    cpu_root = root / "sys/devices/system/cpu"
    scaling = cpu_root / f"cpu{cpu}/cpufreq"
    lowest, highest = _number(scaling / "scaling_min_freq"), _number(scaling / "scaling_max_freq")
    if lowest and highest:
        if lowest == highest and not _boosts(cpu_root):
            return KernelFrequency(highest / 1000, "constant")
        return KernelFrequency((_number(scaling / "scaling_cur_freq") or highest) / 1000, "variable")
    mhz = _cpuinfo_mhz(_text(root / "proc/cpuinfo"), cpu)
    return KernelFrequency(mhz, "nominal") if mhz else None


def kernel_line_bytes(cpu: int, root: Path = _ROOT) -> int | None:
    """Return the line size of the first data cache of a CPU, in bytes."""
    for index in sorted((root / f"sys/devices/system/cpu/cpu{cpu}/cache").glob("index*")):
        if _text(index / "level") == "1" and _text(index / "type") in ("Data", "Unified"):
            return _number(index / "coherency_line_size")
    return None


def clock_source(root: Path = _ROOT) -> str:
    """Return the clock source of the kernel; empty if unknown."""
    return _text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
