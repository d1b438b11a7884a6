"""A real small experiment of native programs in a folder of its own, and what tests do to it: start, kill, look, damage."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers import in_process
from helpers.experiments import jobs
from helpers.in_process import PROGRAM
from helpers.runner_plans import measured_processes
from helpers.waiting import PATIENCE_S, wait_until
from regatta.host.journal.journal import Damage, read_journal, segment_files
from regatta.host.measure.pauses import _LONGEST_S as LONGEST_PAUSE_S
from regatta.host.measure.scratch import results_of
from regatta.host.values.record import Record
from regatta.store.folder import Folder

HOME = Path(__file__).resolve().parents[3]
HOST = "local"

SPEC: dict[str, Any] = {
    "name": "small",
    "question": "Does it go on?",
    "suites": ["suite.yml"],
    "modifiers": {"loud": {"environment": {"LOUD": "1"}}},
    "benchmarks": [{"suite": "tiny", "benchmark": "all"}],
    "invocations": {"fixed": 10},
    "segment": {"rounds": 4},
    "seed": 7,
    "timeout_s": 300,
    "perturbation": dict.fromkeys(
        (
            "steal_percent",
            "other_cpu_percent",
            "memory_pressure_percent",
            "io_pressure_percent",
            "frequency_drop_percent",
            "swapped_pages",
            "throttle_events",
        )
    ),
}
SUITE: dict[str, Any] = {
    "suite": "tiny",
    "description": "one that ends at once, and one that takes a moment",
    "benchmarks": {"quick": {"command": ["true"]}, "nap": {"command": ["sleep", "0.02"]}},
}


class SmallExperiment:
    """`small` in a folder: its spec, its suite, its results and its own host lock."""

    def __init__(self, root: Path, **spec: Any) -> None:
        self.root = root
        self.spec: dict[str, Any] = copy.deepcopy({**SPEC, **spec})
        self.suite: dict[str, Any] = copy.deepcopy(SUITE)
        self.folder = Folder(root / "results" / self.spec["name"])
        self.results_file = results_of((self.folder.scratch / HOST).resolve())
        self.environment = {
            **os.environ,
            "REGATTA_HOME": str(HOME),
            "REGATTA_CACHE": str(root / "cache"),
            "REGATTA_HOST_LOCK": str(root / "host.lock"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        #: while it is there, `nap` waits (`let_naps_wait`)
        self.hold = root / "hold"
        self.write()

    def write(self) -> None:
        """Write spec and suite as they are now. JSON is YAML."""
        (self.root / "spec.yml").write_text(json.dumps(self.spec, indent=1))
        (self.root / "suite.yml").write_text(json.dumps(self.suite, indent=1))

    def let_naps_wait(self, nap_s: float = 0.02) -> None:
        """Let `nap` not end from the record on that `hold_at` names: however slow this process is, something is measured."""
        lines = f"cat {self.folder.journal / HOST}/[0-9]*.jsonl 2>/dev/null | wc -l"
        held = f'n=$(cat {self.hold} 2>/dev/null) && [ "$({lines})" -ge "$n" ]'
        command = ["sh", "-c", f"sleep {nap_s}; while {held}; do sleep 0.02; done"]
        self.suite["benchmarks"]["nap"]["command"] = command
        self.write()

    def hold_at(self, records: int) -> None:
        """Let `nap` wait once there are so many records, until `hold` is removed."""
        new = self.hold.with_suffix(".new")
        new.write_text(str(records))
        new.replace(self.hold)

    def be_patient(self) -> None:
        """Give what is sent and computed beside measurements minutes, not the second that a measurement waits for it."""
        self.environment["PYTHONPATH"] = str(Path(__file__).with_name("patient"))

    def gave_a_pause_up(self) -> bool:
        """Whether the runner, which waits for nobody for long, gave up what was done in a pause, and all later pauses."""
        return any(record["runner"]["before_ns"] >= 1e9 * LONGEST_PAUSE_S for record in self.records())

    def start(self, *arguments: str, **popen: Any) -> subprocess.Popen[str]:
        """Start `regatta ...` in a session of its own."""
        return subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **popen,
        )

    def regatta(self, *arguments: str, patience_s: float = PATIENCE_S) -> subprocess.CompletedProcess[str]:
        """Run `regatta ...` to its end."""
        if arguments[0] in in_process.READING:
            return in_process.regatta(*arguments, cwd=self.root, environment=self.environment)
        process = self.start(*arguments)
        try:
            out, err = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"regatta {' '.join(arguments)} did not end; it said {err}") from None
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def start_run(self) -> subprocess.Popen[str]:
        """Start `regatta run`."""
        return self.start("run", "spec.yml")

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run `regatta run` to its good end."""
        done = self.regatta("run", "spec.yml")
        assert done.returncode == 0, done.stderr
        return done

    def plan(self) -> None:
        """Plan without measuring."""
        done = self.regatta("plan", "spec.yml", "--write")
        assert done.returncode == 0, done.stderr

    def step_by_step(self, *options: str) -> None:
        """Plan, and measure what is missing, by the commands that the jobs of `regatta run` are: without a workflow, answer and report.

        `options` are those of `regatta segment`.
        """
        jobs.measure(self.regatta, self.folder, "spec.yml", *options)

    def answered(self) -> None:
        """Do all that `regatta run` does, answer and report included, without a workflow."""
        self.step_by_step()
        jobs.finish(self.regatta, self.folder)

    def segment_arguments(self, number: int) -> list[str]:
        """What a job of the workflow runs."""
        return jobs.segment_arguments(self.folder, HOST, number)

    def receipt(self, number: int) -> Path:
        """Where the receipt of a segment is."""
        return jobs.receipt(self.folder, HOST, number)

    def segments(self) -> range:
        """The numbers of the plan's segments."""
        return range(len(self.header()["segments"]))

    def header(self) -> dict[str, Any]:
        """The host's `plan.json`."""
        return self.folder.host_header(HOST)

    def journal(self, number: int = 0) -> Path:
        """The journal file of a segment."""
        return self.folder.journal / HOST / f"{number:05d}.jsonl"

    def records(self) -> list[Record]:
        """All whole records."""
        return [item for item in read_journal(self.folder.path) if not isinstance(item, Damage)]

    def verify(self) -> subprocess.CompletedProcess[str]:
        """`regatta verify`."""
        return self.regatta("verify", "small")

    def planned(self) -> set[str]:
        """Every planned invocation id."""
        header = self.header()
        return {f"{cell['cell_id']}-r{r}" for cell in header["cells"] for r in range(header["rounds"])}

    def assert_complete(self) -> None:
        """Exactly the planned invocations, each once and well; verified; nothing runs any more."""
        counts = Counter(record["invocation_id"] for record in self.records())
        assert set(counts) == self.planned()
        assert {invocation: n for invocation, n in counts.items() if n > 1} == {}
        verified = self.verify()
        assert (verified.returncode, verified.stderr) == (0, "")
        self.assert_idle()

    def assert_idle(self) -> None:
        """No runner, no Snakemake, no measured process of this experiment."""
        assert measured_processes(self.results_file) == []
        assert self.runners() == []
        assert self.snakemakes() == []

    def _processes(self, sign: str) -> list[int]:
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    words = Path(f"/proc/{entry}/cmdline").read_bytes()
                except OSError:
                    continue
                # Both are given an absolute path below this folder.
                if sign.encode() in words and f"{self.root}".encode() in words:
                    found.append(int(entry))
        return found

    def runners(self) -> list[int]:
        """Runners of this experiment."""
        return self._processes("runner.pyz\0segment\0--plan")

    def snakemakes(self) -> list[int]:
        """Snakemakes of this experiment."""
        return self._processes("-m\0snakemake\0")

    def wait_for_records(self, count: int, process: subprocess.Popen[str] | None = None) -> None:
        """Wait until so many records are there, or the process has ended."""
        wait_until(
            lambda: self.lines() >= count or (process is not None and process.poll() is not None),
            f"{count} records",
        )

    def lines(self) -> int:
        """How many lines of records the journal has, whole or not."""
        return sum(p.read_bytes().count(b"\n") for p in segment_files(self.folder.journal / HOST))


def read_terminal(own: int, until: Callable[[bytes], bool], then: Callable[[], object]) -> bytes:
    """All that is written to a pseudo-terminal until its other side is closed; closes this one.

    Calls `then` once, when what is written so far is as `until` has it.
    """
    seen, waits = b"", True
    while True:
        try:
            chunk = os.read(own, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
        if waits and until(seen):
            waits = False
            then()
    os.close(own)
    return seen
