"""Plans made by hand for tests of the runner, and the runner as a job of the workflow starts it: the zipapp, in a process of its own."""

from __future__ import annotations

import array
import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.synthetic_journal import planned_cell
from helpers.waiting import PATIENCE_S
from regatta.fleet.plans import write_runner
from regatta.host.journal.journal import Damage, read_journal
from regatta.host.measure.scratch import halves_in, results_of
from regatta.host.measure.topology import halve, read_topology
from regatta.host.values.experiment import DUET, Cores, PerturbationLimits, Rlimits
from regatta.host.values.record import Record
from regatta.store.folder import Folder

HOST = "alpha"
NO_LIMITS = dict.fromkeys(vars(PerturbationLimits()))
NO_RLIMITS = vars(Rlimits())


def cell(name: str, argv: Sequence[str], **other: Any) -> dict[str, Any]:
    """A native cell of `plan.json` that runs `argv`."""
    changes = {
        "label": f"hand/{name}:default · native", "benchmark": f"hand/{name}:default", "argv": list(argv),
        "timeout_s": PATIENCE_S, **other,
    }  # fmt: skip
    return planned_cell(f"{zlib.crc32(name.encode()):016x}", "native", **changes)


def sh(name: str, script: str, **other: Any) -> dict[str, Any]:
    """A cell whose program is a shell script."""
    return cell(name, ["/bin/sh", "-c", script], **other)


def python(name: str, code: str, **other: Any) -> dict[str, Any]:
    """A cell whose program is a Python script."""
    return cell(name, [sys.executable, "-I", "-S", "-c", code], **other)


def write_plan(
    folder: Folder,
    cells: Sequence[Mapping[str, Any]],
    rounds: int = 1,
    rounds_per_segment: int = 1000,
    retries: int = 1,
    **header: Any,
) -> None:
    """One block a round, the cells in their order; in a duet, they swap their places every round."""
    rows = array.array("i")
    for number in range(rounds):
        swapped = header.get("order") == DUET and number % 2
        for index in range(len(cells)):
            rows.extend((number, 0, index, len(cells) - 1 - index if swapped else index))
    width = len(cells) * rounds_per_segment
    total = rounds * len(cells)
    directory = folder.host_plan(HOST)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "rows.i32").write_bytes(rows.tobytes())
    plan = {
        "v": 1,
        "experiment": folder.name,
        "plan_id": "by-hand",
        "host": HOST,
        "platform": "local",
        "seed": 7,
        "order": "randomized-blocks",
        "rounds": rounds,
        "rows": total,
        "segments": [[first, min(first + width, total)] for first in range(0, total, width)],
        "rows_sha256": hashlib.sha256((directory / "rows.i32").read_bytes()).hexdigest(),
        "limits": {**NO_LIMITS, "retries": retries},
        "environment": {"set": {"PATH": os.environ["PATH"]}, "padding_bytes": 0},
        "rlimits": NO_RLIMITS,
        "cores": {**vars(Cores()), "cpus": []},
        "output_kib": 32,
        "cells": list(cells),
        **header,
    }
    (directory / "plan.json").write_text(json.dumps(plan))


class Runner:
    """The runner of one experiment folder, with a host lock of its own."""

    def __init__(self, path: Path) -> None:
        self.folder = Folder(path)
        self.lock = path / "host.lock"
        self.results_file = results_of((self.folder.scratch / HOST).resolve())
        #: every runner that was started, to look for what they left
        self.pids: list[int] = []
        write_runner(self.folder.runner)

    def argv(self, segment: int = 0, *options: str) -> list[str]:
        """As `regatta segment` makes it."""
        folder = self.folder
        return [
            sys.executable, "-I", str(folder.runner),
            "segment", "--plan", str(folder.host_plan(HOST)),
            "--segment", str(segment),
            "--journal", str(folder.journal / HOST),
            "--state", str(folder.state / f"{HOST}.json"),
            "--scratch", str(folder.scratch / HOST),
            "--receipt", str(self.receipt_path(segment)),
            *options,
        ]  # fmt: skip

    def receipt_path(self, segment: int = 0) -> Path:
        """Where the receipt of a segment is."""
        return self.folder.receipts / HOST / f"{segment:05d}.json"

    def start(self, segment: int = 0, *options: str, **popen: Any) -> subprocess.Popen[str]:
        """Start the runner and do not wait for it."""
        process = subprocess.Popen(
            self.argv(segment, *options),
            env={**os.environ, "REGATTA_HOST_LOCK": str(self.lock)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **popen,
        )
        self.pids.append(process.pid)
        return process

    def run(
        self, segment: int = 0, *options: str, patience_s: float = PATIENCE_S
    ) -> subprocess.CompletedProcess[str]:
        """Run the runner to its end."""
        process = self.start(segment, *options)
        out, err = process.communicate(timeout=patience_s)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def measure(self, *cells: Mapping[str, Any], **plan: Any) -> list[Record]:
        """Plan the cells, run the only segment, and give its records. It must end well."""
        write_plan(self.folder, cells, **plan)
        done = self.run()
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return self.records()

    def one(self, planned: Mapping[str, Any], **plan: Any) -> Record:
        """The record of a single invocation."""
        records = self.measure(planned, **plan)
        assert len(records) == 1
        return records[0]

    def records(self) -> list[Record]:
        """All records; none may be damaged."""
        items = list(read_journal(self.folder.path))
        assert not [item for item in items if isinstance(item, Damage) and not item.torn]
        return [item for item in items if not isinstance(item, Damage)]

    def receipt(self, segment: int = 0) -> dict[str, Any]:
        """The receipt of a segment."""
        value = json.loads(self.receipt_path(segment).read_text())
        assert isinstance(value, dict)
        return value

    def assert_nothing_left(self) -> None:
        """No measured process and no control group of a runner that has ended; the working directory is empty."""
        halves = halves_in((self.folder.scratch / HOST).resolve())
        for file in (self.results_file, *map(results_of, halves)):
            assert measured_processes(file) == []
        assert groups_of(self.pids) == []


def has_halves() -> bool:
    """Whether this machine has two cores, each of which can be a half of a duet."""
    try:
        halve(os.sched_getaffinity(0), read_topology())
    except ValueError:
        return False
    return True


def printed(record: Mapping[str, Any], stream: str, part: str = "head") -> bytes:
    """What a record kept of a stream."""
    packed = record[stream][part]
    return zlib.decompress(base64.b64decode(packed)) if packed else b""


def measured_processes(results_file: Path) -> list[int]:
    """Living processes whose REGATTA_RESULTS is this file."""
    wanted = b"REGATTA_RESULTS=" + os.fsencode(str(results_file))
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if wanted in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    found.append(int(entry))
            except OSError:
                continue
    return found


def groups_of(pids: Iterable[int]) -> list[Path]:
    """Control groups that these runners made and that are still there."""
    names = {f"regatta-{pid}" for pid in pids}
    found = []
    for directory, folders, _ in os.walk("/sys/fs/cgroup"):
        found += [Path(directory) / name for name in folders if name in names]
    return found


def is_gone(pid: int) -> bool:
    """No such process, or nothing of it but its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def end(process: subprocess.Popen[str]) -> None:
    """Kill -9, and take its exit code."""
    process.send_signal(signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream:
            stream.close()
