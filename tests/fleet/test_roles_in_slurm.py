"""A server and a client on two nodes of Slurm, in one allocation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from helpers.hosts.slurm_cluster import SlurmCluster
from helpers.marked_processes import processes_with
from helpers.role_plans import CLIENT, SERVER
from helpers.waiting import wait_until
from regatta.host.journal.journal import Damage, read_journal

HOME = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
HOSTS = {"alpha": "nodeA", "beta": "nodeB"}
ROLES = {
    "server": {
        "command": ["python3", "{scripts.server}", "127.0.0.1"],
        "ready": {"output": "port=(?P<port>[0-9]+)"},
    },
    "client": {"command": ["python3", "{scripts.client}", "127.0.0.1", "{server.port}"]},
}
OUTPUTS = {"server": "server.py", "client": "client.py"}
SUITE = {
    "suite": "pair",
    "builds": {"scripts": {"directory": "src", "command": ["true"], "outputs": OUTPUTS, "portable": True}},
    "benchmarks": {"echo": {"adapter": "regatta", "roles": ROLES}},
}


class Pair:
    """A home whose two hosts are nodes of Slurm. Both are this machine, so each has a lock of its own."""

    def __init__(self, folder: Path, cluster: SlurmCluster) -> None:
        self.folder = folder
        self.cluster = cluster
        home = folder / "home"
        (home / "configs").mkdir(parents=True)
        for name in ("Snakefile", "workflows", "playbooks", "benchmarks"):
            (home / name).symlink_to(HOME / name)
        for name in ("profiles", "collectors.yml", "modifiers.yml", "runtimes.yml", "suites", "config.yml"):
            (home / "configs" / name).symlink_to(HOME / "configs" / name)
        python = folder / "python"
        python.write_text(
            f'#!/bin/sh\nexport REGATTA_HOST_LOCK="{folder}/$SLURMD_NODENAME.lock"\nexec {sys.executable} "$@"\n'
        )
        python.chmod(0o755)
        common = {
            "ansible_connection": "local", "ansible_python_interpreter": str(python),
            "regatta_root": str(folder / "root"), "regatta_address": "127.0.0.1",
        }  # fmt: skip
        hosts = {host: {**common, "regatta_slurm_node": node} for host, node in HOSTS.items()}
        (folder / "hosts.yml").write_text(json.dumps({"all": {"children": {"nodes": {"hosts": hosts}}}}))
        (folder / "src").mkdir()
        (folder / "src" / "server.py").write_text(SERVER.replace("BEFORE", "pass"))
        (folder / "src" / "client.py").write_text(CLIENT.replace("AFTER", "time.sleep(0.5)"))
        (folder / "pair.yml").write_text(json.dumps(SUITE))
        spec = {
            "name": "pair", "roles": {"server": "nodes", "client": "nodes"}, "placements": "swap", "suites": ["pair.yml"],
            "benchmarks": [{"suite": "pair", "benchmark": "echo"}], "invocations": {"fixed": 4},
            "iterations": {"method": "fixed"},
            "perturbation": dict.fromkeys(("steal_percent", "other_cpu_percent", "memory_pressure_percent", "io_pressure_percent", "frequency_drop_percent", "swapped_pages", "throttle_events")),
        }  # fmt: skip
        (folder / "spec.yml").write_text(json.dumps(spec))
        self.environment = {
            **os.environ, **cluster.environment, "REGATTA_HOME": str(home),
            "REGATTA_INVENTORY": str(folder / "hosts.yml"), "REGATTA_CACHE": str(folder / "cache"),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }  # fmt: skip

    def start(self) -> subprocess.Popen[str]:
        """Start `regatta run`."""
        return subprocess.Popen(
            [str(BIN / "regatta"), "run", "spec.yml", "--profile", "cluster"], cwd=self.folder, env=self.environment,
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def records(self) -> list[Any]:
        """All records."""
        items = list(read_journal(self.folder / "results" / "pair"))
        return [item for item in items if not isinstance(item, Damage)]

    def logs(self) -> str:
        """The ends of all logs."""
        logs = sorted((self.folder / "results" / "pair" / "logs").glob("*.log"))
        return "\n".join(f"== {path.name}\n{path.read_text()[-2000:]}" for path in logs)


def test_roles_run_in_one_allocation_and_go_on_after_a_kill(
    slurm_cluster: SlurmCluster, tmp_path: Path
) -> None:
    pair = Pair(tmp_path, slurm_cluster)
    process = pair.start()
    wait_until(lambda: len(pair.records()) >= 2 or process.poll() is not None, "two records", every_s=0.1)
    assert process.poll() is None, f"{process.communicate()[0]}\n{pair.logs()}"
    jobs = [line.split() for line in slurm_cluster.jobs("%j %T %D") if "regatta-" in line]
    assert [job[1:] for job in jobs] == [["RUNNING", "2"]]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    process = pair.start()
    text, _ = process.communicate(timeout=900)
    assert process.returncode == 0, f"{text}\n{pair.logs()}"
    records = pair.records()
    assert {record["status"] for record in records} == {"ok"}
    placed = [record["roles"]["server"]["host"] for record in records]
    assert (placed.count("alpha"), placed.count("beta")) == (4, 4)
    wait_until(lambda: not slurm_cluster.jobs("%j"), "an empty queue", every_s=0.1)
    assert processes_with(f"REGATTA_RESULTS={tmp_path}") == []
