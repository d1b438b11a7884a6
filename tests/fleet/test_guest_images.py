"""Guests end with the process that started them, and images go when nothing uses them."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from helpers.hosts.guests import remove_unused, used
from regatta.host.processes import process_start

#: limit, seconds
END_S = 120.0
#: starts a guest without any disk, which does not begin to run, and writes its process ID
STARTER = """
import sys, time
from pathlib import Path
from helpers.hosts.guests import start
print(start(["-S"], Path(sys.argv[1])).pid, flush=True)
time.sleep(1000)
"""


@pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="NOT TESTED: no qemu-system-x86_64")
def test_a_guest_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, tmp_path], stdout=subprocess.PIPE, text=True, env=environment
    ) as starter:
        assert starter.stdout is not None
        guest = int(starter.stdout.readline())
        started = process_start(guest)
        assert started is not None
        starter.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + END_S
    while process_start(guest) == started:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_images_that_nothing_uses_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    in_use, left = tmp_path / "one", tmp_path / "two"
    for folder in (in_use, left):
        folder.mkdir()
        (folder / "disk").touch()
    with used(in_use):
        remove_unused([in_use, left])
    assert (in_use.exists(), left.exists()) == (True, False)
