"""The format of a trace of memory: `references.parquet`, `files.parquet` and `trace.json`.

References are reduced while they arrive, so that LRU of all but the smallest memories stays exact.
Pages of mapped files are told from anonymous memory, because only the former can leave memory without swap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from regatta.models.page_cache.cache import FILE_PAGES
from regatta.models.recordings.facts import MOST, Ranges, read_facts
from regatta.models.recordings.tables import escaped, read_table, write_recording

VERSION = 1
REFERENCES_FILE = "references.parquet"
FILES_FILE = "files.parquet"
FACTS_FILE = "trace.json"
_FIX = "record the trace again"
_FACTS: Ranges = {"references": (0, MOST), "exact_from_pages": (0, MOST), "not_understood": (0, MOST)}

REFERENCES = pa.schema(
    [
        # row of `files.parquet` x 2^44 + page of 4 KiB in the file; in anonymous memory: address / 4096
        ("page", pa.int64()),
    ]
)
FILES = pa.schema(
    [
        # last known name; bytes that are not UTF-8 are escaped as \xff
        ("path", pa.string()),
        # the memory of one process that belongs to no file; only swap can take its pages
        ("anonymous", pa.bool_()),
        # it was mapped for execution
        ("executable", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class File:
    """A mapped file, or the anonymous memory of a process; see `FILES`."""

    path: str
    anonymous: bool = False
    executable: bool = False


@dataclass(frozen=True)
class Facts:
    """What `trace.json` says of a whole trace."""

    source: str = ""
    host: str = ""
    kernel: str = ""
    #: references of the program before reduction
    references: int = 0
    #: LRU of at least so many pages is exact; see `Reducer`
    exact_from_pages: int = 0
    #: what could not be read or followed -> number
    not_understood: Mapping[str, int] = field(default_factory=dict)
    version: int = VERSION


@dataclass(frozen=True)
class References:
    """A reduced trace in memory.

    Args:
        pages: numbers of pages in the order of references; see `REFERENCES`.
        files: the files that the numbers name.
    """

    pages: NDArray[np.int64]
    files: tuple[File, ...]
    facts: Facts = Facts()

    def __len__(self) -> int:
        return len(self.pages)

    @property
    def anonymous(self) -> NDArray[np.bool_]:
        """Whether each reference is to anonymous memory."""
        found: NDArray[np.bool_] = self._of_files([one.anonymous for one in self.files])
        return found

    @property
    def first_touches(self) -> NDArray[np.bool_]:
        """Whether each reference is the first one to its page."""
        first = np.zeros(len(self.pages), bool)
        first[np.unique(self.pages, return_index=True)[1]] = True
        return first

    def _of_files(self, values: Sequence[bool]) -> NDArray[np.bool_]:
        return np.array([*values, False], bool)[self.pages // FILE_PAGES]

    def without(self, patterns: Sequence[str]) -> References:
        """Return the references without those to files that match one of the patterns (`*`, `?`, `[...]`)."""
        out = [
            not one.anonymous and any(fnmatchcase(one.path, pattern) for pattern in patterns)
            for one in self.files
        ]
        return References(self.pages[~self._of_files(out)], self.files, self.facts)


def write_references(folder: Path, references: References) -> None:
    """Write a trace; a folder with `trace.json` is complete. Raise RegattaError if it cannot be written."""
    rows = [{**asdict(one), "path": escaped(one.path)} for one in references.files]
    tables = {
        REFERENCES_FILE: pa.table({"page": pa.array(references.pages)}, schema=REFERENCES),
        FILES_FILE: pa.Table.from_pylist(rows, schema=FILES),
    }
    write_recording(folder / FACTS_FILE, references.facts, tables)


def read_references(folder: Path) -> References:
    """Read a trace and validate it.

    Raises:
        RegattaError: it is incomplete, of another version, or its values contradict the format.
    """
    facts = read_facts(Facts, folder / FACTS_FILE, "a trace of memory", _FACTS, _FIX)
    files = tuple(File(**row) for row in read_table(folder / FILES_FILE, FILES, _FIX).to_pylist())
    ranges = {"page": (0, len(files) * FILE_PAGES - 1)}
    pages = read_table(folder / REFERENCES_FILE, REFERENCES, _FIX, ranges)["page"].to_numpy()
    return References(pages, files, facts)


#: changes of the page in a block
BLOCK = 1024


class Reducer:
    """Keeps the first and the last reference to each page in each block of 1,024 changes of the page.

    The pages between two references of one page in different blocks stay the same set, so LRU distances
    across blocks are exact. A reference that is left out has a distance of at most the number of distinct
    pages in its block. The largest such number is `exact_from`: LRU of at least so many pages has the same
    faults with and without reduction. This is a form of stack deletion.

    Source: A. J. Smith, Two methods for the efficient analysis of memory address trace data, IEEE
    Transactions on Software Engineering SE-3(1), 1977, 94-101.
    """

    def __init__(self) -> None:
        #: most distinct pages in one block
        self.exact_from = 0
        self._waiting: list[NDArray[np.int64]] = []
        self._waits = 0
        self._last: int | None = None

    def add(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add references, and return what is kept of the blocks that are now complete.

        Args:
            pages: numbers of pages in the order of references, from 0.
        """
        if not len(pages):
            return pages
        changed = np.ones(len(pages), bool)
        changed[1:] = pages[1:] != pages[:-1]
        changed[0] = self._last is None or pages[0] != self._last
        self._last = int(pages[-1])
        pages = pages[changed]
        self._waiting.append(pages)
        self._waits += len(pages)
        if self._waits < BLOCK:
            return pages[:0]
        whole = np.concatenate(self._waiting)
        cut = len(whole) - len(whole) % BLOCK
        self._waiting, self._waits = [whole[cut:]], len(whole) - cut
        return self._reduced(whole[:cut])

    def finish(self) -> NDArray[np.int64]:
        """Return what is kept of the last block."""
        rest = np.concatenate([np.zeros(0, np.int64), *self._waiting])
        self._waiting, self._waits = [], 0
        return self._reduced(rest)

    def _reduced(self, pages: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(pages):
            return pages
        block = np.arange(len(pages)) // BLOCK
        order = np.lexsort((pages, block))
        new = np.ones(len(pages) + 1, bool)
        new[1:-1] = (pages[order[1:]] != pages[order[:-1]]) | (block[order[1:]] != block[order[:-1]])
        self.exact_from = max(self.exact_from, int(np.bincount(block[order[new[:-1]]]).max()))
        kept = np.zeros(len(pages), bool)
        kept[order[new[:-1]]] = True
        kept[order[new[1:]]] = True
        found: NDArray[np.int64] = pages[kept]
        return found
