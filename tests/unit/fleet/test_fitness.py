"""How fit a host is, and what of it changed since the last time."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.quiet_machines import AMD, ARM, INTEL, FakeKernel, Machine, build
from regatta.fleet.census import fitness, overall
from regatta.host.facts import arm_processor, changes, fingerprint, host_class, local_facts
from regatta.host.quiet.engine import KEYS, apply, status
from regatta.host.quiet.host import CPU
from regatta.host.quiet.state import StateFolder

_NEOVERSE = """processor\t: {cpu}
BogoMIPS\t: 243.75
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1
"""
_XEON = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz
microcode\t: 0x5003604
flags\t\t: fpu vme de
"""


#: what is told of it, together with the firmware and the kernel of the fixture
_XEON_FACTS = {
    "cpu": "Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz",
    "cpus": "8",
    "microcode": "0x5003604",
    "memory": "62.5 GiB",
    "kernel": "6.1.0-18-amd64",
    "firmware": "Dell Inc. 2.19.1 06/04/2023",
    "mitigations": "spectre_v2 Enhanced / Automatic IBRS, tsx_async_abort Vulnerable",
}


def put(root: Path, key: str, text: str) -> None:
    path = root / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def xeon(tmp_path: Path) -> Path:
    build(tmp_path, INTEL)
    put(tmp_path, "proc/cpuinfo", _XEON)
    put(tmp_path, "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
    put(tmp_path, "etc/os-release", 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
    for name, text in (("bios_vendor", "Dell Inc."), ("bios_version", "2.19.1"), ("bios_date", "06/04/2023")):
        put(tmp_path, f"sys/class/dmi/id/{name}", f"{text}\n")
    for name, text in (
        ("l1tf", "Not affected"),
        ("spectre_v2", "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling"),
        ("tsx_async_abort", "Vulnerable"),
    ):
        put(tmp_path, f"{CPU}/vulnerabilities/{name}", f"{text}\n")
    return tmp_path


def test_a_host_tells_its_parts_and_programs(xeon: Path) -> None:
    facts = local_facts(xeon)
    assert {name: facts[name] for name in fingerprint(facts)} == _XEON_FACTS
    assert facts["os"] == "Debian GNU/Linux 12 (bookworm)"
    assert facts["machine"] == "bare metal or unknown"


def test_an_arm_host_is_named_by_its_cores(tmp_path: Path) -> None:
    put(tmp_path, "proc/cpuinfo", "\n".join(_NEOVERSE.format(cpu=cpu) for cpu in range(4)))
    facts = local_facts(tmp_path)
    assert (facts["cpu"], facts["microcode"]) == ("ARM Neoverse-N1", "r3p1")


def test_an_arm_host_with_two_kinds_of_cores_names_both(tmp_path: Path) -> None:
    small = _NEOVERSE.replace("0xd0c", "0xd05").replace("0x3", "0x1")
    put(tmp_path, "proc/cpuinfo", f"{small}\n{_NEOVERSE}\n{small}")
    facts = local_facts(tmp_path)
    assert facts["cpu"] == "ARM Cortex-A55 + ARM Neoverse-N1"
    assert "microcode" not in facts


@pytest.mark.parametrize(
    ("implementer", "part", "name"),
    [
        ("0x41", "0xd4f", "ARM Neoverse-V2"),
        ("0xc0", "0xac3", "Ampere Ampere-1"),
        ("0x41", "0xfff", "ARM part 0xfff"),
        ("0x99", "0x001", "implementer 0x99 part 0x001"),
        ("", "", ""),
    ],
)
def test_a_core_that_is_not_known_keeps_its_numbers(implementer: str, part: str, name: str) -> None:
    assert arm_processor(implementer, part) == name


def test_a_host_made_quiet_is_still_the_same_host(xeon: Path, tmp_path: Path) -> None:
    before = local_facts(xeon)
    (tmp_path / "state").mkdir()
    apply(FakeKernel(xeon, INTEL), StateFolder(tmp_path / "state", KEYS))
    after = local_facts(xeon)
    assert host_class(after) == host_class(before)
    assert changes(fingerprint(before), fingerprint(after)) == []


def test_a_kernel_that_shows_nothing_leaves_the_facts_out(tmp_path: Path) -> None:
    facts = local_facts(tmp_path)
    assert not {"firmware", "microcode", "mitigations", "model", "caches"} & set(facts)
    assert facts["memory"] == "unknown"


def test_what_changed_is_said_in_sentences() -> None:
    before = {"cpu": "A", "kernel": "6.1.0-18", "microcode": "0x1", "jvm17": "17.0.9"}
    now = {"cpu": "A", "kernel": "6.1.0-21", "firmware": "1.2", "jvm17": "17.0.9"}
    assert changes(before, now) == [
        "kernel: 6.1.0-21, before 6.1.0-18",
        "microcode: undefined, before 0x1",
        "firmware: 1.2, before undefined",
    ]
    assert changes(now, now) == []


def asked(folder: Path, machine: Machine, quiet: bool) -> dict[str, object]:
    build(folder / "root", machine)
    (folder / "state").mkdir()
    kernel, state = FakeKernel(folder / "root", machine), StateFolder(folder / "state", KEYS)
    if quiet:
        apply(kernel, state)
    return status(FakeKernel(folder / "root", machine), state).to_json()


@pytest.mark.parametrize("machine", [INTEL, AMD, ARM], ids=lambda machine: machine.name)
def test_making_a_host_quiet_makes_it_fitter(tmp_path: Path, machine: Machine, golden: Golden) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    before = fitness({}, asked(tmp_path / "before", machine, quiet=False))
    after = fitness({}, asked(tmp_path / "after", machine, quiet=True))
    assert overall(before) == "poor"
    golden(f"noisy-{machine.name}", before[0][1])
    # What is left is told: a driver's interrupt, or a machine without systemd.
    assert overall(after) == "fair"
    assert not any("not quiet" in sentence for _, sentence in after)
    assert any(level == "good" and "governor" in sentence for level, sentence in after)


def test_what_is_not_available_says_what_that_does_to_measurements(tmp_path: Path, golden: Golden) -> None:
    machine = Machine(
        "bare", cores=((0,), (1,)), measured=(1,), files={"proc/sys/kernel/random/boot_id": "one"}
    )
    findings = fitness({"machine": "virtual machine", "cpus": "2"}, asked(tmp_path, machine, quiet=False))
    assert overall(findings) == "fair"
    golden("no_governor", "\n".join(sentence for _, sentence in findings if sentence.startswith("governor")))
    assert any("virtual machine" in sentence for _, sentence in findings)


def test_a_host_that_could_not_be_asked_is_no_good_one() -> None:
    assert overall(fitness({"cpus": "8"}, None)) == "fair"
    assert overall(fitness({"cpus": "1"}, None)) == "poor"
    assert overall(fitness({"cpus": "8", "machine": "emulated"}, None)) == "poor"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"knobs": 3},
        {"knobs": [None, {"name": 5, "state": ["x"], "places": [1], "told": "no", "level": "evil"}]},
    ],
)
def test_an_answer_of_another_kind_is_not_believed_and_not_fatal(answer: dict[str, object]) -> None:
    assert all(level in ("good", "fair", "poor") for level, _ in fitness({}, answer))
