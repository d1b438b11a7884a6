"""What samples of perf tell of one program: its processes, iterations, and chains of calls."""

from __future__ import annotations

from regatta.host.counters.program_profile import OUTSIDE, add_innermost, stacks_of

#: of perf 6.1: the program is 10, its child 11 has a thread 12; 13 belongs to another program
OUTPUT = b"""\
bash     9/9         1.000000000: PERF_RECORD_FORK(10:10):(9:9)
bash     9/9         1.000000000: PERF_RECORD_FORK(13:13):(9:9)
a  10/10       1.000000010: PERF_RECORD_COMM exec: a:10/10
a  10/10       1.500000000: 
\t            11a7 work(int, char) (/opt/x/a)
\t           27249 __libc_start_call_main (/usr/lib/x86_64-linux-gnu/libc.so.6)

b  13/13       1.600000000: 
\t            11a7 work (/opt/x/b)

a  10/10       1.700000000: PERF_RECORD_FORK(11:11):(10:10)
pool worker-3  11/12       2.500000000: 
\tffffffff8143b42d do_futex ([kernel.kallsyms])
\t    7f0000001000 int Page.find(java.lang.Object) (/tmp/perf-11.map)

pool worker-4  11/14       2.600000000: 
\tffffffff8143b42d do_futex ([kernel.kallsyms])
\t    7f0000001000 int Page.find(java.lang.Object) (/tmp/perf-11.map)

a  10/10       2.700000000: 

bash     9/9         2.750000000: PERF_RECORD_FORK(11:11):(9:9)
c  11/11       2.760000000: 
\t            11a7 work (/opt/x/c)

swapper     0/0         2.800000000: 
\tffffffff821f5b1b pv_native_safe_halt ([kernel.kallsyms])

a  10/10       3.100000000: 
\t               0 [unknown] ([unknown])
\t    7f0000002000 x;y (//anon)

"""
FLAT = b"""\
a  10/10       1.500000000:      11a7 work(int, char) (/opt/x/a)
a  10/10       2.700000000:      12b8 last (/opt/x/a)
"""
OF_POOL = "pool worker;int Page.find(java.lang.Object) ([JIT]);do_futex ([kernel.kallsyms])"


def test_samples_of_the_processes_of_the_program_are_counted_by_iteration() -> None:
    processes, ever, chainless = {10}, {10}, {}
    windows = {5: (2 * 10**9, 3 * 10**9), 4: (10**9, 15 * 10**8)}
    found = stacks_of(OUTPUT.splitlines(keepends=True), processes, windows, chainless, ever)
    # Number 11 belongs to another program in the end.
    assert (processes, ever) == ({10}, {10, 11})
    assert found == {
        (4, "a;__libc_start_call_main (libc.so.6);work(int, char) (a)"): 1,
        (5, OF_POOL): 2,
        (OUTSIDE, "a;x:y ([JIT]);[unknown] ([unknown])"): 1,
    }
    assert chainless == {(10, 2_700_000_000): (5, "a")}
    add_innermost(found, FLAT.splitlines(keepends=True), chainless)
    assert found[5, "a;last (a)"] == 1
    assert found.total() == 5
    assert chainless == {}


def test_a_sample_that_perf_does_not_show_again_still_counts() -> None:
    chainless = {(10, 1): (OUTSIDE, "a")}
    found = stacks_of([], {10}, {}, {}, set())
    add_innermost(found, [], chainless)
    assert found.total() == 1
