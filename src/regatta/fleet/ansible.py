"""Run playbooks on hosts before and after measuring, with ansible-core; return an outcome for each host."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regatta.host.errors import HostError
from regatta.host.printable import printable, with_lines

#: Ansible forks one process per concurrent host; each needs about 50 MB and little CPU.
MOST_FORKS = 25
_EVENTS = "REGATTA_PLAYBOOK_EVENTS"
_LOOK_EVERY_S = 0.1
#: as in playbooks/ansible.cfg: one connection per host, host keys checked, no prompts
_SSH_ARGUMENTS = (
    "-o BatchMode=yes -o StrictHostKeyChecking=yes -o ControlMaster=auto -o ControlPersist=30s"
    " -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
)
_STOP_S = 10.0
#: valid inventory names: none that `--limit` would interpret as a pattern
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True)
class HostOutcome:
    """Outcome of a playbook on one host."""

    ok: bool
    #: number of tasks that changed something
    changed: int
    #: reason, or empty
    unreachable: str = ""
    #: failed task and reason, or empty
    failed: str = ""
    #: messages of the playbook for users, which say nothing of the host's state
    notes: tuple[str, ...] = field(default=(), compare=False)


def run_playbook(
    home: Path,
    playbook: str,
    inventory: Path,
    limit: Sequence[str],
    variables: Mapping[str, Any],
    *,
    tags: Sequence[str] = (),
    check: bool = False,
    log: Path | None = None,
) -> dict[str, HostOutcome]:
    """Run a playbook on hosts. Unreachable or failing hosts are reported, and the others continue.

    Args:
        home: result of `find_home`; it holds `playbooks/`.
        playbook: its file name, such as `site.yml`.
        inventory: a file or folder that Ansible reads.
        limit: host names of the inventory; empty: all.
        variables: passed in a file that only this user can read.
        tags: parts of the playbook; empty: the default parts.
        check: dry run: change nothing, and count possible changes.
        log: file for the output of Ansible.

    Returns:
        an outcome for each host of `limit`, or of the inventory.

    Raises:
        HostError: Ansible itself failed, so that the state of all hosts is unknown.
    """
    for name in limit:
        if not _HOST.fullmatch(name):
            raise HostError("hosts of a playbook", "names of letters, digits and ._+-", repr(name))
    with tempfile.TemporaryDirectory(prefix="regatta-ansible-") as temporary:
        folder = Path(temporary)
        words = folder / "words" if log is None else log
        given = _private(folder / "variables.json", json.dumps(dict(variables)))
        argv = [sys.executable, "-m", "ansible", "playbook", str(home / "playbooks" / playbook)]
        argv += ["--inventory", str(inventory), "--extra-vars", f"@{given}"]
        if limit:
            names = _private(folder / "limit", "".join(f"{name}\n" for name in limit))
            argv += ["--limit", f"@{names}"]
        if tags:
            argv += ["--tags", ",".join(tags)]
        argv += ["--check"] if check else []
        argv += ["--forks", str(min(max(len(limit), 5), MOST_FORKS))]
        events = _Events(_private(folder / "events.jsonl", ""), _progress())
        try:
            code = _run(argv, _environment(home, folder), words, events)
        finally:
            _end_connections(folder / "cp")
        return _outcomes(events, limit, code, words, playbook)


def _private(path: Path, text: str) -> Path:
    """Write a file that only this user can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return path


