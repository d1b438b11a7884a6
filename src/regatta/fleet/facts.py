"""What this machine is."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from regatta.model.digest import digest_of

_SYS_CPU0 = Path("/sys/devices/system/cpu/cpu0")
_CACHE_SIZE = re.compile(r"(\d+)([KMG])")
_CACHE_KIB = {"K": 1, "M": 1024, "G": 1024 * 1024}
_CACHE_KINDS = {"Data": "d", "Instruction": "i"}


def _proc_value(path: str, key: str) -> str:
    try:
        for line in Path(path).read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    except OSError:
        pass
    return ""


def _os_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return platform.system()


def cache_text(root: Path = _SYS_CPU0) -> str:
    """The caches of the first CPU, `L1d 48 KiB, L1i 32 KiB, L2 1 MiB, L3 32 MiB, lines of 64 bytes`; "" where the kernel tells none.

    Args:
        root: the kernel's folder of that CPU.
    """
    found = []
    lines: list[int] = []
    for index in root.glob("cache/index*"):
        level, kind, size, line = (
            _text(index / name) for name in ("level", "type", "size", "coherency_line_size")
        )
        match = _CACHE_SIZE.fullmatch(size)
        # A virtual machine may show a cache without a size, or with one of 0.
        if match is None or not int(match[1]) or not level.isdecimal():
            continue
        kib = int(match[1]) * _CACHE_KIB[match[2]]
        text = f"{kib // 1024} MiB" if kib % 1024 == 0 else f"{kib} KiB"
        found.append((f"L{level}{_CACHE_KINDS.get(kind, '')}", text))
        lines += [int(line)] if line.isdecimal() and int(line) else []
    texts = [f"{name} {text}" for name, text in sorted(set(found))]
    return ", ".join([*texts, f"lines of {max(lines)} bytes"] if lines else texts)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def local_facts() -> dict[str, str]:
    """Facts for people: processor, CPUs, caches, memory, kernel, system, architecture, virtual machine or not."""
    memory_kib = _proc_value("/proc/meminfo", "MemTotal").split(" ")[0]
    flags = _proc_value("/proc/cpuinfo", "flags").split()
    caches = cache_text()
    return {
        "cpu": _proc_value("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cpus": str(os.cpu_count()),
        **({"caches": caches} if caches else {}),
        "memory": f"{int(memory_kib) / 2**20:.1f} GiB" if memory_kib.isdigit() else "unknown",
        "kernel": platform.release(),
        "os": _os_name(),
        "architecture": platform.machine(),
        "machine": "virtual machine" if "hypervisor" in flags else "bare metal or unknown",
    }


def host_class(facts: dict[str, str]) -> str:
    """Hash of what makes two hosts the same class of machine."""
    return digest_of([facts["architecture"], facts["cpu"], facts["cpus"]])
