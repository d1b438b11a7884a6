"""Parts of an application's time that `regatta predict` takes from other models: collections, and waits for the disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.host.errors import SpecError
from regatta.host.printable import printable

if TYPE_CHECKING:
    from regatta.models.gc.measured import MeasuredCollections, Vm
    from regatta.models.predict.predictions import Request
    from regatta.models.vectors.sources import Sources, SystemSource
    from regatta.models.vectors.values import ApplicationVector, SystemVector, Value

#: in the fingerprint of a machine
_PROCESSORS = re.compile(r"(?:^|; )cpus (\d+)(?:;|$)")
#: heap of a system vector
_MIB = re.compile(r"(\d+)MiB")
_BYTES_PER_MIB = 1 << 20


@dataclass(frozen=True)
class WholeParts:
    """The options of these parts."""

    #: heap vector of `regatta trace heap`
    collections: Path | None = None
    #: bytes; None: that of each system
    heap: int | None = None
    #: folder of `regatta trace files`
    files: Path | None = None
    #: bytes
    memory: int | None = None
    #: experiments with the costs of collectors and disks; none: those of the systems
    costs: Sequence[str] = ()

    @property
    def wanted(self) -> bool:
        """Return whether any part is asked for."""
        return self.collections is not None or self.files is not None

    def check(self, refused: Callable[[str, str, str], None]) -> None:
        """Call `refused` with where, expected and got of each option that lacks another one."""
        if self.heap is not None and self.collections is None:
            refused("--heap", "together with --collections", "alone")
        if (self.memory is None) != (self.files is None):
            given, other = ("--memory", "--files") if self.files is None else ("--files", "--memory")
            refused(given, f"together with {other}", "alone")
        if self.costs and not self.wanted:
            refused("--costs", "together with --collections or --files", "alone")

    def in_request(self, request: Request, sources: Sources) -> Request:
        """Return the request with these parts in its application and on each of its systems.

        Raises:
            SpecError: several applications, a trace of another application, or a cost or size that is unknown.
            StoreError: an experiment cannot be read.
        """
        if not self.wanted:
            return request
        if len(request.applications) != 1 or request.applications[0].parts or request.replaced:
            option = "--collections" if self.collections else "--files"
            raise SpecError.of(option, "one application, without weights and --replace", "several")
        folders = self._folders(request, sources)
        for part in (self._with_collections, self._with_waits):
            request = part(request, folders)
        return request

    def _folders(self, request: Request, sources: Sources) -> list[Path]:
        named = [sources.experiment(name, "--costs") for name in self.costs]
        sources.check()
        found = named or [source.experiment for source in request.systems]
        folders = list(dict.fromkeys(folder for folder in found if folder is not None))
        if not folders:
            fix = "name the experiment that measured collectors or disks: --costs NAME"
            raise SpecError.of("--costs", "an experiment", "none, and no system is one", fix)
        return folders

    def _with_collections(self, request: Request, folders: Sequence[Path]) -> Request:
        if self.collections is None:
            return request
        from regatta.models.gc.added_time import added_time
        from regatta.models.gc.heap_vector import read_heap_vector
        from regatta.models.predict.parts import COLLECTIONS, with_part, without_pauses
        from regatta.models.predict.times import PARALLELISM

        heap = read_heap_vector(self.collections)
        application = request.applications[0].vector
        _check_same(self.collections, heap.benchmark, heap.per, application)
        if application.user_time is not None and application.pause_time is None:
            fix = "trace it with `regatta trace java` and a benchmark of the Java harness"
            raise SpecError.of(application.name, "known pauses of the traced run (pause_time)", "none", fix)
        measured = [(folder, _collections_of(folder)) for folder in folders]
        changed = with_part(without_pauses(application), COLLECTIONS, f"`regatta predict gc`, {heap.name}")
        threads = float(changed.provenance.get(PARALLELISM, "1"))

        def on(system: SystemVector) -> tuple[Value, str]:
            size = self._heap_of(system)
            vm, of_vm = _costs_of_vm(system, measured)
            processors = _PROCESSORS.search(system.provenance.get("fingerprint", ""))
            found = added_time(
                heap,
                vm,
                size,
                of_vm,
                processors=int(processors[1]) if processors else None,
                threads=threads,
                level=system.level,
            )
            _note(f"{application.name} on {system.name}", found.words, *found.notes)
            return found.time, found.words

        elsewhere = any(self._heap_of(one.vector) != _own_heap(one.vector) for one in request.systems)
        return _changed(request, changed, COLLECTIONS, on, elsewhere)

    def _heap_of(self, system: SystemVector) -> int:
        size = self.heap or _own_heap(system)
        if not size:
            got = system.provenance.get("heap") or "none"
            raise SpecError.of(system.name, "a heap of a known size", got, "--heap 128m")
        return size

    def _with_waits(self, request: Request, folders: Sequence[Path]) -> Request:
        if self.files is None or self.memory is None:
            return request
        from regatta.models.page_cache.operations import read_operations
        from regatta.models.predict.file_times import simulated, waits_of
        from regatta.models.predict.parts import DISK_WAITS, with_part
        from regatta.models.vectors.sums import at_level, positive

        counts = simulated(read_operations(self.files), self.memory)
        application = request.applications[0].vector
        if application.per != "run":
            expected = "the unit of work of a trace of files: run"
            raise SpecError.of(application.name, expected, application.per)
        disks = [disk for folder in folders for disk in _disks_of(folder)]
        size = f"{self.memory / _BYTES_PER_MIB:g} MiB"
        words = f"{counts.read_misses + counts.read_ahead_used:,} pages that are not in {size} of memory"

        def on(system: SystemVector) -> tuple[Value, str]:
            disk = _disk_of(system, disks)
            time = positive(waits_of(counts, at_level(disk, system.level)).interval())
            _note(f"{application.name} on {system.name}", f"{words}, costs of {disk.name}")
            return time, f"{words}, costs of {disk.name}"

        changed = with_part(application, DISK_WAITS, f"`regatta predict files`, {self.files.name}")
        return _changed(request, changed, DISK_WAITS, on, True)


def _changed(
    request: Request,
    application: ApplicationVector,
    part: str,
    on: Callable[[SystemVector], tuple[Value, str]],
    elsewhere: bool,
) -> Request:
    from regatta.models.predict.parts import with_cost

    def costing(one: SystemSource) -> SystemSource:
        return replace(one, vector=with_cost(one.vector, part, *on(one.vector)))

    return replace(
        request,
        applications=(replace(request.applications[0], vector=application),),
        systems=tuple(map(costing, request.systems)),
        elsewhere=request.elsewhere or elsewhere,
    )


def _note(where: str, *words: str) -> None:
    for each in words:
        click.echo(f"note: {printable(f'{where}: {each}')}", err=True)


def _check_same(path: Path, benchmark: str, per: str, application: ApplicationVector) -> None:
    if benchmark and application.benchmark and benchmark != application.benchmark:
        raise SpecError.of(str(path), f"the heap of {application.benchmark}", benchmark)
    if per != application.per:
        raise SpecError.of(str(path), f"per {application.per}, as {application.name}", f"per {per}")


def _own_heap(system: SystemVector) -> int:
    """Return the heap in which a system was measured, bytes; 0 if its vector has none in MiB."""
    found = _MIB.fullmatch(system.provenance.get("heap", ""))
    return int(found[1]) * _BYTES_PER_MIB if found else 0


def _collections_of(folder: Path) -> MeasuredCollections:
    from regatta.cli.store import database_progress
    from regatta.models.gc.measured import read_measured

    with database_progress() as progress:
        return read_measured(folder, progress)


def _costs_of_vm(
    system: SystemVector, measured: Sequence[tuple[Path, MeasuredCollections]]
) -> tuple[Vm, MeasuredCollections]:
    """Return the collector of a system, and the first experiment with its costs on that machine."""
    from regatta.models.gc.heap_policy import COLLECTORS
    from regatta.models.gc.measured import Vm

    words = system.provenance.get("configuration", "").split()
    collector = next((word for word in words if word in COLLECTORS), "")
    host, runtime = (system.provenance.get(key, "") for key in ("host", "runtime"))
    if not (runtime and collector):
        expected = "a JVM with a named collector"
        fix = "measure it with `collectors` in the spec"
        raise SpecError.of(system.name, expected, " ".join(words) or "none", fix)
    vm = Vm(host, runtime, collector)
    for folder, found in measured:
        if vm in found.costs:
            _check_machine(system, folder)
            return vm, found
    known = sorted({f"{one.name} on {one.host}" for _, found in measured for one in found.costs})
    fix = "measure suite gc with it, as in configs/experiments/hbench-jgc.yml, and name it: --costs NAME"
    raise SpecError.of(system.name, f"costs of {vm.name} on {host}", ", ".join(known) or "none", fix)


def _check_machine(system: SystemVector, folder: Path) -> None:
    from regatta.answers.spine.facts import fingerprint_of, read_facts
    from regatta.models.predict.measured_times import machine_difference

    facts = read_facts(folder)
    ours = fingerprint_of(facts.hosts.get(system.provenance.get("host", ""), {}))
    if difference := machine_difference(ours, system.provenance.get("fingerprint", "")):
        raise SpecError.of(f"--costs {facts.name}", f"the machine of {system.name}", difference)


def _disks_of(folder: Path) -> Iterator[SystemVector]:
    from regatta.models.predict.file_times import NEEDED
    from regatta.models.vectors.measured import system_vectors
    from regatta.models.vectors.primitives import find_primitives, read_primitives
    from regatta.spec.home import known_home

    table = read_primitives(find_primitives("files", known_home()))
    used = {name: table.primitives[name] for name in (*NEEDED, "file_read")}
    vectors, _ = system_vectors(folder, replace(table, primitives=used))
    for vector in vectors:
        if set(NEEDED) <= vector.primitives.keys():
            yield vector


def _disk_of(system: SystemVector, disks: Sequence[SystemVector]) -> SystemVector:
    """Return the costs of the disk that a system uses: those of its configuration, else those of the plain one of its host."""
    from regatta.models.predict.measured_times import machine_difference
    from regatta.models.predict.predictions import BARE

    told = system.provenance
    there = [
        one
        for one in disks
        if one.provenance.get("host") == told.get("host")
        and not machine_difference(one.provenance.get("fingerprint", ""), told.get("fingerprint", ""))
    ]
    for names in ({told.get("configuration", "")}, {*BARE}):
        for one in there:
            if one.provenance.get("configuration", "") in names:
                return one
    got = ", ".join(one.name for one in disks) or "none"
    fix = "measure lm/lat_uncached and lm/lat_file_io there, and name the experiment: --costs NAME"
    raise SpecError.of(system.name, "costs of its disk", got, fix)
