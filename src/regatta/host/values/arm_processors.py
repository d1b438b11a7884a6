"""Names of ARM processors. The kernel reports only their numbers. Standard library only, because the zipapp carries it.

Source: the register MIDR_EL1 in Arm's reference manuals of the cores, and the kernel's arch/arm64/include/asm/cputype.h.
"""

from __future__ import annotations

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


def arm_processor(implementer: str, part: str) -> str:
    """Return the name of a core.

    Args:
        implementer, part: as in /proc/cpuinfo, such as 0x41 and 0xd0c.

    Returns:
        The name, such as `ARM Neoverse-N1`. An unknown core is named by its numbers. "" for invalid numbers.
    """
    try:
        maker, core = int(implementer, 16), int(part, 16)
    except ValueError:
        return ""
    return (
        f"{_MAKERS.get(maker, f'implementer {maker:#04x}')} {_CORES.get((maker, core), f'part {core:#05x}')}"
    )
