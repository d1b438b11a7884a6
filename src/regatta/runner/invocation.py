"""One invocation: the process, what it reported, its surroundings, and the record of it all."""

from __future__ import annotations

import os
import random
import resource
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import regatta
from regatta.model.record import RECORD_VERSION
from regatta.runner.cgroup import TreeAccounting, TreeUsage
from regatta.runner.host_state import HostState
from regatta.runner.kept import keep_files
from regatta.runner.perturbation import find_perturbation
from regatta.runner.plan_files import Row
from regatta.runner.process import Launch, Outcome, StopSignals, run_process
from regatta.runner.scratch import EmptyDirectory, remove_tree
from regatta.runner.verdict import adapter_file, judge, report_of
from regatta.store.contents import place

_MAXIMUM_RESULTS_BYTES = 64 * 1024 * 1024
_PADDING_LETTER = "x"

_RLIMITS = {
    "address_space_mib": (resource.RLIMIT_AS, 1 << 20),
    "open_files": (resource.RLIMIT_NOFILE, 1),
    "processes": (resource.RLIMIT_NPROC, 1),
    "core_mib": (resource.RLIMIT_CORE, 1 << 20),
}


class Bench:
    """What all invocations of a segment share: the empty directory, the environment, cores, accounting, host state."""

    def __init__(
        self,
        header: Mapping[str, Any],
        scratch: Path,
        measured: list[int] | None,
        accounting: TreeAccounting | None,
        stop: StopSignals,
        kept: Path | None = None,
    ) -> None:
        self.header = header
        #: folder of the files that are kept beside records; None: none are
        self.kept = kept
        self.cores = measured
        self.cpus = os.cpu_count() or 1
        self.all_cores = sorted(os.sched_getaffinity(0))
        told_of_the_tree = accounting is not None and accounting.tells_oom_kills
        self.state = HostState(measured or self.all_cores, oom_kills=not told_of_the_tree)
        self.accounting = accounting
        self.stop = stop
        self.directory = scratch / "work"
        self._work = EmptyDirectory(self.directory)
        self.results_path = scratch / "results.jsonl"
        self._results_name = str(self.results_path)
        self._rlimits = [
            (_RLIMITS[name][0], int(value) * _RLIMITS[name][1])
            for name, value in header["rlimits"].items()
            if value is not None
        ]
        environment = header["environment"]
        self._environment = dict(environment["set"])
        self._environment.update(
            HOME=str(self.directory),
            TMPDIR=str(self.directory),
            REGATTA_RESULTS=str(self.results_path),
            REGATTA_SEED=str(header["seed"]),
        )
        self._padding_bound = environment["padding_bytes"]
        scratch.mkdir(parents=True, exist_ok=True)

    def clear(self) -> None:
        """Make the working directory empty and remove the results file."""
        if os.path.lexists(self._results_name):
            remove_tree(self.results_path)
        self._work.make()

    def environment_for(self, cell: Mapping[str, Any], invocation_id: str, attempt: int) -> dict[str, str]:
        """The whole environment of one invocation; its padding is drawn from seed, invocation and attempt."""
        environment = {**self._environment, **cell["environment"], "REGATTA_INVOCATION": invocation_id}
        if self._padding_bound:
            draw = random.Random(f"{self.header['seed']} {self.header['host']} {invocation_id} {attempt}")
            environment["REGATTA_PADDING"] = _PADDING_LETTER * draw.randrange(self._padding_bound + 1)
        return environment

    def read_results(self, file: str = "") -> tuple[bytes | None, str]:
        """What the workload wrote, or None and why it is refused ("" when there is nothing).

        Args:
            file: name of a file in the working directory; "": the one that `REGATTA_RESULTS` names.
        """
        called = file or "REGATTA_RESULTS"
        path = str(self.directory / file) if file else self._results_name
        try:
            status = os.lstat(path)
        except OSError:
            return None, ""
        if not stat.S_ISREG(status.st_mode):
            return None, f"{called}: expected a plain file, got something else"
        if status.st_size > _MAXIMUM_RESULTS_BYTES:
            allowed_mib = _MAXIMUM_RESULTS_BYTES >> 20
            return None, f"{called}: expected at most {allowed_mib} MiB, got {status.st_size >> 20} MiB"
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
                return stream.read(_MAXIMUM_RESULTS_BYTES), ""
        except OSError as error:
            return None, f"{called}: {error.strerror}"

    def run(self, cell: Mapping[str, Any], environment: dict[str, str]) -> tuple[Outcome, TreeUsage | None]:
        """Run the cell's command once, measured."""
        launch = Launch(
            argv=cell["argv"],
            environment=environment,
            directory=str(self.directory),
            timeout_s=cell["timeout_s"],
            output_bytes=int(cell.get("output_kib", self.header["output_kib"])) * 1024,
            rlimits=self._rlimits,
            cores=frozenset(self.cores) if self.cores is not None else None,
            hash_stdout=bool(cell["expect"].get("stdout_sha256")),
        )
        if self.accounting is None:
            return run_process(launch, self.stop), None
        outcome = run_process(launch, self.stop, self.accounting.begin, self.accounting.started)
        return outcome, self.accounting.finish()

    def check(self, cell: Mapping[str, Any], environment: dict[str, str]) -> str:
        """Run the cell's check command, not measured; returns why the output is wrong, or nothing."""
        outcome = run_process(
            Launch(
                cell["check"], environment, str(self.directory), cell["timeout_s"], 8192, hash_stdout=True
            ),
            self.stop,
        )
        if outcome.timed_out:
            return f"wrong output: the check was still running after {cell['timeout_s']:g} s"
        if outcome.exit_code != 0:
            how = f"signal {outcome.signal}" if outcome.signal else f"exit code {outcome.exit_code}"
            return f"wrong output: the check ended with {outcome.start_error or how}"
        expected = cell["expect"].get("check_sha256")
        if expected and outcome.stdout.sha256 != expected:
            return (
                f"wrong output: the check printed {str(outcome.stdout.sha256)[:16]}, expected {expected[:16]}"
            )
        return ""


