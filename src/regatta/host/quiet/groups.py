"""Keep services and other users' processes off the measured CPUs with control groups.

Version 2: the groups of services get the housekeeping CPUs. With isolation, the measured CPUs instead become an exclusive
partition. Version 1: processes of the root cpuset move to a cpuset that Regatta creates.

Groups from which measurements may start keep all CPUs: the group of this command, those of logged-in users, of Slurm and
of Docker.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from regatta.host.cgroup_mounts import mounts, paths_of
from regatta.host.processes import PARENT, stat_fields
from regatta.host.quiet.host import CPU, QuietHost
from regatta.host.quiet.interrupts import allowed_cpus, is_kernel_thread
from regatta.host.quiet.knob import Item, Knob, KnobState, of_cpus
from regatta.host.quiet.units import unit_states
from regatta.host.values.cpu_list import cpu_list_text, parse_cpu_list

#: groups (on version 1: programs) from which measurements may start
SPARED = ("user.slice", "ssh*", "slurm*", "docker*", "containerd*")
_DEEPEST = 3

_CPUS = "cpuset.cpus"
_CONTROL = "cgroup.subtree_control"
_PARTITION = "regatta-measured"
_OTHERS = "regatta-others"
_ABSENT = "absent"
_ACTIVE = "active"
_ALL = "all"
#: the first version of systemd that enables and disables the controller of cpusets
_CPUSETS_SINCE = 244
_VERSION = re.compile(r"Version=\D?(\d+)")
#: kinds of keys in the order of restoring, after the others. While a unit needs cpusets, systemd may enable
#: the controller. Without the controller, a group has no set of CPUs. Some kernels (6.1, 6.12) refuse to
#: remove the set of a group with processes in any other way.
_RESTORED_LAST = ("hold", "enable", "cpus")


class Services(Knob):
    """Keys: `enable:FOLDER` (the controller for its children), `cpus:FOLDER`, `partition:FOLDER`, `others:FOLDER`.

    `hold:FOLDER` is a unit that needs cpusets in a slice of systemd. Without such a unit, systemd disables the controller
    at the next login, and all groups lose their sets.
    """

    name = "services"
    aim = "services on the housekeeping CPUs"
    effect = "the scheduler may run other processes on measured CPUs"
    level = "fair"
    keys = re.compile(r"(hold|enable|cpus|partition|others):(?!.*\.\.)[^/].*")

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        nothing = of_cpus(host)
        if nothing:
            return nothing
        mounts = _mounts(host)
        own = _own_path(host)
        for version, folder in mounts:
            if version == 2 and "cpuset" not in (host.read(f"{folder}/cgroup.controllers") or "").split():
                continue
            reason = host.why_fixed(f"{folder}/cgroup.procs")
            if reason:
                return KnobState(missing=reason)
            return self._version_2(host, folder, own) if version == 2 else self._version_1(host, folder)
        return KnobState(missing="no control groups with cpusets are mounted")

    def _version_2(self, host: QuietHost, base: str, own: PurePosixPath) -> KnobState:
        found, holds = KnobState(), _systemd_has_cpusets(host)
        if host.isolate:
            partition = {f"partition:{base}/{_PARTITION}": f"isolated {cpu_list_text(host.measured)}"}
            found.items = self._items(host, {**_enabled(base, base, holds), **partition})
            return found
        wanted: dict[str, str] = {}
        for group in _confined(host, base, base, own, found.told):
            for above in reversed(PurePosixPath(group).relative_to(base).parents):
                wanted |= _enabled(base, str(PurePosixPath(base) / above), holds)
            if self.is_restored(host, self.get(host, f"cpus:{group}"), _ALL):
                wanted[f"cpus:{group}"] = cpu_list_text(host.housekeeping)
            else:
                wanted[f"cpus:{group}"] = self._confined_to(host, f"cpus:{group}", found.told)
        found.items = self._items(host, wanted)
        if not found.items:
            found.told.append("no group of services to confine")
        return found

    def _version_1(self, host: QuietHost, base: str) -> KnobState:
        found = KnobState()
        if host.isolate:
            found.told.append("no partition, because it needs cgroup v2; services are confined instead")
        wanted = {}
        for group in sorted(_descendants(host, base), key=lambda key: -key.count("/")):
            relative = PurePosixPath(group).relative_to(base)
            ours_or_spared = relative.parts[0] == _OTHERS or any(map(_is_spared, relative.parts))
            if not ours_or_spared and self.get(host, f"cpus:{group}") != _ALL:
                wanted[f"cpus:{group}"] = self._confined_to(host, f"cpus:{group}", found.told)
        wanted[f"others:{base}/{_OTHERS}"] = cpu_list_text(host.housekeeping)
        found.items = self._items(host, wanted)
        return found

    def _confined_to(self, host: QuietHost, key: str, told: list[str]) -> str:
        """Return the wanted CPUs of a group: its own without the noisy ones. A group with only noisy CPUs keeps them."""
        now = self.get(host, key) or ""
        rest = set(parse_cpu_list(now)) - host.noisy
        if not rest:
            told.append(f"/{key.partition(':')[2]} keeps CPU {now}, its only CPU")
        return cpu_list_text(rest) or now

    def _items(self, host: QuietHost, wanted: Mapping[str, str]) -> list[Item]:
        return [Item(key, self.get(host, key) or _ABSENT, value) for key, value in wanted.items()]

    def get(self, host: QuietHost, key: str) -> str | None:
        kind, _, folder = key.partition(":")
        if kind == "partition":
            return _partition_state(host, folder)
        if kind == "others":
            cpus = host.read(f"{folder}/{_CPUS}")
            return _ABSENT if cpus is None else cpu_list_text(parse_cpu_list(cpus))
        if kind == "hold":
            unit = _holder(host, folder)
            return _ACTIVE if unit_states(host, [unit]).get(unit) == "active" else _ABSENT
        if not (host.root / folder).is_dir():
            return None
        if kind == "enable":
            return "yes" if "cpuset" in (host.read(f"{folder}/{_CONTROL}") or "").split() else "no"
        return cpu_list_text(parse_cpu_list(host.read(f"{folder}/{_CPUS}") or "")) or _ALL

    def describe(self, host: QuietHost, key: str) -> str:
        kind, _, folder = key.partition(":")
        if kind == "hold":
            return _holder(host, folder)
        return f"/{folder}" + (" (cpusets of its groups)" if kind == "enable" else "")

    def put(self, host: QuietHost, key: str, value: str) -> None:
        kind, _, folder = key.partition(":")
        if kind == "hold":
            _hold(host, folder, value == _ACTIVE)
        elif kind == "enable":
            host.write(f"{folder}/{_CONTROL}", "+cpuset" if value == "yes" else "-cpuset")
        elif kind == "cpus" and value == _ALL:
            _confine_no_longer(host, f"{folder}/{_CPUS}")
        elif kind == "cpus":
            host.write(f"{folder}/{_CPUS}", value)
        elif value == _ABSENT:
            _remove_group(host, folder)
        elif kind == "partition":
            host.make_folder(folder)
            host.write(f"{folder}/{_CPUS}", value.partition(" ")[2])
            host.write(f"{folder}/cpuset.cpus.partition", "isolated")
        else:
            host.make_folder(folder)
            base = str(PurePosixPath(folder).parent)
            host.write(f"{folder}/cpuset.mems", host.read(f"{base}/cpuset.mems") or "0")
            host.write(f"{folder}/{_CPUS}", value)

    def restore_order(self, keys: Sequence[str]) -> list[str]:
        def place(key: str) -> int:
            kind = key.partition(":")[0]
            return _RESTORED_LAST.index(kind) if kind in _RESTORED_LAST else -1

        return sorted(super().restore_order(keys), key=place)

    def is_restored(self, host: QuietHost, now: str | None, value: str) -> bool:
        return now == value or (value == _ALL and now == _every_cpu(host))

    def after_setting(self, host: QuietHost) -> list[str]:
        """Version 1: move processes of the root cpuset into Regatta's, except those from which measurements may start."""
        for version, base in _mounts(host):
            folder = f"{base}/{_OTHERS}"
            if version == 1 and (host.root / folder).is_dir():
                return _move_processes(host, base, folder)
        return []


