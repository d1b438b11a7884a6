"""The campaign of damaged files: one table of the readers of foreign files, and what none of them may do.

    python -m helpers.fuzzing READER COUNT SEED FOLDER [special]     one reader; prints its failures as lines of JSON

Each input has a process of its own, forked from one that has imported the reader. A failure is a traceback, "a fault of Regatta", a
signal, another exit code than 0 to 3, an escape for the terminal, more than 1 GiB of memory, or more than 20 s of CPU time (or
120 s in all).
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers import mutations, seeds
from helpers.mutations import BYTES, JSON, TEXT, Mutator

MOST_BYTES, MOST_CPU_S, MOST_S = 1 << 30, 20, 120
#: of addresses: libraries reserve more than they use
_ADDRESSES = 8 << 30
_EXIT_CODES = (0, 1, 2, 3)


@dataclass(frozen=True)
class Reader:
    """A reader of foreign files.

    Args:
        seed: writes a valid file or folder into a folder, and returns its path.
        run: words of a command, with {} for the path; or a function of the path.
        mutators: what is done to the file.
        files: names of the files that are damaged, if the seed is a folder.
        accepted: exit codes for the seed.
    """

    seed: Callable[[Path], Path]
    run: tuple[str, ...] | Callable[[Path], object]
    mutators: tuple[Mutator, ...]
    files: tuple[str, ...] = ("",)
    accepted: tuple[int, ...] = (0,)


def _function(name: str, *arguments: object) -> Callable[[Path], object]:
    """Return a function of `module:name`, which is imported at its first use."""
    from importlib import import_module

    def call(path: Path) -> object:
        module, _, function = name.partition(":")
        return getattr(import_module(module), function)(path, *arguments)

    return call


_EVENTS = ("trace", "events", "--from", "{}")
READERS: dict[str, Reader] = {
    "events-text": Reader(seeds.event_text, _EVENTS, TEXT),
    "events-facts": Reader(seeds.event_trace, _EVENTS, JSON, ("trace.json",)),
    "events-tables": Reader(seeds.event_trace_without_digests, _EVENTS, BYTES, ("events.parquet", "objects.parquet")),
    "events-recording": Reader(seeds.event_recording, _EVENTS, JSON, ("events.json",), (3,)),
    "files-text": Reader(seeds.strace_text, ("trace", "files", "--from", "{}"), TEXT),
    "files-facts": Reader(seeds.file_trace, ("trace", "files", "--from", "{}"), JSON, ("trace.json",)),
    "files-tables": Reader(
        seeds.file_trace_without_digests, ("trace", "files", "--from", "{}"), BYTES,
        ("operations.parquet", "files.parquet", "memory.parquet"),
    ),
    "memory-facts": Reader(seeds.memory_trace, ("trace", "memory", "--from", "{}"), JSON, ("trace.json",)),
    "gc-log": Reader(seeds.gc_log, _function("regatta.gc.collection_log:read_collection_log"), TEXT),
    "heap-vector": Reader(seeds.heap_vector, _function("regatta.gc.heap_vector:read_heap_vector"), JSON),
    "flight-recording": Reader(seeds.flight_recording, _function("regatta.events.jfr_recording:read_chunks"), BYTES),
    "request-log": Reader(seeds.request_log, ("model", "log", "{}", "-o", "model.yml"), TEXT),
    "request-model": Reader(seeds.request_model, _function("regatta.requests.model:read_model"), TEXT),
    "sessions": Reader(seeds.sessions, ("model", "vector", "{}"), TEXT),
    "compare": Reader(seeds.csv_of_groups, ("compare", "{}", "--value", "v", "--by", "g"), TEXT),
    "heap-csv": Reader(seeds.csv_of_heaps, _function("regatta.gc.heap_measurements:read_heap_csv"), TEXT),
    "system-vector": Reader(seeds.system_vector, ("vector", "check", "{}"), TEXT),
    "rebench": Reader(seeds.rebench, ("import", "rebench", "{}", "--output", "out", "--force"), TEXT),
    "running-ng": Reader(seeds.running_ng, ("import", "running-ng", "{}", "--output", "out", "--force"), TEXT),
}  # fmt: skip


def failures(name: str, count: int, seed: int, folder: Path, special: bool) -> Iterator[dict[str, object]]:
    """Yield what went wrong with the seed and with damaged files.

    Args:
        name: of the reader.
        count: number of damaged files.
        seed: of the damage.
        folder: empty; each file is at the same place in it, and those that fail are kept.
        special: whether files that are none of its kind come first.
    """
    reader = READERS[name]
    whole = _made_in_a_process(reader, folder / "seed")
    place, scratch = folder / "input", folder / "scratch"
    _copied(whole, place, "")
    yield from _judged(reader, place, scratch, "seed", accepted=reader.accepted)
    for what, put in mutations.SPECIAL.items() if special else ():
        for file in reader.files:
            target = _copied(whole, place, file)
            target.unlink()
            put(target)
            yield from _judged(reader, place, scratch, f"{what} {file}")
    for number in range(count):
        chosen = random.Random(f"{name} {seed} {number}")
        file, mutate = chosen.choice(reader.files), chosen.choice(reader.mutators)
        target = _copied(whole, place, file)
        target.write_bytes(mutate(target.read_bytes(), chosen))
        for failure in _judged(reader, place, scratch, f"{number} {mutate.__name__} {file}"):
            kept = folder / f"failed-{number}"
            shutil.copytree(place, kept) if place.is_dir() else shutil.copy(place, kept)
            yield failure


def _made_in_a_process(reader: Reader, folder: Path) -> Path:
    """Make the seed: libraries that write it start threads, which no fork may follow."""
    folder.mkdir()
    pid = os.fork()
    if not pid:
        try:
            (folder.parent / "path").write_text(str(reader.seed(folder)))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    return Path((folder.parent / "path").read_text())


def _copied(whole: Path, place: Path, file: str) -> Path:
    """Return a copy of the file to be damaged, in a copy of its folder."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(whole, place) if whole.is_dir() else shutil.copy(whole, place)
    return place / file if file else place


