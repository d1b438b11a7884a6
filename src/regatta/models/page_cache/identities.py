"""Which file a name means at a moment of a trace: identities survive renames, and end with the last name."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

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
        """Return the file of an absolute name. A name that is new to the trace is a new file of unknown size."""
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
