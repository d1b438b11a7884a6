"""`regatta completion`: shell completion of commands, options and values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash: add to ~/.bashrc       eval "$(regatta completion bash)"
    zsh:  add to ~/.zshrc        eval "$(regatta completion zsh)"
    fish: write the script to    ~/.config/fish/completions/regatta.fish
    """
    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(ctx.find_root().command, {}, "regatta", "_REGATTA_COMPLETE").source())
