"""Declarative benchmark experiments across fleets of machines.

`regatta.open("results/demo")` returns the results of an experiment as Arrow tables; see docs/python.md. Importing the package
loads nothing else: this file also travels to hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regatta.host.errors import RegattaError, StoreError
    from regatta.results import Results
    from regatta.results import open_results as open

__all__ = ["RegattaError", "Results", "StoreError", "__version__", "open"]

__version__ = "0.3.0"

#: public name -> its module and its name there; loaded at first use
_LAZY = {
    "RegattaError": ("regatta.host.errors", "RegattaError"),
    "Results": ("regatta.results", "Results"),
    "StoreError": ("regatta.host.errors", "StoreError"),
    "open": ("regatta.results", "open_results"),
}


if not TYPE_CHECKING:  # else type checkers would accept any name

    def __getattr__(name):
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module, attribute = _LAZY[name]
        return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
