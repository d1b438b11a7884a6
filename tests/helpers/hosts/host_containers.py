"""Test hosts: containers that run an SSH server, reached by a key that is made for the session."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.hosts import host_images
from helpers.influx_server import free_port

#: Marks the containers of tests with the process that made them.
OWNER = "regatta.tests.owner"
ANSWER_S = 300.0
TRY_S = 20


@dataclass
class SshHost:
    """A host of the tests. `root` and `bench` may come in by key, `bench` becomes root by sudo without a password."""

    name: str
    address: str
    port: int
    user: str
    key_file: Path
    known_hosts: Path

    def inventory_entry(self, user: str = "") -> dict[str, Any]:
        """Its variables in an Ansible inventory, for `user` (root, or bench, which has to become root)."""
        user = user or self.user
        entry: dict[str, Any] = {
            "ansible_host": self.address,
            "ansible_port": self.port,
            "ansible_user": user,
            "ansible_ssh_private_key_file": str(self.key_file),
            "ansible_ssh_common_args": " ".join(f"-o {option}" for option in self._options()),
            "ansible_python_interpreter": "/usr/bin/python3",
        }
        return entry

    def ssh(self, *words: str, user: str = "") -> list[str]:
        """The OpenSSH command that runs `words` (which the shell there parses)."""
        options = [part for option in ("BatchMode=yes", *self._options()) for part in ("-o", option)]
        target = [f"{user or self.user}@{self.address}"]
        return ["ssh", *options, "-i", str(self.key_file), "-p", str(self.port), *target, *words]

    def _options(self) -> tuple[str, ...]:
        return (f"UserKnownHostsFile={self.known_hosts}", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes")

    def wait_for_answer(self, within_s: float = ANSWER_S) -> None:
        """Wait until a command comes through by SSH."""
        deadline = time.monotonic() + within_s
        while True:
            done = subprocess.run(
                # A guest that starts accepts connections before anything in it answers.
                ["ssh", "-o", f"ConnectTimeout={TRY_S}", *self.ssh("true")[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=within_s,
                check=False,
            )
            if done.returncode == 0:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.name} does not answer by SSH: {done.stderr.strip()}")
            time.sleep(0.1)


@dataclass
class TestHost(SshHost):
    """A host that is a container."""

    __test__ = False

    container: str
    #: as `uname -m` says it
    architecture: str
    docker: str = "docker"
    _routes: list[dict[str, str]] = field(default_factory=list)

    def exec(self, argv: Sequence[str], check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the container as root, beside SSH: it works with the network cut."""
        return _docker(self.docker, "exec", self.container, *argv, check=check)

    def cut_network(self) -> None:
        """Take the container's network away: what is connected hangs, and nobody is told."""
        self._routes = json.loads(self._ip("-json", "route", "show", "default"))
        self._ip("link", "set", "eth0", "down")

    def mend_network(self) -> None:
        """Give it back; does nothing to a network that was not cut."""
        self._ip("link", "set", "eth0", "up")
        routes, self._routes = self._routes, []
        for route in routes:
            self._ip("route", "replace", "default", "via", route["gateway"], "dev", route["dev"])

    def _ip(self, *arguments: str) -> str:
        process = _docker(self.docker, "inspect", "--format", "{{.State.Pid}}", self.container).stdout.strip()
        done = subprocess.run(
            ["nsenter", "--target", process, "--net", "ip", *arguments],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"ip {' '.join(arguments)} in {self.container}: {done.stderr}"
        return done.stdout

    def stop(self) -> None:
        """Switch the machine off: everything in it dies, its disk stays."""
        _docker(self.docker, "stop", "--time", "2", self.container)

    def start(self) -> None:
        """Switch it on again, with the same keys and port, and wait until it answers."""
        _docker(self.docker, "start", self.container)
        self.wait_for_answer()


class HostMaker:
    """Starts test hosts from images, and removes all of them at the end."""

    def __init__(self, docker: str, folder: Path) -> None:
        self.docker = docker
        self.folder = folder
        self.key = folder / "key"
        self.hosts: list[TestHost] = []
        _run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "regatta-tests", "-f", str(self.key)])

    def start(self, names: Sequence[str], recipe: host_images.Recipe) -> list[TestHost]:
        """Start a host for each name, all at once, and wait until they answer. Raises CannotMakeError."""
        image = host_images.image(recipe, self.docker)
        new = [self._start(name, image, host_images.MACHINE_OF[recipe.architecture]) for name in names]
        for host in new:
            self._trust(host)
            host.wait_for_answer()
        return new

    def _start(self, name: str, image: str, architecture: str) -> TestHost:
        container = f"regatta-tests-{os.getpid()}-{name}"
        port = free_port()
        # An init of its own, because what is left behind by its parent must have somebody who reaps it.
        words = [
            "create",
            "--init",
            "--name",
            container,
            "--hostname",
            name,
            "--publish",
            f"127.0.0.1:{port}:22",
        ]
        _docker(self.docker, *words, "--label", f"{OWNER}={_process_mark(os.getpid())}", image)
        host = TestHost(
            name, "127.0.0.1", port, "root", self.key, self.folder / f"{name}.known_hosts", container, architecture,
            self.docker,
        )  # fmt: skip
        self.hosts.append(host)
        _docker(self.docker, "cp", f"{self.key}.pub", f"{container}:/etc/ssh/test_keys")
        _docker(self.docker, "start", container)
        return host

    def _trust(self, host: TestHost) -> None:
        """Write down the host's key as the container itself has it: nothing is trusted because it answers."""
        deadline = time.monotonic() + ANSWER_S
        while True:
            shown = host.exec(["cat", "/etc/ssh/ssh_host_ed25519_key.pub"], check=False)
            if shown.returncode == 0 and shown.stdout.endswith("\n"):
                break
            if time.monotonic() > deadline:
                logs = _docker(self.docker, "logs", host.container, check=False)
                raise host_images.CannotMakeError(f"{host.name} makes no key: {logs.stderr[-300:]}")
            time.sleep(0.1)
        kind, key = shown.stdout.split()[:2]
        host.known_hosts.write_text(f"[{host.address}]:{host.port} {kind} {key}\n")

    def remove(self, hosts: Sequence[TestHost]) -> None:
        """Remove these hosts' containers."""
        if hosts:
            _docker(
                self.docker, "rm", "--force", "--volumes", *[host.container for host in hosts], check=False
            )
        self.hosts = [host for host in self.hosts if host not in hosts]


@contextmanager
def host_maker(docker: str, folder: Path) -> Iterator[HostMaker]:
    """A maker of hosts, whose hosts end with it. Removes what a killed session has left, too."""
    remove_abandoned(docker)
    maker = HostMaker(docker, folder)
    try:
        yield maker
    finally:
        maker.remove(maker.hosts)


def remove_abandoned(docker: str, mark: Callable[[int], str] | None = None) -> list[str]:
    """Remove containers of test sessions that are gone; returns their names."""
    mark = mark or _process_mark
    form = f'{{{{.Names}}}}\t{{{{.Label "{OWNER}"}}}}'
    listed = _docker(docker, "ps", "--all", "--filter", f"label={OWNER}", "--format", form).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    gone = [name for name, owner in rows if mark(int(owner.partition(":")[0])) != owner]
    if gone:
        _docker(docker, "rm", "--force", "--volumes", *gone, check=False)
    return gone


def _process_mark(process: int) -> str:
    """A process id with its time of start, so that a later process of the same id is another one."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return f"{process}:gone"
    return f"{process}:{fields[19]}"


def _docker(docker: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return _run([docker, *arguments], check)


def _run(command: list[str], check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0 or not check, f"{' '.join(command)}: {done.stderr.strip()}"
    return done