def _environment(home: Path, folder: Path) -> dict[str, str]:
    """Return the environment of the user without variables that override required settings; Ansible writes to the folder."""
    return {
        **os.environ,
        "ANSIBLE_CONFIG": str(home / "playbooks" / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_SSH_ARGS": _SSH_ARGUMENTS,
        "ANSIBLE_CACHE_PLUGIN": "memory",
        "ANSIBLE_CALLBACKS_ENABLED": "regatta_events",
        "ANSIBLE_NOCOLOR": "1",
        _EVENTS: str(folder / "events.jsonl"),
        # Ansible does not start in a non-UTF-8 locale.
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
    }


class _Events:
    """Lines of the callback plugin `regatta_events`, read while they are written."""

    def __init__(self, path: Path, progress: Callable[[str], None] | None) -> None:
        self._path = path
        self._progress = progress
        self._offset = 0
        self.hosts: dict[str, dict[str, Any]] = {}
        #: host -> event -> place and reason
        self.reasons: dict[str, dict[str, str]] = {}
        self.notes: dict[str, list[str]] = {}
        self.ended = False

    def read(self) -> None:
        """Read the new whole lines."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            self._take(json.loads(line))

    def _take(self, event: dict[str, Any]) -> None:
        kind, host = event["event"], event.get("host", "")
        if kind == "end":
            self.ended = True
        elif kind == "host":
            self.hosts[host] = event
        elif kind == "role" and self._progress:
            self._progress(f"{host}: {event['role']}")
        elif kind == "note":
            self.notes.setdefault(host, []).append(event["text"])
        elif kind in ("failed", "unreachable"):
            where = ": ".join(part for part in (event["role"], event["task"]) if part)
            self.reasons.setdefault(host, {})[kind] = f"{where}: {event['reason']}"
            if self._progress:
                self._progress(f"{host}: {kind}: {self.reasons[host][kind]}")


def _progress() -> Callable[[str], None] | None:
    """Return a printer of the roles per host; None without a terminal."""
    if not sys.stderr.isatty():
        return None
    return lambda line: print(printable(line), file=sys.stderr, flush=True)


def _run(argv: list[str], environment: dict[str, str], words: Path, events: _Events) -> int:
    """Run Ansible in a separate session: it cannot prompt on the terminal, and all its processes can be ended."""
    with _private_log(words) as output:
        # A file instead of a pipe, because the controlling SSH connections inherit it and outlive Ansible.
        ansible = subprocess.Popen(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )  # fmt: skip
        try:
            while (code := ansible.poll()) is None:
                events.read()
                time.sleep(_LOOK_EVERY_S)
        finally:
            if ansible.returncode is None:
                _end(ansible)
    events.read()
    return code


@contextlib.contextmanager
def _private_log(path: Path) -> Iterator[Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as file:
        yield file


def _end(ansible: subprocess.Popen[bytes]) -> None:
    """End Ansible and its local processes after an interruption."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(ansible.pid, signal.SIGTERM)
    try:
        ansible.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(ansible.pid, signal.SIGKILL)
        ansible.wait()


def _end_connections(folder: Path) -> None:
    """End the controlling connections, which would otherwise wait for more work."""
    if folder.is_dir():
        for socket in folder.iterdir():
            subprocess.run(
                ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "any"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_STOP_S, check=False,
            )  # fmt: skip


def _outcomes(
    events: _Events, limit: Sequence[str], code: int, words: Path, playbook: str
) -> dict[str, HostOutcome]:
    if not events.ended:
        lines = [line for line in words.read_text(errors="replace").splitlines() if line.strip()]
        raise HostError(f"playbook {playbook}", "Ansible to run it", with_lines(f"exit {code}", lines[-8:]))
    outcomes = {name: _outcome(name, events) for name in events.hosts}
    for name in limit:
        if name not in outcomes:
            why = "not in the group of hosts that the playbook targets"
            outcomes[name] = HostOutcome(False, 0, failed=why)
    return outcomes


def _outcome(name: str, events: _Events) -> HostOutcome:
    """Build the outcome from the counts of Ansible: failures handled by `rescue` do not count."""
    counts, reasons = events.hosts[name], events.reasons.get(name, {})
    away = reasons.get("unreachable", "unreachable") if counts["unreachable"] else ""
    failed = reasons.get("failed", "a task failed") if counts["failures"] else ""
    return HostOutcome(
        not away and not failed, counts["changed"], away, failed, tuple(events.notes.get(name, ()))
    )
