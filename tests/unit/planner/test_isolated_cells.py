"""What of isolation is in a cell, in its identity and in the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from helpers.golden import Golden
from helpers.specs.made_experiments import java_benchmark, native_benchmark, resolved_runtime
from regatta.host.errors import SpecError
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import Experiment, Modifier, Runtime
from regatta.host.values.isolation import DEFAULT_IMAGE, CellIsolation, Isolation
from regatta.host.values.resolved import File, ResolvedHost, ResolvedRuntime
from regatta.planner.cells import cross

IMAGE_ID = "sha256:" + "1" * 64
MINHEAPS = {("s/x:small", "a"): 20, ("s/x:small", "b"): 20}


@pytest.fixture
def docker_host(host: ResolvedHost) -> ResolvedHost:
    return replace(host, images={DEFAULT_IMAGE: IMAGE_ID, "own": "sha256:" + "2" * 64})


def cells_of(experiment: Experiment, host: ResolvedHost, isolation: Isolation) -> list[Cell]:
    return cross(replace(experiment, isolation=isolation), host, MINHEAPS).cells


@pytest.fixture
def small(experiment: Experiment) -> Experiment:
    runtimes = (*experiment.runtimes, Runtime("native", "native", "none"))
    return replace(experiment, benchmarks=(java_benchmark("x"), native_benchmark("n")), runtimes=runtimes)


def test_a_control_group_changes_neither_identity_nor_plan(
    small: Experiment, docker_host: ResolvedHost
) -> None:
    usual = cross(small, docker_host, MINHEAPS).cells
    assert [c.cell_id for c in usual] == [c.cell_id for c in cells_of(small, docker_host, Isolation())]
    assert all("isolation" not in c.to_json(1.0, 1) for c in usual)


def test_kind_image_network_and_memory_are_part_of_the_identity(
    small: Experiment, docker_host: ResolvedHost
) -> None:
    docker = Isolation("docker")
    renamed = replace(docker_host, images={DEFAULT_IMAGE: "sha256:" + "3" * 64})
    found = [
        {c.cell_id for c in cells_of(small, host, isolation)}
        for host, isolation in (
            (docker_host, Isolation()),
            (docker_host, Isolation("none")),
            (docker_host, docker),
            (renamed, docker),
            (docker_host, replace(docker, image="own")),
            (docker_host, replace(docker, network="bridge")),
            (docker_host, replace(docker, memory_mib=64)),
            (docker_host, replace(docker, capabilities=("SETUID",))),
            (docker_host, replace(docker, processors=1)),
            (docker_host, replace(docker, cpu_quota=0.5)),
            (docker_host, Isolation(processors=1)),
            (docker_host, Isolation(cpu_quota=0.5)),
            (docker_host, Isolation(memory_mib=64)),
            (docker_host, Isolation("none", processors=1)),
        )
    ]
    assert len(set().union(*found)) == sum(map(len, found))
    same = replace(docker_host, images={"another name": IMAGE_ID})
    assert {c.cell_id for c in cells_of(small, same, replace(docker, image="another name"))} == found[2]


def test_a_plan_says_what_a_container_needs(small: Experiment, docker_host: ResolvedHost) -> None:
    files = (File("/jdk/bin/java", "1"), File("/jdk/lib/modules", "2"), File("/jdk/release", "3"))
    runtime = replace(resolved_runtime("a"), files=files, root="/jdk")
    host = replace(docker_host, runtimes={**docker_host.runtimes, "a": runtime})
    planned = {
        (c.benchmark.name, c.runtime): c.to_json(1.0, 1)
        for c in cells_of(small, host, Isolation("docker", 64, images={"native": "own"}))
    }
    java, native = planned["x", "a"], planned["n", "native"]
    assert java["isolation"] == {
        "kind": "docker", "image": DEFAULT_IMAGE, "image_id": IMAGE_ID, "network": "none", "memory_mib": 64,
        "programs": [], "folders": ["/jdk"],
    }  # fmt: skip
    assert (native["isolation"]["image"], native["isolation"]["programs"]) == ("own", ["/bin/true"])
    assert native["files"] == [], "a program of the image is known by the image"


def test_a_program_of_the_host_does_not_enter_a_container(
    small: Experiment,
    docker_host: ResolvedHost,
    golden: Golden,
) -> None:
    benchmark = native_benchmark("p")
    benchmark = replace(benchmark, kind="program", command=("{runtime}", "-c", "pass"))
    runtimes = (Runtime("of-host", "program", "path", path="x"), Runtime("made", "program", "build"))
    there = {
        "of-host": ResolvedRuntime("of-host", "/usr/bin/x", "", "1", (File("/usr/bin/x", "1"),)),
        "made": ResolvedRuntime("made", "/made/bin/x", "", "2", (File("/made/bin/x", "2"),), root="/made"),
    }
    experiment = replace(
        small,
        benchmarks=(benchmark,),
        runtimes=runtimes,
        isolation=Isolation("docker", images={"native": "own"}),
    )
    crossing = cross(experiment, replace(docker_host, runtimes=there), MINHEAPS)
    (cell,) = crossing.cells
    assert (cell.runtime, cell.isolation.folders, cell.argv) == (
        "made",
        ("/made",),
        ("/made/bin/x", "-c", "pass"),
    )
    ((label, reason),) = crossing.impossible
    assert "of-host" in label
    golden("program of the host", reason)


def test_a_plan_says_the_limits_that_a_cell_has(small: Experiment, docker_host: ResolvedHost) -> None:
    limits = {"processors": 2, "cpu_quota": 0.5, "memory_mib": 64}
    (bare,) = {str(c.to_json(1.0, 1)["isolation"]) for c in cells_of(small, docker_host, Isolation(**limits))}
    assert bare == str({"kind": "cgroup", **limits})
    wanted = Isolation("docker", capabilities=("SETUID", "SETGID"), processors=2)
    boxed = cells_of(small, docker_host, wanted)[0].to_json(1.0, 1)["isolation"]
    assert (boxed["processors"], boxed["capabilities"]) == (2, ["SETGID", "SETUID"])
    assert "cpu_quota" not in boxed
    assert CellIsolation("docker", image_id="i", memory_mib=64).identity() == ["docker", "i", "none", 64]


def test_a_modifier_has_an_isolation_of_its_own(small: Experiment, docker_host: ResolvedHost) -> None:
    boxed = Modifier("boxed", isolation=Isolation("docker"))
    experiment = replace(small, modifiers=((), (boxed,)))
    kinds = {
        (c.benchmark.name, c.modifiers): c.isolation.kind
        for c in cross(experiment, docker_host, MINHEAPS).cells
    }
    assert kinds == {
        ("x", "none"): "cgroup", ("x", "boxed"): "docker", ("n", "none"): "cgroup", ("n", "boxed"): "docker",
    }  # fmt: skip


def test_an_image_that_nobody_looked_for_is_an_error(small: Experiment, host: ResolvedHost) -> None:
    with pytest.raises(SpecError, match=f"Docker image {DEFAULT_IMAGE}"):
        cells_of(small, host, Isolation("docker"))


def test_a_directory_of_the_host_is_part_of_the_identity_and_not_in_a_container(
    small: Experiment, docker_host: ResolvedHost
) -> None:
    (plain,) = cells_of(replace(small, benchmarks=(native_benchmark("n"),)), docker_host, Isolation())
    benchmark = replace(native_benchmark("n"), directory="/here")
    keeps, boxed = Modifier("keeps", keep=("f",)), Modifier("boxed", isolation=Isolation("docker"))
    experiment = replace(small, benchmarks=(benchmark,), modifiers=((), (keeps,), (boxed,)))
    crossing = cross(experiment, docker_host, MINHEAPS)
    (cell,) = crossing.cells
    assert cell.cell_id != plain.cell_id
    assert (cell.to_json(1.0, 1)["directory"], "directory" in plain.to_json(1.0, 1)) == ("/here", False)
    kept, contained = (reason for _, reason in crossing.impossible)
    assert kept.startswith("keeps: ")
    assert "/here" in contained


@pytest.mark.parametrize("stream", ["input", "output"])
def test_a_container_has_its_own_streams(small: Experiment, docker_host: ResolvedHost, stream: str) -> None:
    benchmark = replace(native_benchmark("n"), **{stream: "/f"})  # type: ignore[arg-type]
    boxed = Modifier("boxed", isolation=Isolation("docker"))
    crossing = cross(replace(small, benchmarks=(benchmark,), modifiers=((), (boxed,))), docker_host, MINHEAPS)
    assert [cell.modifiers for cell in crossing.cells] == ["none"]
    assert len(crossing.impossible) == 1
    assert f"`{stream}`" in crossing.impossible[0][1]
