"""The timeout of a command on a node of Slurm, with a made-up srun."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

from regatta.fleet.remote import slurm
from regatta.host.values.host import Host, SlurmPlace

#: goes on when its last words are read
SRUN = """
until [ -e looked ]; do sleep 0.01; done
echo 'srun: job 7 queued and waiting for resources' >&2
until [ -e queued ]; do sleep 0.01; done
echo 'srun: job 7 has been allocated resources' >&2
until [ -e granted ]; do sleep 0.01; done
"""


def test_a_timeout_starts_with_the_node_though_srun_says_late_that_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = slurm._read_all

    def looked(file: IO[bytes]) -> str:
        text = read(file)
        (tmp_path / "looked").touch()
        for word, part in (("queued", "queued and waiting"), ("granted", "has been allocated")):
            if part in text:
                (tmp_path / word).touch()
        return text

    def start(*_: object) -> subprocess.Popen[bytes]:
        with (tmp_path / "told").open("wb") as told:
            return subprocess.Popen(["sh", "-c", SRUN], cwd=tmp_path, stdout=subprocess.PIPE, stderr=told)

    def clock_s() -> float:
        return 3600.0 if (tmp_path / "queued").exists() else 1.0

    monkeypatch.setattr(slurm, "_read_all", lambda _: looked((tmp_path / "told").open("rb")))
    monkeypatch.setattr(slurm, "time", SimpleNamespace(monotonic=clock_s))
    remote = slurm.SlurmRemote(Host("one", "x86", slurm=SlurmPlace(node="a"), root=str(tmp_path)))
    monkeypatch.setattr(remote, "_start", start)
    assert remote._once(["true"], b"", 60, []).returncode == 0
