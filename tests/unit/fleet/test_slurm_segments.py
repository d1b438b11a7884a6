from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from regatta.fleet import slurm_segments
from regatta.fleet.slurm_segments import SlurmSegment


def test_a_node_that_never_stops_writing_does_not_fill_the_log_of_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(slurm_segments, "MAXIMUM_TOLD_BYTES", 1000)
    segment = SlurmSegment.__new__(SlurmSegment)
    segment._node_state = tmp_path / "node.json"
    program = "import sys; sys.stderr.write('x' * 1_000_000 + 'the end')"
    told = bytearray()
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as process:
        segment._attend(process, told)
    assert told.endswith(b"the end")
    assert capfdbinary.readouterr().err == b"x" * 1000