def partition_entry(root: QuietHost) -> str | None:
    """Return the file through which a process enters the partition of the measured CPUs; None: no partition exists."""
    for version, base in _mounts(root):
        folder = f"{base}/{_PARTITION}"
        if version == 2 and _partition_state(root, folder) not in (None, _ABSENT):
            return f"{folder}/cgroup.procs"
    return None


def _confine_no_longer(host: QuietHost, key: str) -> None:
    """Remove the limit of a group. A kernel that requires a set for a group with processes gets the set of all CPUs."""
    try:
        host.write(key, "")
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        host.write(key, _every_cpu(host))


def _every_cpu(host: QuietHost) -> str:
    """Return all CPUs that can ever be online: as the set of a group they limit nothing, also after CPUs are added."""
    return cpu_list_text(parse_cpu_list(host.read(f"{CPU}/possible") or ""))


def _systemd_has_cpusets(host: QuietHost) -> bool:
    """Return whether systemd runs here, and disables controllers of cpusets that no unit needs."""
    if not (host.has_program("systemd-run") and host.has_program("systemctl")):
        return False
    try:
        found = _VERSION.match(host.run(["systemctl", "show", "--property=Version"]))
    except OSError:
        return False
    return found is not None and int(found[1]) >= _CPUSETS_SINCE


def _enabled(base: str, folder: str, holds: bool) -> dict[str, str]:
    """Return the wanted values that give the children of a group cpusets. `holds`: systemd could disable them."""
    is_slice = all(part.endswith(".slice") for part in PurePosixPath(folder).relative_to(base).parts)
    return {**({f"hold:{folder}": _ACTIVE} if holds and is_slice else {}), f"enable:{folder}": "yes"}


def _slice(host: QuietHost, folder: str) -> str:
    return "-.slice" if (2, folder) in _mounts(host) else PurePosixPath(folder).name


