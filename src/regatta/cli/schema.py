"""`regatta schema`: JSON schemas of a spec, a suite or a registry."""

from __future__ import annotations

import json

import click

from regatta.spec.schema_docs import KINDS, Kind, schema_of, spec_markdown


@click.command()
@click.option(
    "--markdown",
    is_flag=True,
    help="Print the reference page of all kinds (docs/spec.md) instead of JSON Schema.",
)
@click.option("--kind", type=click.Choice(KINDS), default="spec", show_default=True, help="The kind of file.")
def schema(markdown: bool, kind: Kind) -> None:
    """Print the JSON Schema of the spec, for editors."""
    if markdown:
        click.echo(spec_markdown(), nl=False)
    else:
        click.echo(json.dumps(schema_of(kind), indent=2, ensure_ascii=False))
