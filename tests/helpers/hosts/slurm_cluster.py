"""A Slurm of two nodes on this machine: its own munged, slurmctld and a slurmd for each node, on loopback.

Everything it writes is in one folder, and nothing is read from /etc/slurm: `SLURM_CONF` names its configuration.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from helpers.influx_server import free_port
from regatta.host.measure.host_lock import DEFAULT_LOCK

START_S = 300.0
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "squeue", "scontrol", "scancel", "sinfo")
SBIN = "/usr/sbin:/sbin"
#: a node's name -> the feature that only it has
NODES = {"nodeA": "x86", "nodeB": "x86big"}
PARTITION = "bench"

# No test waits for these timers, and a machine that lets processes wait must not take a node for dead, or kill a command that
# ends in order. Records of jobs that have ended stay. `task/none` and `linuxproc` ask nothing of the machine's control groups.
CONFIGURATION = """\
ClusterName=regatta-tests
SlurmctldHost={hostname}(127.0.0.1)
SlurmctldPort={ports[slurmctld]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
PropagateResourceLimits=NONE
SlurmdTimeout=60
SlurmctldTimeout=60
MessageTimeout=60
KillWait=60
MinJobAge=86400
OverTimeLimit=0
{nodes}
PartitionName={partition} Nodes={names} Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE
"""


class CannotStartError(Exception):
    """This machine cannot run such a Slurm; says why."""


@dataclass
class SlurmCluster:
    """A Slurm that answers. `environment` is what its commands need; `run` calls one."""

    folder: Path
    nodes: tuple[str, ...] = tuple(NODES)
    features: Mapping[str, str] = field(default_factory=lambda: dict(NODES))
    partition: str = PARTITION
    _daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def configuration(self) -> Path:
        """Its slurm.conf."""
        return self.folder / "slurm.conf"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make Slurm's commands talk to it."""
        return {"SLURM_CONF": str(self.configuration)}

    def run(self, *argv: str, check: bool = True, timeout_s: float = START_S) -> str:
        """Run one of Slurm's commands; returns what it printed."""
        done = subprocess.run(
            argv, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip
        assert done.returncode == 0 or not check, f"{' '.join(argv)}: {done.stderr.strip()}"
        return done.stdout

    def state(self, node: str) -> str:
        """A node's state as sinfo says it, e.g. idle, allocated, drained, down."""
        return self.run("sinfo", "--noheader", "--nodes", node, "--format", "%T").split()[0].rstrip("*")

    def wait_until(self, node: str, states: Sequence[str]) -> None:
        """Wait until a node is in one of these states."""
        _wait(lambda: self.state(node) in states, lambda: f"{node} is {self.state(node)}, not {states}")

    def jobs(self, form: str = "%j %T %N") -> list[str]:
        """The queue's lines."""
        return self.run("squeue", "--noheader", "--format", form).splitlines()

    def cancel_all(self) -> None:
        """Cancel every job and wait until the nodes are free and in service: a test starts on an empty cluster."""
        for daemon in ("slurmctld", *self.nodes):
            if self._daemons[daemon].poll() is not None:
                self.start(daemon)
        self.run("scancel", "--partition", self.partition, check=False)
        for node in self.nodes:
            if self.state(node) == "unknown":
                # A controller that was just started asks the nodes once in a while; this makes them tell it at once.
                self.run("scontrol", "reconfigure", check=False)
            elif self.state(node) not in ("idle", "allocated", "completing"):
                self.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
            self.wait_until(node, ["idle"])

    # ---- daemons: "munged", "slurmctld", or a node's name ------------------------------------------------------------

    def start(self, daemon: str) -> None:
        """Start a daemon that does not run, and wait until it answers."""
        folder = self.folder
        key, socket_path = f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket"
        own = [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "log", "seed")]
        if daemon == "munged":
            argv = [_program("munged"), "--foreground", "--force", key, socket_path, *own]
        elif daemon == "slurmctld":
            argv = [_program("slurmctld"), "-D", "-f", str(self.configuration)]
        else:
            argv = [
                *self._own_lock(daemon),
                _program("slurmd"),
                "-D",
                "-N",
                daemon,
                "-f",
                str(self.configuration),
            ]
        with (folder / f"{daemon}.out").open("ab") as output:
            self._daemons[daemon] = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        _wait(lambda: self._answers(daemon), lambda: self._why(daemon))

    def _own_lock(self, node: str) -> list[str]:
        """Give a node a lock of its own, as two machines have them: both are this one, where only one may measure."""
        lock = self.folder / f"{node}.measuring.lock"
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            return []
        for path in (lock, Path(DEFAULT_LOCK)):
            if not path.exists():
                path.touch()
                path.chmod(0o666)
        mount = 'mount --bind "$0" "$1" && shift && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", mount, str(lock), DEFAULT_LOCK]

    def _answers(self, daemon: str) -> bool:
        if self._daemons[daemon].poll() is not None:
            raise CannotStartError(self._why(daemon))
        if daemon == "munged":
            return (self.folder / "munge.socket").exists()
        if daemon == "slurmctld":
            return self.run("scontrol", "ping", check=False).split()[-1:] == ["UP"]
        return self.state(daemon) in ("idle", "allocated", "mixed", "completing", "drained", "draining")

    def _why(self, daemon: str) -> str:
        told = ""
        for name in (f"{daemon}.out", f"{daemon}.log", f"slurmd-{daemon}.log"):
            with contextlib.suppress(OSError):
                told += (self.folder / name).read_text(errors="replace")
        return f"{daemon} does not start: {' | '.join(told.strip().splitlines()[-3:])}"

    def stop(self, daemon: str, by: signal.Signals = signal.SIGTERM) -> None:
        """Stop a daemon; what it has started goes on."""
        process = self._daemons[daemon]
        if process.poll() is None:
            process.send_signal(by)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def process_of(self, daemon: str) -> int:
        """A daemon's process id."""
        return self._daemons[daemon].pid

    def stop_all(self) -> None:
        """End the jobs, then the daemons."""
        if all(
            name in self._daemons and self._daemons[name].poll() is None for name in ("munged", "slurmctld")
        ):
            self.run("scancel", "--partition", self.partition, check=False)
            with contextlib.suppress(AssertionError):
                _wait(lambda: not self.jobs(), lambda: "jobs do not end", seconds=15)
        for daemon in (*self.nodes, "slurmctld", "munged"):
            if daemon in self._daemons:
                # Its folder goes with it: it has nothing to save, and some of them take their time.
                self.stop(daemon, signal.SIGTERM if daemon == "munged" else signal.SIGKILL)


@contextlib.contextmanager
def slurm(folder: Path) -> Iterator[SlurmCluster]:
    """A Slurm in `folder`, which must be new. Raises CannotStartError where there can be none."""
    for program in PROGRAMS:
        _program(program)
    cluster = SlurmCluster(folder)
    for made in ("state", *(f"spool-{node}" for node in NODES)):
        (folder / made).mkdir(parents=True)
    folder.chmod(0o755)  # munged refuses a socket in a folder that others cannot enter
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    cluster.configuration.write_text(_configuration(folder))
    try:
        try:
            for daemon in ("munged", "slurmctld", *NODES):
                cluster.start(daemon)
        except AssertionError as error:
            raise CannotStartError(str(error)) from error
        yield cluster
    finally:
        cluster.stop_all()


def _configuration(folder: Path) -> str:
    hostname = socket.gethostname().partition(".")[0]
    ports = {name: free_port() for name in ("slurmctld", *NODES)}
    where = f"NodeHostname={hostname} NodeAddr=127.0.0.1"
    nodes = [
        f"NodeName={name} {where} Port={ports[name]} CPUs=1 RealMemory=500 Feature={feature}"
        for name, feature in NODES.items()
    ]
    return CONFIGURATION.format(
        hostname=hostname, ports=ports, user=_user(), folder=folder, nodes="\n".join(nodes), partition=PARTITION,
        names=",".join(NODES),
    )  # fmt: skip


def _user() -> str:
    return subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=SBIN)
    if found is None:
        raise CannotStartError(f"there is no `{name}` command")
    return found


def _wait(done: Callable[[], bool], why: Callable[[], str], seconds: float = START_S) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(why())
        time.sleep(0.05)