def _holder(host: QuietHost, folder: str) -> str:
    return f"regatta-cpusets-{_slice(host, folder)}.service"


def _hold(host: QuietHost, folder: str, held: bool) -> None:
    """Start or stop the unit that needs cpusets in a slice. Raises OSError: systemd refuses."""
    unit = _holder(host, folder)
    if not held:
        host.run(["systemctl", "stop", unit])
        return
    properties = (f"AllowedCPUs={cpu_list_text(host.housekeeping)}", "Type=oneshot", "RemainAfterExit=yes")
    options = [f"--property={text}" for text in properties]
    name = f"--slice={_slice(host, folder)}"
    host.run(["systemd-run", "--quiet", f"--unit={unit}", name, "--collect", *options, "true"])


def _partition_state(host: QuietHost, folder: str) -> str | None:
    state = host.read(f"{folder}/cpuset.cpus.partition")
    if state is None:
        return _ABSENT if not (host.root / folder).is_dir() else "member"
    cpus = cpu_list_text(parse_cpu_list(host.read(f"{folder}/{_CPUS}") or ""))
    return f"{state} {cpus}"


def _remove_group(host: QuietHost, folder: str) -> None:
    """Move the group's processes to its parent group, and remove the group."""
    if not (host.root / folder).is_dir():
        return
    if host.read(f"{folder}/cpuset.cpus.partition") not in (None, "member"):
        host.write(f"{folder}/cpuset.cpus.partition", "member")
    above = f"{PurePosixPath(folder).parent}/cgroup.procs"
    for _ in range(100):
        members = (host.read(f"{folder}/cgroup.procs") or "").split()
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                host.write(above, pid)
        if not members:
            break
    host.remove_folder(folder)


def _move_processes(host: QuietHost, base: str, folder: str) -> list[str]:
    spared = _ancestors(host) | {"1"}
    everywhere = cpu_list_text(parse_cpu_list(host.read(f"{base}/{_CPUS}") or ""))
    kept: list[str] = []
    for pid in (host.read(f"{base}/cgroup.procs") or "").split():
        if pid in spared or is_kernel_thread(host, pid):
            continue
        allowed, name = allowed_cpus(host, pid), host.read(f"proc/{pid}/comm") or ""
        if allowed is None or not host.noisy.intersection(parse_cpu_list(allowed)):
            continue
        # On older kernels, the move would permanently discard an affinity that the process chose itself.
        if _is_spared(name) or allowed != everywhere:
            kept.append(name)
            continue
        try:
            host.write(f"{base}/{_OTHERS}/cgroup.procs", pid)
        except OSError as error:
            if error.errno != errno.ESRCH:
                kept.append(name)
    return [f"processes that may still use measured CPUs: {', '.join(sorted(set(kept)))}"] if kept else []


def _ancestors(host: QuietHost) -> set[str]:
    """Return this process and its ancestors except the first: measurements may start from similar processes."""
    found: set[str] = set()
    pid = str(os.getpid())
    while pid not in found and pid not in ("0", "1"):
        found.add(pid)
        fields = stat_fields(pid, host.proc)
        pid = fields[PARENT] if len(fields) > PARENT else "0"
    return found


def _mounts(host: QuietHost) -> list[tuple[int, str]]:
    """Return (version, folder as a key) of the hierarchies that may have cpusets, version 2 first."""
    found = [
        (2 if kind == "cgroup2" else 1, point.lstrip("/"))
        for kind, point, options in mounts(host.proc)
        if kind == "cgroup2" or "cpuset" in options
    ]
    return sorted(found, reverse=True)


def _own_path(host: QuietHost) -> PurePosixPath:
    """Return this process's group of version 2, as a path below its mount."""
    return PurePosixPath(paths_of("self", host.proc).get("", "").lstrip("/"))


def _is_spared(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in SPARED)


def _children(host: QuietHost, folder: str) -> list[str]:
    try:
        names = sorted(path.name for path in (host.root / folder).iterdir() if path.is_dir())
    except OSError:
        return []
    return [f"{folder}/{name}" for name in names]


def _descendants(host: QuietHost, folder: str) -> Iterator[str]:
    for child in _children(host, folder):
        yield child
        yield from _descendants(host, child)


def _confined(
    host: QuietHost, base: str, folder: str, own: PurePosixPath, told: list[str], depth: int = 1
) -> Iterator[str]:
    """Yield the groups to confine: the topmost ones that contain no spared group."""
    for child in _children(host, folder):
        relative = PurePosixPath(child).relative_to(base)
        if relative.name == _PARTITION:
            continue
        if _is_spared(relative.name) or relative == own:
            told.append(f"{relative} keeps all CPUs, because it may start measurements")
        elif relative in own.parents or (depth < _DEEPEST and _holds_spared(host, child, depth)):
            yield from _confined(host, base, child, own, told, depth + 1)
        else:
            yield child


def _holds_spared(host: QuietHost, folder: str, depth: int) -> bool:
    return any(
        _is_spared(PurePosixPath(child).name)
        or (depth + 1 < _DEEPEST and _holds_spared(host, child, depth + 1))
        for child in _children(host, folder)
    )
