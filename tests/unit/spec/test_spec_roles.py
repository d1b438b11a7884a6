"""`roles` of a suite and of a spec: where each role runs, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.specs.spec_examples import MINIMAL, write
from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment, RoleReady

Load = Callable[..., Experiment]
Wrong = Callable[..., tuple[Problem, ...]]
One = Callable[..., tuple[str, str, str, str]]

SUITE = """
    suite: pair
    benchmarks:
      echo:
        command: [both, "{port}"]
        sizes: {default: {parameters: {port: 7}}}
        roles:
          server: {command: [serve, "{server.address}"], ready: {output: "^port (?P<port>[0-9]+)"}}
          client: {command: [ask, "{server.address}:{server.port}"]}
      apart:
        sizes: {default: {parameters: {port: 7}}}
        roles:
          server: {command: [serve, "{port}"], ready: {port: "{port}"}}
          client: {command: [ask, "{server.address}:{port}"]}
      shown:
        roles:
          server: {command: [serve], ready: {file: ready}}
          client: {command: [ask]}
        keep: [log]
    """
SPEC = "name: small\nbenchmarks: [{suite: pair, benchmark: echo}]\ninvocations: {fixed: 3}\n"
APART = SPEC.replace("echo", "apart")


@pytest.fixture(autouse=True)
def _suite(home: Path) -> None:
    write(home / "configs/suites/pair.yml", SUITE)


def test_without_roles_in_the_spec_a_benchmark_has_none(load: Load) -> None:
    experiment = load(SPEC)
    (benchmark,) = experiment.benchmarks
    assert (benchmark.roles, benchmark.command) == ((), ("both", "{port}"))
    assert benchmark.programs == ("both",)
    assert [host.members for host in experiment.hosts] == [()]


def test_roles_are_placed_on_hosts_that_measure_together(load: Load) -> None:
    experiment = load(SPEC, "roles: {client: local, server: rack}")
    (host,) = experiment.hosts
    assert (host.name, host.platform, host.way("ssh")) == ("local+n1", "local+rack", "local")
    assert [member.name for member in host.members] == ["local", "n1"]
    (benchmark,) = experiment.benchmarks
    assert [(role.name, role.host) for role in benchmark.roles] == [("server", "n1"), ("client", "local")]
    assert benchmark.roles[0].ready == RoleReady(output="^port (?P<port>[0-9]+)")
    assert benchmark.command == benchmark.roles[-1].command
    assert benchmark.programs == ("ask", "serve")
    assert benchmark.chosen == {}


@pytest.mark.parametrize(
    ("server", "client", "hosts"),
    [
        ("rack", "rack", ["n1", "n2.example.org"]),
        ("n2.example.org", "rack", ["n2.example.org", "n1"]),
        ("local", "local", ["local", "local"]),
    ],
)
def test_a_platform_gives_its_first_host_without_a_role(
    load: Load, server: str, client: str, hosts: list[str]
) -> None:
    (benchmark,) = load(SPEC, f"roles: {{server: {server}, client: {client}}}").benchmarks
    assert [role.host for role in benchmark.roles] == hosts


def test_swapped_placements_are_benchmarks_with_a_parameter(load: Load) -> None:
    more = "roles: {server: local, client: n1}\nplacements: swap\ncompare: [parameters.server]"
    experiment = load(SPEC, more)
    assert [benchmark.label for benchmark in experiment.benchmarks] == [
        "pair/echo:default server=local",
        "pair/echo:default server=n1",
    ]
    placed = [[role.host for role in benchmark.roles] for benchmark in experiment.benchmarks]
    assert placed == [["local", "n1"], ["n1", "local"]]
    assert len(experiment.hosts) == 1


@pytest.mark.parametrize(
    ("more", "where", "got"),
    [
        ("roles: {server: local, client: nowhere}", "roles.client", "nowhere"),
        ("roles: {server: local}", "roles", "one"),
        ("roles: {server: local, driver: local}", "roles", "pair/echo:default with roles server, client"),
        ("roles: {server: local, client: n1}\nplatforms: [local]", "platforms", "both"),
        ("roles: {server: local, client: n1}\nisolation: docker", "isolation", "docker"),
        ("roles: {server: local, client: local}\nplacements: swap", "placements", "2 roles on 1 hosts"),
        ("placements: swap", "placements", "none"),
    ],
)
def test_what_is_wrong_with_roles_of_a_spec(wrong: Wrong, more: str, where: str, got: str) -> None:
    problems = wrong(SPEC, more)
    found = next(
        problem
        for problem in problems
        if problem.where.endswith(f": {where}") or f":{where}" in problem.where
    )
    assert got in found.got


def test_a_benchmark_without_roles_cannot_have_them(one: One) -> None:
    where, _, got, _ = one(MINIMAL, "roles: {server: local, client: n1}")
    assert (where.rpartition(":")[2], got) == ("roles", "toy/gzip:default with no roles")


def test_a_benchmark_with_roles_alone_needs_them(load: Load, one: One) -> None:
    where, expected, _, fix = one(APART)
    assert (where.rpartition(":")[2], expected[:7]) == ("benchmarks", "`roles`")
    assert "{server: local, client: local}" in fix
    (benchmark,) = load(APART, "roles: {server: local, client: local}").benchmarks
    assert benchmark.roles[0].ready == RoleReady(port="{port}")


@pytest.mark.parametrize(
    "key",
    [
        "keep: [log]",
        "prepare: {command: [x]}",
        "conclude: {command: [x]}",
        "check: {command: [x]}",
        "input: /f",
        "output: /f",
    ],
)
def test_what_is_for_one_host_is_refused_with_roles(one: One, home: Path, key: str) -> None:
    write(home / "configs/suites/pair.yml", SUITE.replace("keep: [log]", key))
    _, expected, got, _ = one(SPEC.replace("echo", "shown"), "roles: {server: local, client: local}")
    assert f"`{key.partition(':')[0]}`" in expected
    assert "pair/shown" in got


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{server.address}:{server.port}", "{server.prot}", "a name available for size `default`"),
        ('[serve, "{server.address}"]', '[serve, "{server.port}"]', "a name available for size `default`"),
        (', ready: {output: "^port (?P<port>[0-9]+)"}', "", "`ready` of role `server`"),
        ("^port (?P<port>[0-9]+)", "^port (?P<port>", "a regular expression"),
        ('{output: "^port (?P<port>[0-9]+)"}', "{port: '1', file: there}", "exactly one of"),
        ('client: {command: [ask, "{server.address}:{server.port}"]}', "", "two or more roles"),
        ('"{server.address}:{server.port}"]}', "there], ready: {file: there}}", "no `ready` of `client`"),
    ],
)
def test_what_is_wrong_with_roles_of_a_suite(
    home: Path, wrong: Wrong, old: str, new: str, expected: str
) -> None:
    assert old in SUITE
    write(home / "configs/suites/pair.yml", SUITE.replace(old, new, 1))
    problems = wrong(SPEC, "roles: {server: local, client: n1}")
    assert any(problem.expected.startswith(expected) for problem in problems), problems


def test_a_role_is_not_called_as_a_build(home: Path, wrong: Wrong) -> None:
    build = "suite: pair\n    builds:\n      server: {directory: a, command: [make], outputs: {x: x}}"
    write(home / "configs/suites/pair.yml", SUITE.replace("suite: pair", build))
    problems = wrong(SPEC, "roles: {server: local, client: n1}")
    assert any("no build" in problem.expected for problem in problems)


def test_java_in_the_first_role_needs_the_runtime(home: Path, wrong: Wrong) -> None:
    java = SUITE.replace('command: [both, "{port}"]', 'kind: java\n        command: ["{runtime}", "{port}"]')
    write(home / "configs/suites/pair.yml", java)
    spec = SPEC + "runtimes: [jdk-21]\nheap: {sizes_mib: [64]}\n"
    problems = wrong(spec, "roles: {server: local, client: n1}")
    assert any(problem.expected.startswith("`{runtime}` once") for problem in problems)
