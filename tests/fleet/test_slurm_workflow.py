"""`snakemake --profile cluster` from a clone, on two nodes of a real Slurm: order, exclusivity, and what survives which death."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regatta.host.journal.journal import Damage, read_journal
from regatta.store.folder import Folder

HOME = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
HOSTS = {"alpha": "nodeA", "beta": "nodeB"}
#: in two segments a host
ROUNDS, PROGRAMS = 4, 2
WAIT_S = 300
SUITE = {
    "suite": "tiny",
    "description": "one that ends at once, and one that takes a moment",
    "benchmarks": {"quick": {"command": ["true"]}, "nap": {"command": ["sleep", "0.2"]}},
}
UNDISTURBED = (
    *("steal_percent", "other_cpu_percent", "memory_pressure_percent", "io_pressure_percent"),
    *("frequency_drop_percent", "swapped_pages", "throttle_events"),
)


class Clone:
    """A fresh clone with an inventory, a suite and a spec of its own."""

    def __init__(self, root, cluster):
        self.root = root / "clone"
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", HOME, self.root], check=True)
        self.cluster = cluster
        self.folder = Folder(self.root / "results" / "small")
        self.naps, self.hold = self.root / "naps", self.root / "hold"
        spec = {
            "name": "small", "question": "Does it go on?", "suites": ["suite.yml"], "platforms": ["nodes"],
            "benchmarks": [{"suite": "tiny", "benchmark": "all"}], "invocations": {"fixed": ROUNDS},
            "segment": {"rounds": 2}, "seed": 7, "timeout_s": WAIT_S, "perturbation": dict.fromkeys(UNDISTURBED),
        }  # fmt: skip
        (self.root / "suite.yml").write_text(json.dumps(SUITE))
        (self.root / "spec.yml").write_text(json.dumps(spec))
        self.place()

    def place(self, **more):
        """Write the inventory: both hosts are nodes of Slurm."""
        common = {
            "ansible_connection": "local", "ansible_python_interpreter": sys.executable,
            "regatta_root": str(self.root / "root"), **more,
        }  # fmt: skip
        hosts = {host: {**common, "regatta_slurm_node": node} for host, node in HOSTS.items()}
        inventory = {"all": {"children": {"nodes": {"hosts": hosts}}}}
        (self.root / "hosts.yml").write_text(json.dumps(inventory))

    def start(self):
        """Start the workflow in a session of its own."""
        environment = {
            **os.environ, **self.cluster.environment, "REGATTA_HOME": str(self.root),
            "REGATTA_INVENTORY": str(self.root / "hosts.yml"), "REGATTA_CACHE": str(self.root / "cache"),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip
        with (self.root / "snakemake.log").open("a") as log:
            return subprocess.Popen(
                [BIN / "snakemake", "--profile", "cluster", "--config", "spec=spec.yml"],
                cwd=self.root, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def log(self):
        """What Snakemake and the segments have said."""
        parts = [self.root / "snakemake.log", *sorted(self.folder.logs.glob("*.log"))]
        return "\n".join(f"{part.name}: {part.read_text()[-2000:]}" for part in parts)

    def run(self):
        """Run the workflow to its good end."""
        process = self.start()
        try:
            code = process.wait(2 * WAIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f"does not end: {self.log()}") from None
        assert code == 0, self.log()

    def records(self, host):
        """The host's records, in the order in which they were made."""
        whole = [item for item in read_journal(self.folder.path) if not isinstance(item, Damage)]
        return sorted((r for r in whole if r["host"] == host), key=lambda r: r["started_utc_ns"])

    def start_and_hold(self):
        """Start the workflow, and wait until both hosts have a job that measures and that does not end while `hold` is there.

        One is in its third nap. The other waits for it, for both are this machine, where one at a time measures.
        """
        suite = json.loads(json.dumps(SUITE))
        held = f'[ -e {self.hold} ] && [ "$(wc -l <{self.naps})" -ge 3 ]'
        suite["benchmarks"]["nap"]["command"] = [
            "sh",
            "-c",
            f"pwd >>{self.naps}; while {held}; do sleep 0.05; done",
        ]
        (self.root / "suite.yml").write_text(json.dumps(suite))
        self.hold.touch()
        process = self.start()
        self.wait_until(lambda: self.naps.exists() and len(self.naps.read_text().splitlines()) == 3)
        self.wait_until(lambda: self.running() == HOSTS)
        return process

    def running(self):
        """The node of each host whose job runs."""
        jobs = [line.split() for line in self.cluster.jobs("%j %T %N")]
        return {job[0].rpartition("-")[2]: job[2] for job in jobs if job[1] == "RUNNING"}

    def wait_until(self, condition):
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.05)

    def check(self):
        """Exactly the planned records, each once, in the plan's order, never two at once on a node.

        That none is missing, `verify` has seen: without it the workflow does not end well.
        """
        for host in HOSTS:
            records = self.records(host)
            assert len(records) >= ROUNDS * PROGRAMS
            assert {(record["status"], record["attempt"]) for record in records} == {("ok", 0)}, self.log()
            assert [record["planned_index"] for record in records] == list(range(len(records)))
            for earlier, later in itertools.pairwise(records):
                assert earlier["started_utc_ns"] + earlier["elapsed_ns"] <= later["started_utc_ns"]


@pytest.fixture
def clone(slurm_cluster, tmp_path):
    slurm_cluster.cancel_all()
    made = Clone(tmp_path, slurm_cluster)
    yield made
    slurm_cluster.cancel_all()


def test_a_bare_snakemake_measures_on_both_nodes_at_once_each_in_order_and_alone(clone):
    process = clone.start_and_hold()
    clone.hold.unlink()
    assert process.wait(2 * WAIT_S) == 0, clone.log()
    clone.check()
    jobs = clone.cluster.run("squeue", "--states=all", "--noheader", "--format=%j %N").splitlines()
    for host, node in HOSTS.items():
        assert {line.split()[1] for line in jobs if line.split()[0].endswith(f"-{host}")} == {node}


def test_a_killed_controller_leaves_nothing_that_the_next_one_doubles(clone):
    process = clone.start_and_hold()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    clone.hold.unlink()
    clone.run()
    clone.check()


def test_a_cancelled_segment_is_named_and_the_same_command_goes_on(clone):
    process = clone.start_and_hold()
    host = next(host for host in HOSTS if f"/{host}/" in clone.naps.read_text())
    job = next(line.split()[0] for line in clone.cluster.jobs("%i %j") if line.endswith(f"-{host}"))
    clone.cluster.run("scancel", job)
    # `scancel` does not wait for the job, which would otherwise go on and end well.
    clone.wait_until(lambda: not any(line.endswith(f"-{host}") for line in clone.cluster.jobs("%i %j")))
    clone.hold.unlink()
    assert process.wait(WAIT_S) != 0
    assert "it was canceled" in clone.log()
    clone.run()
    clone.check()
