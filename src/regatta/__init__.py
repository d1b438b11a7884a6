"""Declarative benchmark experiments across fleets of machines."""

__version__ = "0.2.0"
