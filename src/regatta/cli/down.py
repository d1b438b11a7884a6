"""`regatta down`: stop the services of `regatta up`."""

from __future__ import annotations

import click


@click.command()
@click.option(
    "--delete",
    is_flag=True,
    help="Also delete their data and passwords. The journals stay and can be ingested again.",
)
def down(delete: bool) -> None:
    """Stop the services started by `regatta up`. Data and passwords stay; commands write only to the journal again."""
    from regatta.services.folder import service_folder
    from regatta.services.stack import down as end_services
    from regatta.spec.home import find_home

    here = service_folder()
    ended = end_services(here, find_home(), delete)
    click.echo(f"stopped: {', '.join(ended)}" if ended else "no service was running")
    if delete:
        click.echo(f"deleted: data and passwords in {here.root}")
    elif ended:
        place = "the volumes of Docker" if "the containers" in ended else here.root
        click.echo(f"data stays in {place}")
