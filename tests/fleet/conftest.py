"""Fixtures of the fleet: hosts that are reached over SSH (containers), and a Slurm of two nodes, all for the session.

    x86_hosts       two hosts as TestHost (helpers.hosts.host_containers), x86-64, without a compiler
    arm_host        one that is aarch64, emulated; with gcc and make
    slurm_cluster   SlurmCluster (helpers.hosts.slurm_cluster): two nodes of this machine, each with a feature of its own
    whole_guest     Guest (helpers.hosts.guests): an emulated machine for the tests of a file

A test that does something lasting to a host (packages, a reboot) shares it with those after it. What cannot be had
here is skipped, and the line that says so goes to the terminal, too.
"""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.docker_engine import DockerEngine
from helpers.hosts import guests, host_images
from helpers.hosts.host_containers import HostMaker, TestHost, host_maker
from helpers.hosts.slurm_cluster import CannotStartError, SlurmCluster, slurm

HERE = Path(__file__).parent
IMAGES_S = 2400


def skip_loudly(reason: str) -> None:
    """Skip, and say so where nobody overlooks it."""
    print(f"\nNOT TESTED HERE: {reason}", file=sys.__stderr__, flush=True)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def hosts(docker_engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostMaker]:
    """Starts hosts: `hosts.start(["name"], host_images.x86())`."""
    with host_maker(docker_engine.docker, tmp_path_factory.mktemp("hosts")) as maker:
        yield maker


@pytest.fixture(scope="session")
def x86_hosts(hosts: HostMaker) -> Iterator[list[TestHost]]:
    """Two hosts, x86-one and x86-two."""
    yield from _started(hosts, ["x86-one", "x86-two"], host_images.x86())


@pytest.fixture(scope="session")
def arm_host(hosts: HostMaker) -> Iterator[TestHost]:
    """The host arm-one: right for function, meaningless for speed where it is emulated."""
    for started in _started(hosts, ["arm-one"], host_images.arm()):
        yield started[0]


def _started(hosts: HostMaker, names: list[str], recipe: host_images.Recipe) -> Iterator[list[TestHost]]:
    with contextlib.ExitStack() as ends:
        try:
            ends.enter_context(host_images.emulation(recipe.architecture))
            started = hosts.start(names, recipe)
        except host_images.CannotMakeError as error:
            skip_loudly(f"no {host_images.MACHINE_OF[recipe.architecture]} test hosts: {error}")
        ends.callback(hosts.remove, started)
        yield started


@pytest.fixture(scope="session")
def slurm_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """A Slurm of two nodes; `slurm_cluster.environment` is what its commands need."""
    with contextlib.ExitStack() as ends:
        try:
            cluster = ends.enter_context(slurm(tmp_path_factory.mktemp("slurm")))
        except CannotStartError as error:
            skip_loudly(f"no Slurm: {error}")
        yield cluster


@pytest.fixture(scope="module", params=guests.SUITES)
def whole_guest(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[guests.Guest]:
    """A machine with its own kernel and systemd."""
    with contextlib.ExitStack() as ends:
        try:
            guest = ends.enter_context(guests.guest(request.param, tmp_path_factory.mktemp("guest")))
        except host_images.CannotMakeError as error:
            skip_loudly(f"no whole guest of {request.param}: {error}")
        yield guest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test that asks for hosts waits until their images are made, which takes minutes on a new machine."""
    for item in items:
        if item.path.parent == HERE and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(IMAGES_S))
