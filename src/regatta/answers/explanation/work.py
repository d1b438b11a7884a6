"""Name the work that a sample of a program belongs to, from its thread and its chain of calls."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

COLLECTION, COMPILATION, VM_THREAD = "garbage collection", "compilation of methods", "thread of the JVM"
PAGE_FAULTS, INTERRUPTS, KERNEL = "page faults", "interrupts", "kernel, other"
ALLOCATION, INTERPRETER = "malloc and free", "interpreter of the JVM"

#: Names of threads of a JVM, of which the kernel keeps 15 characters. Collections of Serial run in the thread of the JVM.
_THREADS = (
    (
        re.compile(
            r"GC [Tt](hread|ask)|G1 (Conc|Refine|Main|Service|Young)|ParGC|[XZ](Worker|Driver|Director|Stat)|Shenandoah"
        ),
        COLLECTION,
    ),
    (re.compile(r"C[12] CompilerThre"), COMPILATION),
    (re.compile(r"VM Thread|VM Periodic Tas"), VM_THREAD),
)
_KERNEL = re.compile(
    r".* \(\[(?!JIT\]|vdso\]|unknown\]|vsyscall\]|heap\]|stack\]|anon)[^\]]+\]\)|.* \([\w-]+\.ko(\.\w+)?\)"
)
_SYSTEM_CALL = re.compile(r"(?:__(?:x64|arm64|se|do)_sys_|ksys_|do_sys_)(?:new)?(\w+?)(?:64)?")
_ENTRY = re.compile(
    r"entry_SYSCALL_64\w*|do_syscall_64|el0_svc\w*|el0t_64_sync\w*|invoke_syscall\w*|x64_sys_call"
)
_FAULT = re.compile(r"asm_exc_page_fault|exc_page_fault|do_page_fault|do_mem_abort|el0_[di]a|el1_abort")
_INTERRUPT = re.compile(
    r"asm_(sysvec|common_interrupt|exc_nmi)\w*|\w*_interrupt|el[01]t?_(64_)?irq\w*|__?irq_\w+|do_softirq\w*"
)
_MALLOC = re.compile(
    r"_*(libc_)?(malloc|free|calloc|realloc|cfree|memalign)|_int_(malloc|free|realloc)\w*|malloc_consolidate|unlink_chunk\w*"
    r"|sysmalloc\w*|systrim\w*|tcache_\w+|operator (new|delete).*|_Zn[wa].*|_Zd[la].*"
)
_C_LIBRARY, _JVM, _LOADER = (
    re.compile(r"libc(-[\d.]+|\.musl-\w+)?\.so.*|ld-musl-.*"),
    re.compile(r"libjvm\.so"),
    re.compile(r"ld-linux.*\.so.*|ld-[\d.]+\.so|ld\.so.*"),
)
_JIT, _OF_JVM = "[JIT]", "(libjvm.so)"
#: `int org.h2.mvstore.Page.binarySearch(java.lang.Object)`, as the JVM names a method; packages begin with small letters
_METHOD = re.compile(r"(?:.* )?(?:[a-z_][\w$]*\.)*([\w$.]+\.(?:[\w$]+|<init>|<clinit>))\(.*")


def split_frame(frame: str) -> tuple[str, str]:
    """Return function and file of a frame `function (file)`."""
    function, _, file = frame.rpartition(" (")
    return function, file.removesuffix(")")


def short_name(function: str) -> str:
    """Return `Page.binarySearch` for a method as the JVM names it, and other functions as they are."""
    method = _METHOD.fullmatch(function)
    return method[1] if method else function


class Work:
    """Names of work. A system call whose function the kernel inlined is known by the function of the C library that made it."""

    def __init__(self, stacks: Iterable[str]) -> None:
        """Learn from all stacks whether a JVM runs, and which function of the C library makes which system call; see `name`."""
        calls: dict[str, Counter[str]] = {}
        self._has_jvm = False
        for stack in stacks:
            _, *frames = stack.split(";")
            self._has_jvm = self._has_jvm or _OF_JVM in stack
            caller, call = _caller(frames), _call(frames)
            if caller and call:
                calls.setdefault(caller, Counter())[call] += 1
        self._calls = {caller: names.most_common(1)[0][0] for caller, names in calls.items()}

    def name(self, stack: str) -> str:
        """Return the name of the work of a stack.

        Args:
            stack: the thread and its frames joined by `;`, the outermost first, as `regatta-profile.json` has them.
        """
        thread, *frames = stack.split(";")
        for pattern, name in _THREADS if self._has_jvm else ():
            if pattern.match(thread):
                return name
        if not frames:
            return KERNEL
        if _KERNEL.fullmatch(frames[-1]):
            return self._in_kernel(frames)
        function, file = split_frame(frames[-1])
        if _C_LIBRARY.fullmatch(file):
            return ALLOCATION if _MALLOC.fullmatch(function) else "C library, other"
        if _JVM.fullmatch(file):
            return "JVM"
        if _LOADER.fullmatch(file):
            return "dynamic loader"
        if file == _JIT:
            if function == "[unknown]":
                return "compiled code without names"
            return INTERPRETER if function == "Interpreter" else f"method {short_name(function)}"
        if function == "[unknown]":
            return "code without names" if file == "[unknown]" else f"{file}, without names"
        return f"function {function}"

    def _in_kernel(self, frames: Sequence[str]) -> str:
        """Return what the program asked the kernel for: the outermost reason counts."""
        for frame in frames:
            function, _ = split_frame(frame)
            if not _KERNEL.fullmatch(frame):
                continue
            if _FAULT.fullmatch(function):
                return PAGE_FAULTS
            if _INTERRUPT.fullmatch(function):
                return INTERRUPTS
            if _ENTRY.fullmatch(function) or _SYSTEM_CALL.fullmatch(function):
                caller = _caller(frames)
                call = _call(frames) or self._calls.get(caller, caller)
                return f"system call {call}" if call else "system calls, other"
        return KERNEL


def _caller(frames: Sequence[str]) -> str:
    """Return the function of the C library that entered the kernel, without underscores; "" if it was another one."""
    outside = [frame for frame in frames if not _KERNEL.fullmatch(frame)]
    if not outside:
        return ""
    function, file = split_frame(outside[-1])
    return (
        function.strip("_").removeprefix("libc_")
        if _C_LIBRARY.fullmatch(file) and function != "[unknown]"
        else ""
    )


def _call(frames: Sequence[str]) -> str:
    """Return the name of the system call whose function is in the chain, or ""."""
    for frame in frames:
        if _KERNEL.fullmatch(frame) and (match := _SYSTEM_CALL.fullmatch(split_frame(frame)[0])):
            return match[1]
    return ""
