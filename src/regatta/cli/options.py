"""Options and arguments shared by several commands, and their interpretation."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from regatta.host.values.host import WISHES, Wish
from regatta.store.folder import DEFAULT_RESULTS, Folder, experiment_names

if TYPE_CHECKING:
    from regatta.fleet.agent import Agent
    from regatta.host.values.experiment import Experiment
    from regatta.host.values.resolved import ResolvedHost
    from regatta.influx.client import Client
    from regatta.influx.settings import Settings
    from regatta.planner.cells import Crossing


def split_command(command: str) -> list[str]:
    """Return the words of a command that is quoted as for a shell, at least one. Raises UsageError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"{command}: {error}") from error
    if not words:
        raise click.UsageError("expected a command, got nothing")
    return words


def complete_experiment(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[str] | list[CompletionItem]:
    """Return the experiments in the folder of results that a shell may complete; folders for a path."""
    if "/" in incomplete:
        return [CompletionItem(incomplete, type="dir")]
    names = experiment_names(Path(ctx.params.get("results") or DEFAULT_RESULTS))
    return [name for name in names if name.startswith(incomplete)]


experiment_argument = click.argument("experiment", shell_complete=complete_experiment)
optional_experiment_argument = click.argument(
    "experiment", required=False, shell_complete=complete_experiment
)
results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_RESULTS,
    show_default=True,
    help="Directory of all results, with one directory per experiment.",
)
spec_results_option = click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of all results, with one directory per experiment. [default: `results` of the spec, or results]",
)


class Percentage(click.ParamType[float]):
    """A percentage above 0 and up to 100."""

    name = "percentage"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. Raises UsageError."""
        try:
            number = float(str(value))
        except ValueError:
            number = 0.0
        # NaN is in no range.
        if not 0.0 < number <= 100.0:
            self.fail(f"expected a number above 0, up to 100 · got {value!r}", param, ctx)
        return number


profile_option = click.option(
    "--profile",
    type=click.Choice(WISHES),
    help="How to access hosts. [default: local if all are this machine, else ssh]",
)
spec_argument = click.argument("spec", type=click.Path(dir_okay=False, path_type=Path))
way_option = click.option(
    "--way",
    type=click.Choice(WISHES),
    default="ssh",
    show_default=True,
    help="How to access other hosts, as the profile of that name does.",
)
primitives_option = click.option(
    "--primitives",
    default="os",
    show_default=True,
    metavar="NAME|FILE",
    help="Table of primitives for system vectors: a name in configs/primitives, or a file.",
)
summary_option = click.option(
    "--summary",
    default="median",
    show_default=True,
    metavar="median|mean|trimmed:N",
    help="How to summarize records if an experiment has no system vectors yet.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@dataclass
class Ready:
    """An experiment with all inputs of planning."""

    experiment: Experiment
    home: Path
    results: Path
    folder: Folder
    hosts: dict[str, ResolvedHost]
    #: host -> why it is excluded now
    left_out: dict[str, str]
    #: agents of remote hosts
    agents: dict[str, Agent]
    #: platform -> (benchmark label, runtime) -> MiB
    minheaps: dict[str, dict[tuple[str, str], int]]

    def crossings(self) -> dict[str, Crossing]:
        """Return host name -> its cells, after training runs.

        Raises:
            SpecError: a minheap is missing, or two alternatives are equal.
        """
        from regatta.host.errors import HostError
        from regatta.host.ready.training import train_here
        from regatta.planner.cells import cross
        from regatta.planner.training import train_cells

        def trained(host: ResolvedHost) -> Crossing:
            agent = self.agents.get(host.name)
            train = agent.train if agent else train_here
            crossing = cross(self.experiment, host, self.minheaps[host.platform])
            return train_cells(crossing, lambda cells: train(cells, self.experiment, host))

        found = {}
        for name, host in list(self.hosts.items()):
            try:
                found[name] = trained(host)
            except HostError as error:
                # A problem of this machine is an error; a remote host among several is excluded, and the others continue.
                if name not in self.agents or len(self.hosts) == 1:
                    raise
                self.left_out[name] = str(error)
                del self.hosts[name]
        return found


def make_ready(spec: Path, results: Path | None, way: Wish) -> Ready:
    """Read a spec and prepare its hosts; a second call costs little.

    Raises:
        SpecError: the spec is invalid.
        HostError: a build fails, no runtime is available, or no host is ready.
    """
    from regatta.spec.home import find_home
    from regatta.spec.load import load_spec

    home = find_home(spec)
    experiment = load_spec(spec, home)
    return make_ready_for(experiment, home, results or Path(experiment.results_directory), way)


def make_ready_for(experiment: Experiment, home: Path, results: Path, way: Wish) -> Ready:
    """Prepare the hosts of an experiment; see `make_ready`."""
    from regatta.fleet.preparing import make_hosts_ready
    from regatta.planner.minheaps import known_minheaps
    from regatta.store.folder import minheap_dir

    found = make_hosts_ready(experiment, home, way)
    minheaps = known_minheaps(experiment, list(found.hosts.values()), minheap_dir(results))
    folder = Folder(results / experiment.name)
    return Ready(experiment, home, results, folder, found.hosts, found.left_out, found.agents, minheaps)


def influx_settings() -> Settings:
    """Return the settings of InfluxDB. Raises SpecError if they are missing or invalid."""
    from regatta.host.errors import Problem, SpecError
    from regatta.influx.settings import find_settings
    from regatta.spec.home import known_home

    settings = find_settings(known_home())
    if settings is None:
        expected = "settings in $REGATTA_INFLUX or configs/influx.yml"
        fix = "`regatta up` starts one; configs/influx.example.yml.txt describes one that you have"
        raise SpecError([Problem("InfluxDB", expected, "none", fix)])
    return settings


def write_to_influx(write: Callable[[Client], int], what: str, command: str) -> None:
    """Write points that belong to no journal, and print their number.

    Args:
        write: writes the points and returns their number.
        what: plural name of the points.
        command: command that writes them again.

    Raises:
        StoreError: the database does not answer, or the account may not write or delete.
        VerificationError: it refused some points.
    """
    from regatta.host.errors import VerificationError
    from regatta.influx.client import Client

    settings = influx_settings()
    client = Client(settings, "write", say=lambda text: click.echo(text, err=True))
    try:
        count = write(client)
    finally:
        client.close()
    if refused := client.refusals.count:
        raise VerificationError(
            settings.url,
            f"all {count} {what} accepted",
            f"{refused} rejected: {client.refusals.reason}; earlier ones are deleted",
            f"correct the reason, then run `{command}` again",
        )
    click.echo(f"{what} written to {settings.url}: {count}", err=True)


def grafana_url() -> str | None:
    """Return the address of Grafana in the settings of InfluxDB; None if missing or invalid."""
    from regatta.host.errors import RegattaError
    from regatta.influx.settings import find_settings
    from regatta.spec.home import known_home

    try:
        settings = find_settings(known_home())
    except RegattaError as error:
        # Invalid settings are an error when sending points, but a report does not depend on them.
        click.echo(f"the report has no links to Grafana: {error}", err=True)
        return None
    return None if settings is None else settings.grafana_url
