"""Cost of a fleet on the controller: a dry run, the plans of all hosts, and following hosts concurrently."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from command import run_command
from cost import MIB, Cost, cost_of
from experiments import BIN, HOME, Unfit, environment, write_spec
from rows import Row, say

CELLS, ROUNDS = 1000, 30
#: goals for 200 hosts
MOST_S, MOST_MIB = 30.0, 1e9 / MIB
#: of one core, for all followed hosts
MOST_CORES = 0.5

#: same number of jobs in the same number of chains, without work: the cost of Snakemake itself
_CHAINS = """\
rule all:
    input: expand("done/{{host}}/{last}", host=range({hosts}))

rule segment:
    input: lambda wildcards: [] if wildcards.n == "0" else f"done/{{wildcards.host}}/{{int(wildcards.n) - 1}}"
    output: "done/{{host}}/{{n}}"
    shell: "true"
"""

#: plans of many hosts, made as by `regatta plan --write` after the hosts have answered
_PLANS = """\
import dataclasses, sys
from pathlib import Path
from regatta.fleet.plans import write_host_plan
from regatta.host.ready.resolving import resolve
from regatta.fleet.supplies import make_stock
from regatta.planner.cells import cross
from regatta.planner.plan import plan_host
from regatta.spec.load import load_spec
from regatta.store.folder import Folder

home, spec, results = map(Path, sys.argv[1:4])
experiment = load_spec(spec, home)
found = resolve(experiment, experiment.hosts[0], make_stock(experiment, home).supplies_here("any"))
rows = 0
for host in experiment.hosts:
    there = dataclasses.replace(found, name=host.name, platform=host.platform)
    plan = plan_host(experiment, there, cross(experiment, there, {}))
    write_host_plan(Folder(results), plan)
    rows += plan.row_count
print(rows)
"""

#: one followed host: this process is the controller side, the rest simulates the host
_FOLLOWED = """\
import json, resource, sys, time
from pathlib import Path
from regatta.fleet.agent import Agent
from regatta.fleet.detached import DetachedSegment
from regatta.fleet.remote.here import Here
from regatta.host.values.host import Host
from regatta.store.folder import Folder

