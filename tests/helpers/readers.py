"""The readers of foreign files: a valid file for each, how it is read, and how it is damaged."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from helpers import seeds
from helpers.mutations import BINARY, BYTES, JOURNAL, JSON, RECORDING, TEXT, YAML, Mutator
from regatta.host.errors import RegattaError
from regatta.host.files import read_bounded


@dataclass(frozen=True)
class Reader:
    """A reader of foreign files.

    Args:
        seed: writes a valid file or folder into a folder, and returns its path.
        run: words of a command, with {} for the path; or a function of the path.
        mutators: what is done to the file.
        files: names of the files that are damaged, if the seed is a folder.
        accepted: exit codes for the seed.
        streams: whether its files have no limit of size, so that a large one is no failure.
        few: damaged files in the first tier; 1 where each starts another program or a long computation.
    """

    seed: Callable[[Path], Path]
    run: tuple[str, ...] | Callable[[Path], object]
    mutators: tuple[Mutator, ...]
    files: tuple[str, ...] = ("",)
    accepted: tuple[int, ...] = (0,)
    few: int = 3
    streams: bool = False


def _function(name: str, *arguments: object) -> Callable[[Path], object]:
    """Return a function of `module:name`, which is imported at its first use."""

    def call(path: Path) -> object:
        module, _, function = name.partition(":")
        return getattr(import_module(module), function)(path, *arguments)

    return call


def _received(path: Path) -> bytes:
    """Return what a host or a benchmark sends: it is in memory when the reader begins, with a limit."""
    try:
        return read_bounded(path, 64 << 20)
    except OSError as error:
        raise RegattaError(str(path), "a file", str(error)) from error


def _adapter(name: str, **options: object) -> Callable[[Path], object]:
    """Return the reader of the output of a benchmark; what it returns can be recorded."""

    def call(path: Path) -> None:
        from regatta.host.adapters import ADAPTERS
        from regatta.host.adapters.result import RunOutput
        from regatta.host.journal.record import decode_line, encode_record
        from regatta.host.journal.record_shape import shape_problem

        data = _received(path)
        out, err = (b"", data) if name == "dacapo" else (data, b"")
        found = ADAPTERS[name](RunOutput(5_000_000, 0.25, 0.5, 1024, data, "", out, False, err), options)
        record = {"v": 1, "iterations": found.iterations, "digests": found.digests, "info": found.info}
        assert shape_problem(decode_line(encode_record({**record, "reason": found.error})), needed=()) == ""
        if found.error:
            raise RegattaError(str(path), "a result", found.error)

    return call


def _spec(path: Path) -> None:
    from regatta.spec.load import load_spec

    load_spec(path / "spec.yml", path)


def _inventory(path: Path) -> None:
    from regatta.host.errors import Problem, SpecError
    from regatta.spec.inventory import read_inventory

    problems: list[Problem] = []
    read_inventory(path, problems)
    if problems:
        raise SpecError(problems)


def _settings(path: Path) -> None:
    from regatta.influx.settings_file import parse_settings

    parse_settings(path / "influx.yml")


def _unpacked(path: Path) -> None:
    from regatta.host.ready.unpacking import unpack

    unpack(path, Path("unpacked"))


def _facts_of_host(path: Path) -> None:
    """Read the answer of a host to the question for its facts."""
    from helpers.detached_beds import Bed
    from regatta.fleet.remote.base import Answer
    from regatta.fleet.remote.here import Here
    from regatta.store.folder import Folder

    data = _received(path)

    class Answering(Here):
        def run(self, *_: object, **__: object) -> Answer:
            return Answer(0, data, "")

    Bed(Folder(Path("results")), Path("root")).agent(Answering).facts()


def _records_of_host(path: Path) -> None:
    """Take over the records that a host sends."""
    from regatta.fleet.journal_copy import Acceptance
    from regatta.host.journal.plan_files import read_plan
    from regatta.host.journal.record import DamagedLine

    acceptance = Acceptance(read_plan(path / "plan/local").header, 0)
    refused = ""
    for line in _received(path / "journal/local/00000.jsonl").splitlines():
        try:
            acceptance.record(line)
        except DamagedLine as error:
            refused = refused or str(error)
    if refused:
        raise RegattaError(str(path), "records", refused)


def _state_of_host(path: Path) -> None:
    from regatta.fleet.controller_side import show_state
    from regatta.store.folder import Folder

    show_state(Folder(Path("results")), "local", 0, _received(path))


def _answer_of_influx(path: Path) -> None:
    from regatta.influx.client import Client
    from regatta.influx.settings_file import parse_settings

    answer = _received(path / "answer.json")
    client = Client(parse_settings(path / "influx.yml"), "read", patience_s=0)
    for _ in client._series("SELECT", [answer], False):
        pass


def _compilations(path: Path) -> None:
    from regatta.answers.spine.replay_plans import compilers_of

    compilers_of(_received(path).splitlines())


def _calls_of_strace(path: Path) -> None:
    from regatta.host.files import bounded_lines
    from regatta.models.page_cache.strace_grammar import MAX_LINE
    from regatta.models.system_calls.strace_lines import StraceReader
    from regatta.models.system_calls.tree import Memory
    from regatta.models.vectors.calls import read_calls

    table = read_calls(seeds.CONFIGS / "primitives/os-calls.yml")
    reader = StraceReader(table, lambda _: Memory(), (10,))
    for line in bounded_lines(io.StringIO(_received(path).decode(errors="replace"), newline="\n"), MAX_LINE):
        reader.read(line)
    reader.finish()


def _lines_of_lackey(path: Path) -> None:
    from regatta.models.page_cache.mappings import parse_mappings
    from regatta.models.page_cache.process import Files, ProcessReader

    maps = _received(path / "maps").decode(errors="surrogateescape")
    reader = ProcessReader(Files(), Counter(), lambda _: parse_mappings(maps), lambda _: "/")
    data = _received(path / "lackey.txt")
    for at in range(0, len(data), 1 << 20):
        reader.read(data[at : at + (1 << 20)])
    reader.finish()


_EVENTS = ("trace", "events", "--from", "{}")
_PLAN_FILES = ("plan/local/plan.json", "plan/experiment.json")
_JOURNAL = ("journal/local/00000.jsonl",)
_OWN = (
    "configs/runtimes.yml",
    "configs/collectors.yml",
    "configs/modifiers.yml",
    "configs/suites/minheap/toy.yml",
)
READERS: dict[str, Reader] = {
    # specs and what they name
    "spec": Reader(seeds.home, _spec, YAML, ("spec.yml", "common.yml")),
    "suite": Reader(seeds.home, _spec, YAML, ("configs/suites/toy.yml",)),
    "registries": Reader(seeds.home, _spec, YAML, _OWN),
    "inventory": Reader(seeds.home, _inventory, YAML, ("configs/hosts/rack.yml",), few=1),
    "plan": Reader(seeds.home, ("plan", "{}/spec.yml", "--results", "results"), YAML, ("spec.yml", "configs/suites/toy.yml")),
    "calls": Reader(seeds.calls, _function("regatta.models.vectors.calls:read_calls"), YAML),
    "primitives": Reader(seeds.primitives, _function("regatta.models.vectors.primitives:read_primitives"), YAML),
    "settings-influx": Reader(seeds.influx_settings, _settings, YAML, ("influx.yml",)),
    # results
    "records-verified": Reader(seeds.results, ("verify", "{}"), JOURNAL, _JOURNAL, streams=True),
    "records-answered": Reader(seeds.results, ("analyze", "{}", "--all"), JOURNAL, _JOURNAL, streams=True, few=1),
    "records-printed": Reader(seeds.results, ("records", "{}"), JOURNAL, _JOURNAL, streams=True),
    "records-compared": Reader(seeds.results, ("history", "{}"), JOURNAL, _JOURNAL, streams=True),
    "records-of-host": Reader(seeds.results, _records_of_host, JOURNAL, _JOURNAL),
    "plans-verified": Reader(seeds.results, ("verify", "{}"), JSON, _PLAN_FILES),
    "plans-answered": Reader(seeds.results, ("analyze", "{}", "--all"), JSON, _PLAN_FILES, few=1),
    "facts-of-host": Reader(seeds.facts_of_host, _facts_of_host, JSON),
    "state-of-host": Reader(seeds.state_of_host, _state_of_host, JSON),
    "answer-of-influx": Reader(seeds.answer_of_influx, _answer_of_influx, JSON, ("answer.json",)),
    # outputs of benchmarks
    "adapter-dacapo": Reader(seeds.output("dacapo-23.11.txt"), _adapter("dacapo"), TEXT),
    "adapter-jmh": Reader(seeds.output("jmh-samples.json"), _adapter("jmh"), JSON),
    "adapter-regatta": Reader(seeds.protocol_lines, _adapter("regatta"), JSON),
    "adapter-regex": Reader(
        seeds.output("specjvm98.txt"), _adapter("regex", pattern=r"Finished in (?P<value>\S+) secs", unit="s"), TEXT
    ),
    "adapter-renaissance": Reader(seeds.output("renaissance.json"), _adapter("renaissance"), JSON),
    "adapter-specjbb2015": Reader(seeds.output("specjbb2015.txt"), _adapter("specjbb2015"), TEXT),
    "adapter-specjvm2008": Reader(seeds.output("specjvm2008.txt"), _adapter("specjvm2008"), TEXT),
    "adapter-specjvm98": Reader(seeds.output("specjvm98.txt"), _adapter("specjvm98"), TEXT),
    # archives and programs
    "archive-tar": Reader(seeds.archive_tar, _unpacked, BINARY),
    "archive-tar-gz": Reader(seeds.archive_tar_gz, _unpacked, BINARY),
    "archive-zip": Reader(seeds.archive_zip, _unpacked, BYTES),
    "program": Reader(seeds.program, _function("regatta.host.events.elf:offset_of", "main"), BINARY),
    # events
    "events-text": Reader(seeds.event_text, _EVENTS, TEXT),
    "events-trace-cmd": Reader(seeds.trace_cmd_text, _EVENTS, TEXT),
    "events-facts": Reader(seeds.event_trace, _EVENTS, JSON, ("trace.json",)),
    "events-tables": Reader(seeds.event_trace_without_digests, _EVENTS, RECORDING, ("events.parquet", "objects.parquet")),
    "events-recording": Reader(seeds.event_recording, _EVENTS, JSON, ("events.json",), (3,)),
    "events-recorded": Reader(seeds.recorded_events, _EVENTS, RECORDING, ("events.dat",)),
    "flight-recording": Reader(seeds.flight_recording, _function("regatta.models.kernel_traces.jfr_recording:read_chunks"), BYTES),
    "flight-recorded": Reader(seeds.recorded_flight, _EVENTS, RECORDING, few=1),
    "thread-samples": Reader(
        seeds.recorded_flight, _function("regatta.models.system_calls.java_samples:read_samples", "java"), RECORDING, few=1
    ),
    "java-events": Reader(seeds.java_events, _function("regatta.models.system_calls.java_events:read_events"), JSON),
    "java-profile": Reader(seeds.java_profile, _function("regatta.models.system_calls.java:read_profile"), JSON),
    "compilations": Reader(seeds.compilations, _compilations, TEXT),
    # calls, files and memory
    "calls-strace": Reader(seeds.strace_calls, _calls_of_strace, TEXT),
    "memory-lackey": Reader(seeds.lackey_lines, _lines_of_lackey, TEXT, ("lackey.txt", "maps")),
    "files-text": Reader(seeds.strace_text, ("trace", "files", "--from", "{}"), TEXT),
    "files-facts": Reader(seeds.file_trace, ("trace", "files", "--from", "{}"), JSON, ("trace.json",)),
    "files-tables": Reader(
        seeds.file_trace_without_digests, ("trace", "files", "--from", "{}"), RECORDING,
        ("operations.parquet", "files.parquet", "memory.parquet"),
    ),
    "memory-facts": Reader(seeds.memory_trace, ("trace", "memory", "--from", "{}"), JSON, ("trace.json",)),
    "memory-tables": Reader(
        seeds.memory_trace_without_digests, ("trace", "memory", "--from", "{}"), RECORDING, ("references.parquet", "files.parquet")
    ),
    # heaps
    "gc-log": Reader(seeds.gc_log, _function("regatta.models.gc.collection_log:read_collection_log"), TEXT),
    "heap-profile": Reader(seeds.heap_profile, _function("regatta.models.gc.heap_profile:read_heap_profile"), JSON),
    "heap-vector": Reader(seeds.heap_vector, _function("regatta.models.gc.heap_vector:read_heap_vector"), JSON),
    "heap-csv": Reader(seeds.csv_of_heaps, ("advise", "heap", "{}", "--target-overhead", "5%"), TEXT),
    # loads, vectors and tables
    "request-log": Reader(seeds.request_log, ("model", "log", "{}", "-o", "model.yml"), TEXT),
    "request-log-gzip": Reader(seeds.request_log_gzip, ("model", "log", "{}", "-o", "model.yml"), BYTES),
    "request-log-json": Reader(seeds.request_log_json, ("model", "log", "{}", "-o", "model.yml"), JSON),
    "request-model": Reader(seeds.request_model, ("model", "sessions", "{}/model.yml", "-o", "a.sessions"), YAML, ("model.yml",)),
    "sessions": Reader(seeds.sessions, ("model", "vector", "{}"), TEXT),
    "compare": Reader(seeds.csv_of_groups, ("compare", "{}", "--value", "v", "--by", "g"), TEXT),
    "system-vector": Reader(seeds.system_vector, ("vector", "check", "{}"), YAML),
    "application-vector": Reader(
        seeds.two_vectors, ("predict", "{}/app.yml", "--on", "{}/system.yml"), YAML, ("app.yml", "system.yml")
    ),
    "rebench": Reader(seeds.rebench, ("import", "rebench", "{}", "--output", "out", "--force"), YAML),
    "running-ng": Reader(seeds.running_ng, ("import", "running-ng", "{}", "--output", "out", "--force"), YAML),
}  # fmt: skip
