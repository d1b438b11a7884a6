"""Declarative benchmark experiments across fleets of machines."""

__version__ = "0.1.0"
