"""Frequency, boost and hardware threads of the processor."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from regatta.host.quiet.host import CPU, QuietHost
from regatta.host.quiet.knob import Item, Knob, KnobState
from regatta.host.values.cpu_list import cpu_list_text

_POLICY = rf"{CPU}/cpufreq/policy[0-9]+"


class Governor(Knob):
    """The frequency governor of every policy, including housekeeping CPUs: they share caches and the power budget."""

    name = "governor"
    aim = "the `performance` governor on every CPU"
    effect = "the frequency follows the load or a hypervisor, so equal work takes different times"
    level = "poor"
    keys = re.compile(rf"{_POLICY}/scaling_governor")

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        wanted, told = {}, []
        for key in host.find(f"{CPU}/cpufreq/policy*/scaling_governor"):
            offered = (
                host.read(key.replace("scaling_governor", "scaling_available_governors")) or ""
            ).split()
            if offered and "performance" not in offered:
                told.append(f"/{key}: no `performance`, only {', '.join(offered)}")
            else:
                wanted[key] = "performance"
        if not wanted:
            return KnobState(missing=told[0] if told else "no frequency scaling (cpufreq) on this host")
        found = self.found_files(host, wanted)
        found.told += told
        return found


class Boost(Knob):
    """Turbo and boost, through any switch that the driver provides."""

    name = "boost"
    aim = "no turbo or boost frequencies"
    effect = "the frequency depends on temperature, power and the number of busy cores"
    level = "fair"
    keys = re.compile(rf"{CPU}/(intel_pstate/no_turbo|cpufreq/boost|cpufreq/policy[0-9]+/boost)")

    def restore_order(self, keys: Sequence[str]) -> list[str]:
        # If a global switch exists, a policy's own switch has an effect only while the global one is on.
        return list(keys)

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        wanted = {}
        if host.read(f"{CPU}/intel_pstate/no_turbo") is not None:
            wanted[f"{CPU}/intel_pstate/no_turbo"] = "1"
        if host.read(f"{CPU}/cpufreq/boost") is not None:
            wanted[f"{CPU}/cpufreq/boost"] = "0"
        wanted.update((key, "0") for key in host.find(f"{CPU}/cpufreq/policy*/boost"))
        if not wanted:
            return KnobState(missing="no switch for turbo or boost on this host")
        return self.found_files(host, wanted)


class Siblings(Knob):
    """Hardware threads that share a core with measured ones, switched individually: `smt/control` would restore too many."""

    name = "smt"
    aim = "no second hardware thread on a measured core"
    effect = "work on the sibling thread takes up to half of the speed of a core"
    level = "poor"
    keys = re.compile(rf"{CPU}/cpu[0-9]+/online")

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        if not host.measured:
            return KnobState(missing="measured CPUs are not set (regatta_cpus)", asked=False)
        wanted = {f"{CPU}/cpu{cpu}/online": "0" for cpu in host.siblings}
        # The kernel does not report the siblings of an offline CPU.
        wanted.update((key, "0") for key in saved if self.get(host, key) is not None)
        shared = cpu_list_text(host.shared)
        told = [f"CPU {shared} stays online as requested, although its core is measured"] if shared else []
        if not wanted:
            return KnobState(told=told or ["no measured core has an online sibling thread"])
        found = self.found_files(host, wanted)
        found.told += told
        fixed = [cpu for cpu in host.siblings if host.why_fixed(f"{CPU}/cpu{cpu}/online")]
        if fixed and found.items:
            found.told.append(f"CPU {cpu_list_text(fixed)} cannot be switched off")
        elif fixed:
            found.missing = (
                f"CPU {cpu_list_text(fixed)}, a sibling thread of a measured core, cannot be switched off"
            )
        return KnobState(_descending(found.items), found.told, found.missing)


def _descending(items: list[Item]) -> list[Item]:
    return sorted(items, key=lambda item: (len(item.key), item.key), reverse=True)
