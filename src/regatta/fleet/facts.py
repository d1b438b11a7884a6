"""What this machine is."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from regatta.planner.cells import digest_of


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


def local_facts() -> dict[str, str]:
    """Facts for people: processor, CPUs, memory, kernel, system, architecture, virtual machine or not."""
    memory_kib = _proc_value("/proc/meminfo", "MemTotal").split(" ")[0]
    flags = _proc_value("/proc/cpuinfo", "flags").split()
    return {
        "cpu": _proc_value("/proc/cpuinfo", "model name") or platform.processor() or platform.machine(),
        "cpus": str(os.cpu_count()),
        "memory": f"{int(memory_kib) / 2**20:.1f} GiB" if memory_kib.isdigit() else "unknown",
        "kernel": platform.release(),
        "os": _os_name(),
        "architecture": platform.machine(),
        "machine": "virtual machine" if "hypervisor" in flags else "bare metal or unknown",
    }


def host_class(facts: dict[str, str]) -> str:
    """Hash of what makes two hosts the same class of machine."""
    return digest_of([facts["architecture"], facts["cpu"], facts["cpus"]])
