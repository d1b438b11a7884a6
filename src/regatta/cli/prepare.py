"""`regatta prepare SPEC FOLDER LOGS`: the job of the workflow before the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.handover import handed_experiment
from regatta.cli.options import spec_argument, way_option
from regatta.cli.parts import Part, note, run_parts
from regatta.host.values.host import Wish
from regatta.store.folder import Folder
from regatta.store.receipts import PLANNED, write_preparation

if TYPE_CHECKING:
    from regatta.cli.options import Ready
    from regatta.host.values.experiment import Experiment


@click.command()
@spec_argument
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.argument("logs", nargs=4, type=click.Path(dir_okay=False, path_type=Path))
@way_option
def prepare(spec: Path, folder: Path, logs: tuple[Path, ...], way: Wish) -> None:
    """Build the workloads of SPEC, prepare its hosts, find its minheaps, and write its plan to FOLDER.

    LOGS are the logs of these four steps. Each step leaves its result in FOLDER.
    """
    place = Folder(folder)
    run_parts(place, _Preparation(spec, place, way).parts(), logs)


class _Preparation:
    """What the steps hand on: the experiment, which is read once, and its hosts.

    Each step prepares the hosts again, which costs little: the package of one runtime can change another runtime, and after
    hours of minheaps a host can be unreachable.
    """

    _experiment: Experiment
    _home: Path

    def __init__(self, spec: Path, place: Folder, way: Wish) -> None:
        self._spec = spec
        self._place = place
        self._way = way

    def parts(self) -> Iterator[Part]:
        """Yield the steps."""
        yield "build", self._build
        yield "provision", self._provision
        yield "calibrate", self._find_minheaps
        yield "plan", self._plan

    def _build(self) -> None:
        from regatta.cli.build import build_workloads
        from regatta.spec.home import find_home

        self._home = find_home(self._spec)
        self._experiment = handed_experiment(self._spec, self._home)
        build_workloads(self._experiment, self._home, self._way, self._place.receipts / "build.json")

    def _provision(self) -> None:
        from regatta.cli.provision import show_hosts, write_hosts

        ready = self._ready()
        show_hosts(ready)
        write_hosts(ready, self._way, self._place.receipts / "provision.json")
        note(self._place, "provisioned")

    def _ready(self) -> Ready:
        from regatta.cli.options import make_ready_for

        return make_ready_for(self._experiment, self._home, self._place.path.parent, self._way)

    def _find_minheaps(self) -> None:
        from regatta.cli.minheap import find_minheaps

        find_minheaps(self._ready(), self._place.receipts / "minheap.json")

    def _plan(self) -> None:
        from regatta.cli.plan import plan_hosts, write_plans

        ready = self._ready()
        click.echo(write_plans(ready, plan_hosts(ready)))
        write_preparation(self._place.receipts / PLANNED, {})
