"""One spec over `local`, `ssh` and `cluster`: the records differ in nothing but time and place."""

import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from helpers.git_repositories import commit
from regatta.host.journal.journal import Damage, read_journal

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SUITE = {
    "suite": "own",
    # The same bytes everywhere; what runs them is the host's own.
    "builds": {"say": {"directory": "src", "command": ["cp", "say.sh", "say"], "outputs": {"say": "say"}, "portable": True}},
    "benchmarks": {
        "say": {"command": ["sh", "{say.say}"], "adapter": "regatta"},
        "fail": {"command": ["false"]},
        "built": {"kind": "program", "command": ["{runtime}"], "adapter": "regatta"},
    },
}  # fmt: skip
SAY = """#!/bin/sh\necho '{"iteration": 0, "metric": "elapsed", "value": 5, "unit": "ns"}' >"$REGATTA_RESULTS"\n"""
#: each host builds it: a script, with another line in the revision
BUILT = {"kind": "program", "command": ["install", "-m", "755", "say.sh", "say"], "program": "say"}
UNDISTURBED = (
    *("steal_percent", "other_cpu_percent", "memory_pressure_percent", "io_pressure_percent"),
    *("frequency_drop_percent", "swapped_pages", "throttle_events"),
)
SPEC = {
    "name": "ways", "suites": ["own.yml"], "platforms": ["bench"], "seed": 5, "timeout_s": 300,
    "runtimes": ["revision", "folder", "packed", "gone"],
    "define": {"runtimes": {
        "revision": {**BUILT, "provider": "git", "repository": "repository", "revision": "v1"},
        "folder": {**BUILT, "provider": "build", "directory": "src"},
        "packed": {"kind": "program", "provider": "archive", "program": "bin/say"},
        # Not there, by any way.
        "gone": {"kind": "program", "provider": "path", "path": "program-of-nowhere"},
    }},
    "benchmarks": [{"suite": "own", "benchmark": "all"}], "invocations": {"fixed": 2}, "segment": {"rounds": 1},
    "iterations": {"method": "fixed"}, "perturbation": dict.fromkeys(UNDISTURBED),
}  # fmt: skip
#: what time and place make of a record
OF_TIME_AND_PLACE = {
    "started_utc_ns", "started_monotonic_ns", "elapsed_ns", "rusage", "cgroup", "isolation", "host_before", "host_after",
    "runner", "cores", "plan_id", "cell_id", "invocation_id",
}  # fmt: skip


@pytest.fixture(scope="module")
def ways(tmp_path_factory, x86_hosts, slurm_cluster):
    """The records of the host `machine` by each way, and those of `by-ssh`, which was measured beside a node of Slurm."""
    slurm_cluster.cancel_all()
    folder = tmp_path_factory.mktemp("ways")
    (folder / "own.yml").write_text(json.dumps(SUITE))
    (folder / "src").mkdir()
    (folder / "src" / "say.sh").write_text(SAY)
    commit(folder / "repository", {"say.sh": SAY + "# of the revision\n"}, tag="v1")
    SPEC["define"]["runtimes"]["packed"]["archives"] = {platform.machine(): packed(folder / "say.tar.gz")}
    here = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    node = {**here, "regatta_slurm_node": "nodeA", "regatta_root": str(folder / "root")}
    one, two = ({**host.inventory_entry(), "toolchain_packages": []} for host in x86_hosts)
    found = {
        "local": measured(folder, slurm_cluster, "local", {"bench": {"machine": here}}),
        "ssh": measured(folder, slurm_cluster, "ssh", {"bench": {"machine": one}}),
        "cluster": measured(
            folder, slurm_cluster, "cluster", {"bench": {"machine": node}, "racks": {"by-ssh": two}}
        ),
    }
    jobs = slurm_cluster.run("squeue", "--states=all", "--noheader", "--format=%j")
    yield found, jobs
    slurm_cluster.cancel_all()


def packed(path):
    """An archive of the script, with another line; its URL and checksum."""
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("say-1/bin/say")
        text = (SAY + "# of the archive\n").encode()
        member.size, member.mode = len(text), 0o755
        tar.addfile(member, io.BytesIO(text))
    return {"url": path.as_uri(), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def measured(folder, cluster, profile, platforms, code=1):
    """Run the spec on these platforms (name -> host -> variables); gives the records by host. `fail` fails, and is told."""
    inventory = {"all": {"children": {name: {"hosts": hosts} for name, hosts in platforms.items()}}}
    (folder / "hosts.json").write_text(json.dumps(inventory))
    (folder / "spec.yml").write_text(json.dumps({**SPEC, "platforms": list(platforms)}))
    environment = {
        **os.environ, **cluster.environment, "REGATTA_HOME": str(ROOT),
        "REGATTA_INVENTORY": str(folder / "hosts.json"), "REGATTA_CACHE": str(folder / "cache"),
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    command = [BIN / "regatta", "run", "spec.yml", "--profile", profile, "--results", profile]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    logs = "\n".join(p.read_text()[-1500:] for p in (folder / profile).rglob("logs/*.log"))
    assert done.returncode == code, f"{done.stdout}{done.stderr}{logs}"
    planned = json.loads((folder / profile / "ways/plan/experiment.json").read_text())["impossible"]
    assert len(planned) == sum(map(len, platforms.values()))
    assert all("gone" in cell and "program-of-nowhere" in reason for cell, reason, _ in planned)
    found = {}
    for record in read_journal(folder / profile / "ways"):
        assert not isinstance(record, Damage)
        found.setdefault(record["host"], []).append(record)
    return found


def lasting(record):
    """Of a record what neither time nor place makes; of the others, that they are there."""
    kept = {key: value for key, value in record.items() if key not in OF_TIME_AND_PLACE}
    # What a program says of itself is the same; what it took is time's.
    said = record["exit_code"] == 0
    iterations = [
        [n, metric, value if said else "?", *rest] for n, metric, value, *rest in record["iterations"]
    ]
    there = sorted(OF_TIME_AND_PLACE & set(record))
    return {**kept, "iterations": iterations, "there": there, "round of": record["invocation_id"][-2:]}


def test_records_of_one_spec_differ_in_nothing_but_time_and_place(ways):
    records = {way: found["machine"] for way, found in ways[0].items()}
    local, ssh, cluster = (
        [lasting(record) for record in records[way]] for way in ("local", "ssh", "cluster")
    )
    assert len(local) == 10, "five cells, two rounds"
    assert {record["status"] for record in local} == {"ok", "failed"}
    assert ssh == local
    assert cluster == local
    # A node of this machine has its programs and its kernel: there the cells are the same, too.
    cells = {way: [record["cell_id"] for record in records[way]] for way in ("local", "cluster")}
    assert cells["cluster"] == cells["local"]


def test_platforms_of_one_spec_may_be_reached_in_different_ways(ways):
    found, jobs = ways
    counts = {host: len(records) for host, records in found["cluster"].items()}
    assert counts == {"machine": 10, "by-ssh": 10}
    assert "machine" in jobs
    assert "by-ssh" not in jobs