folder, name, root = sys.argv[1:]
agent = Agent(Here(Host(name, "many", python=sys.executable, root=root)))
agent.facts()
start, before = time.monotonic(), time.process_time()
receipt = DetachedSegment(Folder(Path(folder)), agent, 0, False).run()
print(json.dumps({
    "cpu_s": time.process_time() - before, "elapsed_s": time.monotonic() - start,
    "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "statuses": receipt["statuses"],
}))
"""


def _inventory(place: Path, hosts: int) -> Path:
    """Write an inventory of hosts of one platform that do not exist."""
    entries = "".join(f"        h{i:03d}: {{ansible_host: 127.0.0.1}}\n" for i in range(hosts))
    path = place / "hosts.yml"
    path.write_text(f"all:\n  children:\n    many:\n      hosts:\n{entries}")
    return path


def _named(place: Path) -> dict[str, str]:
    return {"REGATTA_INVENTORY": str(place / "hosts.yml")}


def _spec(place: Path, name: str, rounds: int, cells: int, command: list[str], per_segment: int) -> Path:
    spec = write_spec(place, name, command, rounds, cells, rounds_per_segment=per_segment)
    spec.write_text(f"{spec.read_text()}platforms: [many]\n")
    return spec


def _dry_run(place: Path, spec: Path) -> Cost:
    """Build the graph from the spec to the report, without contacting hosts or running jobs."""
    command = [
        str(BIN / "snakemake"),
        "--dry-run",
        "--quiet",
        "rules",
        "--snakefile",
        str(HOME / "Snakefile"),
    ]
    command += ["--directory", str(place), "--profile", str(HOME / "configs" / "profiles" / "ssh")]
    return cost_of(place, [*command, "--config", f"spec={spec}", "results=results"], _named(place))


def _empty_jobs(place: Path, hosts: int, segments: int) -> Cost:
    folder = place / "chains"
    folder.mkdir(exist_ok=True)
    (folder / "Snakefile").write_text(_CHAINS.format(hosts=hosts, last=segments - 1))
    command = [
        str(BIN / "snakemake"),
        "--dry-run",
        "--quiet",
        "rules",
        "--cores",
        "1",
        "--directory",
        str(folder),
    ]
    return cost_of(place, [*command, "--snakefile", str(folder / "Snakefile")], _named(place))


def _followed(place: Path, hosts: int, seconds: int) -> dict[str, float]:
    """Follow simulated hosts, each with a separate folder and processes; return CPU share and memory of the controller."""
    spec = _spec(place, "followed", seconds, 1, ["sleep", "1"], seconds)
    folder = place / "results" / "followed"
    own = {**environment(place), **_named(place)}
    cost_of(place, [sys.executable, "-c", _PLANS, str(HOME), str(spec), str(folder)], _named(place))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _FOLLOWED, str(folder), f"h{i:03d}", str(place / f"root-{i}")],
            cwd=place, env={**own, "REGATTA_HOST_LOCK": str(place / f"lock-{i}")}, stdout=subprocess.PIPE,
        )
        for i in range(hosts)
    ]  # fmt: skip
    told = [json.loads(process.communicate(timeout=600)[0] or b"{}") for process in processes]
    if any(set(one.get("statuses", ())) != {"ok"} for one in told):
        raise Unfit(
            f"expected every record of {hosts} hosts to be ok, got {[one.get('statuses') for one in told]}"
        )
    longest_s = max(one["elapsed_s"] for one in told)
    return {
        "cores": sum(one["cpu_s"] for one in told) / longest_s,
        "elapsed_s": longest_s,
        "peak_mib": max(one["peak_kib"] for one in told) / 1024,
    }


def measure_fleet(place: Path, quick: bool) -> list[Row]:
    """Return all rows."""
    hosts, cells, followed, seconds = (20, 100, 5, 10) if quick else (200, CELLS, 50, 60)
    segments = 3
    _inventory(place, hosts)
    spec = _spec(place, "dry", ROUNDS, cells, ["true"], ROUNDS // segments)
    what = f"{hosts} hosts x {ROUNDS} rounds x {cells} cells"
    say(f"a dry run of {what}, compared with as many empty jobs")
    _dry_run(place, spec)
    ours, empty = _dry_run(place, spec), _empty_jobs(place, hosts, segments)
    say(f"the plans of {what}")
    plans = cost_of(
        place,
        [sys.executable, "-c", _PLANS, str(HOME), str(spec), str(place / "results" / "dry")],
        _named(place),
    )
    rows = int((place / "output").read_text().split()[-1])
    if rows != hosts * ROUNDS * cells:
        raise Unfit(f"expected {hosts * ROUNDS * cells} planned invocations, got {rows}")
    say(f"{followed} hosts followed for {seconds} s")
    one, many = _followed(place, 1, seconds), _followed(place, followed, seconds)
    jobs = f"Snakemake, {hosts * segments} empty jobs in chains"
    return [
        Row(f"dry run of {what}: time", "s", ours.elapsed_s, empty.elapsed_s, jobs, "at most", MOST_S,
            ours.elapsed_s <= MOST_S),
        Row(f"dry run of {what}: memory", "MiB", ours.peak_mib, empty.peak_mib, jobs, "at most 1 GB", MOST_MIB,
            ours.peak_mib <= MOST_MIB),
        Row(f"plans of {what}: time", "s", plans.elapsed_s, None, "no peer: other tools have no such plans", None, None, None),
        Row(f"plans of {what}: memory", "MiB", plans.peak_mib, None, "no peer: other tools have no such plans", "at most 1 GB",
            MOST_MIB, plans.peak_mib <= MOST_MIB),
        Row(f"{followed} hosts followed at once: controller", "cores", many["cores"], one["cores"] * followed,
            f"one host x {followed}", "below", MOST_CORES, many["cores"] < MOST_CORES, details={"one": one, "many": many}),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(run_command("Costs of a fleet on the machine that controls it.", measure_fleet))
