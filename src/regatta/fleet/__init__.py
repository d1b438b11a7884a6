"""Preparation of hosts: runtimes, builds, inputs and facts."""
