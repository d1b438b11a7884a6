"""One measurement at a time on a host."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from regatta.host.errors import HostError
from regatta.host.measure.host_lock import HostLock

HOLD = (
    "import sys, time\nfrom pathlib import Path\nfrom regatta.host.measure.host_lock import HostLock\n"
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


@pytest.mark.parametrize("text", ["", json.dumps({"pid": 2162, "experiment": "ended", "since": "long ago"})])
def test_the_holder_with_another_file_of_the_name_is_told_and_not_the_text_of_this_file(
    path: Path, text: str
) -> None:
    """As in a chroot or a container, which has another /tmp and the same network namespace."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        other = path.with_suffix(".other")
        other.write_text(text)
        other.replace(path)
        with pytest.raises(HostError, match=rf"process {holder.pid}") as caught:
            HostLock(path, {}, wait=False)
        assert caught.value.problems[0].got.endswith(f"process {holder.pid}")
    finally:
        holder.kill()
        holder.communicate()


def test_the_text_of_a_holder_in_another_pid_namespace_is_told(path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        path.write_text(json.dumps({"pid": 7, "experiment": "contained"}))
        with pytest.raises(HostError, match="contained"):
            HostLock(path, {}, wait=False)
    finally:
        holder.kill()
        holder.communicate()


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


def test_the_text_of_another_is_bounded_and_printable(path: Path) -> None:
    path.write_text(
        json.dumps(
            {"pid": 7, "experiment": "\u001b]0;x\a\nerror: faked", "holder": "x" * 2000, "since": "\ud800"}
        )
    )
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(HostError, match="process 7 of x") as caught:
            HostLock(path, {}, wait=False)
    said = caught.value.problems[0].got
    assert said.isprintable()
    assert len(said) < 300


@pytest.mark.parametrize(
    "text",
    ["[" * 4096, '{"results_file":"\\ud800"}', '{"pid":' + "9" * 4000 + "}", '{"pid": [[]], "since": {}}'],
)
def test_no_text_of_a_lock_stops_its_next_holder(path: Path, text: str) -> None:
    path.write_text(text)
    lock = HostLock(path, {"experiment": "demo"})
    assert json.loads(path.read_text())["experiment"] == "demo"
    assert lock.previous == {}
    lock.release()


def test_the_next_holder_of_the_same_user_is_told_what_the_one_before_left(path: Path) -> None:
    HostLock(path, {}, {"results_file": "/some/file"}).release()
    path.write_text(json.dumps({"results_file": "/file/of/others"}))
    lock = HostLock(path, {})
    assert lock.previous == {"results_file": "/some/file"}
    lock.release()


def of_another_user(own: Path) -> None:
    os.chown(own, 61_613, -1)


def that_others_may_write(own: Path) -> None:
    own.chmod(0o666)


def with_a_second_name(own: Path) -> None:
    os.link(own, own.with_name("second"))


def that_is_a_link(own: Path) -> None:
    own.symlink_to(own.rename(own.with_name("elsewhere")))


def that_is_a_pipe(own: Path) -> None:
    own.unlink()
    os.mkfifo(own)


@pytest.mark.parametrize(
    "change",
    [of_another_user, that_others_may_write, with_a_second_name, that_is_a_link, that_is_a_pipe],
    ids=lambda change: change.__name__,
)
def test_what_another_user_may_have_left_is_not_believed(
    path: Path, change: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    if change is of_another_user and os.geteuid() != 0:
        pytest.skip("NOT TESTED: only root can give a file away")
    HostLock(path, {}, {"results_file": "/file/of/others"}).release()
    own = path.with_name(f"{path.name}.{os.geteuid()}")
    change(own)
    assert capsys.readouterr().err == ""
    lock = HostLock(path, {}, {"results_file": "/own"})
    assert lock.previous == {}
    assert capsys.readouterr().err.startswith(f"note: {own} ")
    lock.release()


def test_a_lock_whose_file_is_deleted_still_locks(path: Path) -> None:
    lock = HostLock(path, {"experiment": "demo"})
    path.unlink()
    with pytest.raises(HostError, match=rf"process {os.getpid()}"):
        HostLock(path, {"experiment": "second"}, wait=False)
    path.unlink()
    lock.release()
    HostLock(path, {"experiment": "second"}, wait=False).release()


def test_a_file_that_was_deleted_while_another_waited_for_it_is_no_lock_any_more(path: Path) -> None:
    held = path.open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    waiter = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert waiter.stderr is not None
    assert waiter.stdout is not None
    assert waiter.stderr.readline().startswith("waiting: ")
    path.unlink()
    held.close()
    assert waiter.stdout.readline() == "held\n"
    with path.open() as seen, pytest.raises(BlockingIOError):
        fcntl.flock(seen, fcntl.LOCK_EX | fcntl.LOCK_NB)
    waiter.kill()
    waiter.communicate()


def test_who_waits_is_told_of_each_holder_in_turn(path: Path) -> None:
    wait = (
        "import sys\nfrom pathlib import Path\nfrom regatta.host.measure.host_lock import HostLock\n"
        "HostLock(Path(sys.argv[1]), {'experiment': sys.argv[2]}, waiting=lambda h: print(h['experiment'], flush=True));"
        "print('held', flush=True); sys.stdin.read()"
    )
    lock = HostLock(path, {"experiment": "first"})
    waiters = []
    for name in ("second", "third"):
        waiters.append(
            subprocess.Popen(
                [sys.executable, "-c", wait, str(path), name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )
        )  # fmt: skip
        assert waiters[-1].stdout is not None
        assert waiters[-1].stdout.readline() == "first\n"
    lock.release()
    said = {
        name: waiter.stdout.readline().strip()
        for name, waiter in zip(("second", "third"), waiters, strict=True)
    }
    assert sorted(said.values()) in (["held", "second"], ["held", "third"])
    order = sorted(waiters, key=lambda waiter: said[["second", "third"][waiters.index(waiter)]] != "held")
    order[0].communicate()
    assert order[1].stdout.readline() == "held\n"
    order[1].communicate()
