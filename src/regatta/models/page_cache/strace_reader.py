"""Read file operations from strace. A line that cannot be understood is counted, never fatal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from regatta.models.page_cache.open_files import Description, Identities, Task, Tasks, absolute, is_file
from regatta.models.page_cache.operations import MAX_OFFSET, NONE, Facts, Kind, Operations, Recorder
from regatta.models.page_cache.strace_grammar import (
    Call,
    CallReader,
    End,
    descriptor_of,
    path_of,
    unescaped,
)

#: reads -> index of the argument with the offset; None: at the position of the description
_READS: dict[str, int | None] = {"read": None, "readv": None, "pread64": 3, "preadv": 3, "preadv2": 3}
_WRITES: dict[str, int | None] = {"write": None, "writev": None, "pwrite64": 3, "pwritev": 3, "pwritev2": 3}
#: calls that look at a name -> index of the argument with the name; the argument before it is the folder, if
#: any
_STATS = {"stat": 0, "lstat": 0, "access": 0, "newfstatat": 1, "statx": 1, "faccessat": 1, "faccessat2": 1}
_OPENS = {"open": 0, "creat": 0, "openat": 1, "openat2": 1}
_FORKS = frozenset({"fork", "vfork", "clone", "clone3"})
_SYNCS = frozenset({"fsync", "fdatasync"})
#: calls that read, write or advise in ways that this reader does not follow
_NOT_FOLLOWED = (
    "io_uring_enter",
    "io_submit",
    "splice",
    "fallocate",
    "fadvise64",
    "sync_file_range",
    "process_vm_writev",
)
#: calls whose structures are written out; others show an address
_VERBOSE = "clone3,openat2,fstat,newfstatat,stat,lstat,statx,sendfile,copy_file_range"

_SIZE = re.compile(r"\bst(?:x)?_size=(\d{1,19})")
_OFFSET = re.compile(r"\[(\d{1,19})\]")
#: Linux transfers at most this many bytes in a call (MAX_RW_COUNT)
MAX_TRANSFER = 0x7FFFF000

#: what `Facts.not_understood` counts, besides calls of `_NOT_FOLLOWED` under their names -> description
NOT_UNDERSTOOD = {
    "unreadable_lines": "lines that strace does not write",
    "impossible_values": "calls with a time, an offset or a size that no kernel accepts",
    "unreturned_calls": "calls that did not return before the end of the trace",
    "unknown_parents": "processes whose fork the trace does not show; their inherited descriptors are unknown",
    "unknown_folders": "changes to a working directory without a name",
    "unknown_offsets": "sendfile and copy_file_range with an offset that strace shows as an address",
    "appends_at_unknown_size": "writes at the end of a file whose size is unknown; they are placed at the end of known data",
    "descriptors_opened_before": "descriptors of files that were opened before the trace; their position is taken as 0",
    "descriptors_changed_unseen": "descriptors that refer to another file than the trace explains",
    "writable_shared_maps": "mappings through which a program can write without a call",
    "direct_opens": "opens with O_DIRECT: reads and writes pass by the page cache, but count as if they used it",
    "close_range_unshare": "close_range calls that give a thread its own descriptors",
}


def strace_arguments(output: Path | str, command: Sequence[str]) -> list[str]:
    """Return the command that traces the file operations of a program.

    Args:
        output: where strace writes; one file for all processes, so that the order of lines is that of events.
        command: the traced program and its arguments.
    """
    trace = ",".join(f"?{call}" for call in CALLS)
    return [
        "strace", "-f", "-q", "-yy", "-ttt", "-T", "-s", "0", "-a", "1", "-e", "signal=none", "-e", f"verbose={_VERBOSE}",
        "-e", f"trace={trace}", "-o", str(output), "--", *command,
    ]  # fmt: skip


def read_strace(
    lines: Iterable[str], folder: str = "/", size_of: Callable[[str], int] | None = None
) -> Operations:
    """Read the lines that the command of `strace_arguments` wrote.

    Args:
        lines: lines of text; bytes that are not UTF-8 are surrogates or replaced.
        folder: working directory of the traced program.
        size_of: current size in bytes of a file of this host, -1 if unknown; for files whose size the trace
            does not show.
    """
    reader = StraceFileReader(folder, size_of)
    for line in lines:
        reader.read(line)
    return reader.finish()


def size_on_host(path: str) -> int:
    """Return the size in bytes of a regular file of this host; -1: there is none."""
    try:
        found = Path(path)
        return found.stat().st_size if found.is_file() else NONE
    except (OSError, ValueError):
        return NONE


class StraceFileReader:
    """Follows descriptors, positions, names and sizes through the lines of strace; see `read_strace`."""

    def __init__(self, folder: str = "/", size_of: Callable[[str], int] | None = None) -> None:
        self.recorder = Recorder()
        self.names = Identities(self.recorder, size_of or (lambda _: NONE))
        self.tasks = Tasks(folder, self._closed)
        #: what was not understood -> number
        self.missed: Counter[str] = Counter()
        self._calls = CallReader()
        #: processes that appeared while several forks were in progress -> their calls, until a fork returns
        #: them
        self._waiting: dict[int, list[Call]] = {}
        self._time_ns = 0
        self._process = 0

    def read(self, line: str) -> None:
        """Read one line."""
        found = self._calls.read(line)
        if isinstance(found, End):
            self._ends(found)
        elif found is not None and found.pid not in self.tasks.alive and not self._appears(found.pid):
            self._waiting.setdefault(found.pid, []).append(found)
        elif found is not None:
            self._apply(found)

    def finish(self) -> Operations:
        """End the trace: return its operations, and what was not understood."""
        for pid, calls in list(self._waiting.items()):
            self.missed["unknown_parents"] += 1
            del self._waiting[pid]
            self.tasks.begin(pid)
            for call in calls:
                self._apply(call)
        self.missed["unreadable_lines"] += self._calls.damaged
        self.missed["unreturned_calls"] += len(self._calls.unfinished)
        self.names.finish()
        example = self._calls.example
        remarks = (f"first unreadable line: {example!r}",) if example else ()
        return self.recorder.operations(Facts("strace", not_understood=dict(+self.missed), remarks=remarks))

    # processes

    def _ends(self, end: End) -> None:
        self._time_ns, self._process = min(end.time_ns, MAX_OFFSET), end.pid
        if not end.successor:
            self.tasks.ends(end.pid)
            return
        task = self.tasks.alive.pop(end.successor, None)
        if task is not None:
            self.tasks.ends(end.pid)
            self.tasks.alive[end.pid] = task

    def _appears(self, pid: int) -> bool:
        """Begin a process that is new. Return False if its parent is not yet known."""
        forks = [one for one in self._calls.begun(_FORKS) if one[0] in self.tasks.alive]
        if not forks:
            self.tasks.begin(pid)
            return True
        if len(forks) > 1:
            return False
        parent, line = forks[0]
        self._forks(self.tasks.alive[parent], pid, line)
        return True

    # calls

    def _apply(self, call: Call) -> None:
        """Apply a call to the state, and record what it does to a file."""
        task = self.tasks.alive.get(call.pid) or self.tasks.begin(call.pid)
        self._time_ns, self._process = min(call.time_ns, MAX_OFFSET), call.pid
        name = call.name
        if name in _READS:
            self._moves_data(call, task, Kind.READ, _READS[name])
        elif name in _WRITES:
            self._moves_data(call, task, Kind.WRITE, _WRITES[name])
        elif name in _OPENS:
            self._opens(call, task, _OPENS[name])
        elif name in _STATS:
            self._stats(call, task, _STATS[name])
        elif name in _FORKS:
            if not call.failed:
                self._forked(call, task)
        elif name in _SYNCS:
            description = self._description(task, call.argument(0))
            if description is not None:
                self._record(call, Kind.FSYNC, description.file, description)
        elif name in _NOT_FOLLOWED:
            if not call.failed and (name.startswith("io_") or self._description(task, call.argument(0))):
                self.missed[name] += 1
        else:
            handler = _HANDLERS.get(name)
            if handler is not None:
                handler(self, call, task)

    def _moves_data(self, call: Call, task: Task, kind: Kind, offset_at: int | None) -> None:
        description = self._description(task, call.argument(0))
        if description is None:
            return
        offset = -1 if offset_at is None else _integer(call.argument(offset_at))
        self._moved(call, description, kind, offset, call.value)

    def _moved(self, call: Call, description: Description, kind: Kind, offset: int, count: int) -> None:
        """Record a transfer of `count` bytes at `offset`; -1: at the position, which advances."""
        file = description.file
        at = description.position if offset < 0 else offset
        if kind is Kind.WRITE and description.appends:
            if file not in self.names.sizes:
                self.missed["appends_at_unknown_size"] += 1
            at = self.names.sizes.get(file, 0)
        if count < 0:
            self._record(call, kind, file, description, offset=at, failed=True)
            return
        if offset < 0:
            description.position = at + count
        self._record(call, kind, file, description, offset=at, bytes=count)
        if kind is Kind.WRITE:
            self.names.reaches(file, at + count)

    def _opens(self, call: Call, task: Task, path_at: int) -> None:
        given = self._path(task, call, path_at)
        if call.failed:
            if given is not None and " ENOENT " in call.result:
                self.names.missing.add(self.names.resolved(given))
            self._record(call, Kind.OPEN, failed=True)
            return
        found = descriptor_of(call.result)
        if found is None or not is_file(found.name):
            self.tasks.closes(task, call.value)
            return
        real = unescaped(found.name)
        if given is not None:
            self.names.resolves(given, real)
        flags = (
            "O_WRONLY|O_CREAT|O_TRUNC" if call.name == "creat" else " ".join(call.arguments[path_at + 1 :])
        )
        if "O_PATH" in flags:
            self.tasks.closes(task, call.value)
            return
        if "O_DIRECT" in re.split(r"[|, }]", flags):
            self.missed["direct_opens"] += 1
        is_new = "O_TMPFILE" in flags or self._creates(real, flags)
        if "O_TMPFILE" in flags:
            file = self.recorder.file(real, 0)
            self.names.sizes[file] = 0
            self.names.links[file] = 0
        else:
            file = self.names.created(real) if is_new else self.names.of(real)
        description = self.tasks.new(file, "O_APPEND" in flags)
        self.tasks.opens(task, call.value, description, "O_CLOEXEC" in flags)
        self._record(call, Kind.CREATE if is_new else Kind.OPEN, file, description)
        if "O_TRUNC" in flags and not is_new:
            self._record(call, Kind.TRUNCATE, file, description)
            self.names.has_size(file, 0)

    def _creates(self, real: str, flags: str) -> bool:
        """Return whether an open made a file. With O_TRUNC, a name that is new to the trace is a new file."""
        if "O_CREAT" not in flags:
            return False
        name = self.names.resolved(real)
        return (
            "O_EXCL" in flags
            or name in self.names.missing
            or ("O_TRUNC" in flags and name not in self.names.by_name)
        )

    def _stats(self, call: Call, task: Task, path_at: int) -> None:
        given = self._path(task, call, path_at)
        descriptor = descriptor_of(call.argument(0)) if path_at == 1 else None
        if path_of(call.argument(path_at)) == "" and descriptor is not None and descriptor.number >= 0:
            self._stats_descriptor(call, task)
            return
        if given is None or not is_file(given):
            return
        if call.failed:
            if " ENOENT " in call.result:
                self.names.missing.add(self.names.resolved(given))
            self._record(call, Kind.STAT, failed=True)
            return
        self._record(call, Kind.STAT, self._sized(self.names.of(given), call))

    def _stats_descriptor(self, call: Call, task: Task) -> None:
        description = self._description(task, call.argument(0))
        if description is not None:
            self._record(call, Kind.STAT, self._sized(description.file, call), description)

    def _sized(self, file: int, call: Call) -> int:
        size = _SIZE.search(" ".join(call.arguments[1:]))
        if size is not None and not call.failed and "S_IFREG" in " ".join(call.arguments):
            self.names.has_size(file, min(int(size[1]), MAX_OFFSET))
        return file

    def _closes(self, call: Call, task: Task) -> None:
        if call.name == "close_range":
            first, last = _integer(call.argument(0)), _integer(call.argument(1))
            if "CLOSE_RANGE_UNSHARE" in call.argument(2):
                self.missed["close_range_unshare"] += 1
            if "CLOSE_RANGE_CLOEXEC" in call.argument(2) or call.failed:
                return
            for descriptor in [one for one in task.table.open if first <= one and (last < 0 or one <= last)]:
                self.tasks.closes(task, descriptor)
        elif (found := descriptor_of(call.argument(0))) is not None:
            self.tasks.closes(task, found.number)

    def _closed(self, description: Description) -> None:
        self.recorder.add(
            self._time_ns, Kind.CLOSE, description.file, process=self._process, handle=description.number
        )

    def _seeks(self, call: Call, task: Task) -> None:
        description = self._description(task, call.argument(0))
        if description is not None and not call.failed:
            description.position = call.value

    def _duplicates(self, call: Call, task: Task) -> None:
        if call.failed:
            return
        command = call.argument(1)
        if call.name == "fcntl" and command == "F_SETFL":
            if description := self._description(task, call.argument(0)):
                description.appends = "O_APPEND" in call.argument(2)
            return
        if call.name == "fcntl" and command == "F_SETFD":
            found = descriptor_of(call.argument(0))
            if found is not None and found.number in task.table.open:
                description, _ = task.table.open[found.number]
                task.table.open[found.number] = (description, "FD_CLOEXEC" in call.argument(2))
            return
        if call.name == "fcntl" and not command.startswith("F_DUPFD"):
            return
        source, target = self._description(task, call.argument(0)), call.value
        first = descriptor_of(call.argument(0))
        if first is not None and first.number == target:
            return
        if source is None:
            self.tasks.closes(task, target)
        else:
            self.tasks.opens(task, target, source, "CLOEXEC" in " ".join(call.arguments[1:]))

    def _unlinks(self, call: Call, task: Task) -> None:
        if "AT_REMOVEDIR" in call.argument(2):
            return
        path = self._path(task, call, 1 if call.name == "unlinkat" else 0)
        if path is None:
            return
        if call.failed:
            self._record(call, Kind.UNLINK, failed=True)
            return
        file, remaining = self.names.removed(path)
        self._record(call, Kind.UNLINK, file, bytes=max(remaining, 0))

    def _renames(self, call: Call, task: Task) -> None:
        at = (0, 1) if call.name in ("rename", "link") else (1, 3)
        old, new = self._path(task, call, at[0]), self._path(task, call, at[1])
        if old is None or new is None:
            return
        if call.name.startswith("link"):
            if not call.failed:
                self.names.linked(old, new)
            return
        if call.failed:
            self._record(call, Kind.RENAME, failed=True)
        elif "RENAME_EXCHANGE" in call.argument(4):
            self._record(call, Kind.RENAME, self.names.exchanged(old, new))
        else:
            file, peer = self.names.renamed(old, new)
            self._record(call, Kind.RENAME, file, peer=peer)

    def _truncates(self, call: Call, task: Task) -> None:
        description = None
        size = _integer(call.argument(1))
        if call.name == "ftruncate":
            description = self._description(task, call.argument(0))
            file = None if description is None else description.file
        else:
            path = self._path(task, call, 0)
            file = None if path is None else self.names.of(path)
        if file is None or call.failed or size < 0:
            return
        self._record(call, Kind.TRUNCATE, file, description, offset=size)
        self.names.sizes[file] = size

    def _maps(self, call: Call, task: Task) -> None:
        protection, flags = call.argument(2), call.argument(3)
        if call.failed or "MAP_ANONYMOUS" in flags or protection == "PROT_NONE":
            return
        description = self._description(task, call.argument(4))
        length, offset = _integer(call.argument(1)), _integer(call.argument(5))
        if description is None or length < 0 or offset < 0:
            return
        if "PROT_WRITE" in protection and "MAP_SHARED" in flags:
            self.missed["writable_shared_maps"] += 1
        self._record(call, Kind.MAP, description.file, description, offset=offset, bytes=length)

    def _syncs_all(self, call: Call, task: Task) -> None:
        self._record(call, Kind.FSYNC)

    def _copies(self, call: Call, task: Task) -> None:
        """Record sendfile and copy_file_range: a read and a write of the same bytes."""
        if call.name == "sendfile":
            target, source, offsets = call.argument(0), call.argument(1), ("NULL", call.argument(2))
        else:
            source, target, offsets = call.argument(0), call.argument(2), (call.argument(3), call.argument(1))
        for argument, kind, shown in ((source, Kind.READ, offsets[1]), (target, Kind.WRITE, offsets[0])):
            description = self._description(task, argument)
            if description is None:
                continue
            offset = -1
            if shown != "NULL":
                found = _OFFSET.match(shown)
                if found is None:
                    self.missed["unknown_offsets"] += 1
                    continue
                offset = int(found[1])
            self._moved(call, description, kind, offset, call.value)

    def _executes(self, call: Call, task: Task) -> None:
        if call.failed:
            return
        self.tasks.execs(task)
        path = self._path(task, call, 1 if call.name == "execveat" else 0)
        if path is None or not is_file(path):
            return
        # The kernel maps the program; its length is that of the file, which the simulator knows.
        file = self.names.of(path)
        size = self.names.sizes.get(file, NONE)
        if size == NONE and (size := self.names.size_of(path)) != NONE:
            self.names.has_size(file, size)
        self._record(call, Kind.MAP, file, bytes=max(size, 0))

    def _changes_folder(self, call: Call, task: Task) -> None:
        if call.failed:
            return
        if call.name == "chdir":
            path = self._path(task, call, 0)
        else:
            found = descriptor_of(call.argument(0))
            path = unescaped(found.name) if found is not None and found.name else None
        if path is None:
            self.missed["unknown_folders"] += 1
        else:
            task.folder.name = path

    def _forked(self, call: Call, task: Task) -> None:
        child = call.value
        if child in self.tasks.alive:
            # It was found while the fork was in progress.
            return
        self._forks(task, child, " ".join((call.name, *call.arguments)))
        for waiting in self._waiting.pop(child, []):
            self._apply(waiting)

    def _forks(self, parent: Task, child: int, text: str) -> None:
        self.tasks.forks(parent, child, "CLONE_FILES" in text, "CLONE_FS" in text)

    # arguments

    def _path(self, task: Task, call: Call, index: int) -> str | None:
        """Return the absolute name in an argument. None: it is not told, or its folder is unknown."""
        path = path_of(call.argument(index))
        if path is None:
            return None
        folder = task.folder.name
        if not path.startswith("/") and index > 0 and (found := descriptor_of(call.argument(index - 1))):
            folder = unescaped(found.name) if found.name else folder
            if found.number == -100 and found.name:
                task.folder.name = folder
        return absolute(folder, path)

    def _description(self, task: Task, argument: str) -> Description | None:
        """Return the description of a descriptor; None: it is no file. Names of strace correct it."""
        found = descriptor_of(argument)
        if found is None or found.number < 0:
            return None
        known = task.table.open.get(found.number)
        if found.name and not is_file(found.name):
            if known is not None:
                self.missed["descriptors_changed_unseen"] += 1
                self.tasks.closes(task, found.number)
            return None
        if known is not None and (found.deleted or not found.name or self._is_of(known[0].file, found.name)):
            return known[0]
        if not found.name:
            return None
        if known is None:
            self.missed["descriptors_opened_before"] += 1
        else:
            self.missed["descriptors_changed_unseen"] += 1
        description = self.tasks.new(self.names.of(unescaped(found.name)))
        self.tasks.opens(task, found.number, description)
        return description

    def _is_of(self, file: int, shown: str) -> bool:
        name = unescaped(shown) if "\\" in shown else shown
        # A file without a name, such as a temporary one, shows an invented one.
        return (
            self.recorder.paths[file] == name
            or self.names.by_name.get(name) == file
            or not self.names.links[file]
        )

    def _record(
        self, call: Call, kind: Kind, file: int = NONE, description: Description | None = None, *,
        offset: int = 0, bytes: int = 0, peer: int = NONE, failed: bool = False,
    ) -> None:  # fmt: skip
        if max(call.time_ns, offset, offset + bytes) > MAX_OFFSET or (
            kind is not Kind.MAP and bytes > MAX_TRANSFER
        ):
            self.missed["impossible_values"] += 1
            return
        self.recorder.add(
            call.time_ns, kind, file, duration_ns=call.duration_ns, process=call.pid, offset=offset, bytes=bytes, peer=peer,
            handle=NONE if description is None else description.number, failed=failed or call.failed,
        )  # fmt: skip


_HANDLERS: dict[str, Callable[[StraceFileReader, Call, Task], None]] = {
    name: handler
    for handler, names in (
        (StraceFileReader._closes, ("close", "close_range")),
        (StraceFileReader._seeks, ("lseek",)),
        (StraceFileReader._duplicates, ("dup", "dup2", "dup3", "fcntl")),
        (StraceFileReader._stats_descriptor, ("fstat",)),
        (StraceFileReader._unlinks, ("unlink", "unlinkat")),
        (StraceFileReader._renames, ("rename", "renameat", "renameat2", "link", "linkat")),
        (StraceFileReader._truncates, ("truncate", "ftruncate")),
        (StraceFileReader._maps, ("mmap",)),
        (StraceFileReader._syncs_all, ("sync",)),
        (StraceFileReader._copies, ("sendfile", "copy_file_range")),
        (StraceFileReader._executes, ("execve", "execveat")),
        (StraceFileReader._changes_folder, ("chdir", "fchdir")),
    )
    for name in names
}
#: all calls of a trace
CALLS = (
    *_READS, *_WRITES, *_STATS, *_OPENS, *sorted(_FORKS), *sorted(_SYNCS), *_HANDLERS, *_NOT_FOLLOWED,
)  # fmt: skip


def _integer(text: str) -> int:
    """Parse an argument; -1 if it is no number from 0, such as an address that cannot be an offset."""
    try:
        return max(int(text, 0), -1)
    except ValueError:
        return -1
