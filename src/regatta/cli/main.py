"""Entry point of the command line: one file per command, loaded on use. Errors are printed and exit codes set only here."""

from __future__ import annotations

import contextlib
import json
import os
import sys

import click

import regatta
from regatta.host.errors import RegattaError
from regatta.host.printable import printable

#: group of `regatta --help` -> command -> its summary; "": hidden. Each command is `regatta.cli.<name>:<name>`, those that
#: predict `regatta.models.cli.<name>:<name>`, with underscores for hyphens, and with a trailing underscore for names reserved
#: in Python.
GROUPS = {
    "Measure": {
        "demo": "Run the demonstration and show its answer",
        "time": "Compare commands, without a spec",
        "init": "Write a spec and a suite for your own program",
        "run": "Run an experiment from its spec to its report",
        "gate": "Judge a change: better, worse, equivalent or undecided",
        "bisect": "Find the changes that made a benchmark slower or faster",
        "explain-difference": "Find the work that makes one side slower",
        "status": "Show the progress of experiments",
        "watch": "Show a running experiment: progress and estimates so far",
        "plan": "Show or write the plan: cells, order, duration",
        "explain": "Show the exact command of a cell and its records",
        "list": "List experiments, suites, runtimes, collectors and hosts",
        "import": "Convert files of running-ng and ReBench to specs",
        "build": "Build the workloads of a spec and generate their inputs",
        "minheap": "Measure the smallest heaps for a spec",
        "jit-plan": "Make compilation plans from logged runs, to replay them",
    },
    "Answer": {
        "analyze": "Show the answer: ratios, intervals, tests, failures",
        "report": "Write the answer as one HTML file",
        "plot": "Write figures as SVG, PNG or HTML",
        "records": "Print the records of an experiment",
        "verify": "Check records against the plan and their checksums",
        "compare": "Compare groups in a CSV file measured elsewhere",
        "history": "Compare experiments over time and find shifts",
        "audit": "Compare prevalent methods with confidence intervals",
        "reference": "Use a measured machine as reference for scores",
    },
    "Predict": {
        "vector": "Make, check or show system and application vectors",
        "model": "Make models of the load of a server from its request logs",
        "trace": "Trace the calls, events, files or heap of a program",
        "predict": "Predict applications on systems from vectors",
        "advise": "Choose a collector and a heap size from measurements",
        "primitives": "Rank the primitives of applications; propose a core set",
    },
    "Hosts": {
        "hosts": "List the hosts of the inventory: facts, fitness, changes",
        "provision": "Install everything that a spec needs on its hosts",
        "quiesce": "Reduce noise on hosts before measuring, or restore them",
        "check-host": "Check that this host is fit for measuring",
        "doctor": "Show missing packages of this machine and how to install them",
    },
    "Services": {
        "up": "Start InfluxDB, and Grafana with the dashboards",
        "down": "Stop the services started by `up`",
        "ingest": "Write results to InfluxDB, or verify them there",
        "completion": "Print the completion script for bash, zsh or fish",
    },
    "": {
        "prepare": "Build, prepare hosts, find minheaps and plan (called by the workflow)",
        "segment": "Measure one segment (called by the workflow)",
        "decide": "Decide what all hosts measure next (called by the workflow)",
        "finish": "Verify, fill the database, analyze and report (called by the workflow)",
        "store": "Manage the embedded database made from the journal",
        "schema": "Print the JSON Schema of specs and registries",
    },
}
VERBS = {name: line for verbs in GROUPS.values() for name, line in verbs.items()}


class _Verbs(click.Group):
    """Imports the file of a command only when it is used, so that `--version` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group, verbs in GROUPS.items() if group for name in verbs]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        import builtins
        from importlib import import_module
        from keyword import iskeyword

        module = name.replace("-", "_") + "_" * (iskeyword(name) or hasattr(builtins, name))
        package = "regatta.models.cli" if name in GROUPS["Predict"] else "regatta.cli"
        command = getattr(import_module(f"{package}.{module}"), module)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, verbs in GROUPS.items():
            if group:
                with formatter.section(group):
                    formatter.write_dl(list(verbs.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"unknown command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(regatta.__version__, prog_name="regatta", message="%(prog)s %(version)s")
def cli() -> None:
    """Run declarative benchmark experiments across fleets of machines, and answer with confidence intervals.

    Exit codes: 0 success · 1 a measurement failed · 2 error in the spec or the command · 3 unfit host.
    """


def _tell_parent(error: RegattaError) -> None:
    """Append the error to the file of `regatta run`, because a workflow hides the exit codes of its jobs."""
    path = os.environ.get("REGATTA_ERRORS")
    if path:
        line = json.dumps({"exit_code": error.exit_code, "problems": error.shown()})
        # An error here is still in the log of the job, unless the disk is full.
        with contextlib.suppress(OSError), open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def main() -> None:
    """Run a command and exit with its code."""
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
        # The reader closed the pipe; suppress Python's error message at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = printable(str(error.filename or "this machine"))
        print(f"error: {where}: {printable(str(error.strerror or error))}", file=sys.stderr)
        sys.exit(3)
    except Exception as error:
        from regatta.cli.faults import fault_of

        fault = fault_of(error)
        print(f"error: {fault}", file=sys.stderr)
        _tell_parent(fault)
        sys.exit(fault.exit_code)
    sys.exit(code if isinstance(code, int) else 0)
