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
    """What the steps hand on: the spec is read once, and the hosts are prepared once."""

    _experiment: Experiment
    _home: Path
    _ready: Ready

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

        self._prepare_hosts()
        show_hosts(self._ready)
        write_hosts(self._ready, self._way, self._place.receipts / "provision.json")
        note(self._place, "provisioned")

    def _prepare_hosts(self) -> None:
        from regatta.cli.options import make_ready_for

        self._ready = make_ready_for(self._experiment, self._home, self._place.path.parent, self._way)

    def _find_minheaps(self) -> None:
        from regatta.cli.minheap import find_minheaps

        find_minheaps(self._ready, self._place.receipts / "minheap.json")

    def _plan(self) -> None:
        from regatta.cli.plan import plan_hosts, write_plans

        if self._ready.agents:
            # Minheaps take hours, after which a host can be unreachable.
            self._prepare_hosts()
        else:
            self._ready.read_minheaps()
        click.echo(write_plans(self._ready, plan_hosts(self._ready)))
