"""The jobs of `regatta run` in sequence, without Snakemake: the same results in a third of the processor time.

Tests of the workflow itself, of what it repeats and how it ends, start `regatta run`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from regatta.store.folder import Folder

#: the steps of the last job, which have a log each
STEPS = ("verify", "ingest", "analyse", "report")

#: runs a verb of Regatta's where the experiment is
Regatta = Callable[..., subprocess.CompletedProcess[str]]


def receipt(folder: Folder, host: str, number: int) -> Path:
    """Where the receipt of a segment is."""
    return folder.receipts / host / f"{number:05d}.json"


def segment_arguments(folder: Folder, host: str, number: int) -> list[str]:
    """What a job of the workflow that measures runs."""
    words = ["segment", str(folder.path), "--host", host, "--segment", str(number)]
    return [*words, "--receipt", str(receipt(folder, host, number))]


def measure(regatta: Regatta, folder: Folder, spec: str, *options: str) -> None:
    """Plan, and measure what is missing on each host. `options` are those of `regatta segment`."""
    _succeed(regatta("plan", spec, "--write"))
    for host in folder.planned_hosts():
        for number in range(len(folder.host_header(host)["segments"])):
            _succeed(regatta(*segment_arguments(folder, host, number), *options))


def finish(regatta: Regatta, folder: Folder) -> None:
    """Write verdict, database, answer and report; every measurement must have succeeded."""
    folder.logs.mkdir(exist_ok=True)
    _succeed(regatta("finish", str(folder.path), *(str(folder.logs / f"{step}.log") for step in STEPS)))
    _succeed(regatta("verify", "--verdict", str(folder.verdict)))


def _succeed(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
