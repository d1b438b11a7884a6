"""Run a program that works on files: its data are made and dropped from the page cache first, which is not timed.

    python3 programs.py sqlite --mib 64        # prepare, then run
    python3 programs.py sqlite --mib 64 --only prepare --directory DIR
    python3 programs.py sqlite --mib 64 --only run --directory DIR
    python3 programs.py sqlite --mib 1 --only warm    # both, without a metric: the program itself is cached afterwards

The data are in a folder in $TMPDIR (or in DIR), so another $TMPDIR is another disk. Each result is verified. The metric
`elapsed` is the time of the program alone, in ns; `page_faults` counts the pages that it had to read again as memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

MIB = 1 << 20
SEED = 7
#: C functions of a source file of 1 MiB, and lines of each
_FUNCTIONS, _LINES = 5, 12


# --- sqlite: random reads with a few hot rows, updates and scans ------------------------------------------------

_ROW_BYTES = 400
_READS, _UPDATES, _COMMITS = 30_000, 2_000, 10


def _connect(folder: Path) -> sqlite3.Connection:
    database = sqlite3.connect(folder / "data.db", isolation_level=None)
    # The cache of SQLite itself is small: the page cache does the work.
    database.execute("pragma cache_size = -1024")
    return database


def prepare_sqlite(folder: Path, mib: int) -> None:
    noise = random.Random(SEED)
    rows = mib * MIB // _ROW_BYTES
    with contextlib.closing(_connect(folder)) as database:
        database.execute("pragma synchronous = off")
        database.execute("create table item (id integer primary key, price integer, note blob)")
        database.execute("begin")
        database.executemany(
            "insert into item values (?, ?, ?)",
            ((row, row % 1000, noise.randbytes(_ROW_BYTES - 40)) for row in range(rows)),
        )
        database.execute("commit")


def run_sqlite(folder: Path, mib: int) -> None:
    rows, noise = mib * MIB // _ROW_BYTES, random.Random(SEED + 1)
    with contextlib.closing(_connect(folder)) as database:
        found = 0
        for step in range(_READS):
            # Half of the reads are of a tenth of the rows.
            row = noise.randrange(rows // 10 if step % 2 else rows)
            found += (
                database.execute("select price from item where id = ?", (row,)).fetchone()[0] == row % 1000
            )
        for _ in range(_COMMITS):
            database.execute("begin")
            for _ in range(_UPDATES // _COMMITS):
                database.execute(
                    "update item set price = price + 1000 where id = ?", (noise.randrange(rows),)
                )
            database.execute("commit")
        (total,) = database.execute("select sum(price / 1000) from item").fetchone()
    if (found, total) != (_READS, _UPDATES):
        sys.exit(f"programs.py: expected {_READS} rows and {_UPDATES} updates, got {found} and {total}")


# --- tar: an archive of a tree, then its comparison with the tree -----------------------------------------------


def prepare_tar(folder: Path, mib: int) -> None:
    noise, left, number = random.Random(SEED), mib * MIB, 0
    while left > 0:
        size = min(left, int(noise.lognormvariate(9.7, 1.0)) + 1)
        place = folder / "tree" / f"{number // 100:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:06}").write_bytes(noise.randbytes(size))
        left, number = left - size, number + 1


def run_tar(folder: Path, mib: int) -> None:
    del mib
    for command in (["tar", "cf", "tree.tar", "tree"], ["tar", "df", "tree.tar"]):
        subprocess.run(command, cwd=folder, check=True)


# --- compile: a library and a program, without and then with optimisation --------------------------------------


def prepare_compile(folder: Path, mib: int) -> None:
    noise = random.Random(SEED)
    for number in range(mib):
        # Comments are read and not kept: the compiler needs little memory for the size of its sources.
        lines = [f"/* {noise.randbytes(500).hex()} */\n" for _ in range(MIB // 1007)]
        for function in range(_FUNCTIONS):
            steps = "".join(f"  x = x * {noise.randrange(3, 999)} + {line};\n" for line in range(_LINES))
            lines.append(f"unsigned f{number}_{function}(unsigned x) {{\n{steps}  return x;\n}}\n")
        (folder / f"part{number:04}.c").write_text("".join(lines))
    calls = "".join(f"unsigned f{number}_0(unsigned);\n" for number in range(mib))
    total = " + ".join(f"f{number}_0(1)" for number in range(mib))
    (folder / "main.c").write_text(f"{calls}int main(void) {{ return ({total}) == 0; }}\n")


def run_compile(folder: Path, mib: int) -> None:
    del mib
    sources = sorted(folder.glob("*.c"))
    objects = [f"{source.stem}.o" for source in sources]
    for options in (["-g", "-O0"], ["-O1"]):
        for source in sources:
            subprocess.run(["cc", *options, "-c", source.name], cwd=folder, check=True)
        subprocess.run(["ar", "rc", "all.a", *objects], cwd=folder, check=True)
        subprocess.run(["cc", "-o", "all", "main.o", "all.a"], cwd=folder, check=True)
        subprocess.run(["./all"], cwd=folder, check=True)


PROGRAMS: dict[str, tuple[Callable[[Path, int], None], Callable[[Path, int], None]]] = {
    "sqlite": (prepare_sqlite, run_sqlite),
    "tar": (prepare_tar, run_tar),
    "compile": (prepare_compile, run_compile),
}


def forget(folder: Path) -> None:
    """Write all files of a folder to the disk, and drop them from the page cache where the file system has one."""
    for path in (path for path in folder.rglob("*") if path.is_file()):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def data_folder(directory: Path | None) -> Iterator[Path]:
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        yield directory
        return
    place = Path(tempfile.mkdtemp(prefix="regatta-files-"))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def report(metrics: dict[str, tuple[int, str]]) -> None:
    """Write lines of docs/protocol.md: to the file that REGATTA_RESULTS names, or to standard output."""
    place = os.environ.get("REGATTA_RESULTS")
    with open(place, "a", encoding="utf-8") if place else contextlib.nullcontext(sys.stdout) as file:
        for metric, (value, unit) in metrics.items():
            print(json.dumps({"iteration": 0, "metric": metric, "value": value, "unit": unit}), file=file)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", choices=sorted(PROGRAMS))
    parser.add_argument("--mib", type=int, default=64, help="MiB of data")
    parser.add_argument("--only", choices=("prepare", "run", "warm"), help="do one part, without a metric")
    parser.add_argument("--directory", type=Path, help="folder of the data, which is kept")
    given = parser.parse_args()
    prepare, run = PROGRAMS[given.program]
    if given.only == "run":
        run(given.directory, given.mib)
        return
    with data_folder(given.directory) as folder:
        # Another process prepares: its memory is not that of the program.
        words = [
            sys.executable,
            __file__,
            given.program,
            "--mib",
            str(given.mib),
            "--directory",
            str(folder),
            "--only",
        ]
        if given.only is not None:
            prepare(folder, given.mib)
            forget(folder)
            if given.only == "warm":
                run(folder, given.mib)
            return
        subprocess.run([*words, "prepare"], check=True)
        faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt
        begin = time.monotonic_ns()
        subprocess.run([*words, "run"], check=True)
        elapsed = time.monotonic_ns() - begin
        faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt - faults
    report({"elapsed": (elapsed, "ns"), "page_faults": (faults, "count")})


if __name__ == "__main__":
    main()
