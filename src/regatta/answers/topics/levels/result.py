"""Where the variance of a cell is: among iterations, among invocations, among hosts. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regatta.answers.parts import HEAP, INLINED, Place
from regatta.host.values.experiment import Scalar


@dataclass(frozen=True)
class CellLevels:
    """One series with several iterations after warm-up.

    `counts`, `s_squared`, `t_squared`: iterations first, then invocations (then hosts); biased and unbiased variances in the
    unit squared. An unbiased one below 0 says that the level adds nothing that could be seen.
    """

    cell_id: str
    #: on no host where the levels go up to hosts
    place: Place = field(metadata={INLINED: ("host", "benchmark", "configuration", *HEAP)})
    metric: str
    parameters: Mapping[str, Scalar]
    unit: str
    mean: float
    #: names of the levels
    levels: tuple[str, ...]
    counts: tuple[int, ...]
    s_squared: tuple[float, ...]
    t_squared: tuple[float, ...]
    #: seconds of an iteration, and of an invocation without them (start and warm-up); NaN where not known
    iteration_s: float
    invocation_s: float
    #: iterations after warm-up that give most for the time; infinite where invocations add nothing, NaN where not known
    best_iterations: float
    reason: str = ""

    @property
    def spread_percent(self) -> tuple[float, ...]:
        """Standard deviation that each level adds, in per cent of the mean; 0 where nothing could be seen."""
        return tuple(
            100.0 * max(0.0, t) ** 0.5 / abs(self.mean) if self.mean else float("nan") for t in self.t_squared
        )

    @property
    def share_percent(self) -> tuple[float, ...]:
        """How much of one iteration's variance each level adds, in per cent."""
        clipped = [max(0.0, t) for t in self.t_squared]
        total = sum(clipped)
        return tuple(100.0 * t / total if total > 0 else float("nan") for t in clipped)
