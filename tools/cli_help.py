"""Print the help of all commands as Markdown, to check its English with Vale."""

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
            print(f"## {title}\n\n{' '.join((one.help or '').split())}\n")
            for option in one.params:
                if isinstance(option, click.Option) and option.help:
                    print(f"- `{option.opts[0]}`: {option.help}")
            print()


if __name__ == "__main__":
    main()
