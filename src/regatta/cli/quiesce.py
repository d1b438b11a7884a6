"""`regatta quiesce`: reduce noise on hosts before measuring, and restore them afterwards."""

from __future__ import annotations

import click

from regatta.host.errors import HostError


@click.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--restore", is_flag=True, help="Restore all settings that were changed.")
@click.option("--check", is_flag=True, help="List the changes without making them.")
def quiesce(names: tuple[str, ...], restore: bool, check: bool) -> None:
    """Reduce noise on hosts or groups of the inventory: governor, boost, interrupts, swap and more. --restore restores them.

    Each host keeps the original settings, to restore them after a crash too (docs/quiet-host.md).
    """
    from regatta.fleet.ansible import run_playbook
    from regatta.fleet.census import choose_hosts
    from regatta.fleet.zipapp import zipapp_file
    from regatta.host.printable import printable
    from regatta.spec.home import find_home
    from regatta.spec.inventory import inventory_path

    home = find_home()
    wanted = choose_hosts(home, names)[1]
    playbook = "restore.yml" if restore else "quiesce.yml"
    outcomes = run_playbook(
        home, playbook, inventory_path(home), wanted, {"regatta_zipapp": str(zipapp_file())}, check=check
    )
    failed = []
    for name in wanted:
        outcome = outcomes[name]
        told = outcome.unreachable or outcome.failed
        click.echo(printable(f"{name}: {told}" if told else f"{name}: {outcome.changed} changed"))
        for note in outcome.notes:
            click.echo(printable(f"  {note}"))
        failed += [] if outcome.ok else [name]
    if failed:
        expected, got = f"success on {len(wanted)} hosts", f"failure on {', '.join(failed)}"
        raise HostError(playbook, expected, got, "correct the reasons above")
