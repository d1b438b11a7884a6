"""The program that bpftrace runs in the kernel: it counts, and prints at the end.

Only integers are inserted into its text. Calls that are alike share one integer key:
call | kind << 12 | ending << 16 | turn << 18 | phase << 20 | size class << 24.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from regatta.models.vectors.calls import (
    ACCEPT_CALLS,
    ENDINGS,
    EXEC_CALLS,
    FORK_CALLS,
    KINDS,
    PHASES,
    TURNS,
    CallTable,
    Seen,
)

#: properties of a call: bits of @flags[its number]
DESCRIPTOR, SIZED, LOADER, BEGINS_TURN, TAKES_TURN, MMAP, MUNMAP, EXEC, EXIT, CONNECT, FORK, ACCEPT = (
    1 << bit for bit in range(12)
)
#: @phase of a process
FORKED, LOADING, GATED = 1, 2, 3

_SIZE_CLASS = """
    $v = {value}; $class = (uint64)0;
    if ($v > 4294967295) {{ $v = 4294967295; }}
    if ($v >= 65536) {{ $v = $v >> 16; $class += 16; }}
    if ($v >= 256) {{ $v = $v >> 8; $class += 8; }}
    if ($v >= 16) {{ $v = $v >> 4; $class += 4; }}
    if ($v >= 4) {{ $v = $v >> 2; $class += 2; }}
    if ($v >= 2) {{ $class += 1; }}"""

#: include/uapi/linux/magic.h: since 2025 the kernel reports eventfd, timerfd and epoll as regular files on these file systems
_ANON_INODE_FS_MAGIC, _PID_FS_MAGIC = 0x09041934, 0x50494446

_KIND_OF_FD = """    $task = (struct task_struct *)curtask;
    $table = $task->files->fdt;
    if ($fd >= 0 && (uint64)$fd < (uint64)$table->max_fds) {
      $file = (struct file *)*($table->fd + $fd);
      if ((uint64)$file != 0) {
        $mode = (uint64)$file->f_inode->i_mode & 0170000;
        if ($mode == 0100000) { $kind = FILE; }
        if ($mode == 0040000) { $kind = DIRECTORY; }
        if ($mode == 0010000) { $kind = FIFO; }
        if ($mode == 0020000 || $mode == 0060000) { $kind = DEVICE; }
        $magic = (uint64)$file->f_inode->i_sb->s_magic;
        if ($mode == 0 || $magic == ANON_INODE_FS_MAGIC || $magic == PID_FS_MAGIC) { $kind = ANONYMOUS; }
        if ($mode == 0140000) {
          $kind = SOCKET;
          $socket = (struct socket *)$file->private_data;
          $family = (uint64)$socket->sk->__sk_common.skc_family;
          $type = (uint64)$socket->type;
          if ($family == 1 && $type == 1) { $kind = UNIX; }
          if (($family == 2 || $family == 10) && $type == 2) { $kind = UDP; }
          if (($family == 2 || $family == 10) && $type == 1) { $kind = TCP; @socket[tid] = (uint64)$socket; }
        }
      }
    }"""

_ENTER = """
tracepoint:raw_syscalls:sys_enter /@in[pid]/ {
  $flags = @flags[(uint64)args->id];
  $kind = (uint64)0;
  if ($flags & (DESCRIPTOR | MMAP)) {
    $fd = (int32)args->args[0];
    $kind = UNKNOWN;
    if ($flags & MMAP) {
      $fd = (int32)args->args[4];
      @length[tid] = (uint64)args->args[1] + 1;
      if (args->args[3] & 0x20) { $fd = (int32)-1; $kind = MEMORY; }
    }
KIND_OF_FD
  }
  if ($flags & EXIT) {
    if (@phase[pid] == LOADING) { delete(@phase[pid]); }
    if (@phase[pid] != GATED) { @all = count(); @calls[(uint64)args->id | (1 << 16)] = count(); }
  } else {
    @entered[tid] = ((uint64)args->id << 8) | ($kind + 1);
  }
}
"""

_EXIT = """
tracepoint:raw_syscalls:sys_exit /@entered[tid] || @waiting[tid]/ {
  // Under way when the trace began, as a server waits to accept: it counts as it ends.
  if (@waiting[tid]) {
    $before = @waiting[tid];
    delete(@waiting[tid]);
    if (@entered[tid] == 0 && ($before >> 32) == (uint64)args->id + 1) {
      $fd = (int32)($before & 4294967295);
      $kind = (uint64)0;
      if (@flags[(uint64)args->id] & DESCRIPTOR) {
        $kind = UNKNOWN;
KIND_OF_FD
      }
      @entered[tid] = ((uint64)args->id << 8) | ($kind + 1);
    }
  }
  if (@entered[tid] == 0) { return; }
  // Not the number that the exit tells: a signal's handler that returns has overwritten it.
  $call = @entered[tid] >> 8;
  $kind = (@entered[tid] & 255) - 1;
  delete(@entered[tid]);
  $flags = @flags[$call];
  $ret = (int64)args->ret;
  $phase = @phase[pid];
  if (($flags & EXEC) && $ret == 0) {
    if ($phase == FORKED || $phase == GATED) {
      $kib = (uint64)0;
      if (@resident[pid]) {
        $kib = @resident[pid] - 1; delete(@resident[pid]);
        @faults = sum((uint64)curtask->min_flt + (uint64)curtask->maj_flt); @faulting = count();
      }
SIZE_OF_KIB
      @processes[0, $class] = count(); @process_kib[0, $class] = sum($kib);
    } else {
      @processes[2, 0] = count();
    }
    @phase[pid] = LOADING;
    return;
  }
  if ($phase == GATED) { return; }
  if ($ret <= -512 && $ret >= -516) { return; }
  $loader = (uint64)0;
  if ($phase == LOADING) {
    if ($flags & LOADER) { $loader = 1; }
    if (($flags & LOADER) == 0 || ($flags & MUNMAP)) { delete(@phase[pid]); }
  }
  $ending = (uint64)1;
  if ($ret > 0 || $ret < -4095) { $ending = 2; }
  if ($ret < 0 && $ret >= -4095) { $ending = 0; }
  // The connection is on its way (EINPROGRESS).
  if (($flags & CONNECT) && $ret == -115) { $ending = 1; }
  if (($flags & FORK) && $ending == 2) { return; }
  $bytes = (uint64)0; $class = (uint64)0;
  if (($flags & SIZED) && $ending == 2) {
    $bytes = (uint64)$ret;
    if ($flags & MMAP) { $bytes = @length[tid] - 1; }
    if ($bytes > 2147483648) { $bytes = 2147483648; }
SIZE_OF_BYTES
  }
  $turn = (uint64)0;
  if ($kind == TCP && ($flags & (BEGINS_TURN | TAKES_TURN | CONNECT | ACCEPT))) {
    $connection = @socket[tid];
    if (($flags & ACCEPT) && $ending != 0) {
      $task = (struct task_struct *)curtask;
      $table = $task->files->fdt;
      $file = (struct file *)*($table->fd + (int32)$ret);
      $connection = (uint64)$file->private_data;
    }
    // A new connection ends the previous one; a close does not, because other copies can remain.
    if (($flags & (CONNECT | ACCEPT)) && @received[$connection]) { delete(@received[$connection]); }
    if ($ending == 2 && ($flags & BEGINS_TURN)) { @received[$connection] = (uint64)1; }
    if ($ending == 2 && ($flags & TAKES_TURN)) {
      $turn = 2;
      if (@received[$connection]) { $turn = 1; delete(@received[$connection]); }
    }
  }
  $key = $call | ($kind << 12) | ($ending << 16) | ($turn << 18) | ($loader << 20) | ($class << 24);
  @all = count();
  @calls[$key] = count();
  if ($bytes > 0) { @bytes[$key] = sum($bytes); }
}
"""

_FORK = """
tracepoint:task:task_newtask /@in[pid]/ {
  if (@phase[pid] != GATED) {
    if (args->clone_flags & 0x10000) {
      @processes[3, 0] = count();
    } else {
      $child = (uint64)args->pid;
      @in[$child] = (uint64)1;
      @phase[$child] = (uint64)FORKED;
      if ((args->clone_flags & 0x100) == 0) {
        $pages = (int64)curtask->mm->RSS_ANON;
        if ($pages < 0) { $pages = (int64)0; }
        @resident[$child] = (uint64)$pages * PAGE_KIB + 1;
        @mappings = sum((uint64)curtask->mm->map_count); @copying = count();
      }
    }
  }
}
tracepoint:sched:sched_process_exit /@in[pid]/ {
  if (@entered[tid]) { delete(@entered[tid]); }
  if (@length[tid]) { delete(@length[tid]); }
  if (@socket[tid]) { delete(@socket[tid]); }
  if ((int32)curtask->signal->live.counter == 0) {
    if (@phase[pid] == FORKED) {
      $kib = (uint64)0;
      if (@resident[pid]) { $kib = @resident[pid] - 1; }
SIZE_OF_KIB
      @processes[1, $class] = count(); @process_kib[1, $class] = sum($kib);
    }
    if (@phase[pid]) { delete(@phase[pid]); }
    if (@resident[pid]) { delete(@resident[pid]); }
    delete(@in[pid]);
  }
}
END { clear(@flags); clear(@entered); clear(@length); clear(@socket); clear(@received); clear(@in); clear(@waiting); }
"""


def program(
    table: CallTable,
    numbers: dict[str, int],
    pids: Iterable[int],
    gated: bool,
    page_kib: int,
    percpu_rss: bool,
    waiting: Mapping[int, tuple[int, int]] | None = None,
) -> str:
    """Return the text for bpftrace.

    Args:
        table: rules that determine which calls need descriptors and bytes.
        numbers: call -> its number on this architecture.
        pids: processes to watch, with their future children.
        gated: the processes wait; their calls count only after their first exec.
        page_kib: size of a page.
        percpu_rss: this kernel counts the pages of a process per processor (6.2 and newer).
        waiting: thread -> number and first argument of its current call when the trace begins.
    """
    begin = [
        f"@flags[{numbers[call]}] = (uint64){flags};"
        for call, flags in sorted(_flags(table).items())
        if call in numbers
    ]
    for pid in pids:
        begin.append(f"@in[{int(pid)}] = (uint64)1;")
        if gated:
            begin.append(f"@phase[{int(pid)}] = (uint64){GATED};")
    # No thread has number 0, and bpftrace requires a write to each map.
    begin.append("@waiting[0] = (uint64)0;")
    for thread, (number, first) in (waiting or {}).items():
        begin.append(
            f"@waiting[{int(thread)}] = (uint64){(int(number) + 1 << 32) + (int(first) & 0xFFFFFFFF)};"
        )
    words = {
        "SIZE_OF_KIB": _SIZE_CLASS.format(value="$kib"),
        "SIZE_OF_BYTES": _SIZE_CLASS.format(value="$bytes"),
        "KIND_OF_FD": _KIND_OF_FD,
        "RSS_ANON": "rss_stat[1].count" if percpu_rss else "rss_stat.count[1].counter",
        "PAGE_KIB": str(int(page_kib)),
        "DESCRIPTOR": str(DESCRIPTOR), "SIZED": str(SIZED), "BEGINS_TURN": str(BEGINS_TURN), "TAKES_TURN": str(TAKES_TURN),
        "MUNMAP": str(MUNMAP), "MMAP": str(MMAP), "EXEC": str(EXEC), "EXIT": str(EXIT), "CONNECT": str(CONNECT),
        "ACCEPT": str(ACCEPT), "ANON_INODE_FS_MAGIC": str(_ANON_INODE_FS_MAGIC), "PID_FS_MAGIC": str(_PID_FS_MAGIC),
        "FORKED": str(FORKED), "FORK": str(FORK), "LOADING": str(LOADING), "LOADER": str(LOADER), "GATED": str(GATED),
        **{kind.upper(): str(KINDS.index(kind)) for kind in KINDS},
    }  # fmt: skip
    return (
        "BEGIN {\n" + "\n".join(begin) + '\nprintf("ready\\n");\n}\n' + _with(words, _ENTER + _EXIT + _FORK)
    )


def _with(words: dict[str, str], text: str) -> str:
    for word in ("SIZE_OF_KIB", "SIZE_OF_BYTES", "KIND_OF_FD"):
        text = text.replace(word, words[word])
    return re.sub(r"\b[A-Z_]{3,}\b", lambda found: words.get(found[0], found[0]), text)


def _flags(table: CallTable) -> dict[str, int]:
    groups = {
        DESCRIPTOR: table.told_by_kind - {"mmap"},
        SIZED: table.sized,
        LOADER: table.of_loader,
        BEGINS_TURN: table.beginning_turns,
        TAKES_TURN: table.taking_turns,
        MMAP: {"mmap"},
        MUNMAP: {"munmap"},
        EXEC: EXEC_CALLS,
        EXIT: {"exit", "exit_group"},
        CONNECT: {"connect"},
        ACCEPT: ACCEPT_CALLS,
        FORK: FORK_CALLS,
    }
    flags: dict[str, int] = {}
    for flag, calls in groups.items():
        for call in calls:
            flags[call] = flags.get(call, 0) | flag
    return flags


def seen_of_key(key: int, names: dict[int, str]) -> Seen:
    """Decode a key of @calls."""
    number = key & 0xFFF
    return Seen(
        names.get(number, f"call_{number}"), KINDS[key >> 12 & 0xF], ENDINGS[key >> 16 & 3], TURNS[key >> 18 & 3],
        PHASES[key >> 20 & 1], key >> 24 & 0x1F,
    )  # fmt: skip
