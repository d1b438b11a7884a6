"""Snakemake logger that shows the progress of an experiment and records events (`--logger regatta`).

Snakemake imports all installed loggers, even unused ones: import here only modules that it imports itself.
"""

from __future__ import annotations

from snakemake_logger_plugin_regatta.handler import LogHandler

__all__ = ["LogHandler"]
