"""Experiments that tests measure through the command line."""
