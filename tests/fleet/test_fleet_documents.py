"""The tutorials that measure on other machines, in a fresh clone, on hosts of the tests: as they stand, except for names of machines
and, over SSH, the size of the program.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from helpers.documents import FreshClone, steps
from helpers.hosts.host_containers import TestHost
from helpers.hosts.slurm_cluster import SlurmCluster
from regatta.host.journal.journal import Damage, read_journal


def statuses(clone: FreshClone, experiment: str) -> list[tuple[str, str]]:
    """Return the host and the status of every record."""
    items = read_journal(clone.root / "results" / experiment)
    return [(item["host"], item["status"]) for item in items if not isinstance(item, Damage)]


def test_the_tutorial_of_slurm_works_as_it_stands(
    slurm_cluster: SlurmCluster, fresh_clone: FreshClone, tmp_path: Path
) -> None:
    slurm_cluster.cancel_all()
    fresh_clone.environment |= slurm_cluster.environment
    # What the page asks its reader to replace.
    node, shared = slurm_cluster.nodes[0], tmp_path / "shared"
    replaced = {"node7": node, "/shared/regatta": str(shared), "bench\n": f"{slurm_cluster.partition}\n"}
    for step in steps("docs/tutorials/slurm.md"):
        fresh_clone.follow(step, replaced)
    found = statuses(fresh_clone, "nodes")
    assert set(found) == {(node, "ok")}
    assert len(found) >= 10


def test_the_tutorial_of_ssh_works_as_it_stands(
    x86_hosts: list[TestHost], fresh_clone: FreshClone, tmp_path: Path
) -> None:
    names = ("rack-1.example.org", "192.0.2.17")
    _name_hosts(fresh_clone, dict(zip(names, x86_hosts, strict=True)), tmp_path)
    replaced = {
        # Other tests use these hosts as another user, who has the usual folder.
        "ansible_user: bench\n": "ansible_user: bench\n    regatta_root: /var/lib/regatta-of-bench\n",
        # Both hosts share this machine, and what they measure is not the subject.
        "size: s10}": "size: s1}",
    }
    for step in steps("docs/tutorials/ssh-fleet.md"):
        # A container may not change the kernel: test_quiet_playbooks.py.
        if not step.text.startswith("./regatta quiesce "):
            fresh_clone.follow(step, replaced)
    found = statuses(fresh_clone, "fleet")
    # Two collectors, and ten invocations of each.
    assert len(found) >= 2 * 2 * 10
    assert set(found) == {("rack-1.example.org", "ok"), ("graviton", "ok")}


def _name_hosts(clone: FreshClone, hosts: Mapping[str, TestHost], folder: Path) -> None:
    """Let `ssh` find hosts under the names of a page, as a reader's DNS, key and known_hosts do."""
    lines = []
    for name, host in hosts.items():
        known = f"UserKnownHostsFile {host.known_hosts}\nIdentitiesOnly yes"
        lines.append(
            f"Host {name}\nHostName {host.address}\nPort {host.port}\nIdentityFile {host.key_file}\n{known}\n"
        )
    (folder / "ssh_config").write_text("".join(lines))
    program = folder / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh_config "$@"\n')
    program.chmod(0o755)
    clone.environment["PATH"] = f"{program.parent}{os.pathsep}{clone.environment['PATH']}"
