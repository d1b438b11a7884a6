"""Idle time of Slurm nodes between two segments: one local `srun` per segment, compared with Snakemake's Slurm executor."""

from __future__ import annotations

import itertools
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

from command import run_command
from experiments import HOME, Unfit
from rows import Row, say

sys.path.insert(0, str(HOME / "tests"))
from helpers.hosts.slurm_cluster import (  # a Slurm cluster of two nodes, on loopback
    CannotStartError,
    SlurmCluster,
    slurm,
)

GOAL_S = 5.0
WORK_S = 1.0
#: path of a Python with Snakemake and its Slurm executor, if the environment of this command lacks them
PEER_PYTHON = "REGATTA_PERF_SLURM_PYTHON"
PLUGIN = "snakemake-executor-plugin-slurm"
NOT_INSTALLED = f"{PLUGIN}: NOT INSTALLED; make an environment that has it and snakemake, and name its Python by {PEER_PYTHON}"

# Job of a segment on its node: report start and end.
WORK = """\
import sys, time
begin = time.time()
time.sleep({work_s})
open(sys.argv[1], "w").write(f"{{begin}} {{time.time()}}")
"""
# Work of `regatta segment` around a segment on Slurm.
STEP = """\
import sys
from regatta.fleet.remote.slurm import SlurmRemote
from regatta.host.values.host import Host, SlurmPlace
remote = SlurmRemote(Host(sys.argv[1], "x86", slurm=SlurmPlace(node=sys.argv[1]), python=sys.executable, root=sys.argv[2]))
process = remote.open(sys.argv[3:])
process.communicate()
remote.ending(process)
remote.close()
sys.exit(process.returncode)
"""
SNAKEFILE = """\
NODES, COUNT = {nodes!r}, {count}

rule all:
    input: expand("done/{{node}}/{{number}}", node=NODES, number=COUNT - 1)

rule segment:
    input: lambda w: [f"done/{{w.node}}/{{int(w.number) - 1}}"] if int(w.number) else []
    output: "done/{{node}}/{{number}}"
    resources: {resources}
    shell: {shell!r}
"""


def chain(place: Path, name: str, count: int, nodes: list[str], shell: str, resources: str) -> Path:
    """Write a folder with a workflow: `count` segments per node, each after the previous one."""
    folder = place / name
    folder.mkdir()
    (folder / "work.py").write_text(WORK.format(work_s=WORK_S))
    (folder / "step.py").write_text(STEP)
    (folder / "Snakefile").write_text(
        SNAKEFILE.format(nodes=nodes, count=count, shell=shell, resources=resources)
    )
    return folder


