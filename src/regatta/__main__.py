"""`python -m regatta`: the same as the command."""

from regatta.cli.main import main

main()
