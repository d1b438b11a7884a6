"""What the kernel says of the processors: frequency, cache line, clock. None where it says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/")


@dataclass(frozen=True)
class KernelFrequency:
    """A processor's frequency by the kernel.

    `kind`: `constant` (lowest and highest are one, no boost), `variable` (they differ; `mhz` is of this moment), or
    `nominal` (what the machine told at its start, on a host that does not let the kernel choose).
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
    """The line `cpu MHz` of a processor's part of /proc/cpuinfo; architectures other than x86 have none."""
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
    """Whether the processor may go beyond the highest frequency that is told, by either driver's switch."""
    return _text(cpu_root / "cpufreq/boost") == "1" or _text(cpu_root / "intel_pstate/no_turbo") == "0"


def kernel_frequency(cpu: int, root: Path = _ROOT) -> KernelFrequency | None:
    """The frequency of one CPU.

    Args:
        cpu: its number.
        root: where `proc` and `sys` lie; another tree in tests.
    """
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
    """The size of a line of a CPU's first data cache."""
    for index in sorted((root / f"sys/devices/system/cpu/cpu{cpu}/cache").glob("index*")):
        if _text(index / "level") == "1" and _text(index / "type") in ("Data", "Unified"):
            return _number(index / "coherency_line_size")
    return None


def clock_source(root: Path = _ROOT) -> str:
    """What the kernel's clock reads; empty where it does not say."""
    return _text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
