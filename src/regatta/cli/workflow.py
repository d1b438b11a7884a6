"""Snakemake run for one experiment: one at a time, watched, its errors told as ours."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regatta.cli.progress import Watcher
from regatta.errors import HostError, Problem, RegattaError
from regatta.store.folder import Folder

_RULE = re.compile(r"^(?:local)?rule (\w+):")
_INTERRUPTED = 130


@contextmanager
def _only_one(folder: Folder) -> Iterator[int]:
    """Hold the experiment's lock, whose descriptor Snakemake inherits: it stays held when only this process is killed."""
    folder.path.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder.path / ".run.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                f"{folder.name} is being run already; waiting for its end (`regatta status` shows how far it is)",
                file=sys.stderr, flush=True,
            )  # fmt: skip
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


def run_workflow(spec: Path, folder: Folder, results: Path, home: Path, retry_failed: bool) -> int:
    """Run the workflow of one spec to its end.

    Returns:
        0 all is recorded and well; 1 something that was measured failed; 130 stopped.

    Raises:
        RegattaError: a job ended with an error of ours (its problems, its exit code), or Snakemake failed.
    """
    try:
        with _only_one(folder) as lock:
            return _run(spec, folder, results, home, retry_failed, lock)
    except OSError as error:
        raise HostError(
            str(folder.path), "a folder to write in", str(error.strerror), "choose another by --results"
        ) from error


def _run(spec: Path, folder: Folder, results: Path, home: Path, retry_failed: bool, lock: int) -> int:
    folder.logs.mkdir(parents=True, exist_ok=True)
    errors = folder.logs / "errors.jsonl"
    errors.unlink(missing_ok=True)
    if retry_failed:
        _forget_receipts(folder)
    bin_dir = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{bin_dir}{os.pathsep}{os.environ.get('PATH', '')}",
        "REGATTA_HOME": str(home),
        "REGATTA_ERRORS": str(errors.resolve()),
    }
    if retry_failed:
        environment["REGATTA_RETRY_FAILED"] = "1"
    command = [
        sys.executable, "-m", "snakemake",
        "--snakefile", str(home / "Snakefile"),
        "--directory", str(Path.cwd()),
        "--profile", str(home / "configs" / "profiles" / "local"),
        "--config", f"spec={json.dumps(str(spec))}", f"results={json.dumps(str(results))}",
    ]  # fmt: skip
    # Its own session: Ctrl-C reaches this process alone, which then ends the workflow in order.
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        pass_fds=(lock,), start_new_session=True,
    )  # fmt: skip
    with Watcher(folder) as watcher:
        reader = threading.Thread(
            target=_read, args=(process, folder.logs / "snakemake.log", watcher), daemon=True
        )
        reader.start()
        try:
            while process.poll() is None:
                time.sleep(0.1) if not watcher.measuring else process_wait(process)
                watcher.look()
            reader.join(timeout=5)
        except KeyboardInterrupt:
            _stop(process)
            print("stopped; the same command goes on", file=sys.stderr)
            return _INTERRUPTED
    if process.returncode == 0:
        return 0
    _raise_for(errors, folder)
    return 1


def process_wait(process: subprocess.Popen[bytes]) -> None:
    """Sleep until the workflow ends, at most the time between two looks while something is measured."""
    try:
        process.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        return


def _read(process: subprocess.Popen[bytes], log: Path, watcher: Watcher) -> None:
    assert process.stdout is not None
    with log.open("ab") as file:
        for line in process.stdout:
            file.write(line)
            file.flush()
            match = _RULE.match(line.decode("utf-8", "replace"))
            if match:
                watcher.stage = match.group(1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the whole session; the runner kills what it measures and ends between two records."""
    import signal

    for number, patience_s in ((signal.SIGINT, 2), (signal.SIGTERM, 15), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=patience_s)
        except subprocess.TimeoutExpired:
            continue


def _forget_receipts(folder: Folder) -> None:
    """Without receipts the segments are walked again; the journal says what is still to do."""
    for receipt in folder.receipts.glob("*/*.json"):
        receipt.unlink()


def _raise_for(errors: Path, folder: Folder) -> None:
    """Raise the first error that a job told; that `verify` failed is told by its problems, and is exit code 1."""
    try:
        told = [json.loads(line) for line in errors.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        told = []
    for error in told:
        raised = RegattaError(folder.name, "", "")
        raised.problems = tuple(_Told(text, "", "") for text in error["problems"])
        raised.exit_code = error["exit_code"]
        raise raised
    log = folder.logs / "snakemake.log"
    tail = _last_lines(_latest_log(folder, log))
    raise HostError(
        str(log), "the workflow to succeed", f"an error:\n{tail}", "mend it, and run the same command again"
    )


class _Told(Problem):
    """A problem that another process has put into words already."""

    def __str__(self) -> str:
        return self.where


def _latest_log(folder: Folder, fallback: Path) -> Path:
    logs = [p for p in folder.logs.glob("*.log") if p.stat().st_size and p != fallback]
    return max(logs, key=lambda p: p.stat().st_mtime_ns, default=fallback)


def _last_lines(path: Path, count: int = 12) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in lines[-count:])
