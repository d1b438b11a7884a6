"""`regatta schema`: what a spec, a suite or a registry may say."""

from __future__ import annotations

import json
from typing import cast

import click


@click.command()
@click.option(
    "--markdown",
    is_flag=True,
    help="Print the reference page of all kinds (docs/spec.md) instead of JSON Schema.",
)
@click.option(
    "--kind",
    type=click.Choice(
        [
            "spec",
            "suite",
            "reference",
            "minheap",
            "runtimes",
            "collectors",
            "modifiers",
            "system",
            "application",
            "primitives",
            "calls",
        ]
    ),
    default="spec",
    show_default=True,
    help="The kind of file.",
)
def schema(markdown: bool, kind: str) -> None:
    """Print the JSON Schema of the spec, for editors."""
    from regatta.spec.schema_docs import Kind, schema_of, spec_markdown

    if markdown:
        click.echo(spec_markdown(), nl=False)
    else:
        click.echo(json.dumps(schema_of(cast(Kind, kind)), indent=2, ensure_ascii=False))
