"""Verdicts on a host from the results of its fake benchmarks. No I/O."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from regatta.fleet.fake_benchmarks import CANNOT_BE_USED, Answer
from regatta.fleet.kernel_figures import KernelFrequency
from regatta.host.counters.offering import Offer
from regatta.host.values.counters import ENERGY, RUN_DELAY, by_reason

Verdict = Literal["ok", "doubtful", "unfit", "not available here"]

#: tolerance against the value of the kernel, and between the lowest and highest repetition of a program
_FREQUENCY_PERCENT = 1.0
_RESOLUTION_NS = 1000
#: on current processors, a cheaper clock read makes no system call
_CLOCK_COST_NS = 200
#: timer ticks come some hundred times per second and take a few of the 50 us of a quantum
_SLOWDOWN_P99 = 1.1
_INTERRUPTED_PERCENT = 1.0
_UNFIT_INTERRUPTED_PERCENT = 10.0
#: the cost of the clock is subtracted from a sleep, so that it may seem this much shorter
_SLEEP_TOLERANCE = 0.999

_QUIET_FIX = "stop other processes, or isolate CPUs (`cores`, isolcpus); see /proc/interrupts"


@dataclass(frozen=True)
class Check:
    """One check of the host. `fix` is the advice if the verdict is not ok."""

    name: str
    expected: str
    got: str
    verdict: Verdict
    fix: str = ""

    @property
    def advice(self) -> str:
        """Return the advice; empty if the verdict is ok."""
        return "" if self.verdict == "ok" else self.fix

    def to_json(self) -> dict[str, str]:
        """Return the fields; `fix` is empty if the verdict is ok."""
        return {**asdict(self), "fix": self.advice}


def exit_code(checks: list[Check]) -> int:
    """Return 3 if a check is unfit, else 0."""
    return 3 if any(check.verdict == "unfit" for check in checks) else 0


def _missing(name: str, expected: str, why: str) -> Check:
    return Check(name, expected, why, "not available here")


def _said(name: str, expected: str, answer: Answer | None, program: str) -> Check | Answer:
    """Return the result of a program, or a check that failed because the program is missing or failed."""
    if answer is None:
        return _missing(name, expected, f"the suite has no {program}")
    if answer.error:
        return Check(name, expected, answer.error, "doubtful", f"find out why {program} fails")
    return answer


def check_counters(offer: Offer) -> list[Check]:
    """Check which counters an experiment can ask for here. `offer`: of all of them."""
    lacking = [f"{', '.join(names)}: {why}" for why, names in by_reason(offer.missing).items()]
    counted = dict.fromkeys(slot.name for group in (offer.always, *offer.groups) for slot in group)
    names = [*counted, *([ENERGY] if offer.energy else []), *offer.profiles]
    names += [RUN_DELAY] if offer.run_delay else []
    many = len(offer.groups)
    groups = f" in {many} groups: at least {2 * many} rounds (docs/counters.md)" if many > 1 else ""
    found = [Check("counters", "some", f"{', '.join(names)}{groups}", "ok")] if names else []
    return found + ([_missing("other counters", "all", "; ".join(lacking))] if lacking else [])


def check_pinning(noise: Mapping[int, Answer]) -> Check:
    """Check that a process runs on the CPU to which it was pinned. `noise`: CPU -> result of `cpu_noise` there."""
    name, expected = "pinning", "a process pinned to one CPU runs only there"
    if not noise:
        return _missing(name, expected, "the suite has no cpu_noise")
    wrong: list[str] = []
    failed: list[str] = []
    for cpu, answer in noise.items():
        if answer.error:
            (wrong if CANNOT_BE_USED in answer.error else failed).append(f"CPU {cpu}: {answer.error}")
        elif answer.parameters("processor") != [str(cpu)]:
            where = ", ".join(map(str, answer.parameters("processor")))
            wrong.append(f"CPU {cpu}: ran on {where or 'an unknown CPU'}")
    if wrong:
        fix = "find the service that moves processes (cpusets, numad), and use CPUs that this session is permitted to use"
        return Check(name, expected, "; ".join(wrong), "unfit", fix)
    if failed:
        return Check(name, expected, "; ".join(failed), "doubtful", "find out why cpu_noise fails")
    return Check(name, expected, f"true on each of {len(noise)} CPUs", "ok")


def check_clock(infos: list[Mapping[str, float]], source: str) -> list[Check]:
    """Check resolution, cost and shortest trusted interval, as measured by every program of the suite at its start.

    `source`: clock source of the kernel; empty: unknown.
    """
    steps = f"steps of at most {_RESOLUTION_NS} ns"
    cost = f"at most {_CLOCK_COST_NS} ns per reading"
    interval = "known changes of work are measured within 0.25 % in intervals of at most 2 ms"
    if not infos:
        lacking = (("clock steps", steps), ("clock cost", cost), ("interval", interval))
        return [_missing(name, expected, "no program reported it") for name, expected in lacking]
    fix = "use the clock source tsc (x86); see /sys/devices/system/clocksource/clocksource0"
    step_ns = statistics.median(info["clock_resolution_ns"] for info in infos)
    cost_ns = statistics.median(info["clock_overhead_ns"] for info in infos)
    trusted = [info["trusted_interval_ns"] for info in infos if info["interval_trusted"]]
    seen = f"in {len(trusted)} of {len(infos)} trials"
    if trusted:
        seen += f", shortest {min(trusted) / 1e6:g} ms"
    return [
        Check("clock steps", steps, f"{step_ns:g} ns", "ok" if step_ns <= _RESOLUTION_NS else "unfit", fix),
        Check(
            "clock cost", cost, f"{cost_ns:.3g} ns" + (f" ({source})" if source else ""),
            "ok" if cost_ns <= _CLOCK_COST_NS else "doubtful", fix,
        ),
        Check(
            "interval", interval, seen, "ok" if 2 * len(trusted) > len(infos) else "doubtful",
            f"measure longer (--interval-us); {_QUIET_FIX}",
        ),
    ]  # fmt: skip


def check_order(order: Answer | None, cpus: int) -> Check:
    """Check that the clock is monotonic across CPUs."""
    name, expected = "clock order", "no reading is earlier than a preceding one on another CPU"
    if cpus < 2:
        return _missing(name, expected, "only one CPU")
    if order is not None and "goes back" in order.error:
        fix = "use another clock source, or measure on one CPU (`cores`)"
        return Check(name, expected, order.error, "unfit", fix)
    heard = _said(name, expected, order, "clock_order")
    if isinstance(heard, Check):
        return heard
    pairs, least_ns = len(heard.parameters("to")), min(heard.values("clock_step"))
    got = f"true between CPU {heard.parameters('from')[0]} and each other CPU (n = {pairs})"
    return Check(name, expected, f"{got}; smallest step {least_ns:g} ns", "ok")


def check_noise(noise: Mapping[int, Answer]) -> list[Check]:
    """Check the variation of constant work, on the worst CPU. `noise`: CPU -> result of `cpu_noise` there."""
    even = f"the 99th percentile of constant work is at most {_SLOWDOWN_P99:g} times its median"
    whole = f"interruptions take at most {_INTERRUPTED_PERCENT:g} % of the time"
    heard = {cpu: answer for cpu, answer in noise.items() if not answer.error}
    if not heard:
        why = "cpu_noise failed" if noise else "the suite has no cpu_noise"
        return [_missing("evenness", even, why), _missing("interruptions", whole, why)]

    def worst(metric: str) -> tuple[float, int]:
        return max((statistics.median(answer.values(metric)), cpu) for cpu, answer in heard.items())

    slowdown, slow_cpu = worst("slowdown_p99")
    share, interrupted_cpu = worst("interrupted")
    found = heard[interrupted_cpu]
    often = statistics.median(found.values("interruptions"))
    longest_us = max(found.values("interruption_longest")) / 1000
    verdict: Verdict = "ok"
    if share > _INTERRUPTED_PERCENT:
        verdict = "unfit" if share > _UNFIT_INTERRUPTED_PERCENT else "doubtful"
    return [
        Check(
            "evenness", even, f"{slowdown:.3g} on CPU {slow_cpu}",
            "ok" if slowdown <= _SLOWDOWN_P99 else "doubtful", _QUIET_FIX,
        ),
        Check(
            "interruptions", whole,
            f"{share:.2g} % on CPU {interrupted_cpu}: {often:.2g} % of the quanta, longest {longest_us:.0f} us",
            verdict, _QUIET_FIX,
        ),
    ]  # fmt: skip


def check_load(
    shares: Mapping[str, float | None], limits: Mapping[str, float | None], load1: float | None
) -> list[Check]:
    """Check the other load of the host during the noise measurement, against the limits of a perturbed invocation.

    Args:
        shares: limit -> measured, in percent; None: not available from the kernel.
        limits: limit -> allowed, in percent; None: no limit.
        load1: load average of the last minute, at the beginning.
    """
    words = {
        "steal_percent": ("steal", "of the CPU time is taken by the hypervisor", "use dedicated CPUs"),
        "other_cpu_percent": ("other load", "of the CPU time goes to other processes", _QUIET_FIX),
        "memory_pressure_percent": (
            "memory pressure",
            "of the time some task waits for memory",
            "add memory, or reduce the load",
        ),
    }
    checks = []
    for limit, (name, what, fix) in words.items():
        allowed, measured = limits.get(limit), shares.get(limit)
        if allowed is None or measured is None:
            checks.append(_missing(name, f"little {what}", "not reported by the kernel"))
            continue
        got = f"{measured:.2g} %"
        if limit == "other_cpu_percent" and load1 is not None:
            got += f"; load {load1:g}"
        verdict: Verdict = "ok" if measured <= allowed else "doubtful"
        checks.append(Check(name, f"at most {allowed:g} % {what}", got, verdict, fix))
    return checks


def check_frequency(mhz: Answer | None, kernel: KernelFrequency | None) -> list[Check]:
    """Check that the frequency, measured by time alone, is constant and equals that of the kernel."""
    steady = f"equal within {_FREQUENCY_PERCENT:g} % in repeated measurements"
    same = f"within {_FREQUENCY_PERCENT:g} % of the value that the kernel reports"
    fix = "fix the frequency: governor performance, equal minimum and maximum, no boost"
    heard = _said("frequency steady", steady, mhz, "mhz")
    if isinstance(heard, Check):
        return [heard, _missing("frequency", same, "not measured")]
    found = heard.values("frequency")
    # Disturbances can only make cycles appear longer.
    highest, spread = max(found), 100 * (1 - min(found) / max(found))
    first = Check(
        "frequency steady", steady, f"{min(found):.0f} to {highest:.0f} MHz",
        "ok" if spread <= _FREQUENCY_PERCENT else "doubtful", fix,
    )  # fmt: skip
    if kernel is None:
        return [first, _missing("frequency", same, f"{highest:.0f} MHz; not reported by the kernel")]
    got = f"{highest:.0f} MHz; kernel: {kernel.mhz:.0f} MHz ({kernel.kind})"
    if abs(highest - kernel.mhz) <= kernel.mhz * _FREQUENCY_PERCENT / 100:
        return [first, Check("frequency", same, got, "ok")]
    if kernel.kind == "nominal" and highest < kernel.mhz:
        return [first, Check("frequency", same, got, "doubtful", fix)]
    if kernel.kind == "nominal":
        # The nominal frequency is not a measurement: the processor may legitimately run faster.
        return [first, _missing("frequency", same, got)]
    return [first, Check("frequency", same, got, "unfit" if kernel.kind == "constant" else "doubtful", fix)]


def check_line(line: Answer | None, kernel_bytes: int | None) -> Check:
    """Compare the size of a cache line, measured by time alone, with that of the kernel."""
    name, expected = "cache line", "the value that the kernel reports"
    heard = _said(name, expected, line, "line")
    if isinstance(heard, Check):
        return heard
    found = statistics.median(heard.values("line_size"))
    if kernel_bytes is None:
        return _missing(name, expected, f"{found:g} bytes; not reported by the kernel")
    got = f"{found:g} bytes; kernel: {kernel_bytes}"
    # Some processors fetch two lines at once and show a step at twice the line.
    if found == kernel_bytes:
        return Check(name, expected, got, "ok")
    fix = "run the check again on a quiet host; some processors fetch pairs of lines, and virtual machines can report another cache"
    return Check(name, expected, got, "doubtful", fix)


def check_sleep(sleep: Answer | None) -> Check:
    """Check that sleeps are not shorter than requested."""
    name, expected = "sleep", "never shorter than requested"
    if sleep is None:
        return _missing(name, expected, "the suite has no lat_usleep")
    fix = "use another clock source: timers and clock disagree"
    if sleep.error:
        # The program reports a short sleep with this errno.
        short = "Timer expired" in sleep.error
        return Check(name, expected, sleep.error, "unfit" if short else "doubtful", fix)
    ratios = [(row[2] / (1000 * row[5]["requested_us"]), row) for row in sleep.rows if row[1] == "latency"]
    least, row = min(ratios, key=lambda pair: pair[0])
    got = f"at least {row[2] / 1000:.1f} us for {row[5]['requested_us']} us ({row[5]['call']})"
    return Check(name, expected, got, "ok" if least >= _SLEEP_TOLERANCE else "unfit", fix)
