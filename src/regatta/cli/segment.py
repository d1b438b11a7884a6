"""`regatta segment FOLDER --host HOST --segment N`: one job of the workflow."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.host.values.host import WISHES, Wish

if TYPE_CHECKING:
    from regatta.host.errors import Problem
    from regatta.host.values.host import Host
    from regatta.influx.settings import Settings
    from regatta.store.folder import Folder

_ESTIMATE_EVERY_S = 5.0


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--host", "name", required=True, help="Host of the plan.")
@click.option("--segment", "number", type=int, required=True, help="Number of the segment, from 0.")
@click.option("--way", type=click.Choice(WISHES), help="Profile. [default: that of the plan, or ssh]")
@click.option(
    "--receipt",
    type=click.Path(path_type=Path),
    required=True,
    help="File to write at the end of the segment.",
)
@click.option("--retry-failed", is_flag=True, help="Repeat failed invocations once.")
def segment(folder: Path, name: str, number: int, way: Wish | None, receipt: Path, retry_failed: bool) -> int:
    """Measure one segment of the plan in FOLDER, on this machine or on its host."""
    from regatta.host.errors import HostError
    from regatta.store.folder import Folder, read_json, write_json
    from regatta.store.receipts import way_of, withdraw_for_another_way

    place = Folder(folder)
    reason = read_json(place.experiment, "run `regatta plan SPEC --write`").get("left_out", {}).get(name)
    if reason:
        click.echo(f"excluded: {reason}", err=True)
        write_json(receipt, {"host": name, "segment": number, "left_out": reason})
        return 0
    before = way_of(place)
    if way is not None and withdraw_for_another_way(place, way):
        raise HostError(
            f"{place.name}: the plan",
            f"one for profile {way}",
            f"one for profile {before}",
            "run the same command again: it inspects the hosts and plans again",
        )
    wish: Wish = "ssh"
    for known in WISHES:
        wish = known if known == (way or before) else wish
    retry_failed = retry_failed or bool(os.environ.get("REGATTA_RETRY_FAILED"))
    members = [member["host"] for member in place.host_header(name).get("members", ())]
    if members:
        ways, under = _ways_to(place, name, members, wish)
        _become_the_runner(place, name, number, receipt, retry_failed, ["--ways", str(ways)], under)
    host = None if wish == "local" else _host(place, name)
    if host is None or host.way(wish) == "local":
        _become_the_runner(place, name, number, receipt, retry_failed)
    assert host is not None
    return _measure_elsewhere(place, host, number, wish, receipt, retry_failed)


def _host(place: Folder, name: str) -> Host:
    """Return the host from the current inventory: its address may have changed since planning."""
    from regatta.host.errors import HostError
    from regatta.spec.home import find_home
    from regatta.spec.inventory import inventory_path

    platform = place.host_header(name)["platform"]
    for host in _platforms().get(platform, ()):
        if host.name == name:
            return host
    raise HostError(
        f"{inventory_path(find_home())}",
        f"host {name} in group {platform}",
        "none",
        "plan again: `regatta run`",
    )


def _platforms() -> dict[str, tuple[Host, ...]]:
    from regatta.host.errors import SpecError
    from regatta.spec.home import find_home
    from regatta.spec.inventory import read_inventory

    problems: list[Problem] = []
    platforms = read_inventory(find_home(), problems)
    if problems:
        raise SpecError(problems)
    return platforms


def _ways_to(place: Folder, name: str, members: Sequence[str], wish: Wish) -> tuple[Path, list[str]]:
    """Write how the runner reaches the hosts that measure together.

    Returns:
        The file, and the words of a command under which the runner must work; empty: none.
    """
    from regatta.fleet.role_hosts import allocation_of, ways_to
    from regatta.host.errors import HostError
    from regatta.spec.home import find_home
    from regatta.spec.inventory import inventory_path
    from regatta.store.folder import write_json

    hosts = {host.name: host for known in _platforms().values() for host in known}
    missing = [member for member in members if member not in hosts]
    if missing:
        where = f"{inventory_path(find_home())}"
        raise HostError(where, f"host {missing[0]}", "none", "plan again: `regatta run`")
    path = place.state / f"{name}.ways.json"
    together = [hosts[member] for member in members]
    write_json(path, ways_to(together, place, wish))
    return path, allocation_of(together, name) if wish == "cluster" else []


def runner_arguments(place: Folder, name: str, number: int, receipt: Path) -> list[str]:
    """Return the arguments of the runner that measures a segment on this machine.

    Args:
        place: folder of the experiment.
        name: host of the plan.
        number: of the segment, from 0.
        receipt: file to write at the end.
    """
    return [
        "segment",
        "--plan", str(place.host_plan(name)),
        "--segment", str(number),
        "--journal", str(place.journal / name),
        "--state", str(place.state / f"{name}.json"),
        "--scratch", str((place.scratch / name).resolve()),
        "--receipt", str(receipt),
    ]  # fmt: skip


def _become_the_runner(
    place: Folder,
    name: str,
    number: int,
    receipt: Path,
    retry_failed: bool,
    more: Sequence[str] = (),
    under: Sequence[str] = (),
) -> None:
    """Replace this process by the runner, so that no other process waits for it during measurements.

    Args:
        more: further arguments of the runner.
        under: words of a command that executes the runner.
    """
    runner = [sys.executable, "-I", str(place.runner), *runner_arguments(place, name, number, receipt), *more]
    argv = [*under, *runner]
    from regatta.fleet.zipapp import zipapp_bytes

    # After an upgrade of Regatta, a running experiment keeps its runner.
    if place.runner.read_bytes() == zipapp_bytes() and not under:
        from regatta.cli.companion import start_companion

        try:
            argv += ["--pauses", str(start_companion(place, name, number, _influx()))]
        except OSError as error:
            click.echo(
                f"no estimates, and nothing sent to InfluxDB, until the segment ends: {error}", err=True
            )
    os.execv(argv[0], [*argv, *(["--retry-failed"] if retry_failed else [])])


def _sent_meanwhile(place: Folder, name: str) -> AbstractContextManager[None]:
    settings = _influx()
    if settings is None:
        return nullcontext()
    from regatta.influx.live import sent_beside

    return sent_beside(place, name, settings, lambda text: click.echo(text, err=True))


@contextmanager
def _estimated_meanwhile(place: Folder, name: str) -> Iterator[None]:
    """Compute interim comparisons in a thread while this process follows a remote host."""
    from regatta.answers.spine.so_far import Estimates
    from regatta.host.journal.runner_state import node_is_here

    over = threading.Event()
    estimates = Estimates(place)

    def work() -> None:
        with suppress(OSError):
            while not over.wait(_ESTIMATE_EVERY_S):
                if not node_is_here(place.state, name):
                    estimates.look()

    thread = threading.Thread(target=work, name="estimates", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        # At the end of the process, Python would stop this thread inside DuckDB, which aborts the process.
        thread.join()


def _influx() -> Settings | None:
    """Return the InfluxDB for live results; None without one. Invalid settings do not stop a measurement."""
    from regatta.host.errors import RegattaError
    from regatta.influx.settings import find_settings
    from regatta.spec.home import find_home

    try:
        return find_settings(find_home())
    except RegattaError as error:
        click.echo(f"not sent to InfluxDB until the segment ends: {error}", err=True)
        return None


def _measure_elsewhere(
    place: Folder, host: Host, number: int, way: Wish, receipt: Path, retry_failed: bool
) -> int:
    from regatta.fleet.controller_side import Stopped
    from regatta.host.errors import HostError
    from regatta.store.receipts import ask_hosts_again

    try:
        with _sent_meanwhile(place, host.name), _estimated_meanwhile(place, host.name):
            if host.way(way) == "slurm":
                from regatta.fleet.slurm_segments import SlurmSegment

                SlurmSegment(place, host, number, receipt, retry_failed).run()
                return 0
            from regatta.fleet.agent import Agent
            from regatta.fleet.detached import DetachedSegment
            from regatta.fleet.remote.connect import connect
            from regatta.store.folder import write_json

            told = DetachedSegment(place, Agent(connect(host, way)), number, retry_failed).run()
    except Stopped:
        click.echo("stopped; records are kept, and the same command continues", err=True)
        return 130
    except HostError:
        # Inputs of the plan may have changed on the host: the next run asks it again, which costs little.
        ask_hosts_again(place)
        raise
    write_json(receipt, told)
    for refused in told["refused"]:
        click.echo(f"rejected: {refused}", err=True)
    return 0
