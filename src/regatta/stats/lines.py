"""A line through costs at several sizes, with equally weighted relative errors and nonnegative parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regatta.stats.moments import vector


@dataclass(frozen=True)
class Line:
    """The line `fixed + per * x`; both parts are at least 0."""

    fixed: float
    per: float

    def at(self, x: float) -> float:
        """Return the value of the line."""
        return self.fixed + self.per * x


def relative_line(x: ArrayLike, y: ArrayLike) -> Line:
    """Return the line through points by least squares of the relative errors, each (line - y) / y.

    Sizes and costs span several powers of two. With equally weighted absolute errors, the largest size would dominate, and the
    fixed part, which matters at small sizes, would be noise. A negative part is set to 0 and the other part is fitted alone:
    the least squares solution among lines without negative parts.

    Args:
        x: shape (n,), sizes, at least 0; at least two different sizes.
        y: shape (n,), costs, greater than 0, any unit.

    Raises:
        ValueError: too few sizes, or a value that is not finite or not in its range.

    Source: weighted least squares with weights 1/y², the maximum likelihood if the standard deviation is proportional to the
    value; Lawson and Hanson, "Solving Least Squares Problems" (1974), chapter 23, for the two constraints.
    """
    sizes, costs = vector(x), vector(y)
    if sizes.shape != costs.shape:
        raise ValueError(f"x and y: expected as many sizes as costs · got {sizes.size} and {costs.size}")
    if np.unique(sizes).size < 2:
        raise ValueError("x: expected two different sizes or more · got fewer")
    if not (
        np.isfinite(sizes).all() and np.isfinite(costs).all() and (sizes >= 0).all() and (costs > 0).all()
    ):
        raise ValueError("x and y: expected finite sizes of at least 0 and costs above 0")
    scale = float(sizes.max())
    # Divided by y, each row is a relative error: [1/y, x/y] · (fixed, per) = 1.
    columns = np.column_stack((1.0 / costs, sizes / scale / costs))
    unit = np.ones(costs.size)
    (fixed, per), *_ = np.linalg.lstsq(columns * costs.min(), unit, rcond=None)
    found = [(fixed * costs.min(), per * costs.min())]
    if min(found[0]) < 0.0:
        # With two unknowns, the best permitted line has one of them at its bound.
        alone = [float(column @ unit / (column @ column)) for column in columns.T]
        found = [(alone[0], 0.0), (0.0, alone[1])]
    errors = [float(np.square(columns @ np.array(pair) - unit).sum()) for pair in found]
    best = found[int(np.argmin(errors))]
    return Line(float(best[0]), float(best[1]) / scale)
