"""A host that is reached by SSH, without Docker: this machine, through an sshd of the test's own."""

from __future__ import annotations

import getpass
import json
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.influx_server import free_port
from helpers.runner_plans import Runner, cell, write_plan
from regatta.fleet.census import take_census
from regatta.fleet.remote.ssh import Ssh
from regatta.host.values.host import Host, SshPlace

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
CONFIGURATION = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PidFile none
PasswordAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
"""

pytestmark = [
    pytest.mark.smoke,
    pytest.mark.skipif(SSHD is None or shutil.which("ssh") is None, reason="NOT TESTED: there is no sshd"),
]


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Ssh]:
    """The way to this machine, by a key that is made for the test."""
    for name in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True)
    port = free_port()
    (tmp_path / "sshd_config").write_text(CONFIGURATION.format(port=port, folder=tmp_path))
    public = " ".join((tmp_path / "host.pub").read_text().split()[:2])
    (tmp_path / "known").write_text(f"[127.0.0.1]:{port} {public}\n")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    log = tmp_path / "sshd.log"
    server = subprocess.Popen([str(SSHD), "-D", "-E", log, "-f", tmp_path / "sshd_config"])
    options = ("-o", f"UserKnownHostsFile={tmp_path / 'known'}", "-o", "IdentitiesOnly=yes")
    place = SshPlace("127.0.0.1", port, getpass.getuser(), str(tmp_path / "client"), options)
    remote = Ssh(Host("loopback", "here", is_local=False, ssh=place, root=str(tmp_path / "root")))
    try:
        wait_for_port(port, server)
        yield remote
    finally:
        remote.close()
        server.terminate()
        server.wait()


def listed(remote: Ssh, folder: Path, **variables: str | int) -> tuple[str, str]:
    """Return the fitness of the host in `regatta hosts` and its problem, with other variables of its inventory."""
    place = remote.host.ssh
    assert place is not None
    entry = {
        "ansible_host": place.address, "ansible_port": place.port, "ansible_user": place.user,
        "ansible_ssh_private_key_file": place.key_file, "ansible_ssh_common_args": shlex.join(place.arguments),
        "regatta_root": remote.host.root, **variables,
    }  # fmt: skip
    hosts = folder / "configs" / "hosts"
    hosts.mkdir(parents=True, exist_ok=True)
    inventory = {"all": {"children": {"loopback": {"hosts": {"here": entry}}}}}
    (hosts / "fleet.yml").write_text(json.dumps(inventory))
    (found,) = take_census(folder, ["loopback"], "ssh")
    return found.fitness, found.problem


def wait_for_port(port: int, server: subprocess.Popen[bytes]) -> None:
    """Wait until something listens there."""
    while server.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.skip("NOT TESTED: sshd does not start here")


def test_a_segment_is_measured_on_a_host_that_ssh_reaches(remote: Ssh, tmp_path: Path) -> None:
    runner = Runner(tmp_path / "small")
    write_plan(runner.folder, [cell("nap", ["/bin/sleep", "0.01"])], rounds=3)
    sent = tmp_path / "root" / "runner.pyz"
    remote.put(runner.folder.runner, str(sent))
    assert sent.read_bytes() == runner.folder.runner.read_bytes()
    done = remote.run(["env", f"REGATTA_HOST_LOCK={runner.lock}", *runner.argv()])
    assert done.returncode == 0, done
    assert [record["status"] for record in runner.records()] == ["ok"] * 3
    remote.get(str(runner.receipt_path()), tmp_path / "receipt.json", 1_000_000)
    assert json.loads((tmp_path / "receipt.json").read_text()) == runner.receipt()
    runner.assert_nothing_left()


def test_a_host_that_answers_but_is_not_prepared_is_not_called_unreachable(
    remote: Ssh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    fitness, problem = listed(remote, tmp_path)
    assert (fitness in ("unreachable", "not prepared"), problem) == (False, "")
    # A folder that nobody can make, as /var/lib/regatta for an account without rights.
    fitness, problem = listed(remote, tmp_path, regatta_root="/proc/regatta")
    assert fitness == "not prepared"
    assert "regatta provision SPEC" in problem
    assert listed(remote, tmp_path, ansible_port=free_port())[0] == "unreachable"
