"""One measurement at a time on a host."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from regatta.errors import HostError
from regatta.runner.host_lock import HostLock

HOLD = (
    "import sys, time\nfrom pathlib import Path\nfrom regatta.runner.host_lock import HostLock\n"
    "HostLock(Path(sys.argv[1]), {'experiment': 'other'}); print('held', flush=True); time.sleep(600)"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "measuring.lock"


def test_the_lock_says_who_holds_it(path: Path) -> None:
    lock = HostLock(path, {"experiment": "demo"})
    assert {k: v for k, v in json.loads(path.read_text()).items() if k != "since"} == {
        "pid": os.getpid(),
        "experiment": "demo",
    }
    with pytest.raises(HostError, match=rf"process {os.getpid()} \(demo, since") as caught:
        HostLock(path, {"experiment": "second"}, wait=False)
    assert caught.value.exit_code == 3
    lock.release()
    HostLock(path, {"experiment": "second"}, wait=False).release()


def test_the_lock_dies_with_its_holder(path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(HostError, match="other"):
        HostLock(path, {}, wait=False)
    holder.kill()
    holder.communicate()
    HostLock(path, {}, wait=False).release()


@pytest.mark.parametrize("text", ["", "no json", "5", "[]", '"x"', "\0" * 100])
def test_a_lock_whose_text_is_of_others_still_locks(path: Path, text: str) -> None:
    path.write_text(text)
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(HostError, match="another process"):
            HostLock(path, {}, wait=False)


def test_every_user_of_the_host_can_take_it(path: Path) -> None:
    before = os.umask(0o077)
    try:
        HostLock(path, {}).release()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o666


def test_a_link_is_no_lock(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "precious")
    with pytest.raises(HostError, match="a lock file"):
        HostLock(path, {})
    assert not (tmp_path / "precious").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no/measuring"):
        HostLock(tmp_path / "no" / "measuring.lock", {})
