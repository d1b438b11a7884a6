"""`regatta trace files`."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option
from regatta.cli.tables import plain_console, show
from regatta.host.errors import HostError, RegattaError
from regatta.host.files import bounded_lines, check_room, scratch_folder
from regatta.host.foreign import foreign
from regatta.host.printable import printable
from regatta.models.cli.trace_options import FOLDER, OWN_WORDS, command_argument

if TYPE_CHECKING:
    from regatta.models.page_cache.cache import CacheCounts
    from regatta.models.page_cache.operations import Operations

#: limits without --memory, relative to all pages that the program touches and to its own memory
_PARTS = (1.0, 0.5, 0.25, 0.125)
_MIB = 1 << 20


@click.command("files", context_settings=OWN_WORDS)
@click.option(
    "-o", "output", type=FOLDER, help="Folder for the trace (Parquet). [default: none, only the counts]"
)
@click.option("--from", "source", type=click.Path(exists=True, path_type=Path), help="Read an existing trace instead of running COMMAND: a folder of -o, or the text of strace.")  # fmt: skip
@click.option("--memory", "memories", multiple=True, type=click.FloatRange(0.01, 1e8), metavar="MIB", help="Limit of memory to simulate: MiB for the page cache and for the processes themselves. Repeatable. [default: all that COMMAND uses, its half, quarter and eighth]")  # fmt: skip
@click.option("--only", "folder", type=click.Path(path_type=Path), help="Only files below this folder need room; all others are in memory, because other programs use them too.")  # fmt: skip
@click.option("--policy", type=click.Choice(["two-list", "lru"]), default="two-list", show_default=True, help="Which page leaves a full cache: as in Linux (active and inactive list), or the least recently used.")  # fmt: skip
@click.option("--read-ahead", "read_ahead_kib", type=click.IntRange(0, 1 << 20), help="KiB of the largest window of read-ahead. [default: that of the disk of the files, or 128]")  # fmt: skip
@json_option
@command_argument
def trace_files(
    command: tuple[str, ...],
    output: Path | None,
    source: Path | None,
    memories: tuple[float, ...],
    folder: Path | None,
    policy: str,
    read_ahead_kib: int | None,
    as_json: bool,
) -> None:
    """Trace the file operations of COMMAND, and simulate the page cache that they need.

    For each limit of memory, the table has the hits and misses of reads, and the data that is read from and written to the
    disk. The cache is empty at the begin. strace follows all processes and slows them down.
    """
    if (source is not None) == bool(command):
        raise click.UsageError("expected one of COMMAND after -- and --from")
    from regatta.models.page_cache.cache import DEFAULT_READ_AHEAD_KIB, PAGE_BYTES, CacheSettings
    from regatta.models.page_cache.limited import simulate_within, under

    operations = _recorded(command, folder) if source is None else _read(source)
    if folder is not None:
        operations = under(operations, folder.resolve())
    if output is not None:
        from regatta.models.page_cache.operations import write_operations

        write_operations(output, operations)
    if read_ahead_kib is None:
        told = operations.facts.read_ahead_kib
        read_ahead_kib = told if told >= 0 else DEFAULT_READ_AHEAD_KIB
    limits = sorted({round(memory * _MIB) for memory in memories}, reverse=True)
    if not limits:
        used = _used_bytes(operations)
        limits = sorted({round(part * used) for part in _PARTS}, reverse=True)
    settings = CacheSettings(
        None, "lru" if policy == "lru" else "two-list", read_ahead_kib * 1024 // PAGE_BYTES
    )
    found = [(limit, simulate_within(operations, limit, settings)) for limit in limits]
    if as_json:
        caches = [{"memory_mib": limit / _MIB, "hit_ratio": _finite(counts.hit_ratio), **counts.vector()} for limit, counts in found]  # fmt: skip
        click.echo(json.dumps({"operations": len(operations), "files": len(operations.paths), "not_understood": dict(operations.facts.not_understood), "caches": caches}, indent=1))  # fmt: skip
        return
    _show(operations, found)


def _recorded(command: tuple[str, ...], folder: Path | None) -> Operations:
    """Run a command under strace; its output and its exit code are its own."""
    from regatta.models.page_cache.limited import read_ahead_kib_of
    from regatta.models.page_cache.strace_grammar import MAX_LINE
    from regatta.models.page_cache.strace_reader import read_strace, size_on_host, strace_arguments
    from regatta.models.system_calls.processes import MemorySamples
    from regatta.models.system_calls.strace import strace_program

    program = strace_program()
    with scratch_folder("regatta-files-") as scratch:
        lines = scratch / "strace.txt"
        argv = strace_arguments(lines, command)
        with subprocess.Popen([program, *argv[1:]]) as done, MemorySamples(done.pid) as memory:
            done.wait()
        check_room(scratch)
        if not lines.exists():
            raise HostError("strace", "a trace of the command", f"exit code {done.returncode} and no trace")
        if done.returncode != 0:
            click.echo(f"note: {printable(command[0])} ended with exit code {done.returncode}", err=True)
        with lines.open(errors="surrogateescape") as text:
            found = read_strace(bounded_lines(text, MAX_LINE), os.getcwd(), size_on_host)
    facts = replace(found.facts, read_ahead_kib=read_ahead_kib_of(folder or Path.cwd()))
    return replace(found, facts=facts, memory=tuple(memory.rows))


def _read(source: Path) -> Operations:
    from regatta.models.page_cache.operations import read_operations
    from regatta.models.page_cache.strace_grammar import MAX_LINE
    from regatta.models.page_cache.strace_reader import read_strace

    if source.is_dir():
        return read_operations(source)
    with foreign(source, "lines of strace"), source.open(errors="surrogateescape") as text:
        found = read_strace(bounded_lines(text, MAX_LINE))
    if not len(found):
        raise RegattaError(str(source), "a folder of this command, or lines of strace", "no file operation", "record it with `regatta trace files -o`")  # fmt: skip
    return found


def _used_bytes(operations: Operations) -> int:
    """Return the bytes of all pages that are touched, with the most memory that the processes had for themselves."""
    import numpy as np

    from regatta.models.page_cache.cache import PAGE_BYTES
    from regatta.models.page_cache.stack_distances import page_accesses

    own = max((used for _, used in operations.memory), default=0)
    return own + PAGE_BYTES * max(1, len(np.unique(page_accesses(operations))))


def _finite(value: float) -> float | None:
    return value if value == value else None


def _show(operations: Operations, found: list[tuple[int, CacheCounts]]) -> None:
    from regatta.models.page_cache.page import caches_table, operations_table

    console = plain_console()
    console.print(f"{len(operations):,} operations on {len(operations.paths):,} files")
    for what, count in operations.facts.not_understood.items():
        click.echo(f"note: {count:,} x not followed: {printable(what)}", err=True)
    for table in (caches_table(found), operations_table(found[0][1])):
        console.print()
        show(console, table.without_empty())
