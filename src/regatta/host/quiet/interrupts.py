"""Keep the kernel's own work off the measured CPUs: interrupts, work queues, threads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from regatta.host.processes import FLAGS, START, stat_fields, status_value
from regatta.host.quiet.host import QuietHost
from regatta.host.quiet.knob import Item, Knob, KnobState, of_cpus
from regatta.host.values.cpu_list import cpu_list_text, cpu_mask_text, parse_cpu_list, parse_cpu_mask

_PF_NO_SETAFFINITY = 0x04000000  # linux/sched.h
_PF_KTHREAD = 0x00200000
_DEFAULT = "proc/irq/default_smp_affinity"


class _Masks(Knob):
    """Files with sets of CPUs, as masks or lists; values are stored as lists."""

    def is_mask(self, key: str) -> bool:
        return True

    def get(self, host: QuietHost, key: str) -> str | None:
        text = host.read(key)
        if not text:
            return None
        try:
            return cpu_list_text(parse_cpu_mask(text) if self.is_mask(key) else parse_cpu_list(text))
        except ValueError:
            return None

    def put(self, host: QuietHost, key: str, value: str) -> None:
        host.write(key, cpu_mask_text(parse_cpu_list(value)) if self.is_mask(key) else value)

    def off_the_noisy(self, host: QuietHost, keys: list[str]) -> KnobState:
        """Return the files: sets that include noisy CPUs are to get the housekeeping CPUs, others stay unchanged."""
        wanted = {}
        for key in keys:
            now = self.get(host, key)
            if now is not None:
                touches = host.noisy.intersection(parse_cpu_list(now))
                wanted[key] = cpu_list_text(host.housekeeping) if touches else now
        return self.found_files(host, wanted)


class Interrupts(_Masks):
    """Device interrupts, and the default for new ones."""

    name = "interrupts"
    aim = "device interrupts on the housekeeping CPUs"
    effect = "disks and network interrupt measured processes"
    level = "fair"
    keys = re.compile(r"proc/irq/([0-9]+/smp_affinity_list|default_smp_affinity)")
    may_refuse = True

    def is_mask(self, key: str) -> bool:
        return key == _DEFAULT

    def describe(self, host: QuietHost, key: str) -> str:
        number = key.split("/")[2]
        if not number.isdigit():
            return f"/{key}"
        try:
            names = sorted(
                path.name for path in (host.root / f"proc/irq/{number}").iterdir() if path.is_dir()
            )
        except OSError:
            names = []
        return f"interrupt {number}" + (f" ({', '.join(names)})" if names else "")

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        return of_cpus(host) or self.off_the_noisy(
            host, [_DEFAULT, *host.find("proc/irq/[0-9]*/smp_affinity_list")]
        )


class WorkQueues(_Masks):
    """Unbound work queues of the kernel. Bound ones are left: they serve work that their CPU started."""

    name = "workqueues"
    aim = "unbound kernel work queues on the housekeeping CPUs"
    effect = "kernel work, such as writeback, may run on measured CPUs"
    level = "good"
    keys = re.compile(r"sys/devices/virtual/workqueue/([\w-]+/)?cpumask")

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        folder = "sys/devices/virtual/workqueue"
        return of_cpus(host) or self.off_the_noisy(
            host, [*host.find(f"{folder}/cpumask"), *host.find(f"{folder}/*/cpumask")]
        )


class KernelThreads(Knob):
    """Kernel threads that are not inherently bound to a CPU. A key is the thread's ID and start time."""

    name = "kernel_threads"
    aim = "movable kernel threads on the housekeeping CPUs"
    effect = "kernel threads may run on measured CPUs"
    level = "good"
    keys = re.compile(r"thread:[0-9]+:[0-9]+")
    may_refuse = True

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        nothing = of_cpus(host)
        if nothing:
            return nothing
        found, bound, any_thread = KnobState(), 0, False
        for pid, start, flags in _kernel_threads(host):
            any_thread = True
            key = f"thread:{pid}:{start}"
            now = self.get(host, key)
            if now is None:
                continue
            touches = bool(host.noisy.intersection(parse_cpu_list(now)))
            if flags & _PF_NO_SETAFFINITY:
                bound += touches
            else:
                found.items.append(Item(key, now, cpu_list_text(host.housekeeping) if touches else now))
        if not any_thread:
            found.missing = "kernel threads are not visible"
        elif bound:
            found.told.append(f"kernel threads that are bound to a CPU and stay: {bound}")
        return found

    def describe(self, host: QuietHost, key: str) -> str:
        pid = key.split(":")[1]
        return f"kernel thread {pid} ({host.read(f'proc/{pid}/comm') or 'gone'})"

    def get(self, host: QuietHost, key: str) -> str | None:
        _, pid, start = key.split(":")
        identity = _identity(host, pid)
        if identity is None or identity[0] != start:
            return None
        return allowed_cpus(host, pid)

    def put(self, host: QuietHost, key: str, value: str) -> None:
        host.set_affinity(int(key.split(":")[1]), parse_cpu_list(value))


def allowed_cpus(host: QuietHost, pid: str) -> str | None:
    """Return the CPUs that a task may use, as a list; None: it no longer exists."""
    cpus = status_value(pid, "Cpus_allowed_list", host.proc)
    return None if cpus is None else cpu_list_text(parse_cpu_list(cpus))


def is_kernel_thread(host: QuietHost, pid: str) -> bool:
    """Return whether a process is a kernel thread or no longer exists."""
    identity = _identity(host, pid)
    return identity is None or bool(identity[1] & _PF_KTHREAD)


def _identity(host: QuietHost, pid: str) -> tuple[str, int] | None:
    """Return (start in ticks since boot, flags) of a process; None: it no longer exists."""
    fields = stat_fields(pid, host.proc)
    return (fields[START], int(fields[FLAGS])) if len(fields) > START else None


def _kernel_threads(host: QuietHost) -> Iterator[tuple[str, str, int]]:
    """Yield (ID, start, flags) of each kernel thread."""
    for key in host.find("proc/[0-9]*"):
        pid = key.split("/")[1]
        identity = _identity(host, pid) if pid.isdigit() else None
        if identity is not None and identity[1] & _PF_KTHREAD:
            yield pid, *identity
