"""What is asked of a prediction: applications, systems, changes, replacements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from regatta.predict.measured_times import Wanted
from regatta.predict.mixing import Mix
from regatta.predict.speedup import as_mix
from regatta.predict.vector_sources import SystemSource
from regatta.predict.what_if import Change
from regatta.spec.vectors import ApplicationVector


@dataclass(frozen=True)
class Asked:
    """An application that is to be predicted. `parts`: of a mix, with their weights."""

    vector: ApplicationVector
    parts: tuple[tuple[ApplicationVector, float], ...] = ()

    @property
    def mix(self) -> Mix:
        """Its parts, or itself alone."""
        return self.parts or as_mix(self.vector)

    def wanted(self, benchmark: str) -> Wanted | None:
        """Which benchmark measures it; None where nothing says so."""
        if benchmark:
            return Wanted.of(benchmark)
        if self.parts:
            return Wanted.mix([(part.benchmark, weight) for part, weight in self.parts])
        return Wanted.of(self.vector.benchmark) if self.vector.benchmark else None


@dataclass(frozen=True)
class Replaced:
    """A part of an application is to be replaced by another."""

    before: Asked
    after: Asked

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """(old, new) of what is another."""
        pairs = zip(self.before.mix, self.after.mix, strict=True)
        return tuple((old.name, new.name) for (old, _), (new, _) in pairs if old.name != new.name)


@dataclass(frozen=True)
class Request:
    """What is asked in one call."""

    applications: tuple[Asked, ...]
    systems: tuple[SystemSource, ...]
    #: further experiments in which measured times are looked for
    measured: tuple[Path, ...] = ()
    #: suite/benchmark instead of those that the applications name
    benchmark: str = ""
    #: primitive -> how its cost is changed
    changes: Mapping[str, Change] = field(default_factory=dict)
    replaced: tuple[Replaced, ...] = ()
    optimise: bool = False
    level: float | None = None
