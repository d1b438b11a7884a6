"""The campaign of damaged files: one table of the readers of foreign files, and what none of them may do.

    PYTHONPATH=tests python -m helpers.fuzzing [--inputs 500] [--seed 2] [--special] FOLDER [READER...]

For each reader, or for all, it prints a line of JSON for each failure and one with the counts. Inputs that fail are kept in FOLDER.
With `--serve`, lines of standard input have the arguments, and an empty line ends each answer.

Each input has a process of its own, forked from this one, which imports what the readers need. A failure is a traceback, "a fault
of Regatta", a signal, another exit code than 0 to 3, an escape for the terminal, more than 1 GiB of memory, or more than 20 s of
CPU time (or 120 s in all).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from helpers import mutations
from helpers.readers import READERS, Reader
from helpers.seeds import Unavailable

#: No thread of a library may run when a process forks.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

MOST_BYTES, MOST_CPU_S, MOST_S = 1 << 30, 20, 120
#: of addresses: libraries reserve more than they use
_ADDRESSES = 8 << 30
_EXIT_CODES = (0, 1, 2, 3)
_UNAVAILABLE = 4
#: inputs from which on it is worth it to read a valid file first
_MANY = 20


@dataclass(frozen=True)
class Reading:
    """What the reader did with one input.

    Args:
        input: its number and damage.
        accepted: whether the exit code is 0.
        wrong: what the reader must not do; empty: nothing.
        seconds: elapsed time in s.
        mib: highest resident memory in MiB, of the process and its children.
        output: the end of what it printed.
    """

    input: str
    accepted: bool
    wrong: tuple[str, ...]
    seconds: float
    mib: int
    output: str


def readings(name: str, count: int, seed: int, folder: Path, special: bool) -> Iterator[Reading]:
    """Yield what the reader did with the seed and with each damaged file.

    Args:
        name: of the reader.
        count: number of damaged files.
        seed: of the damage.
        folder: new; each file is at the same place in it, and those that fail are kept.
        special: whether files that are none of its kind come first.
    """
    reader = READERS[name]
    folder.mkdir(parents=True, exist_ok=True)
    whole = _made_in_a_process(reader, folder / "seed")
    # Some programs look at the end of a name.
    place, scratch = folder / f"input{'' if whole.is_dir() else whole.suffix}", folder / "scratch"
    _copied(whole, place, "")
    yield _judged(reader, place, scratch, "seed", accepted=reader.accepted)
    _import_modules(scratch / "modules")
    if count > _MANY and (scratch / "alone").exists():
        # It is read at another place than the damaged files: no cache can answer for them.
        _read_here(reader, whole, scratch)
    for what, put in mutations.SPECIAL.items() if special else ():
        for file in () if what == "sparse" and reader.streams else reader.files:
            target = _copied(whole, place, file)
            target.unlink()
            put(target)
            yield _judged(reader, place, scratch, f"{what} {file}".strip())
    for number in range(count):
        chosen = random.Random(f"{name} {seed} {number}")
        file, mutate = chosen.choice(reader.files), chosen.choice(reader.mutators)
        target = _copied(whole, place, file)
        target.write_bytes(mutate(target.read_bytes(), chosen))
        found = _judged(reader, place, scratch, f"{number} {mutate.__name__} {file}".strip())
        if found.wrong:
            kept = folder / f"failed-{number}{place.suffix}"
            shutil.copytree(place, kept) if place.is_dir() else shutil.copy(place, kept)
        yield found


def _made_in_a_process(reader: Reader, folder: Path) -> Path:
    """Make the seed: libraries that write it start threads, which no fork may follow."""
    folder.mkdir()
    answer, modules = folder.with_name("path"), folder.with_name("modules")
    pid = os.fork()
    if not pid:
        code = 1
        try:
            answer.write_text(str(reader.seed(folder)))
            code = 0
        except Unavailable as reason:
            answer.write_text(str(reason))
            code = _UNAVAILABLE
        except BaseException:
            traceback.print_exc()
        finally:
            modules.write_text("\n".join(sys.modules))
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == _UNAVAILABLE:
        raise Unavailable(answer.read_text())
    assert code == 0
    _import_modules(modules)
    return Path(answer.read_text())


def _import_modules(names: Path) -> None:
    """Import what a process has imported: every later one inherits it, and starts some hundred ms earlier."""
    for name in names.read_text().splitlines():
        with contextlib.suppress(ImportError):
            import_module(name)


def _copied(whole: Path, place: Path, file: str) -> Path:
    """Return a copy of the file to be damaged, in a copy of its folder."""
    if place.is_symlink() or place.is_file():
        place.unlink()
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(whole, place) if whole.is_dir() else shutil.copy(whole, place)
    return place / file if file else place


def _judged(
    reader: Reader, path: Path, scratch: Path, what: str, accepted: tuple[int, ...] = _EXIT_CODES
) -> Reading:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    begin = time.monotonic()
    pid = os.fork()
    if not pid:
        _read(reader, path, scratch)
    status, used = _ended(pid)
    seconds, mib = time.monotonic() - begin, used.ru_maxrss >> 10
    text = (scratch / "output").read_text(errors="replace")
    code = os.waitstatus_to_exitcode(status)
    wrong = (
        *(["traceback"] if "Traceback" in text or "a fault of Regatta" in text else []),
        *(["escape"] if "\x1b" in text else []),
        *([f"ended with {code}"] if code not in accepted else []),
        *([f"{mib} MiB"] if mib << 20 > MOST_BYTES else []),
    )
    return Reading(what, code == 0, wrong, round(seconds, 2), mib, text[-2000:])


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
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU_S, MOST_CPU_S))
    threads = _threads()
    code = 1
    try:
        code = _exit_code(reader, path)
    except BaseException:
        traceback.print_exc()
        code = 99
    finally:
        (scratch / "modules").write_text("\n".join(sys.modules))
        if _threads() == threads:
            (scratch / "alone").touch()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _threads() -> int:
    """Return the number of threads, without that of an allocator, which follows a fork."""
    names = [Path(task, "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    return len(names) - names.count("jemalloc_bg_thd")


def _read_here(reader: Reader, path: Path, scratch: Path) -> None:
    """Read a valid file in this process, without its output: later ones inherit compiled patterns, models and the like."""
    saved = [(fd, os.dup(fd)) for fd in (1, 2)]
    with open(os.devnull, "w") as nothing, contextlib.chdir(scratch):
        for fd, _ in saved:
            os.dup2(nothing.fileno(), fd)
        with contextlib.suppress(BaseException):
            _exit_code(reader, path)
        sys.stdout.flush()
        sys.stderr.flush()
    for fd, copy in saved:
        os.dup2(copy, fd)
        os.close(copy)


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


def table_row(name: str, found: Sequence[Reading]) -> dict[str, object]:
    """Return the counts of a campaign; the first reading is of the seed."""
    inputs = found[1:]
    refused = sum(not one.accepted and not one.wrong for one in inputs)
    failed = sum(bool(one.wrong) for one in inputs)
    return {
        "reader": name, "inputs": len(inputs), "accepted": len(inputs) - refused - failed, "refused": refused, "failed": failed,
        "slowest_s": max(one.seconds for one in found), "highest_mib": max(one.mib for one in found),
    }  # fmt: skip


def campaign(words: Sequence[str]) -> None:
    """Run the campaigns of some readers, and print their results."""
    parser = argparse.ArgumentParser(prog="python -m helpers.fuzzing")
    parser.add_argument("--inputs", type=int, default=500, help="damaged files per reader")
    parser.add_argument("--seed", type=int, default=2, help="seed of the damage")
    parser.add_argument("--special", action="store_true", help="also read files of no kind, such as devices")
    parser.add_argument("folder", type=Path, help="folder for the files, empty or new")
    parser.add_argument("readers", nargs="*", help=", ".join(READERS))
    given = parser.parse_args(words)
    for name in given.readers or READERS:
        found = []
        try:
            for one in readings(name, given.inputs, given.seed, given.folder / name, given.special):
                found.append(one)
                if one.wrong:
                    print(json.dumps({"reader": name, **asdict(one)}), flush=True)
            print(json.dumps(table_row(name, found)), flush=True)
        except Unavailable as reason:
            print(json.dumps({"reader": name, "unavailable": str(reason)}), flush=True)


def main(words: Sequence[str]) -> None:
    """Run one campaign, or serve."""
    # A mutation that grows without a limit must not take the memory of the machine.
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    with tempfile.TemporaryDirectory(prefix="regatta-fuzzing-") as cache:
        os.environ["REGATTA_CACHE"] = cache
        if words != ["--serve"]:
            campaign(words)
            return
        for line in sys.stdin:
            campaign(shlex.split(line))
            print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
