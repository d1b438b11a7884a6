"""The files of processes at a moment of a trace: which file a name or a descriptor means.

Identities survive renames, and end with the last name.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field

from regatta.models.page_cache.operations import NONE, Recorder

#: names in these folders are interfaces of the kernel, not files on a disk
_KERNEL_FOLDERS = ("/proc/", "/sys/", "/dev/", "/memfd:")
_SHARED_MEMORY = "/dev/shm/"


class Identities:
    """Maps names to identities, and knows the current size of each file.

    Args:
        recorder: where new files are added.
        size_of: current size in bytes of the file of a name on this host; -1: unknown.
    """

    def __init__(self, recorder: Recorder, size_of: Callable[[str], int]) -> None:
        self.recorder = recorder
        self.size_of = size_of
        self.by_name: dict[str, int] = {}
        #: number of names known of a file
        self.links: dict[int, int] = {}
        #: current size in bytes; absent: unknown
        self.sizes: dict[int, int] = {}
        #: names that did not exist at some time: a later successful open with O_CREAT creates
        self.missing: set[str] = set()
        #: folder as the program named it -> folder as the kernel resolved it
        self._folders: dict[str, str] = {}

    def of(self, name: str) -> int:
        """Return the file of an absolute name; a name new to the trace is a new file of unknown size."""
        name = self.resolved(name)
        file = self.by_name.get(name)
        if file is None:
            file = self.by_name[name] = self.recorder.file(name)
            self.links[file] = 1
        return file

    def created(self, name: str) -> int:
        """Return the new, empty file that a name means from now on."""
        name = self.resolved(name)
        self.missing.discard(name)
        file = self.by_name[name] = self.recorder.file(name, 0)
        self.links[file] = 1
        self.sizes[file] = 0
        return file

    def removed(self, name: str) -> tuple[int, int]:
        """Remove a name. Return its file and the number of names that remain."""
        name = self.resolved(name)
        file = self.of(name)
        del self.by_name[name]
        self.missing.add(name)
        self.links[file] -= 1
        return file, self.links[file]

    def renamed(self, old: str, new: str) -> tuple[int, int]:
        """Rename. Return the file, and the file that lost its last name by it; -1: none."""
        old, new = self.resolved(old), self.resolved(new)
        file, replaced = self.of(old), self.by_name.get(new, NONE)
        if file == replaced:
            return file, NONE
        if replaced != NONE:
            self.links[replaced] -= 1
            replaced = replaced if self.links[replaced] == 0 else NONE
        self.missing.discard(new)
        self.missing.add(old)
        del self.by_name[old]
        self._give(new, file)
        # A folder takes the files in it along.
        inside = old + "/"
        for name in [name for name in self.by_name if name.startswith(inside)]:
            self._give(new + "/" + name[len(inside) :], self.by_name.pop(name))
        return file, replaced

    def exchanged(self, one: str, other: str) -> int:
        """Exchange two names. Return the file that the first name meant."""
        one, other = self.resolved(one), self.resolved(other)
        first, second = self.of(one), self.of(other)
        self._give(one, second)
        self._give(other, first)
        return first

    def linked(self, old: str, new: str) -> None:
        """Give a file a second name."""
        file = self.of(old)
        self.by_name[self.resolved(new)] = file
        self.links[file] += 1

    def resolves(self, given: str, real: str) -> None:
        """Note how the kernel resolved a name: the same holds for other names in its folder."""
        folder, name = posixpath.split(given)
        real_folder, real_name = posixpath.split(real)
        if name == real_name and folder != real_folder:
            self._folders[folder] = real_folder

    def resolved(self, name: str) -> str:
        """Return a normal name. Links of folders are followed as far as the trace showed them."""
        folder, last = posixpath.split(name)
        folder = self._folders.get(folder, folder)
        return f"{folder.rstrip('/')}/{last}"

    def has_size(self, file: int, size_bytes: int) -> None:
        """Note a size that the trace showed."""
        if self.recorder.sizes_bytes[file] == NONE:
            self.recorder.sizes_bytes[file] = size_bytes
        self.sizes[file] = size_bytes

    def reaches(self, file: int, end: int) -> None:
        """Note that a file has data up to `end`."""
        if file not in self.sizes or self.sizes[file] < end:
            self.sizes[file] = end

    def finish(self) -> None:
        """Ask for the sizes that the trace did not show. They are those of now, after the program."""
        for name, file in self.by_name.items():
            if self.recorder.sizes_bytes[file] == NONE:
                self.recorder.sizes_bytes[file] = self.size_of(name)

    def _give(self, name: str, file: int) -> None:
        self.by_name[name] = file
        self.recorder.paths[file] = name


def is_file(name: str) -> bool:
    """Return whether the name of a descriptor is that of a file that a page cache serves."""
    if not name.startswith("/") or name.endswith(">"):
        # Pipes, sockets and kernel objects have no slash; devices end in `<char 1:3>`.
        return False
    return name.startswith(_SHARED_MEMORY) or not name.startswith(_KERNEL_FOLDERS)


def absolute(folder: str, name: str) -> str:
    """Join a name to the folder it is relative to, and remove `.` and `..`. Links are not followed."""
    joined = posixpath.normpath(posixpath.join(folder, name))
    return joined[1:] if joined.startswith("//") else joined


@dataclass(eq=False, slots=True)
class Description:
    """An open file description: what `open` makes, and `dup` and `fork` share.

    Args:
        number: identity of the description; column `handle` of the trace.
        file: identity of the file.
        position: offset of the next read or write, in bytes.
        appends: writes go to the end of the file (O_APPEND).
        holders: number of descriptors that refer to it.
    """

    number: int
    file: int
    position: int = 0
    appends: bool = False
    holders: int = 0


@dataclass(eq=False, slots=True)
class Table:
    """The descriptors of a process; threads share it.

    Args:
        open: descriptor -> its description and whether exec closes it.
        users: number of tasks that share the table.
    """

    open: dict[int, tuple[Description, bool]] = field(default_factory=dict)
    users: int = 1


@dataclass(eq=False, slots=True)
class Folder:
    """The working directory of a process; threads share it."""

    name: str


@dataclass(eq=False, slots=True)
class Task:
    """A thread or a process."""

    table: Table
    folder: Folder


class Tasks:
    """All tasks of a trace.

    Args:
        folder: working directory of tasks that existed before the trace.
        closed: called with a description whose last descriptor was closed.
    """

    def __init__(self, folder: str, closed: Callable[[Description], None]) -> None:
        self._folder = folder
        self._closed = closed
        self._number = 0
        self.alive: dict[int, Task] = {}

    def begin(self, pid: int) -> Task:
        """Add a task of which nothing is known."""
        task = self.alive[pid] = Task(Table(), Folder(self._folder))
        return task

    def forks(self, parent: Task, pid: int, shares_table: bool, shares_folder: bool) -> Task:
        """Add the child of a task."""
        if shares_table:
            table = parent.table
            table.users += 1
        else:
            table = Table(dict(parent.table.open))
            for description, _ in table.open.values():
                description.holders += 1
        folder = parent.folder if shares_folder else Folder(parent.folder.name)
        task = self.alive[pid] = Task(table, folder)
        return task

    def ends(self, pid: int) -> None:
        """Remove a task; the last one of a table closes its descriptors."""
        task = self.alive.pop(pid, None)
        if task is None:
            return
        task.table.users -= 1
        if task.table.users == 0:
            for descriptor in list(task.table.open):
                self.closes(task, descriptor)

    def execs(self, task: Task) -> None:
        """Give a task that executes a program its own table, without the descriptors that exec closes."""
        if task.table.users > 1:
            task.table.users -= 1
            task.table = Table(dict(task.table.open))
            for description, _ in task.table.open.values():
                description.holders += 1
        for descriptor, (_, on_exec) in list(task.table.open.items()):
            if on_exec:
                self.closes(task, descriptor)

    def new(self, file: int, appends: bool = False) -> Description:
        """Return a new description."""
        self._number += 1
        return Description(self._number - 1, file, appends=appends)

    def opens(self, task: Task, descriptor: int, description: Description, on_exec: bool = False) -> None:
        """Let a descriptor refer to a description; what it referred to is closed."""
        description.holders += 1
        self.closes(task, descriptor)
        task.table.open[descriptor] = (description, on_exec)

    def closes(self, task: Task, descriptor: int) -> None:
        """Close a descriptor, if it refers to a file."""
        found = task.table.open.pop(descriptor, None)
        if found is None:
            return
        description = found[0]
        description.holders -= 1
        if description.holders == 0:
            self._closed(description)
