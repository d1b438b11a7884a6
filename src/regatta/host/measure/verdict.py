"""Derive the status of a record from the end of the process and its report."""

from __future__ import annotations

import signal

from regatta.host.adapters import ADAPTERS
from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.measure.limits import limits_asked
from regatta.host.measure.process import Outcome
from regatta.host.values.plan_cell import AT_MOST, PROCESS_ELAPSED, PlanCell

#: messages of a JVM whose heap is too small, at startup or later
_OOM_MARKS = (
    b"java.lang.OutOfMemoryError",
    b"Terminating due to java.lang.OutOfMemoryError",
    b"Could not reserve enough space",
    b"Too small maximum heap",
    b"Too small initial heap",
    b"Too small heap",
    b"There is insufficient memory for the Java Runtime Environment",
)


def adapter_file(cell: PlanCell) -> str:
    """Return the file name in the working directory that the cell's adapter reads; "": the file of `REGATTA_RESULTS`."""
    return str(cell["adapter"].get("options", {}).get("file", ""))


def report_of(
    cell: PlanCell,
    outcome: Outcome,
    results: bytes | None,
    refused: str,
    max_rss_kib: int | None,
) -> Reported:
    """Let the cell's adapter read the output."""
    left = RunOutput(
        elapsed_ns=outcome.elapsed_ns,
        user_s=outcome.usage.ru_utime,
        system_s=outcome.usage.ru_stime,
        max_rss_kib=max_rss_kib,
        results=results,
        refused=refused,
        stdout=outcome.stdout.kept,
        stdout_cut=outcome.stdout.cut,
        stderr=outcome.stderr.kept,
        stderr_cut=outcome.stderr.cut,
    )
    return ADAPTERS[cell["adapter"]["name"]](left, cell["adapter"].get("options", {}))


def _ran_out_of_memory(cell: PlanCell, outcome: Outcome, oom_kills: int) -> str:
    # Under a memory limit, the kernel may kill only a child, whose parent then does less work.
    limited = "memory_mib" in limits_asked(cell)
    if oom_kills and (limited or outcome.signal == signal.SIGKILL):
        return "killed by the kernel (out of memory)"
    if cell.get("kind") == "java" and (outcome.exit_code or outcome.signal):
        text = outcome.stderr.kept + b"\n" + outcome.stdout.kept
        for mark in _OOM_MARKS:
            if mark in text:
                line = next(line for line in text.split(b"\n") if mark in line)
                return line.decode("utf-8", "replace").strip()[:300]
    return ""


def _wrong_count(cell: PlanCell, reported: Reported) -> str:
    """Return an error for a wrong number of iterations: with fewer, cold iterations would count as steady state."""
    asked = cell.get("iterations")
    if asked is None:
        return ""
    seen: dict[str, set[int]] = {}
    for iteration, metric, _, _, _, parameters in reported.iterations:
        if cell["metric"] == PROCESS_ELAPSED:
            # A process that does less than it is asked for takes less time. Any metric shows its iterations.
            seen.setdefault("", set()).add(iteration)
        elif metric in (cell["metric"], f"{cell['metric']}{AT_MOST}"):
            # An operation that is hardly slower than its loop has a number in some iterations, and a limit in the others.
            seen.setdefault(str(parameters), set()).add(iteration)
    wrong = next((len(found) for found in seen.values() if len(found) != asked), None if seen else 0)
    return "" if wrong is None else f"expected {asked} iterations of {cell['metric']}, got {wrong}"


def _wrong_output(cell: PlanCell, outcome: Outcome, reported: Reported) -> str:
    expect = cell.get("expect", {})
    digest = expect.get("digest")
    if digest:
        if not reported.digests:
            return f"wrong output: no digest reported, expected {digest[:16]}"
        wrong = next((d for d in reported.digests if d != digest), None)
        if wrong:
            return f"wrong output: digest {wrong[:16]}, expected {digest[:16]}"
    elif len(set(reported.digests)) > 1:
        return "wrong output: different digests in one invocation"
    if expect.get("stdout_sha256") and outcome.stdout.sha256 != expect["stdout_sha256"]:
        return f"wrong output: SHA-256 of stdout {str(outcome.stdout.sha256)[:16]}, expected {expect['stdout_sha256'][:16]}"
    return ""


def _wrong_exit(cell: PlanCell, outcome: Outcome) -> str:
    codes = cell.get("expect", {}).get("exit_codes", [0])
    if not codes or outcome.exit_code in codes:
        return ""
    expected = "" if codes == [0] else f", expected {' or '.join(map(str, codes))}"
    return f"exit code {outcome.exit_code}{expected}{last_words(outcome)}"


def judge(cell: PlanCell, outcome: Outcome, reported: Reported, oom_kills: int) -> tuple[str, str | None]:
    """Return the status and its reason, before the perturbation check and the check command.

    Returns:
        `("ok", None)` or one of `timeout`, `oom`, `crashed`, `failed` with a message for users.
    """
    if outcome.start_error:
        return "failed", outcome.start_error
    if outcome.timed_out:
        return "timeout", f"timed out after {cell['timeout_s']:g} s"
    memory = _ran_out_of_memory(cell, outcome, oom_kills)
    if memory:
        return "oom", memory
    if outcome.signal is not None:
        return "crashed", f"killed by signal {outcome.signal} ({signal.strsignal(outcome.signal)})"
    if reported.error and not reported.error.startswith("no result"):
        return "failed", reported.error
    if wrong := _wrong_exit(cell, outcome):
        return "failed", wrong
    if reported.error:
        return "failed", reported.error
    wrong = _wrong_output(cell, outcome, reported) or _wrong_count(cell, reported)
    return ("failed", wrong) if wrong else ("ok", None)


def last_words(outcome: Outcome) -> str:
    """Return the last line of the standard error after a colon; "" without one."""
    lines = [line for line in outcome.stderr.kept.split(b"\n") if line.strip()]
    return ": " + lines[-1].decode("utf-8", "replace").strip()[:200] if lines else ""
