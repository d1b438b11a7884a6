"""Whole machines are made quiet and restored over SSH: releases of Debian with their kernel and systemd."""

import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.hosts.guests import Guest
from regatta.fleet.zipapp import zipapp_bytes

#: limits for a command and for a test, seconds: emulated on a machine with much other work
COMMAND_S = 3600
TEST_S = 7200
pytestmark = [pytest.mark.long, pytest.mark.timeout(TEST_S)]

ROOT = Path(__file__).parents[2]
REGATTA = Path(sys.executable).with_name("regatta")
#: CPU 1 measures.
PLACE = {"regatta_cpus": [1], "regatta_housekeeping_cpus": [0], "base_packages": []}
SWAP = (
    "fallocate -l 16M /swap; chmod 600 /swap; mkswap -q /swap; "
    "echo '/swap none swap sw,pri=7 0 0' >>/etc/fstab; swapon -a"
)
QUIET = {
    "/proc/sys/kernel/randomize_va_space": "0",
    "/proc/sys/kernel/soft_watchdog": "0",
    "/proc/sys/kernel/timer_migration": "0",
    "/proc/sys/vm/swappiness": "1",
    "/proc/irq/default_smp_affinity": "1",
    "/sys/devices/virtual/workqueue/cpumask": "1",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "/sys/fs/cgroup/system.slice/systemd-journald.service/cpuset.cpus": "0",
}
#: what two boots without Regatta differ in: the last process, and what the kernel computes from its memory
OF_THE_BOOT = {
    "/proc/sys/kernel/ns_last_pid",
    "/proc/sys/net/ipv4/inet_peer_threshold",
    "/proc/sys/vm/user_reserve_kbytes",
}
#: the commands by which Ansible makes a host quiet and restores it, without Ansible, which takes minutes
PROGRAM = "/root/regatta.pyz"
APPLY, RESTORE = (
    f"python3 -I {PROGRAM} quiet {verb} --state /var/lib/regatta/quiet"
    for verb in ("apply --cpus 1 --housekeeping 0", "restore")
)
#: CPUs that units of others may use -> while the host is quiet. A unit with no other CPU keeps the measured one.
OTHERS = {"0": "0", "1": "1", "0-1": "0"}


class Lab:
    """A guest, and the inventory that names it."""

    def __init__(self, guest: Guest, folder: Path) -> None:
        self.guest = guest
        self.inventory = folder / "hosts.yml"
        hosts = {guest.name: {**guest.inventory_entry(), **PLACE}}
        self.inventory.write_text(json.dumps({"all": {"children": {"lab": {"hosts": hosts}}}}))

    def quiesce(self, *words: str) -> str:
        """Run `regatta quiesce`; return what it prints."""
        done = subprocess.run(
            [REGATTA, "quiesce", self.guest.name, *words],
            cwd=ROOT,
            env={**os.environ, "REGATTA_INVENTORY": str(self.inventory)},
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def sets(self) -> dict[str, str]:
        """Return the CPUs of the units of others, as their groups have them."""
        return {cpus: self.guest.root(f"cat {unit_of(cpus)}/cpuset.cpus").strip() for cpus in OTHERS}


@pytest.fixture(scope="module")
def lab(whole_guest: Guest, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A guest with swap and the program. The tests of this file leave it as they found it."""
    whole_guest.root(SWAP)
    # Each test can be the first one, also those that apply without Ansible, which gives the folder to its user.
    whole_guest.root("install -d -o bench -g bench /var/lib/regatta")
    whole_guest.root(f"base64 -d >{PROGRAM}", program=b64encode(zipapp_bytes()).decode())
    return Lab(whole_guest, tmp_path_factory.mktemp("lab"))


def unit_of(cpus: str) -> str:
    """Return the group of the unit of others that may use these CPUs."""
    return f"/sys/fs/cgroup/system.slice/other-{cpus}.service"


@pytest.fixture
def others(lab: Lab) -> Iterator[None]:
    """Units that need cpusets, so that systemd has enabled them before the host is made quiet."""
    units = " ".join(Path(unit_of(cpus)).name for cpus in OTHERS)
    for cpus in OTHERS:
        lab.guest.root(
            f"systemd-run --quiet --unit=other-{cpus} --property=AllowedCPUs={cpus} sleep infinity"
        )
    yield
    lab.guest.root(f"systemctl stop {units}")


def differences(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> dict[str, object]:
    """Return what is set otherwise, and the processes of both that may use other CPUs."""
    places = (before["settings"].keys() | after["settings"].keys()) - OF_THE_BOOT
    both = before["processes"].keys() & after["processes"].keys()
    pairs = {place: (before["settings"].get(place), after["settings"].get(place)) for place in places}
    pairs |= {name: (before["processes"][name], after["processes"][name]) for name in both}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def test_it_is_quiet_and_restored_after_a_program_has_read_all_settings(lab: Lab) -> None:
    before = lab.guest.look()
    lab.quiesce()
    # It exits with an error, because some settings can only be written.
    assert "kernel.watchdog = " in lab.guest.root("sysctl -a 2>/dev/null || true")
    quiet = lab.guest.look()
    assert {place: quiet["settings"].get(place) for place in QUIET} == QUIET
    assert {"swap /swap", "unit fstrim.timer"} <= differences(before, quiet).keys()
    assert {cpus for name, cpus in quiet["processes"].items() if name.endswith(" kcompactd0")} == {"0"}
    lab.quiesce("--restore")
    assert differences(before, lab.guest.look()) == {}


def test_a_reboot_restores_all_and_the_command_says_so(lab: Lab, golden: Golden) -> None:
    before = lab.guest.look()
    lab.guest.root(APPLY)
    assert differences(before, lab.guest.look()) != {}
    lab.guest.reboot()
    assert differences(before, lab.guest.look()) == {}
    assert "  swappiness: /proc/sys/vm/swappiness: 60 -> 1\n" in lab.quiesce("--check")
    golden("rebooted", lab.quiesce("--restore").partition("\n")[2].strip())
    assert differences(before, lab.guest.look()) == {}


@pytest.mark.usefixtures("others")
def test_units_that_need_cpusets_have_theirs_after_the_restore(lab: Lab) -> None:
    before = lab.guest.look()
    assert lab.sets() == {cpus: cpus for cpus in OTHERS}
    lab.guest.root(APPLY)
    quiet = lab.guest.look()
    assert {place: quiet["settings"].get(place) for place in QUIET} == QUIET
    assert lab.sets() == OTHERS
    lab.guest.root(RESTORE)
    assert differences(before, lab.guest.look()) == {}
    assert lab.sets() == {cpus: cpus for cpus in OTHERS}
