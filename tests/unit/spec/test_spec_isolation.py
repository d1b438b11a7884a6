"""`isolation` in a spec, in a modifier and in the registry of runtimes."""

from __future__ import annotations

from collections.abc import Callable

from helpers.golden import Golden
from helpers.specs.spec_examples import JAVA
from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment
from regatta.host.values.isolation import DEFAULT_IMAGE, Isolation

Load = Callable[..., Experiment]
Wrong = Callable[..., tuple[Problem, ...]]


def test_a_control_group_is_the_default_and_a_kind_alone_is_enough(load: Load) -> None:
    assert load(JAVA).isolation == Isolation("cgroup")
    assert load(JAVA).images() == ()
    assert load(JAVA, "isolation: none").isolation == Isolation("none")
    docker = load(JAVA, "isolation: docker")
    assert docker.isolation == Isolation("docker")
    assert docker.images() == (DEFAULT_IMAGE,)


def test_an_image_is_that_of_the_runtime_in_the_spec_then_the_specs_then_the_registrys(load: Load) -> None:
    experiment = load(JAVA, "isolation: {kind: docker, memory_mib: 512, network: bridge, image: my/base:1}")
    assert experiment.isolation == Isolation("docker", 512, "bridge", {}, "my/base:1")
    name = experiment.runtimes[0].name
    named = load(JAVA, f"isolation: {{kind: docker, images: {{{name}: other@sha256:12}}}}")
    assert named.isolation.image_of(name, "registry") == "other@sha256:12"
    assert named.isolation.image_of("another", "registry") == "registry"
    assert named.isolation.image_of("another", "") == DEFAULT_IMAGE


def test_a_modifier_may_isolate_in_another_way(load: Load) -> None:
    experiment = load(
        JAVA,
        "modifiers: {bare: {isolation: none}, boxed: {isolation: docker}}\nmodifier_sets: [[], [bare], [bare, boxed]]",
    )
    kinds = [experiment.isolation_under(chosen).kind for chosen in experiment.modifiers]
    assert kinds == ["cgroup", "none", "docker"]
    assert experiment.images() == (DEFAULT_IMAGE,)


def test_limits_of_processors_time_and_capabilities_are_read(load: Load) -> None:
    assert load(JAVA, "isolation: {memory_mib: 64}").isolation == Isolation("cgroup", 64)
    limited = load(JAVA, "isolation: {processors: 1, cpu_quota: 0.5}").isolation
    assert (limited.kind, limited.processors, limited.cpu_quota) == ("cgroup", 1, 0.5)
    docker = load(JAVA, "isolation: {kind: docker, cpu_quota: 2, capabilities: [SETUID, SETGID]}").isolation
    assert (docker.cpu_quota, docker.capabilities) == (2.0, ("SETUID", "SETGID"))
    assert load(JAVA, "isolation: {kind: none, processors: 2}").isolation.processors == 2


def test_what_makes_no_sense_is_refused_where_it_stands(wrong: Wrong, golden: Golden) -> None:
    for text in (
        "isolation: podman",
        "isolation: {kind: none, memory_mib: 64}",
        "isolation: {kind: docker, memory_mib: 1}",
        "isolation: {kind: docker, image: 'a b'}",
        "isolation: {kind: docker, image: --privileged}",
        "isolation: {kind: docker, images: {no-such: a}}",
        "isolation: {kind: docker, privileged: true}",
        "isolation: {processors: 0}",
        "isolation: {cpu_quota: 0}",
        "isolation: {kind: none, cpu_quota: 0.5}",
        "isolation: {capabilities: [SETUID]}",
        "isolation: {kind: docker, capabilities: [CAP_SETUID]}",
        "isolation: {kind: docker, capabilities: [SUDO]}",
        "isolation: {kind: docker, capabilities: [SETUID, SETUID]}",
    ):
        (problem,) = wrong(JAVA, text)
        golden(text, str(problem))
