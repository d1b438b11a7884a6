"""`regatta list`: names for a spec."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from regatta.cli.options import json_option

if TYPE_CHECKING:
    from regatta.host.errors import Problem
    from regatta.spec.registries import Registries
    from regatta.spec.suites import Suite

#: column -> text
Row = dict[str, str]


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
        model = suite.model
        yield {
            "suite": model.suite,
            "benchmarks": str(len(model.benchmarks)),
            "description": model.description,
        }


def _benchmarks(home: Path, problems: list[Problem]) -> Iterator[Row]:
    for suite in _read_suites(home, problems):
        for name, benchmark in suite.model.benchmarks.items():
            yield {
                "suite": suite.model.suite,
                "benchmark": name,
                "sizes": ", ".join(benchmark.sizes),
                "description": benchmark.description,
            }


def _registries(home: Path, problems: list[Problem]) -> Registries:
    from regatta.spec.registries import read_registries

    return read_registries(home, problems)


def _runtimes(home: Path, problems: list[Problem]) -> Iterator[Row]:
    found = _registries(home, problems)
    for name, one in found.runtimes.items():
        of_git = f"{one.repository} {one.revision}".strip()
        of_package = f"{one.package} {one.version}".strip()
        source = of_package or one.path or one.directory or of_git or ", ".join(one.archives)
        yield {
            "runtime": name,
            "description": found.descriptions["runtimes"][name],
            "kind": one.kind,
            "provider": one.provider,
            "source": source,
            "flags": " ".join(one.flags),
            "architectures": ", ".join(one.architectures) or "all",
        }


def _collectors(home: Path, problems: list[Problem]) -> Iterator[Row]:
    found = _registries(home, problems)
    for name, one in found.collectors.items():
        yield {
            "collector": name,
            "description": found.descriptions["collectors"][name],
            "flags": " ".join(one.flags),
            "not with": ", ".join(one.refused_by),
        }


def _modifiers(home: Path, problems: list[Problem]) -> Iterator[Row]:
    found = _registries(home, problems)
    for name, one in found.modifiers.items():
        yield {
            "modifier": name,
            "description": found.descriptions["modifiers"][name],
            "flags": " ".join(one.flags),
            "environment": " ".join(f"{key}={value}" for key, value in one.environment.items()),
            "not with": ", ".join(one.refused_by),
        }


def _hosts(home: Path, problems: list[Problem]) -> Iterator[Row]:
    from regatta.spec.inventory import read_descriptions

    descriptions = read_descriptions(home)
    for platform, hosts in _registries(home, problems).platforms.items():
        for host in hosts:
            ways = (
                "this machine" if host.is_local else "",
                "ssh" if host.ssh else "",
                "slurm" if host.slurm else "",
            )
            yield {
                "host": host.name,
                "description": descriptions.get(host.name, ""),
                "platform": platform,
                "access": ", ".join(filter(None, ways)),
            }


#: kind -> function that yields its rows and appends problems of the files
KINDS: dict[str, Callable[[Path, list[Problem]], Iterator[Row]]] = {
    "experiments": _experiments,
    "suites": _suites,
    "benchmarks": _benchmarks,
    "runtimes": _runtimes,
    "collectors": _collectors,
    "modifiers": _modifiers,
    "hosts": _hosts,
}
