"""Which CPUs measured processes use, on machines of files: two packages, two threads a core, two memory nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regatta.host.measure.topology import choose_cores, halve, read_topology
from regatta.host.values.cpu_list import parse_cpu_list
from regatta.host.values.experiment import Cores

#: CPU -> (core, package, node): 2 packages x 4 cores x 2 threads, threads numbered as Linux does it (n and n + 8);
#: caches of the last level are shared by two cores
SERVER = {cpu: (cpu % 4, cpu % 8 // 4, cpu % 8 // 4) for cpu in range(16)}


def machine(
    root: Path, cpus: dict[int, tuple[int, int, int]] = SERVER, online: str = "0-15"
) -> list[dict[str, Any]]:
    (root / "online").write_text(online + "\n")
    for cpu, (core, package, node) in cpus.items():
        base = root / f"cpu{cpu}"
        (base / "topology").mkdir(parents=True)
        (base / f"node{node}").mkdir()
        siblings = sorted(c for c, (k, p, _) in cpus.items() if (k, p) == (core, package))
        near = sorted(c for c, (k, p, _) in cpus.items() if (k // 2, p) == (core // 2, package))
        (base / "topology/core_id").write_text(f"{core}\n")
        (base / "topology/physical_package_id").write_text(f"{package}\n")
        (base / "topology/thread_siblings_list").write_text(",".join(map(str, siblings)) + "\n")
        for index, (level, kind, shared) in enumerate(
            [(1, "Data", siblings), (1, "Instruction", [cpu]), (3, "Unified", near)]
        ):
            cache = base / f"cache/index{index}"
            cache.mkdir(parents=True)
            (cache / "level").write_text(f"{level}\n")
            (cache / "type").write_text(f"{kind}\n")
            (cache / "shared_cpu_list").write_text(",".join(map(str, shared)) + "\n")
    return read_topology(root)


def choose(topology: list[dict[str, Any]], allowed: set[int] | None = None, **cores: Any) -> Any:
    wanted = {**vars(Cores()), "cpus": [], **cores}
    return choose_cores(wanted, topology, set(range(16)) if allowed is None else allowed)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8\n", [0, 1, 2, 3, 8]), ("5", [5]), ("", []), ("0-0,2-3", [0, 2, 3]), ("\n", [])],
)
def test_the_kernels_lists_are_read(text: str, cpus: list[int]) -> None:
    assert parse_cpu_list(text) == cpus


def test_each_cpu_says_where_it_is(tmp_path: Path) -> None:
    entry = machine(tmp_path)[13]
    assert entry == {
        "cpu": 13,
        "core": 1,
        "package": 1,
        "node": 1,
        "siblings": [5, 13],
        "caches": {"L1": [5, 13], "L3": [4, 5, 12, 13]},
    }


def test_a_kernel_that_tells_nothing_has_a_core_for_each_cpu(tmp_path: Path) -> None:
    (tmp_path / "online").write_text("0-1")
    assert [(e["cpu"], e["siblings"], e["caches"]) for e in read_topology(tmp_path)] == [
        (0, [0], {}),
        (1, [1], {}),
    ]
    assert [e["siblings"] for e in read_topology(tmp_path / "nothing")] != []


def test_all_sets_nothing(tmp_path: Path) -> None:
    assert choose(machine(tmp_path)) == (None, None)


def test_physical_is_one_thread_of_each_core_and_its_sibling_stays_idle(tmp_path: Path) -> None:
    assert choose(machine(tmp_path), use="physical") == (list(range(8)), None)


def test_housekeeping_keeps_whole_cores_for_the_rest(tmp_path: Path) -> None:
    measured, own = choose(machine(tmp_path), housekeeping=1)
    assert own == [0, 8]
    assert measured == sorted(set(range(16)) - {0, 8})
    measured, own = choose(machine_again(tmp_path), use="physical", housekeeping=2)
    assert (measured, own) == ([2, 3, 4, 5, 6, 7], [0, 1, 8, 9])


def machine_again(root: Path) -> list[dict[str, Any]]:
    return read_topology(root)


def test_no_measured_core_shares_anything_with_a_kept_one(tmp_path: Path) -> None:
    topology = machine(tmp_path)
    for use in ("all", "physical"):
        measured, own = choose(topology, use=use, housekeeping=3)
        siblings = {s for e in topology if e["cpu"] in own for s in e["siblings"]}
        assert not siblings & set(measured)


def test_a_few_cores_lie_together(tmp_path: Path) -> None:
    topology = machine(tmp_path)
    two = choose(topology, use="physical", count=2)[0]
    assert {tuple(topology[c]["caches"]["L3"]) for c in two} == {tuple(topology[two[0]]["caches"]["L3"])}
    afterwards = choose(topology, use="physical", count=2, housekeeping=1)[0]
    assert len({tuple(topology[c]["caches"]["L3"]) for c in afterwards}) == 1
    assert 0 not in afterwards


def test_what_is_not_allowed_is_not_used(tmp_path: Path) -> None:
    topology = machine(tmp_path)
    assert choose(topology, {3, 11, 4}, use="physical") == ([3, 4], None)
    assert choose(topology, {3, 11, 4}, housekeeping=1) == ([4], [3, 11])


def test_listed_cpus_are_taken_as_they_are(tmp_path: Path) -> None:
    assert choose(machine(tmp_path), {0, 1, 2}, use="cpus", cpus=[2, 1]) == ([1, 2], [0])
    assert choose(machine_again(tmp_path), {0, 1}, use="cpus", cpus=[0, 1]) == ([0, 1], None)


def test_too_few_cores_say_how_many_there_are(tmp_path: Path) -> None:
    topology = machine(tmp_path)
    with pytest.raises(ValueError, match="0 of 8 cores are free"):
        choose(topology, housekeeping=8)
    with pytest.raises(ValueError, match="9 are needed"):
        choose(topology, count=9)
    with pytest.raises(ValueError, match="CPU 7 is missing"):
        choose(topology, {0}, use="cpus", cpus=[0, 7])


def test_cpus_that_are_off_are_no_cpus(tmp_path: Path) -> None:
    some = {cpu: place for cpu, place in SERVER.items() if cpu < 8}
    assert [e["cpu"] for e in machine(tmp_path, some, "0-3,6-7")] == [0, 1, 2, 3, 6, 7]


def test_this_machine_can_be_read() -> None:
    topology = read_topology()
    assert all(entry["cpu"] in entry["siblings"] for entry in topology)


@pytest.mark.parametrize(
    ("measured", "halves"),
    [
        # A memory node each, with both threads of its cores.
        (range(16), ["0-3,8-11", "4-7,12-15"]),
        # Threads of one core stay together; a thread alone is a core.
        ([0, 1, 8], ["0,8", "1"]),
        # Along the cache that two cores share.
        ([0, 1, 2, 3], ["0-1", "2-3"]),
        # One of an odd number of cores is in no half.
        ([0, 1, 2], ["0", "2"]),
        ([2, 3, 4], ["2", "4"]),
    ],
)
def test_halves_have_equally_many_cores_and_share_little(
    tmp_path: Path, measured: list[int], halves: list[str]
) -> None:
    assert halve(measured, machine(tmp_path)) == [parse_cpu_list(half) for half in halves]


@pytest.mark.parametrize("measured", [[], [5], [5, 13]])
def test_one_core_has_no_halves(tmp_path: Path, measured: list[int]) -> None:
    with pytest.raises(ValueError, match="core"):
        halve(measured, machine(tmp_path))
