"""Print the help of all commands as Markdown: the page of the documentation site, and the text that Vale checks."""

from __future__ import annotations

import click

from regatta.cli.main import VERBS, cli


def main() -> None:
    """Print every command with its options."""
    for name in VERBS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        parts = {name: command}
        if isinstance(command, click.Group):
            parts |= {f"{name} {part}": one for part, one in command.commands.items()}
        for title, one in parts.items():
            usage = " ".join(one.collect_usage_pieces(click.Context(one)))
            print(
                f"## `{title}`\n\n```text\nregatta {title} {usage}\n```\n\n{' '.join((one.help or '').split())}\n"
            )
            for option in one.params:
                if isinstance(option, click.Option) and option.help:
                    value = "" if option.is_flag else f" {option.make_metavar(click.Context(one))}"
                    print(f"- `{option.opts[0]}{value}`: {option.help}")
            print()


if __name__ == "__main__":
    main()
