"""Snakemake's logger that shows how far an experiment is, and writes down what happens (`--logger regatta`).

Snakemake imports every logger that is installed, whatever it is asked to do: nothing is imported here that it has not imported itself.
"""

from __future__ import annotations

from snakemake_logger_plugin_regatta.handler import LogHandler

__all__ = ["LogHandler"]
