"""Cells whose benchmark has roles on several hosts: commands, identity and plan."""

from __future__ import annotations

from dataclasses import replace

from helpers.specs.made_experiments import java_benchmark
from regatta.fleet.preparing import together
from regatta.host.values.experiment import Benchmark, Experiment, Heap, Role, RoleReady
from regatta.host.values.host import Host
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import cross
from regatta.planner.plan import plan_host

SERVE = ("{runtime}", "Serve", "{server.address}")
ASK = ("{runtime}", "-Xmx64m", "Ask", "{server.address}:{server.port}", "{{")


def placed(server: str, client: str) -> Benchmark:
    """A benchmark with its two roles on hosts."""
    roles = (Role("server", SERVE, RoleReady("(?P<port>[0-9]+)"), server), Role("client", ASK, None, client))
    return replace(java_benchmark("x"), command=ASK, roles=roles)


def both(host: ResolvedHost) -> ResolvedHost:
    """Two hosts that measure together."""
    members = {
        name: replace(
            host, name=name, host_class=name, environment={"PATH": f"/{name}"}, fingerprint={"kernel": name}
        )
        for name in ("one", "two")
    }
    machines = tuple(Host(name, "p") for name in members)
    return together(Host("one+two", "p", members=machines), members)


def test_the_configuration_is_of_the_first_role_alone(experiment: Experiment, host: ResolvedHost) -> None:
    experiment = replace(experiment, benchmarks=(placed("one", "two"),), heaps=(Heap(mib=64),))
    cells = cross(experiment, both(host), {}).cells
    assert {cell.host for cell in cells} == {"one+two"}
    first = cells[0]
    server, client = first.roles
    java = host.runtimes["a"].program
    flags = ("-XX:+UseSerial", "-Xms64m", "-Xmx64m")
    assert server.argv[0] == java
    assert set(flags[1:]) < set(server.argv)
    assert server.argv[-2:] == ("Serve", "{server.address}")
    assert client.argv == (java, "-Xmx64m", "Ask", "{server.address}:{server.port}", "{")
    assert first.argv == client.argv
    assert (server.environment["PATH"], client.environment["PATH"]) == ("/one", "/two")
    assert first.files == ()


def test_the_placement_is_part_of_the_identity(experiment: Experiment, host: ResolvedHost) -> None:
    ids = []
    for server, client in (("one", "two"), ("two", "one"), ("one", "one")):
        placing = replace(experiment, benchmarks=(placed(server, client),), heaps=(Heap(mib=64),))
        ids.append({cell.cell_id for cell in cross(placing, both(host), {}).cells})
    assert not ids[0] & ids[1]
    assert not ids[0] & ids[2]


def test_the_plan_has_what_the_agents_need(experiment: Experiment, host: ResolvedHost) -> None:
    experiment = replace(experiment, benchmarks=(placed("one", "two"),), heaps=(Heap(mib=64),))
    pair = both(host)
    header = plan_host(experiment, pair, cross(experiment, pair, {})).header("")
    assert header["host"] == "one+two"
    assert [member["host"] for member in header["members"]] == ["one", "two"]
    assert header["members"][1]["host_fingerprint"] == {"kernel": "two"}
    assert header["host_fingerprint"] == {"one kernel": "one", "two kernel": "two"}
    (role, last) = header["cells"][0]["roles"]
    assert role["ready"] == {"output": "(?P<port>[0-9]+)"}
    assert "ready" not in last


def test_without_roles_the_plan_has_no_new_key(experiment: Experiment, host: ResolvedHost) -> None:
    experiment = replace(experiment, benchmarks=(java_benchmark("x"),), heaps=(Heap(mib=64),))
    header = plan_host(experiment, host, cross(experiment, host, {})).header("")
    assert "members" not in header
    assert not any("roles" in cell for cell in header["cells"])


def test_a_runtime_that_one_host_lacks_makes_the_cell_impossible(
    experiment: Experiment, host: ResolvedHost
) -> None:
    pair = both(host)
    second = replace(pair.members["two"], runtimes={}, missing_runtimes={"a": "no such runtime"})
    pair = replace(pair, members={**pair.members, "two": second})
    experiment = replace(
        experiment,
        benchmarks=(placed("one", "two"),),
        heaps=(Heap(mib=64),),
        runtimes=experiment.runtimes[:1],
    )
    crossing = cross(experiment, pair, {})
    assert crossing.cells == []
    assert {reason for _, reason in crossing.impossible} == {"two: no such runtime"}
