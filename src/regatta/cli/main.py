"""The command: one file a verb, loaded when it is asked for, and the one place that prints errors and exits."""

from __future__ import annotations

import contextlib
import json
import os
import sys

import click

import regatta
from regatta.host.errors import RegattaError
from regatta.host.printable import printable

#: verb -> its line in `regatta --help`; each is `regatta.cli.<verb>:<verb>`, with underscores for hyphens, and with one at the
#: end of a name that Python uses itself
VERBS = {
    "demo": "Run the demonstration and show its answer",
    "run": "Run an experiment from its spec to its report",
    "status": "Show what is being measured now",
    "list": "List experiments, suites, runtimes, collectors and hosts",
    "analyze": "Show the answer: intervals, ratios, tests, failures",
    "compare": "Compare groups in a CSV file measured elsewhere",
    "report": "Write the answer as one HTML file",
    "audit": "Hold prevalent methods against the intervals",
    "history": "Compare experiments over time: what shifted, since when",
    "predict": "Predict applications on systems from the cost of primitives",
    "vector": "Make, check or show the vectors of systems and applications",
    "reference": "Make a measured machine the reference of a suite's scores",
    "plot": "Write each figure as SVG, PNG or HTML",
    "explain": "Show the exact command of a cell and what its records say",
    "verify": "Check every planned invocation, checksum and status",
    "ingest": "Write results into InfluxDB, or count both sides",
    "records": "Stream the records of an experiment",
    "plan": "Show or write the plan: cells, order, time",
    "import": "Make specs of running-ng's and ReBench's files",
    "minheap": "Measure the least heaps that a spec needs",
    "build": "Build the workloads of a spec and generate their inputs",
    "hosts": "List the hosts of the inventory: facts, fitness, what changed",
    "quiesce": "Make hosts quiet before measuring, or put them back",
    "doctor": "Show what this machine lacks, and how to install it",
    "check-host": "Ask whether this host is fit to measure on",
    "trace": "Count a program's system calls: its vector of primitives",
    "backup": "Back the InfluxDB up into one file, or restore it",
    "provision": "Make the hosts of a spec ready",
    "segment": "Measure one segment (the workflow calls this)",
    "store": "The embedded database, made from the journal",
    "up": "Start an InfluxDB of one's own, and Grafana with the boards",
    "down": "End what `up` started",
    "schema": "The JSON Schema of specs and registries",
}


class _Verbs(click.Group):
    """Loads a verb's file only when the verb is used, so that `--version` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        import builtins
        from importlib import import_module
        from keyword import iskeyword

        module = name.replace("-", "_") + "_" * (iskeyword(name) or hasattr(builtins, name))
        command = getattr(import_module(f"regatta.cli.{module}"), module)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"there is no verb {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(regatta.__version__, prog_name="regatta", message="%(prog)s %(version)s")
def cli() -> None:
    """Declarative benchmark experiments across fleets of machines, with answers that carry intervals.

    Exit codes: 0 the work is recorded · 1 something in it failed · 2 the spec or the command is wrong · 3 the host is unfit.
    """


def _tell_parent(error: RegattaError) -> None:
    """A workflow hides its jobs' exit codes; `regatta run` names a file in which it looks for them."""
    path = os.environ.get("REGATTA_ERRORS")
    if path:
        line = json.dumps({"exit_code": error.exit_code, "problems": error.shown()})
        # What cannot be told is in the job's log at least, unless the disk is full.
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def main() -> None:
    """Run a verb and exit with its code."""
    try:
        code = cli.main(standalone_mode=False)
    except RegattaError as error:
        for text in error.shown():
            print(f"error: {text}", file=sys.stderr)
        _tell_parent(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of a pipe has seen enough; what Python would print of it at exit is of no use to anyone.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = printable(str(error.filename or "this machine"))
        print(f"error: {where}: {printable(str(error.strerror or error))}", file=sys.stderr)
        sys.exit(3)
    sys.exit(code if isinstance(code, int) else 0)
