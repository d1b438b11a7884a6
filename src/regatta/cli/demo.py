"""`regatta demo`."""

from __future__ import annotations

from pathlib import Path

import click

from regatta.cli.options import spec_results_option


@click.command()
@spec_results_option
@click.pass_context
def demo(ctx: click.Context, results: Path | None) -> int:
    """Run configs/experiments/demo.yml: two JVMs, three collectors, two heap sizes; print the answer and write a report."""
    from regatta.cli.run import run
    from regatta.spec.home import find_home

    spec = find_home() / "configs" / "experiments" / "demo.yml"
    code: int = ctx.invoke(run, spec=spec, results=results, retry_failed=False)
    return code