def measure(bench: Bench, row: Row, attempt: int, segment: int) -> dict[str, Any]:
    """Run one invocation and make its record (without `sequence`, which the journal gives).

    Raises:
        Interrupted: the runner was told to stop; there is no record.
        OSError: the working directory cannot be made ready.
    """
    entered_ns = time.monotonic_ns()
    cell, header = row.cell, bench.header
    invocation_id = row.invocation_id
    bench.clear()
    for name, source in cell.get("arrange", {}).items():
        place(Path(source), bench.directory / name)
    environment = bench.environment_for(cell, invocation_id, attempt)
    before = bench.state.read()
    outcome, tree = bench.run(cell, environment)
    ended_ns = time.monotonic_ns()
    after = bench.state.read()
    usage = outcome.usage
    results, refused = bench.read_results(adapter_file(cell))
    max_rss_kib = peak_rss_kib(usage)
    reported = report_of(cell, outcome, results, refused, max_rss_kib)
    oom_kills = (tree.oom_kills if tree else 0) + _difference(before, after, "oom_kills")
    status, reason = judge(cell, outcome, reported, oom_kills)
    if status == "ok" and cell.get("check"):
        wrong = bench.check(cell, environment)
        if wrong:
            status, reason = "failed", wrong
    perturbation: list[dict[str, Any]] = []
    if status == "ok":
        own_cpu_s = usage.ru_utime + usage.ru_stime
        if tree is not None and tree.cpu_ns is not None:
            own_cpu_s = max(own_cpu_s, tree.cpu_ns / 1e9)
        perturbation = find_perturbation(
            header["limits"], before, after, outcome.elapsed_ns / 1e9, own_cpu_s, bench.cpus
        )
        if perturbation:
            status = "perturbed"
            reason = "; ".join(f"{p['limit']} {p['measured']:g} > {p['allowed']:g}" for p in perturbation)
    record = {
        "v": RECORD_VERSION,
        "invocation_id": invocation_id,
        "attempt": attempt,
        "cell_id": cell["cell_id"],
        "experiment": header["experiment"],
        "host": header["host"],
        "platform": header["platform"],
        "plan_id": header["plan_id"],
        "seed": header["seed"],
        "order": header["order"],
        "segment": segment,
        "round": row.round,
        "block": row.block,
        "position": row.position,
        "planned_index": row.index,
        "sequence": -1,
        "started_utc_ns": outcome.started_utc_ns,
        "started_monotonic_ns": outcome.started_monotonic_ns,
        "elapsed_ns": outcome.elapsed_ns,
        "status": status,
        "reason": reason,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "rusage": {
            "user_s": usage.ru_utime,
            "system_s": usage.ru_stime,
            "max_rss_kib": max_rss_kib,
            "minor_faults": usage.ru_minflt,
            "major_faults": usage.ru_majflt,
            "voluntary_switches": usage.ru_nvcsw,
            "involuntary_switches": usage.ru_nivcsw,
        },
        "cgroup": None
        if tree is None
        else {
            "version": tree.version,
            "cpu_ns": tree.cpu_ns,
            "memory_peak_bytes": tree.memory_peak_bytes,
            "oom_kills": tree.oom_kills,
        },
        "left_behind": outcome.left_behind,
        "iterations": reported.iterations,
        "digest": reported.digests[-1] if reported.digests else outcome.stdout.sha256,
        "info": reported.info,
        "host_before": before,
        "host_after": after,
        "perturbation": perturbation,
        "cores": bench.cores if bench.cores is not None else bench.all_cores,
        "padding_bytes": len(environment.get("REGATTA_PADDING", "")),
        "stdout": outcome.stdout.to_json(),
        "stderr": outcome.stderr.to_json(),
        "runner": {
            "version": regatta.__version__,
            "before_ns": outcome.started_monotonic_ns - entered_ns,
            "after_ns": time.monotonic_ns() - ended_ns,
        },
    }
    if cell.get("keep") and bench.kept is not None:
        folder = bench.kept / f"{invocation_id}-a{attempt}"
        record["kept"] = keep_files(bench.directory, cell["keep"], folder)
    return record


def peak_rss_kib(usage: resource.struct_rusage) -> int | None:
    """The process' peak resident memory; None where it cannot be told.

    Linux hands a process' peak on through fork and exec, so that no child shows less than the runner's own.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage.ru_maxrss if usage.ru_maxrss > own else None


def _difference(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> int:
    a, b = before.get(key), after.get(key)
    return 0 if a is None or b is None else int(b - a)
