"""Hosts made ready: runtimes, builds, inputs and facts. For now the machine that runs the command."""
