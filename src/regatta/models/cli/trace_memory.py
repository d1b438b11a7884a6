"""`regatta trace memory`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option
from regatta.cli.tables import plain_console, show
from regatta.host.errors import RegattaError
from regatta.host.printable import printable
from regatta.models.cli.trace_options import FILE, FOLDER, OWN_WORDS, command_argument

if TYPE_CHECKING:
    from regatta.models.page_cache.faults import FaultCurve, Faults
    from regatta.models.page_cache.references import References

#: memories without --memory, relative to all pages that the program touches
_PARTS = (1.0, 0.5, 0.25, 0.125)
_MIB = 1 << 20


@click.command("memory", context_settings=OWN_WORDS)
@click.option(
    "-o", "output", type=FOLDER, help="Folder for the trace (Parquet). [default: none, only the faults]"
)
@click.option("--from", "source", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Read an existing trace, a folder of -o, instead of running COMMAND.")  # fmt: skip
@click.option("--memory", "memories", multiple=True, type=click.FloatRange(0.01, 1e8), metavar="MIB", help="MiB of memory of COMMAND; repeat it for several. [default: all that COMMAND touches, its half, quarter and eighth]")  # fmt: skip
@click.option(
    "--swap", is_flag=True, help="Anonymous memory can leave too. Only LRU is predicted. [default: it stays]"
)
@click.option("--resident", "patterns", multiple=True, metavar="PATTERN", help="Files that take no memory of COMMAND, such as '*/lib*.so*', because other programs use them; repeat it for several.")  # fmt: skip
@click.option("--read-ahead", "read_ahead_kib", type=click.IntRange(0, 1 << 20), default=128, show_default=True, help="KiB that Linux reads around a fault (/sys/class/bdi/*/read_ahead_kb).")  # fmt: skip
@click.option("--advised-random", is_flag=True, help="The maps of COMMAND have MADV_RANDOM: no read-ahead, and Linux sees no use after the fault.")  # fmt: skip
@click.option(
    "--picture", type=FILE, help="Also write a page (HTML) with the faults over the size of memory."
)
@json_option
@command_argument
def trace_memory(
    command: tuple[str, ...],
    output: Path | None,
    source: Path | None,
    memories: tuple[float, ...],
    swap: bool,
    patterns: tuple[str, ...],
    read_ahead_kib: int,
    advised_random: bool,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Trace the pages of memory that COMMAND uses, and predict its page faults with less memory.

    For each size of memory, the table has the pages that are read from the disk again, and the faults that wait for it. The
    files are not cached at the begin. valgrind makes COMMAND several hundred times slower.
    """
    if (source is not None) == bool(command):
        raise click.UsageError("expected one of COMMAND after -- and --from")
    from regatta.models.page_cache.cache import PAGE_BYTES
    from regatta.models.page_cache.faults import fault_curve, predict_faults
    from regatta.models.page_cache.mapped_cache import MapSettings
    from regatta.models.page_cache.references import read_references, write_references

    references = _recorded(command) if source is None else read_references(source)
    if output is not None:
        write_references(output, references)
    references = references.without(patterns)
    curve = fault_curve(references, swap)
    sizes = {round(memory * _MIB / PAGE_BYTES) or 1 for memory in memories}
    if not sizes:
        sizes = {max(1, round(part * curve.touched_pages)) for part in _PARTS}
    settings = MapSettings(read_ahead_kib * 1024 // PAGE_BYTES, advised_random)
    found = [predict_faults(references, curve, size, settings, swap) for size in sorted(sizes, reverse=True)]
    if picture is not None:
        from regatta.models.page_cache.page import write_faults

        write_faults(curve, found, f"Page faults of {command[0] if command else source}", picture)
    if as_json:
        click.echo(json.dumps(_told(references, curve, found), indent=1))
        return
    _show(references, curve, found)


def _recorded(command: tuple[str, ...]) -> References:
    from regatta.models.page_cache.recording import record

    references, exit_code = record(command)
    if exit_code != 0:
        click.echo(f"note: {printable(command[0])} ended with exit code {exit_code}", err=True)
    if not len(references):
        raise RegattaError("valgrind", "references to memory", "none", "trace a program that runs")
    return references


def _told(references: References, curve: FaultCurve, found: list[Faults]) -> dict[str, object]:
    from regatta.models.page_cache.page import mib_of

    memories = [
        {
            "memory_mib": mib_of(one.memory_pages),
            "lru_read_again": one.lru,
            "linux": None if one.linux is None else asdict(one.linux),
        }
        for one in found
    ]
    return {
        "references": references.facts.references,
        "kept": len(references),
        "exact_from_mib": mib_of(curve.exact_from_pages),
        "needed_mib": mib_of(curve.least_pages),
        "not_understood": dict(references.facts.not_understood),
        "first_touches": {
            "files": curve.first_touches_of_files,
            "anonymous": curve.first_touches_anonymous,
        },
        "memories": memories,
    }


def _show(references: References, curve: FaultCurve, found: list[Faults]) -> None:
    from regatta.models.page_cache.page import faults_table, mib_of

    console = plain_console()
    facts = references.facts
    touched = mib_of(curve.touched_pages)
    console.print(
        f"{facts.references:,} references, {touched:,.1f} MiB touched, {len(references):,} references kept"
    )
    for what, count in facts.not_understood.items():
        click.echo(f"note: {count:,} x {printable(what)}", err=True)
    least = min(one.memory_pages for one in found)
    if least < curve.exact_from_pages:
        exact = f"{mib_of(curve.exact_from_pages):,.2f}"
        click.echo(f"note: below {exact} MiB, the trace misses faults; larger memories are exact", err=True)
    if least < curve.least_pages:
        needed = f"{mib_of(curve.least_pages):,.2f}"
        click.echo(f"note: COMMAND cannot run below {needed} MiB without swap", err=True)
    console.print()
    show(console, faults_table(curve, found))
