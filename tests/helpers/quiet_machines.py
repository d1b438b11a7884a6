"""Trees of /proc and /sys as an Intel, an AMD and an ARM machine have them, and a kernel that answers writes as Linux does.

All that the kernel knows is in the tree's files, so that it goes on where a killed process has left it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regatta.host.quiet.host import CPU, QuietHost
from regatta.host.values.cpu_list import cpu_list_text, parse_cpu_list, parse_cpu_mask

#: each unit that needs cpusets, and its slice
NEEDS_CPUSETS = "run/needs_cpusets"
WATCHDOG = "proc/sys/kernel/watchdog"
KTHREAD, BOUND, USER = 0x00200040, 0x04200040, 0x00400100


@dataclass(frozen=True)
class Machine:
    """A machine in tables."""

    name: str
    #: hardware threads of each core
    cores: tuple[tuple[int, ...], ...]
    measured: tuple[int, ...]
    files: dict[str, str]
    governors: str = ""
    governor: str = ""
    policy_boost: bool = False
    swaps: tuple[tuple[str, int], ...] = ()
    #: number -> (name, CPUs, refuses)
    irqs: dict[int, tuple[str, str, bool]] = field(default_factory=dict)
    #: number -> (name, flags, CPUs)
    tasks: dict[int, tuple[str, int, str]] = field(default_factory=dict)
    #: mount line, root folder, groups below it, group of this command
    cgroup: tuple[str, str, tuple[str, ...], str] = ("", "", (), "/")
    units: dict[str, str] = field(default_factory=dict)
    systemd: str = "v252.39-1~deb12u1"
    #: whether the kernel lets a group with processes have no set of CPUs: 6.18 does, 6.1 and 6.12 do not
    takes_empty_cpusets: bool = False

    @property
    def cpus(self) -> list[int]:
        return sorted(cpu for core in self.cores for cpu in core)


_THP = {
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never",
}
_KERNEL = {
    **_THP,
    "proc/sys/kernel/random/boot_id": "0f9a1d2e-1111-4c4c-8a8a-0123456789ab",
    "proc/sys/kernel/randomize_va_space": "2",
    "proc/sys/kernel/timer_migration": "1",
    "proc/sys/kernel/soft_watchdog": "1",
    "proc/sys/kernel/watchdog": "1",
    "proc/sys/vm/swappiness": "60",
    "proc/sys/vm/drop_caches": "0",
    "proc/meminfo": "MemTotal: 65536000 kB\nMemAvailable: 60000000 kB",
}
_V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0"
_TASKS = {
    1: ("systemd", USER, ""),
    15: ("ksoftirqd/3", BOUND, "3"),
    40: ("kcompactd0", KTHREAD, ""),
    41: ("khugepaged", KTHREAD, ""),
    700: ("cron", USER, ""),
    710: ("sshd", USER, ""),
    720: ("pinned", USER, "2-3"),
}

INTEL = Machine(
    "intel",
    cores=((0, 4), (1, 5), (2, 6), (3, 7)),
    measured=(2, 3),
    files={
        **_KERNEL,
        "proc/sys/kernel/nmi_watchdog": "1",
        f"{CPU}/intel_pstate/no_turbo": "0",
        f"{CPU}/intel_pstate/status": "active",
        f"{CPU}/smt/control": "on",
        "sys/devices/virtual/workqueue/cpumask": "ff",
        "sys/devices/virtual/workqueue/writeback/cpumask": "ff",
    },
    governors="performance powersave",
    governor="powersave",
    swaps=(("/dev/nvme0n1p3", -2), ("/swap file", 10)),
    irqs={
        16: ("i801_smbus", "0-7", False),
        120: ("nvme0q1", "2,6", True),
        121: ("eth0-rx-0", "3", False),
        122: ("xhci", "0", False),
    },
    tasks=_TASKS,
    cgroup=(
        _V2,
        "sys/fs/cgroup",
        (
            "init.scope",
            "system.slice",
            "system.slice/cron.service",
            "system.slice/slurmd.service",
            "user.slice",
            "user.slice/user-1000.slice",
            "user.slice/user-1000.slice/session-3.scope",
        ),
        "/user.slice/user-1000.slice/session-3.scope",
    ),
    units={"apt-daily.timer": "active", "fstrim.timer": "active", "man-db.timer": "inactive"},
)
AMD = Machine(
    "amd",
    cores=((0, 1), (2, 3), (4, 5), (6, 7)),
    measured=(4, 6),
    files={
        **_KERNEL,
        "proc/sys/kernel/nmi_watchdog": "1",
        f"{CPU}/cpufreq/boost": "1",
        f"{CPU}/smt/control": "on",
        "sys/devices/virtual/workqueue/cpumask": "ff",
    },
    governors="conservative ondemand userspace powersave performance schedutil",
    governor="schedutil",
    policy_boost=True,
    swaps=(("/dev/sda2", -2), ("/dev/sdb2", -3)),
    irqs={9: ("acpi", "0-7", False), 60: ("ahci", "4-5", False)},
    tasks=_TASKS,
    cgroup=(
        "cgroup /sys/fs/cgroup/cpuset cgroup rw,nosuid,nodev,noexec,relatime,cpuset 0 0",
        "sys/fs/cgroup/cpuset",
        ("docker", "machine.slice", "machine.slice/guest"),
        "/",
    ),
)
ARM = Machine(
    "arm",
    cores=((0,), (1,), (2,), (3,)),
    measured=(1, 2, 3),
    files={**_KERNEL, f"{CPU}/cpufreq/boost": "0", "sys/devices/virtual/workqueue/cpumask": "f"},
    governors="ondemand performance",
    governor="ondemand",
    irqs={11: ("arch_timer", "0-3", True), 43: ("mmc0", "0-3", False)},
    tasks={**_TASKS, 720: ("pinned", USER, "1")},
    cgroup=(_V2, "sys/fs/cgroup", ("system.slice", "system.slice/ssh.service"), "/system.slice/ssh.service"),
)
MACHINES = {machine.name: machine for machine in (INTEL, AMD, ARM)}


def build(root: Path, machine: Machine) -> None:
    """Write the machine's tree."""

    def put(key: str, text: str) -> None:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")

    everything = cpu_list_text(machine.cpus)
    for key, text in machine.files.items():
        put(key, text)
    for name in ("present", "possible", "online"):
        put(f"{CPU}/{name}", everything)
    for core in machine.cores:
        for cpu in core:
            put(f"{CPU}/cpu{cpu}/topology/thread_siblings_list", ",".join(map(str, core)))
            if cpu or machine is ARM:
                put(f"{CPU}/cpu{cpu}/online", "1")
            if machine.governors:
                put(f"{CPU}/cpufreq/policy{cpu}/scaling_available_governors", machine.governors)
                put(f"{CPU}/cpufreq/policy{cpu}/scaling_governor", machine.governor)
            if machine.policy_boost:
                put(f"{CPU}/cpufreq/policy{cpu}/boost", "1")
    _write_swaps(root, machine.swaps)
    put("proc/irq/default_smp_affinity", f"{sum(1 << cpu for cpu in machine.cpus):x}")
    for number, (name, cpus, _) in machine.irqs.items():
        put(f"proc/irq/{number}/smp_affinity_list", cpus)
        (root / f"proc/irq/{number}/{name}").mkdir()
    for pid, (name, flags, cpus) in machine.tasks.items():
        put(f"proc/{pid}/comm", name)
        put(
            f"proc/{pid}/stat",
            f"{pid} ({name}) S 1 0 0 0 -1 {flags} " + "0 " * 12 + f"{1000 + pid} 0",
        )
        put(f"proc/{pid}/status", f"Name:\t{name}\nCpus_allowed_list:\t{cpus or everything}")
    mount, base, groups, own = machine.cgroup
    put("proc/self/mounts", "sysfs /sys sysfs rw 0 0\n" + mount)
    put("proc/self/cgroup", f"0::{own}")
    _make_group(root / base, machine, everything)
    (root / base / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in machine.tasks))
    for group in groups:
        _make_group(root / base / group, machine, "0-3" if group.startswith("machine") else everything)
    if machine.units:
        put("run/systemd/system/.keep", "")
        put(NEEDS_CPUSETS, "")
        put("run/units", "\n".join(f"{name} {state}" for name, state in machine.units.items()))


