"""The browser that draws pictures: found, refused, silent, dead. The real one is in tests/workflow."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import pytest

from helpers.waiting import wait_until
from regatta.figures import browser
from regatta.figures.browser import Browser, find_browser
from regatta.host.errors import HostError


def program(path: Path, body: str) -> str:
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a browser's own folder is made."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_without_a_browser_the_error_says_what_to_install_and_how_to_do_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("REGATTA_BROWSER", raising=False)
    with pytest.raises(HostError, match=r"apt-get install chromium.*--format html") as caught:
        find_browser()
    assert caught.value.exit_code == 3
    program(tmp_path / "google-chrome", "")
    assert find_browser() == str(tmp_path / "google-chrome")


def test_a_browser_that_is_named_is_taken_and_never_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGATTA_BROWSER", program(tmp_path / "mine", ""))
    assert find_browser() == str(tmp_path / "mine")
    monkeypatch.setenv("REGATTA_BROWSER", str(tmp_path / "gone"))
    with pytest.raises(HostError, match=r"REGATTA_BROWSER.*gone"):
        find_browser()


#: of the made-up browser below, as the loader prints it
LAST_WORDS = "cannot open shared object file"


def test_a_browser_that_ends_at_once_is_quoted_and_leaves_nothing(tmp_path: Path, profiles: Path) -> None:
    broken = program(tmp_path / "broken", f"import sys; sys.exit({LAST_WORDS!r})")
    with pytest.raises(HostError, match=LAST_WORDS), Browser(broken):
        pass
    assert list(profiles.iterdir()) == []


def test_a_program_that_cannot_be_started_is_an_error_of_the_host(tmp_path: Path, profiles: Path) -> None:
    with pytest.raises(HostError, match="No such file"), Browser(str(tmp_path / "none")):
        pass
    assert list(profiles.iterdir()) == []


def test_a_silent_browser_is_given_up_and_ended_with_its_children(
    tmp_path: Path, profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "_END_S", 0.1)
    pids = tmp_path / "pids"

    def wait(self: Browser, readers: list[int], writers: list[int], deadline: float) -> None:
        """As the browser is waited for, until it has started its child."""
        if readers:
            wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2, "the start of both")
            deadline = time.monotonic() + 0.1
        ends(self, readers, writers, deadline)

    ends = Browser._wait
    monkeypatch.setattr(Browser, "_wait", wait)
    silent = program(
        tmp_path / "silent",
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)",
    )
    with pytest.raises(HostError, match="an answer in time"), Browser(silent):
        pass
    assert list(profiles.iterdir()) == []
    for pid in pids.read_text().split():
        wait_until(lambda pid=pid: not alive(int(pid)), f"the end of {pid}")


def test_a_talking_browser_answers_and_its_errors_are_told(tmp_path: Path, profiles: Path) -> None:
    talking = program(
        tmp_path / "talking",
        "import json\n"
        "def say(**m):\n"
        "    out.write(json.dumps(m).encode() + b'\\0'); out.flush()\n"
        "out = open(4, 'wb'); text = b''; source = open(3, 'rb', buffering=0)\n"
        "while chunk := source.read(65536):\n"
        "    text += chunk\n"
        "    while b'\\0' in text:\n"
        "        one, text = text.split(b'\\0', 1)\n"
        "        asked = json.loads(one); n = asked['id']; script = asked['params'].get('expression', '')\n"
        "        say(method='Target.somethingHappened', params={})\n"
        "        if script == 'throw': say(id=n, result={'exceptionDetails': {'text': 'Uncaught', 'exception': {'description': 'Error: no\\n at x'}}, 'result': {}})\n"
        "        elif script == 'refuse': say(id=n, error={'message': 'not so'})\n"
        "        else: say(id=n, result={'targetId': 't', 'sessionId': 's', 'result': {'value': len(script)}})",
    )
    with Browser(talking) as one:
        assert one.evaluate("x" * 3_000_000) == 3_000_000, "more than a pipe holds"
        with pytest.raises(HostError, match=r"got Error: no · "):
            one.evaluate("throw")
        with pytest.raises(HostError, match="not so"):
            one.evaluate("refuse")
        assert one.evaluate("fine") == 4
    assert list(profiles.iterdir()) == []


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
