"""Descriptors of the processes of a trace, and the open file descriptions that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


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
        """Give a task that executes a program a table of its own, without the descriptors that exec closes."""
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