def _write_swaps(root: Path, areas: Sequence[tuple[str, int]]) -> None:
    lines = ["Filename\tType\tSize\tUsed\tPriority"]
    lines += [
        f"{path.replace(' ', chr(92) + '040')} file 1048572 2048 {priority}" for path, priority in areas
    ]
    (root / "proc/swaps").write_text("\n".join(lines) + "\n")


def _is_v2(machine: Machine) -> bool:
    return machine.cgroup[0].startswith("cgroup2")


def _make_group(folder: Path, machine: Machine, cpus: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").write_text("")
    if _is_v2(machine):
        (folder / "cgroup.controllers").write_text("cpuset cpu memory\n")
        (folder / "cgroup.subtree_control").write_text("cpu memory\n")
    else:
        (folder / "cpuset.cpus").write_text(f"{cpus}\n")
        (folder / "cpuset.mems").write_text("0\n")


class FakeKernel(QuietHost):
    """Answers as Linux does. `tick` is called before and after each change of the host, with its kind."""

    def __init__(
        self,
        root: Path,
        machine: Machine,
        isolate: bool = False,
        tick: Callable[[str], None] = lambda kind: None,
    ) -> None:
        self.machine = machine
        self.tick = tick
        self.writes = 0
        super().__init__(root, machine.measured, isolate=isolate)

    def read(self, key: str) -> str | None:
        if key == WATCHDOG and (self.root / key).exists() and not self._watches():
            # The kernel stores what it answers.
            (self.root / key).write_text("0\n")
        return super().read(key)

    def _watches(self) -> bool:
        return any(
            super(FakeKernel, self).read(f"proc/sys/kernel/{name}") == "1"
            for name in ("soft_watchdog", "nmi_watchdog")
        )

    def _watchdog(self, path: Path, text: str) -> None:
        if text == "0" or (self.root / WATCHDOG).read_text().strip() == "1":
            path.write_text(f"{text}\n")

    def write(self, key: str, text: str) -> None:
        self.tick(key.rpartition("/")[2])
        self.writes += 1
        path = self.root / key
        if not path.is_file():
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        special = {
            "enabled": self._choose,
            "defrag": self._choose,
            "online": self._hotplug,
            "smp_affinity_list": self._route,
            "default_smp_affinity": self._mask,
            "cpumask": self._mask,
            "boost": self._boost,
            "cgroup.subtree_control": self._control,
            "cgroup.procs": self._move,
            "cpuset.cpus": self._cpuset,
            "soft_watchdog": self._watchdog,
            "nmi_watchdog": self._watchdog,
        }.get(path.name)
        if special:
            special(path, text)
        else:
            path.write_text(f"{text}\n")
        self.tick(key.rpartition("/")[2])

    def _choose(self, path: Path, text: str) -> None:
        words = path.read_text().replace("[", "").replace("]", "").split()
        if text not in words:
            raise OSError(errno.EINVAL, "Invalid argument")
        path.write_text(" ".join(f"[{word}]" if word == text else word for word in words) + "\n")

    def _hotplug(self, path: Path, text: str) -> None:
        cpu = path.parent.name[3:]
        policy = self.root / f"{CPU}/cpufreq/policy{cpu}"
        away = self.root / f"away/{cpu}"
        online = set(parse_cpu_list(self.read(f"{CPU}/online") or ""))
        if text == "0":
            away.mkdir(parents=True, exist_ok=True)
            for folder in (path.parent / "topology", policy):
                if folder.exists():
                    folder.rename(away / folder.name)
            online.discard(int(cpu))
        else:
            if (away / "topology").exists():
                (away / "topology").rename(path.parent / "topology")
            if (away / policy.name).exists():
                (away / policy.name).rename(policy)
            online.add(int(cpu))
        path.write_text(f"{text}\n")
        (self.root / f"{CPU}/online").write_text(cpu_list_text(online) + "\n")

    def _route(self, path: Path, text: str) -> None:
        if self.machine.irqs[int(path.parent.name)][2]:
            raise OSError(errno.EIO, "Input/output error")
        path.write_text(f"{text}\n")

    def _mask(self, path: Path, text: str) -> None:
        width = len(path.read_text().strip())
        path.write_text(f"{sum(1 << cpu for cpu in parse_cpu_mask(text)):0{width}x}\n")

    def _boost(self, path: Path, text: str) -> None:
        if path.parent.name == "cpufreq":
            for own in path.parent.glob("policy*/boost"):
                own.write_text(f"{text}\n")
        elif (path.parent.parent / "boost").read_text().strip() == "0" and text == "1":
            raise OSError(errno.EINVAL, "Invalid argument")
        path.write_text(f"{text}\n")

    def _control(self, path: Path, text: str) -> None:
        words = path.read_text().split()
        if (text == "+cpuset") == ("cpuset" in words):
            return
        children = [child for child in path.parent.iterdir() if child.is_dir()]
        if text == "+cpuset":
            if path.parent != self.root / "sys/fs/cgroup" and not (path.parent / "cpuset.cpus").exists():
                raise OSError(errno.ENOENT, "No such file or directory")
            words.append("cpuset")
            for child in children:
                (child / "cpuset.cpus").write_text("\n")
                (child / "cpuset.cpus.partition").write_text("member\n")
        else:
            if any("cpuset" in (child / "cgroup.subtree_control").read_text() for child in children):
                raise OSError(errno.EBUSY, "Device or resource busy")
            words.remove("cpuset")
            for child in children:
                (child / "cpuset.cpus").unlink()
                (child / "cpuset.cpus.partition").unlink()
        path.write_text(" ".join(words) + "\n")

    def _move(self, path: Path, pid: str) -> None:
        base = self.root / self.machine.cgroup[1]
        for procs in base.rglob("cgroup.procs"):
            members = procs.read_text().split()
            if pid in members:
                members.remove(pid)
                procs.write_text("".join(f"{member}\n" for member in members))
        members = [*path.read_text().split(), pid]
        path.write_text("".join(f"{member}\n" for member in sorted(members, key=int)))

    def _cpuset(self, path: Path, text: str) -> None:
        cpus = set(parse_cpu_list(text))
        if not _is_v2(self.machine):
            above = path.parent.parent / "cpuset.cpus"
            if not cpus <= set(parse_cpu_list(above.read_text())):
                raise OSError(errno.EACCES, "Permission denied")
            if any(not set(parse_cpu_list(c.read_text())) <= cpus for c in path.parent.glob("*/cpuset.cpus")):
                raise OSError(errno.EBUSY, "Device or resource busy")
        elif not cpus and path.read_text().strip() and not self.machine.takes_empty_cpusets:
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_text(f"{text}\n")

    def make_folder(self, key: str) -> None:
        self.tick("mkdir")
        self.writes += 1
        path = self.root / key
        if not path.is_dir():
            _make_group(path, self.machine, "")
            if not _is_v2(self.machine):
                (path / "cpuset.mems").write_text("\n")
            elif "cpuset" in (path.parent / "cgroup.subtree_control").read_text():
                (path / "cpuset.cpus").write_text("\n")
                (path / "cpuset.cpus.partition").write_text("member\n")
        self.tick("mkdir")

    def remove_folder(self, key: str) -> None:
        self.tick("rmdir")
        self.writes += 1
        if (self.root / key / "cgroup.procs").read_text().strip():
            raise OSError(errno.EBUSY, "Device or resource busy")
        shutil.rmtree(self.root / key)
        self.tick("rmdir")

    def set_affinity(self, pid: int, cpus: Sequence[int]) -> None:
        self.tick("affinity")
        self.writes += 1
        path = self.root / f"proc/{pid}/status"
        name = path.read_text().splitlines()[0]
        path.write_text(f"{name}\nCpus_allowed_list:\t{cpu_list_text(cpus)}\n")
        self.tick("affinity")

    def has_program(self, name: str) -> bool:
        if name in ("systemctl", "systemd-run"):
            return bool(self.machine.units)
        return name in ("swapoff", "swapon")

    def run(self, argv: Sequence[str]) -> str:
        if list(argv[:2]) == ["systemctl", "show"]:
            if argv[2] == "--property=Version":
                return f"Version={self.machine.systemd}\n"
            return self._show_units(argv[3:])
        self.tick(argv[0])
        self.writes += 1
        if argv[0] == "systemd-run":
            unit, group = (word.partition("=")[2] for word in argv[2:4])
            self._write(NEEDS_CPUSETS, {**self._lines(NEEDS_CPUSETS), unit: group})
            for folder in reversed([self._slice(group), *self._slice(group).parents]):
                control = folder / "cgroup.subtree_control"
                if control.exists() and "cpuset" not in control.read_text():
                    self._control(control, "+cpuset")
        elif argv[:2] == ["systemctl", "stop"] and argv[2] in self._lines(NEEDS_CPUSETS):
            needs = self._lines(NEEDS_CPUSETS)
            del needs[argv[2]]
            self._write(NEEDS_CPUSETS, needs)
            self.log_in()
        elif argv[0] == "systemctl":
            state = {"stop": "inactive", "start": "active"}[argv[1]]
            self._write("run/units", {**self._lines("run/units"), argv[2]: state})
        else:
            self._swap(argv)
        self.tick(argv[0])
        return ""

    def log_in(self) -> None:
        """A user logs in, and systemd disables the controllers that no unit needs."""
        base = self.root / self.machine.cgroup[1]
        needed = [self._slice(group) for group in self._lines(NEEDS_CPUSETS).values()]
        for control in sorted(base.rglob("cgroup.subtree_control"), key=lambda path: -len(path.parts)):
            if not any(folder.is_relative_to(control.parent) for folder in needed):
                with contextlib.suppress(OSError):
                    self._control(control, "-cpuset")

    def _slice(self, name: str) -> Path:
        base = self.root / self.machine.cgroup[1]
        return base if name == "-.slice" else next(base.rglob(name))

    def _write(self, key: str, lines: dict[str, str]) -> None:
        (self.root / key).write_text("".join(f"{name} {word}\n" for name, word in lines.items()))

    def _lines(self, key: str) -> dict[str, str]:
        return dict(line.split() for line in (self.read(key) or "").splitlines())

    def _show_units(self, names: Sequence[str]) -> str:
        units = {**self._lines("run/units"), **dict.fromkeys(self._lines(NEEDS_CPUSETS), "active")}
        return "\n\n".join(
            f"Id={name}\nLoadState={'loaded' if name in units else 'not-found'}\nActiveState={units.get(name, 'inactive')}"
            for name in names
        )

    def _swap(self, argv: Sequence[str]) -> None:
        lines = (self.root / "proc/swaps").read_text().splitlines()[1:]
        areas = [
            (line.split()[0].replace("\\040", " "), int(line.split()[-1])) for line in lines if line.strip()
        ]
        path = argv[-1]
        if argv[0] == "swapoff":
            gone = dict(areas)[path]
            # Linux closes the gap that an area with a priority of its own choice leaves.
            areas = [(p, n + 1 if gone < 0 and n < gone else n) for p, n in areas if p != path]
        else:
            lowest = min([n for _, n in areas if n < 0], default=-1)
            areas.append((path, int(argv[2]) if "-p" in argv else lowest - 1))
        _write_swaps(self.root, areas)


def snapshot(root: Path) -> dict[str, str]:
    """Everything in the tree, in a form in which equal settings are equal."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            text = path.read_text()
            if name == "swaps" or name == "units":
                text = "\n".join(sorted(text.splitlines()))
            elif name in ("cgroup.procs", "cgroup.subtree_control"):
                text = " ".join(sorted(text.split()))
            found[str(path.relative_to(root))] = text.strip()
    found.pop("proc/sys/vm/drop_caches", None)
    return found
