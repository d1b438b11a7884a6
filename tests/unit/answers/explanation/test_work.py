"""The work that a stack of calls is counted as."""

from __future__ import annotations

import pytest

from regatta.answers.explanation import work
from regatta.answers.explanation.work import Work, short_name

K = "([kernel.kallsyms])"
ENTER = f"entry_SYSCALL_64_after_hwframe {K};do_syscall_64 {K}"
METHOD = "int org.h2.mvstore.Page.binarySearch(java.lang.Object, java.lang.Object)"


@pytest.mark.parametrize(
    ("stack", "name"),
    [
        ("a;main (a);touch (a)", "function touch"),
        ("a;main (a);operator new(unsigned long) (libstdc++.so.6)", "function operator new(unsigned long)"),
        ("a;main (a);_int_malloc (libc.so.6)", work.ALLOCATION),
        ("a;main (a);__libc_calloc (libc-2.31.so)", work.ALLOCATION),
        ("a;main (a);memmove (libc.so.6)", "C library, other"),
        ("a;main (a);[unknown] (a)", "a, without names"),
        (f"a;main (a);read (libc.so.6);{ENTER};ksys_read {K};vfs_read {K}", "system call read"),
        (f"a;main (a);__munmap (libc.so.6);{ENTER};__x64_sys_munmap {K}", "system call munmap"),
        # Inlined: the function of the C library tells, by what another sample shows of it.
        (
            f"a;main (a);open64 (libc.so.6);{ENTER};__x64_sys_openat {K};do_filp_open {K}",
            "system call openat",
        ),
        (f"a;main (a);open64 (libc.so.6);{ENTER}", "system call openat"),
        (f"a;main (a);getppid (libc.so.6);{ENTER}", "system call getppid"),
        (f"a;stub (a);{ENTER}", "system calls, other"),
        (f"a;main (a);el0t_64_sync {K};el0_svc {K};__arm64_sys_newfstatat {K}", "system call fstatat"),
        # The outermost reason counts.
        (f"a;touch (a);asm_exc_page_fault {K};exc_page_fault {K};clear_page_erms {K}", work.PAGE_FAULTS),
        (f"a;read (libc.so.6);{ENTER};ksys_read {K};asm_exc_page_fault {K};x {K}", "system call read"),
        (f"a;main (a);asm_sysvec_apic_timer_interrupt {K};handle_softirqs {K}", work.INTERRUPTS),
        (f"a;ret_from_fork {K};schedule_tail {K}", work.KERNEL),
        (f"a;read (libc.so.6);{ENTER};ksys_read {K};ovl_read_iter ([overlay])", "system call read"),
        ("a", work.KERNEL),
        ("a;main (a);__vdso_clock_gettime ([vdso])", "function __vdso_clock_gettime"),
        (f"GC Thread;start_thread (libc.so.6);x (libjvm.so);asm_exc_page_fault {K}", work.COLLECTION),
        ("ZWorkerYoung;x (libjvm.so)", work.COLLECTION),
        ("C2 CompilerThre;Compile::Optimize (libjvm.so)", work.COMPILATION),
        ("VM Thread;x (libjvm.so)", work.VM_THREAD),
        ("main;JavaCalls::call_helper (libjvm.so)", "JVM"),
        ("main;Interpreter ([JIT])", work.INTERPRETER),
        ("main;[unknown] ([JIT])", "compiled code without names"),
        (f"main;Interpreter ([JIT]);{METHOD} ([JIT])", "method Page.binarySearch"),
    ],
)
def test_a_stack_is_counted_once(stack: str, name: str) -> None:
    jvm = "main;JavaCalls::call (libjvm.so)"
    learned = f"b;open64 (libc.so.6);{ENTER};__x64_sys_openat {K};do_filp_open {K}"
    assert Work([jvm, learned, stack]).name(stack) == name


def test_threads_of_other_programs_can_have_names_of_a_jvm() -> None:
    stack = "GC Thread;main (game);render (game)"
    assert Work([stack]).name(stack) == "function render"


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (METHOD, "Page.binarySearch"),
        ("void org.h2.mvstore.tx.TransactionMap$TMIterator.<init>(long)", "TransactionMap$TMIterator.<init>"),
        ("void Main.main(java.lang.String[])", "Main.main"),
        ("compute", "compute"),
        ("vtable chunks", "vtable chunks"),
    ],
)
def test_methods_are_named_briefly(function: str, name: str) -> None:
    assert short_name(function) == name