def run_chain(folder: Path, snakemake: list[str], environment: dict[str, str]) -> dict[str, float]:
    """Run it; return the CPU and wall seconds of everything on this side.

    Raises:
        Unfit: it fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(
        [*snakemake, "--directory", str(folder), "--snakefile", str(folder / "Snakefile"), "--nolock"],
        env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    wall_s = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Unfit(f"{folder.name}: {done.stderr.strip()[-1500:]}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": wall_s, "cpu_s": cpu_s}


def gaps(folder: Path, nodes: list[str], count: int) -> list[float]:
    """Return the seconds between the end of each segment and the start of the next one on the same node."""
    found = []
    for node in nodes:
        times = [
            [float(t) for t in (folder / "done" / node / str(number)).read_text().split()]
            for number in range(count)
        ]
        found += [later[0] - earlier[1] for earlier, later in itertools.pairwise(times)]
    return found


def ours(place: Path, cluster: SlurmCluster, count: int) -> tuple[list[float], dict[str, float]]:
    """Run one srun per segment under the local executor, with the relevant settings of the profile."""
    nodes = list(cluster.nodes)
    shell = f"{sys.executable} step.py {{wildcards.node}} {place}/root {sys.executable} -I {place}/srun/work.py $PWD/{{output}}"
    folder = chain(place, "srun", count, nodes, shell, "measuring=1")
    snakemake = [
        sys.executable,
        "-m",
        "snakemake",
        "--cores",
        "1000",
        "--scheduler",
        "greedy",
        "--latency-wait",
        "1",
    ]
    cost = run_chain(folder, snakemake, {**os.environ, **cluster.environment})
    return gaps(folder, nodes, count), cost


def peers(
    place: Path, cluster: SlurmCluster, count: int, python: str
) -> tuple[list[float], dict[str, float]]:
    """Run Snakemake's Slurm executor with the shortest polling interval, through squeue, because there is no accounting."""
    nodes = list(cluster.nodes)
    # It removes SLURM_CONF from its jobs; the configuration of a site is in the default location.
    wrappers = place / "wrappers"
    wrappers.mkdir()
    for name in ("srun", "sbatch", "squeue", "scancel", "scontrol", "sacct", "sinfo", "sacctmgr"):
        wrapper = wrappers / name
        wrapper.write_text(
            f'#!/bin/sh\nSLURM_CONF={cluster.configuration}\nexport SLURM_CONF\nexec /usr/bin/{name} "$@"\n'
        )
        wrapper.chmod(0o755)
    resources = (
        'slurm_partition="bench", mem_mb=100, runtime=10, tasks=1, cpus_per_task=1,'
        ' slurm_extra=lambda w: f"--exclusive --nodelist={w.node}"'
    )
    shell = f"{sys.executable} -I {place}/executor/work.py $PWD/{{output}}"
    folder = chain(place, "executor", count, nodes, shell, resources)
    snakemake = [
        python, "-m", "snakemake", "--executor", "slurm", "--jobs", "1000", "--scheduler", "greedy",
        "--latency-wait", "1", "--slurm-status-command", "squeue",
        "--slurm-init-seconds-before-status-checks", "1", "--slurm-no-account",
        "--seconds-between-status-checks", "1", "--max-status-checks-per-second", "10",
    ]  # fmt: skip
    environment = {**os.environ, "PATH": f"{wrappers}:{Path(python).parent}:{os.environ['PATH']}"}
    cost = run_chain(folder, snakemake, {**environment, **cluster.environment})
    return gaps(folder, nodes, count), cost


def peer_python() -> str | None:
    """Return a Python with the executor."""
    for python in (os.environ.get(PEER_PYTHON), sys.executable):
        if python is None:
            continue
        code = "import snakemake, snakemake_executor_plugin_slurm"
        if subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0:
            return python
    return None


def measure(place: Path, quick: bool) -> list[Row]:
    """Measure both in the same Slurm, in sequence."""
    count = 4 if quick else 10
    python = peer_python()
    try:
        with slurm(place / "slurm") as cluster:
            say(f"{count} segments on each of {len(cluster.nodes)} nodes by srun")
            own, own_cost = ours(place, cluster, count)
            theirs: list[float] = []
            their_cost: dict[str, float] = {}
            if python is not None:
                say("the same by Snakemake's Slurm executor")
                theirs, their_cost = peers(place, cluster, count, python)
    except CannotStartError as error:
        raise Unfit(f"no Slurm can be started here: {error}") from error
    peer_name = "Snakemake's Slurm executor" if theirs else NOT_INSTALLED
    rows = []
    for what, of, limit in (
        ("idle between two segments of a node", statistics.median, GOAL_S),
        ("the longest of them", max, None),
    ):
        value = of(own)
        row = Row(what, "s", value, of(theirs) if theirs else None, peer_name, None, None, None)
        if limit is not None:
            row.goal, row.limit, row.holds = "at most", limit, value <= limit
        row.details = {"ours": own, "peer": theirs}
        rows.append(row)
    total = count * len(cluster.nodes)
    cpu = their_cost["cpu_s"] / total if their_cost else None
    row = Row(
        "CPU of the controller a segment", "s", own_cost["cpu_s"] / total, cpu, peer_name, None, None, None
    )
    row.details = {"ours": own_cost, "peer": their_cost}
    return [*rows, row]


if __name__ == "__main__":
    sys.exit(
        run_command("Idle time of Slurm nodes between segments, compared with Snakemake's executor.", measure)
    )
