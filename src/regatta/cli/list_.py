"""`regatta list`: names for a spec."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regatta.cli.options import json_option

if TYPE_CHECKING:
    from regatta.host.errors import Problem
    from regatta.host.values.experiment import Collector, Modifier, Runtime
    from regatta.spec.registries import Registries
    from regatta.spec.suites import Suite

#: column -> text
Row = dict[str, str]
Rows = Callable[[Path, "list[Problem]"], Iterator[Row]]


@click.command(name="list")
@click.argument(
    "kinds",
    nargs=-1,
    metavar="[KIND]...",
    shell_complete=lambda ctx, param, incomplete: [kind for kind in KINDS if kind.startswith(incomplete)],
)
@json_option
def list_(kinds: tuple[str, ...], as_json: bool) -> int:
    """List the names that a spec may use, with descriptions.

    KIND is experiments, suites, benchmarks, runtimes, collectors, modifiers or hosts. Without KIND, list all but
    benchmarks.
    """
    from regatta.cli.tables import plain_console, show_table
    from regatta.spec.home import find_home

    wrong = [kind for kind in kinds if kind not in KINDS]
    if wrong:
        raise click.BadParameter(f"expected {', '.join(KINDS)} · got {wrong[0]!r}", param_hint="KIND")
    home = find_home()
    problems: list[Problem] = []
    chosen = kinds or tuple(kind for kind in KINDS if kind != "benchmarks")
    found = {kind: list(KINDS[kind](home, problems)) for kind in chosen}
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        console = plain_console()
        for kind, rows in found.items():
            header = tuple(rows[0]) if rows else ()
            show_table(console, kind, header, [tuple(row.values()) for row in rows], left=header)
            if not rows:
                click.echo(f"\nno {kind} in {home / 'configs'}")
    for problem in problems:
        click.echo(f"error: {problem}", err=True)
    return 2 if problems else 0


def _experiments(home: Path, problems: list[Problem]) -> Iterator[Row]:
    from regatta.host.errors import SpecError
    from regatta.spec.include import read_with_includes
    from regatta.spec.problems import shown_path

    for path in sorted((home / "configs" / "experiments").glob("*.yml")):
        try:
            document = read_with_includes(path, shown_path(path))
        except SpecError as error:
            problems += error.problems
        else:
            yield {"spec": shown_path(path), "question": str(document.value.get("question", ""))}


def _read_suites(home: Path, problems: list[Problem]) -> Iterator[Suite]:
    from regatta.spec.registries import read_registry
    from regatta.spec.suites import check_suite

    for path in sorted((home / "configs" / "suites").glob("*.yml")):
        document = read_registry(path, problems)
        suite = None if document is None else check_suite(document, problems, path.stem)
        if suite is not None:
            yield suite


def _suites(home: Path, problems: list[Problem]) -> Iterator[Row]:
    for suite in _read_suites(home, problems):
        count, description = str(len(suite.model.benchmarks)), suite.model.description
        yield {"suite": suite.model.suite, "benchmarks": count, "description": description}


def _benchmarks(home: Path, problems: list[Problem]) -> Iterator[Row]:
    for suite in _read_suites(home, problems):
        for name, benchmark in suite.model.benchmarks.items():
            sizes, description = ", ".join(benchmark.sizes), benchmark.description
            yield {"suite": suite.model.suite, "benchmark": name, "sizes": sizes, "description": description}


def _registries(home: Path, problems: list[Problem]) -> Registries:
    from regatta.spec.registries import read_registries

    return read_registries(home, problems)


def _registered(kind: str, columns: Callable[[Any], Row]) -> Rows:
    """Return the function for the entries of a registry. `columns`: those besides name and description, of one entry."""

    def rows(home: Path, problems: list[Problem]) -> Iterator[Row]:
        found = _registries(home, problems)
        for name, one in getattr(found, kind).items():
            yield {kind[:-1]: name, "description": found.descriptions[kind][name], **columns(one)}

    return rows


def _runtime(one: Runtime) -> Row:
    of_git = f"{one.repository} {one.revision}".strip()
    of_package = f"{one.package} {one.version}".strip()
    return {
        "kind": one.kind,
        "provider": one.provider,
        "source": of_package or one.path or one.directory or of_git or ", ".join(one.archives),
        "flags": " ".join(one.flags),
        "architectures": ", ".join(one.architectures) or "all",
    }


def _collector(one: Collector) -> Row:
    return {"flags": " ".join(one.flags), "not with": ", ".join(one.refused_by)}


def _modifier(one: Modifier) -> Row:
    environment = " ".join(f"{key}={value}" for key, value in one.environment.items())
    return {"flags": " ".join(one.flags), "environment": environment, "not with": ", ".join(one.refused_by)}


def _hosts(home: Path, problems: list[Problem]) -> Iterator[Row]:
    from regatta.spec.inventory import read_descriptions

    descriptions = read_descriptions(home)
    for platform, hosts in _registries(home, problems).platforms.items():
        for host in hosts:
            ways = {"this machine": host.is_local, "ssh": host.ssh, "slurm": host.slurm}
            access = ", ".join(way for way, has in ways.items() if has)
            description = descriptions.get(host.name, "")
            yield {"host": host.name, "description": description, "platform": platform, "access": access}


#: kind -> function that yields its rows and appends problems of the files
KINDS: dict[str, Rows] = {
    "experiments": _experiments,
    "suites": _suites,
    "benchmarks": _benchmarks,
    "runtimes": _registered("runtimes", _runtime),
    "collectors": _registered("collectors", _collector),
    "modifiers": _registered("modifiers", _modifier),
    "hosts": _hosts,
}
