"""An experiment in which web servers were measured on two hosts and under a quota, with system vectors beside: made up."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner, Result

from helpers.synthetic_journal import native, record, write_facts, write_journal, write_plan
from helpers.thesis_vectors import write_thesis_vectors
from regatta.cli.main import cli
from regatta.host.errors import SpecError

#: system -> host, modifiers, the thesis's system that it is like, how much slower it really is than predicted
PLACES: dict[str, tuple[str, str, str, float]] = {
    "alpha": ("alpha", "none", "intel-550", 1.04),
    "alpha-half-quota": ("alpha", "half-quota", "sun-333", 0.97),
    "beta": ("beta", "none", "sun-400", 1.08),
}
#: benchmark -> time in the kernel in us on Intel-550, Sun-333, Sun-400, as the thesis's vectors predict it, nearly
KERNEL_US = {
    "web/apache-static:default": (592.5, 874.0, 628.7),
    "web/apache-cgi:default": (4774.0, 10187.0, 9166.0),
    "web/apache-fastcgi:default": (867.0, 1383.0, 1063.0),
    "web/apache-cgi-mix:default dynamic_percent=30": (1847.0, 3668.0, 3190.0),
    "web/apache-fastcgi-mix:default dynamic_percent=30": (675.0, 1027.0, 759.0),
}
_LIKE = ("intel-550", "sun-333", "sun-400")
USER_US = 80.0
ROUNDS = 6


def write_served_experiment(
    folder: Path, spread: float = 0.02, off: Mapping[str, float] | None = None, experiment: str = "made-up"
) -> Path:
    """`results/served` in `folder`, with `vectors/`, and the thesis's vectors as `systems/` and `applications/`.

    `spread`: of the costs' intervals to each side. `off`: measured over predicted time in the kernel, by system.
    `experiment`: what the vectors say they are of.
    """
    off = {**{system: place[3] for system, place in PLACES.items()}, **(off or {})}
    write_thesis_vectors(folder, spread)
    directory = folder / "results" / "served"
    rng = np.random.default_rng(6)
    for host in ("alpha", "beta"):
        cells = [
            (native(benchmark, modifiers=modifiers, metric="elapsed_per_request"), system, times)
            for system, (own, modifiers, _, _) in PLACES.items()
            if own == host
            for benchmark, times in KERNEL_US.items()
        ]
        write_plan(directory, [one for one, _, _ in cells], ROUNDS, host=host)
        lines = [
            record(
                one,
                r,
                _rows(rng, times[_LIKE.index(PLACES[system][2])] * off[system]),
                host=host,
                position=position,
            )
            for r in range(ROUNDS)
            for position, (one, system, times) in enumerate(cells)
        ]
        write_journal(directory, lines, host)
    write_facts(directory, method="startup")
    vectors = directory / "vectors"
    vectors.mkdir()
    for system, (host, modifiers, like, _) in PLACES.items():
        text = (folder / "systems" / f"{like}.yml").read_text()
        configuration = "native" if modifiers == "none" else f"native {modifiers}"
        text = text.replace(f"name: {like}", f"name: {system}").replace(f"host: {like}", f"host: {host}")
        text = text.replace("experiment: thesis", f"experiment: {experiment}").replace(
            "configuration: native", f"configuration: {configuration}"
        )
        (vectors / f"{system}.yml").write_text(text)
    return folder


def _rows(rng: np.random.Generator, kernel_us: float) -> list[list[Any]]:
    kernel_ns = 1e3 * kernel_us * float(rng.normal(1, 0.005))
    user_ns = 1e3 * USER_US * float(rng.normal(1, 0.01))
    return [
        [0, "elapsed_per_request", kernel_ns + user_ns, "ns", None, None],
        [0, "kernel_time", kernel_ns, "ns", None, None],
        [0, "user_time", user_ns, "ns", None, None],
    ]


def as_home(folder: Path) -> Path:
    """The same folder as a home: its vectors are in the registries."""
    (folder / "configs").mkdir()
    (folder / "configs" / "runtimes.yml").write_text("runtimes: {}\n")
    for name in ("systems", "applications"):
        shutil.copytree(folder / name, folder / "configs" / name)
    return folder


def regatta(folder: Path, *arguments: str) -> Result:
    """A command with `folder` as its home."""
    env = {"REGATTA_HOME": str(folder), "COLUMNS": "200"}
    return CliRunner().invoke(cli, [*arguments, "--results", str(folder / "results")], env=env)


def refused(result: Result) -> list[str]:
    """The problems for which a command was refused."""
    assert isinstance(result.exception, SpecError), result.output
    assert result.exception.exit_code == 2
    return [str(problem) for problem in result.exception.problems]
