"""What a host says of itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from regatta.answers.spine.facts import fingerprint_of
from regatta.answers.topics.memory.topic import Cache, caches_of
from regatta.host.facts import cache_text, host_class, local_facts


def cpu(root: Path, *caches: tuple[str, str, str, str]) -> Path:
    """The kernel's folder of a CPU with caches (level, type, size, line)."""
    for number, values in enumerate(caches):
        folder = root / "cache" / f"index{number}"
        folder.mkdir(parents=True)
        for name, value in zip(("level", "type", "size", "coherency_line_size"), values, strict=True):
            if value:
                (folder / name).write_text(f"{value}\n")
    return root


def test_caches_are_told_by_level_and_read_back_without_that_of_instructions(tmp_path: Path) -> None:
    root = cpu(
        tmp_path,
        ("3", "Unified", "36608K", "64"),
        ("1", "Data", "48K", "64"),
        ("1", "Instruction", "32K", "64"),
        ("2", "Unified", "2M", "64"),
    )
    text = cache_text(root)
    assert text.split(", ")[:4] == ["L1d 48 KiB", "L1i 32 KiB", "L2 2 MiB", "L3 36608 KiB"]
    assert text.endswith(", lines of 64 bytes")
    assert caches_of({"caches": text}) == [
        Cache("L1d", 48 << 10),
        Cache("L2", 2 << 20),
        Cache("L3", 36608 << 10),
    ]


@pytest.mark.parametrize("size", ["", "0K", "unknown", "K"])
def test_a_cache_whose_size_the_kernel_does_not_tell_is_left_out(tmp_path: Path, size: str) -> None:
    root = cpu(tmp_path, ("1", "Data", size, "64"), ("2", "Unified", "512K", ""))
    assert cache_text(root) == "L2 512 KiB"


def test_without_the_kernels_folder_there_is_nothing_to_tell(tmp_path: Path) -> None:
    assert cache_text(tmp_path / "none") == ""
    assert caches_of({}) == []
    assert caches_of({"caches": "none known"}) == []


@pytest.mark.parametrize("database", ["var/lib/dpkg/status", "lib/apk/db/installed", "var/lib/pacman/local"])
def test_a_host_says_when_its_packages_changed(tmp_path: Path, database: str) -> None:
    assert "packages" not in local_facts(tmp_path)
    path = tmp_path / database
    path.mkdir(parents=True)
    os.utime(path, (1_780_000_000.9, 1_780_000_000.9))
    assert local_facts(tmp_path)["packages"].split() == ["changed", "2026-05-28", "20:26:40", "UTC"]
    # The tools of another system, which are never used.
    other = tmp_path / "var/lib/rpm/Packages"
    other.mkdir(parents=True)
    os.utime(other, (1, 1))
    assert local_facts(tmp_path)["packages"].split()[1] == "2026-05-28"


def test_what_changes_without_another_machine_is_no_part_of_the_identity_of_a_host() -> None:
    facts = {"cpu": "a processor", "governor": "performance", "packages": "changed today"}
    assert fingerprint_of(facts) == "cpu a processor"


def test_caches_are_no_part_of_a_hosts_class() -> None:
    facts = local_facts()
    assert host_class(facts) == host_class({**facts, "caches": "L1d 1 KiB"})
