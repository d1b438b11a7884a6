"""What samples of perf tell: the time in each function of the kernel, in its kinds of work, and outside of it."""

from __future__ import annotations

import pytest

from regatta.host.counters.profile import FREQUENCY_HZ, profile_of, without_losses
from regatta.host.values.counters import FUTEX, SCHEDULER

#: of perf 6.1 on Linux 6.12, with fewer frames: two samples in a futex call, one of which switches to another thread; one of a
#: system call; two in programs; one of idle time and one of perf itself
OUTPUT = b"""\
 4597 
\tffffffff8143ed5a futex_wake ([kernel.kallsyms])
\tffffffff8143b42d do_futex ([kernel.kallsyms])
\tffffffff8143b6a2 __x64_sys_futex ([kernel.kallsyms])
\tffffffff821ed511 do_syscall_64 ([kernel.kallsyms])
\tffffffff81000130 entry_SYSCALL_64_after_hwframe ([kernel.kallsyms])

 4597 
\tffffffff813a2413 finish_task_switch.isra.0 ([kernel.kallsyms])
\tffffffff821f8914 __schedule ([kernel.kallsyms])
\tffffffff821f94c3 schedule ([kernel.kallsyms])
\tffffffff8143f416 futex_do_wait ([kernel.kallsyms])
\tffffffff8143b4b3 do_futex ([kernel.kallsyms])
\tffffffff8143b6a2 __x64_sys_futex ([kernel.kallsyms])

 4557 

 4597 
\tffffffff816ca027 inode_permission ([kernel.kallsyms])
\tffffffff816cf190 link_path_walk ([kernel.kallsyms])
\tffffffffc0a11c01 [unknown] ([overlay])

    0 
\tffffffff821f5b1b pv_native_safe_halt ([kernel.kallsyms])

 4598 
\tffffffff821f8914 __schedule ([kernel.kallsyms])

 4597 

"""


def test_each_sample_counts_once_for_its_function_and_for_each_kind_of_work() -> None:
    found = profile_of(OUTPUT.splitlines(keepends=True), {0, 4598})
    assert {name: round(time * FREQUENCY_HZ) for name, time in found.symbols.items()} == {
        "futex_wake": 1,
        "finish_task_switch.isra.0": 1,
        "inode_permission": 1,
    }
    assert {kind: round(time * FREQUENCY_HZ) for kind, time in found.kinds.items()} == {
        FUTEX: 2,
        SCHEDULER: 1,
    }
    assert found.programs == pytest.approx(2 / FREQUENCY_HZ)


def test_no_samples_are_no_time() -> None:
    found = profile_of([], set())
    assert (found.symbols, found.kinds, found.programs) == ({}, {FUTEX: 0.0, SCHEDULER: 0.0}, 0.0)


def test_lost_samples_are_no_profile() -> None:
    lines = [*OUTPUT.splitlines(keepends=True), b" 0 PERF_RECORD_LOST lost 12\n"]
    with pytest.raises(OSError, match="lost samples"):
        profile_of(without_losses(lines), set())