def _judged(
    reader: Reader, path: Path, scratch: Path, what: str, accepted: tuple[int, ...] = _EXIT_CODES
) -> Iterator[dict[str, object]]:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    pid = os.fork()
    if not pid:
        _read(reader, path, scratch)
    status, used = _ended(pid)
    text = (scratch / "output").read_text(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    wrong = [
        *(["traceback"] if "Traceback" in text or "a fault of Regatta" in text else []),
        *(["escape"] if "\x1b" in text else []),
        *([f"ended with {code}"] if code not in accepted else []),
        *([f"{used.ru_maxrss >> 10} MiB"] if used.ru_maxrss << 10 > MOST_BYTES else []),
    ]
    if wrong:
        yield {"input": what, "wrong": wrong, "output": text[-2000:]}


def _ended(pid: int) -> tuple[int, resource.struct_rusage]:
    """Wait for a process; kill it at the limit."""
    deadline = time.monotonic() + MOST_S
    while True:
        found, status, used = os.wait4(pid, os.WNOHANG)
        if found:
            return status, used
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            deadline += MOST_S
        time.sleep(0.005)


def _read(reader: Reader, path: Path, scratch: Path) -> None:
    """Read the file, with limits, and end this process."""
    output = os.open(scratch / "output", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for fd in (1, 2):
        os.dup2(output, fd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(scratch)
    os.environ["TMPDIR"] = str(scratch)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    code = 1
    try:
        code = _exit_code(reader, path)
    except BaseException:
        traceback.print_exc()
        code = 99
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _exit_code(reader: Reader, path: Path) -> int:
    from regatta.cli.main import main
    from regatta.host.errors import RegattaError

    try:
        if callable(reader.run):
            reader.run(path)
        else:
            sys.argv = ["regatta", *(word.format(path) for word in reader.run)]
            main()
    except RegattaError as error:
        print(*error.shown(), sep="\n", file=sys.stderr)
        return error.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def main(name: str, count: str, seed: str, folder: str, special: str = "") -> None:
    """Run the campaign of one reader."""
    for one in failures(name, int(count), int(seed), Path(folder), bool(special)):
        print(json.dumps(one), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
