"""A host over OpenSSH: all commands and processes share one controlling connection, with host keys checked."""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from regatta.fleet.remote.base import Answer, Remote, Unreachable, last_line
from regatta.fleet.remote.here import run_bounded
from regatta.host.errors import HostError
from regatta.host.values.host import Host, SshPlace
from regatta.store.folder import replacing

#: exit code of ssh for a failed connection
_SSH_FAILED = 255
_CONNECT_S = 15
#: seconds between keepalives; after three unanswered ones a connection is lost
_ALIVE_S = 10
_PERSIST_S = 60
_COPY_S = 3600.0
#: longest path of a socket (sockaddr_un), less the suffix that ssh adds temporarily
_LONGEST_SOCKET = 104 - 18

# Atomic: a broken connection leaves a temporary file, never a partial file under the final name.
_WRITE = """
import os, sys, tempfile
target, size = sys.argv[1], int(sys.argv[2])
os.makedirs(os.path.dirname(target), exist_ok=True)
fd, name = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".incoming-")
try:
    left = size
    while left:
        data = os.read(0, min(1 << 20, left))
        if not data:
            sys.exit("%d bytes are missing" % left)
        left -= len(data)
        while data:
            data = data[os.write(fd, data):]
    os.fchmod(fd, 0o644)
    os.fsync(fd)
    os.rename(name, target)
except BaseException:
    os.unlink(name)
    raise
"""


class Ssh(Remote):
    """A host over OpenSSH. Authentication is by an agent or by key files: password prompts are disabled."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        if host.ssh is None:
            raise HostError(host.name, "an SSH address", "none", "set `ansible_host` in the inventory")
        self._command = _command(host.name, host.ssh)

    def words(self, argv: Sequence[str]) -> list[str]:
        assert self.host.ssh is not None
        return [*self._command, "--", self.host.ssh.address, shlex.join(argv)]

    def run(self, argv: Sequence[str], stdin: bytes | Path = b"", timeout_s: float = 600.0) -> Answer:
        answer = run_bounded(self.host.name, self.words(argv), stdin, timeout_s)
        if answer.returncode == _SSH_FAILED:
            raise self.broken(answer.stderr)
        return answer

    def broken(self, told: str) -> Unreachable:
        """Return the error of a failed connection from the messages of ssh."""
        text = last_line(told) or "connection lost"
        fix = "check that it is running: `regatta hosts`"
        if "Host key verification failed" in told or "REMOTE HOST IDENTIFICATION HAS CHANGED" in told:
            text = "its host key differs from the one in known_hosts"
            fix = (
                "verify its key, then add it to known_hosts (ssh-keyscan shows the key without verifying it)"
            )
        elif "Permission denied" in told:
            fix = "load the key into the SSH agent, or set `ansible_ssh_private_key_file`"
        return Unreachable(self.host.name, "an SSH connection", text, fix)

    def open(self, argv: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.words(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # signals that end the workflow reach this process, which then stops the host
        )

    def put(self, source: Path, target: str) -> None:
        size = source.stat().st_size
        answer = self.run(
            [self.host.python, "-I", "-c", _WRITE, target, str(size)], source, timeout_s=_COPY_S
        )
        if answer.returncode != 0:
            where = f"{self.host.name}: {target}"
            fix = f"prepare the host: `regatta provision SPEC`, or make {self.host.root} writable"
            raise HostError(where, "a writable file", answer.last_line(), fix)

    def get(self, source: str, target: Path, maximum_bytes: int) -> None:
        process = self.open(["cat", "--", source])
        # The kill ends a copy that takes longer than the largest file over a slow line.
        timer = threading.Timer(_COPY_S, process.kill)
        timer.start()
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with replacing(target) as temporary, temporary.open("wb") as file:
                left = maximum_bytes
                while data := process.stdout.read(1 << 20):
                    left -= len(data)
                    if left < 0:
                        raise HostError(
                            f"{self.host.name}: {source}", f"at most {maximum_bytes} bytes", "more"
                        )
                    file.write(data)
                told = process.stderr.read(65536).decode("utf-8", "replace")
                code = process.wait()
                if code == _SSH_FAILED:
                    raise self.broken(told)
                if code != 0:
                    raise HostError(f"{self.host.name}: {source}", "a file", told.strip()[-400:])
        finally:
            timer.cancel()
            if process.poll() is None:
                process.kill()
            process.communicate()

    def close(self) -> None:
        """Close the controlling connection for all processes that use it."""
        assert self.host.ssh is not None
        command = [*self._command, "-O", "exit", "--", self.host.ssh.address]
        subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_CONNECT_S
        )


def _command(name: str, place: SshPlace) -> list[str]:
    """Return ssh with its options. The first value of an option wins: later arguments cannot disable the host key check."""
    # The digest covers the whole route: two hosts may share an address behind different gateways.
    digest = hashlib.sha256(repr((name, place)).encode()).hexdigest()[:40]
    options = {
        "BatchMode": "yes",
        "StrictHostKeyChecking": "yes",
        "ControlMaster": "auto",
        "ControlPath": f"{_socket_folder()}/{digest}",
        "ControlPersist": f"{_PERSIST_S}",
        "ConnectTimeout": f"{_CONNECT_S}",
        "ServerAliveInterval": f"{_ALIVE_S}",
        "ServerAliveCountMax": "3",
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "PermitLocalCommand": "no",
        "LogLevel": "ERROR",
    }
    command = ["ssh", "-T"]
    for name, value in options.items():
        command += ["-o", f"{name}={value}"]
    command += ["-p", str(place.port)] if place.port else []
    command += ["-l", place.user] if place.user else []
    # With a named key, do not offer those of an agent: a server counts them as failures.
    command += ["-i", place.key_file, "-o", "IdentitiesOnly=yes"] if place.key_file else []
    return [*command, *place.arguments]


def _socket_folder() -> str:
    """Return a private folder with a short path for the sockets of controlling connections.

    Raises:
        HostError: another user owns it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = os.path.join(runtime, "regatta-ssh") if runtime and os.access(runtime, os.W_OK) else ""
    if not folder or len(folder) + 41 > _LONGEST_SOCKET:
        folder = os.path.join(tempfile.gettempdir(), f"regatta-ssh-{os.getuid()}")
    if len(folder) + 41 > _LONGEST_SOCKET:
        folder = f"/tmp/regatta-ssh-{os.getuid()}"
    os.makedirs(folder, mode=0o700, exist_ok=True)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise HostError(folder, "a folder with access for you only", "a folder of another user", "remove it")
    return folder
