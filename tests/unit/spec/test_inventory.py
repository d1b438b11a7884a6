"""The inventory is Ansible's own: groups are platforms, variables say how hosts are reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from regatta.host.errors import Problem
from regatta.host.values.host import Host, SlurmPlace, SshPlace, Way, Wish
from regatta.spec.inventory import read_inventory


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("REGATTA_INVENTORY", raising=False)


def read(tmp_path: Path, **files: str) -> tuple[dict[str, tuple[Host, ...]], list[Problem]]:
    folder = tmp_path / "configs" / "hosts"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    problems: list[Problem] = []
    return read_inventory(tmp_path, problems), problems


def test_groups_of_groups_are_platforms_and_variables_are_inherited(tmp_path: Path) -> None:
    platforms, problems = read(
        tmp_path,
        fleet__yml="""
all:
  children:
    rack:
      vars: {ansible_user: bench, regatta_housekeeping_cpus: 0}
      children:
        epyc: {hosts: {e1: {regatta_cpus: "2-4,8"}, e2: {ansible_host: e2.lab, ansible_port: 2222}}}
        xeon: {hosts: {x1: {ansible_user: other}}}
""",
    )
    assert problems == []
    assert {name: [h.name for h in hosts] for name, hosts in platforms.items()} == {
        "rack": ["e1", "e2", "x1"], "epyc": ["e1", "e2"], "xeon": ["x1"]
    }  # fmt: skip
    e1, e2 = platforms["epyc"]
    assert (e1.platform, e1.cpus, e1.housekeeping_cpus) == ("epyc", (2, 3, 4, 8), (0,))
    assert e2.ssh == SshPlace("e2.lab", 2222, "bench")
    assert platforms["xeon"][0].ssh == SshPlace("x1", None, "other")


def test_an_inventory_in_the_ini_form_is_read_too(tmp_path: Path) -> None:
    ini = "[arm]\na1 ansible_host=10.0.0.7 ansible_ssh_common_args='-o ProxyJump=\"gate 1\"'\n"
    platforms, problems = read(tmp_path, fleet=ini)
    assert problems == []
    assert platforms["arm"][0].ssh == SshPlace("10.0.0.7", arguments=("-o", "ProxyJump=gate 1"))


def test_what_slurm_is_asked_for_stands_with_the_host(tmp_path: Path) -> None:
    text = "all: {hosts: {n: {regatta_slurm_constraint: x86, regatta_slurm_time_limit_min: 30}}, children: {c: {hosts: {n: }}}}"
    platforms, _ = read(tmp_path, fleet__yml=text)
    assert platforms["c"][0].slurm == SlurmPlace("", "x86", "", 30)


WRONG = {
    "typo": ("regatta_cpu: 3", "`regatta_cpus`"),
    "cpus": ("regatta_cpus: two", "regatta_cpus"),
    "endless-cpus": ('regatta_cpus: "0-99999999999"', "regatta_cpus"),
    "root": ("regatta_root: ../x", "regatta_root"),
    "node": ("regatta_slurm_node: '-wx; rm'", "regatta_slurm_node"),
    "address": ("ansible_host: '-oProxyCommand=x'", "ansible_host"),
    "port": ("ansible_port: 99999", "ansible_port"),
    "user": ("ansible_user: '-l root'", "ansible_user"),
    "quote": ('ansible_ssh_common_args: "-o \'x"', "ansible_ssh_common_args"),
}


def test_every_wrong_variable_is_named_with_its_host(tmp_path: Path) -> None:
    hosts = ", ".join(f"{name}: {{{variables}}}" for name, (variables, _) in WRONG.items())
    _, problems = read(tmp_path, fleet__yml=f"all: {{children: {{c: {{hosts: {{{hosts}}}}}}}}}")
    assert len(problems) == len(WRONG)
    for (name, (_, named)), problem in zip(WRONG.items(), problems, strict=True):
        assert f"host {name}" in problem.where
        assert named in str(problem)


def test_no_host_may_be_called_as_no_host_is(tmp_path: Path) -> None:
    platforms, problems = read(tmp_path, fleet__yml="c: {hosts: {none: {}, other: {}}}")
    assert [host.name for host in platforms["c"]] == ["other"]
    assert "`none`" in problems[0].expected


def test_a_host_has_a_name_that_records_can_hold(tmp_path: Path) -> None:
    right, long, outside = "h" * 64, "h" * 65, "a..b"
    platforms, problems = read(
        tmp_path, fleet__yml=f"c: {{hosts: {{{right}: {{}}, {long}: {{}}, {outside}: {{}}}}}}"
    )
    assert [host.name for host in platforms["c"]] == [right]
    assert [problem.got for problem in problems] == [repr(long), repr(outside)]
    assert all("64" in problem.expected for problem in problems)


def test_a_file_that_is_no_inventory_is_an_error_and_not_a_host_less(tmp_path: Path) -> None:
    platforms, problems = read(tmp_path, good__yml="all: {children: {c: {hosts: {n: }}}}", bad__yml="all: [")
    assert platforms == {}
    assert "an Ansible inventory" in str(problems[0])


def test_a_file_of_any_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    read(tmp_path)
    with (tmp_path / "configs" / "hosts" / "fleet.yml").open("wb") as file:
        file.truncate(6 << 30)
    platforms, problems = read(tmp_path)
    assert platforms == {}
    assert [Path(problem.where).name for problem in problems] == ["fleet.yml"]
    assert "64 MiB" in problems[0].expected


def test_the_same_files_are_asked_about_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "all: {children: {c: {hosts: {n: }}}}"
    first, _ = read(tmp_path, fleet__yml=text)
    monkeypatch.setattr("regatta.spec.inventory._ask", lambda path: pytest.fail("asked again"))
    assert read(tmp_path, fleet__yml=text)[0] == first


LOCAL = Host("l", "p")
REMOTE = Host("r", "p", is_local=False, ssh=SshPlace("r"))
NODE = Host("n", "p", is_local=False, ssh=SshPlace("n"), slurm=SlurmPlace("n"))
EITHER = Host("e", "p", is_local=True, ssh=SshPlace("127.0.0.1", 2222))


@pytest.mark.parametrize(
    ("host", "local", "ssh", "cluster"),
    [
        (LOCAL, "local", "local", "slurm"),
        (REMOTE, None, "ssh", "ssh"),
        (NODE, None, "ssh", "slurm"),
        (EITHER, "local", "ssh", "slurm"),
    ],
)
def test_the_profile_chooses_among_the_ways_that_a_host_has(
    host: Host, local: Way | None, ssh: Way, cluster: Way
) -> None:
    wishes: list[Wish] = ["local", "ssh", "cluster"]
    assert [host.way(wish) for wish in wishes] == [local, ssh, cluster]
