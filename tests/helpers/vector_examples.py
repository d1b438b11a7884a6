"""Vectors for tests: small ones by hand, and Hypothesis strategies of arbitrary ones."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import strategies as st

from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Cost,
    Count,
    LinearCost,
    PiecewiseCost,
    PrimitiveCost,
    PrimitiveUnit,
    Share,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)

#: with the unit that each has on every system
UNITS: dict[str, PrimitiveUnit] = {
    "null_call": "operation",
    "tcp_connect": "object",
    "file_read": "byte",
    "mmap_read": "MiB",
    "simple_process": "page",
}
PRIMITIVES = tuple(UNITS)


def constant(
    value: float, low: float | None = None, high: float | None = None, user: float = 0.0
) -> PrimitiveCost:
    """A primitive of one cost; exact without ends."""
    number = Value(value, value if low is None else low, value if high is None else high)
    return PrimitiveCost("operation", ConstantCost(number), Value.exact(user))


def system_of(name: str = "s", **primitives: PrimitiveCost) -> SystemVector:
    return SystemVector(name, "ns", primitives)


def application_of(*counts: Count, name: str = "a", user: Value | None = None) -> ApplicationVector:
    return ApplicationVector(name, "request", counts, user_time=user)


def count_of(
    primitive: str, value: float, low: float | None = None, high: float | None = None, **arguments: float
) -> Count:
    number = Value(value, value if low is None else low, value if high is None else high)
    return Count(primitive, number, arguments)


# Strategies

#: none so small that their squares are 0
amounts = st.one_of(st.just(0.0), st.floats(1e-3, 1e6))
arguments = st.fixed_dictionaries(
    {
        "bytes": st.one_of(st.just(0.0), st.floats(1e-3, 1e5)),
        "degree": st.one_of(st.just(0.0), st.floats(1e-3, 40)),
    }
)


@st.composite
def intervals(draw: st.DrawFn, values: st.SearchStrategy[float] = amounts, known: bool = False) -> Value:
    """Exact, uncertain, or (unless `known`) with an interval that nobody knows."""
    value = draw(values)
    form = draw(
        st.sampled_from(("exact", "uncertain") if known else ("exact", "uncertain", "uncertain", "unknown"))
    )
    if form == "exact":
        return Value.exact(value)
    if form == "unknown":
        return Value(value, n=1, reason="one invocation")
    below, above = draw(st.floats(0, 1)), draw(st.floats(0, 3))
    return Value(value, value * (1 - below), value * (1 + above), draw(st.integers(2, 50)))


@st.composite
def costs(draw: st.DrawFn, known: bool = False, beyond: bool = False) -> Cost:
    """`beyond`: tables may go on beyond their points, where a cost may be below 0, which is refused."""
    numbers = intervals(known=known)
    form = draw(st.sampled_from(("constant", "constant", "linear", "linear", "table", "grid", "pieces")))
    if form == "constant":
        return ConstantCost(draw(numbers))
    if form == "linear":
        return LinearCost(draw(st.sampled_from(("bytes", "degree"))), draw(numbers), draw(numbers))
    if form == "pieces":
        breaks = tuple(sorted(draw(st.sets(st.sampled_from((64.0, 1024.0, 32768.0)), min_size=1))))
        return PiecewiseCost("bytes", breaks, tuple((draw(numbers), draw(numbers)) for _ in (*breaks, 0)))
    names = ("bytes",) if form == "table" else ("bytes", "degree")
    axes = [
        sorted(draw(st.sets(st.sampled_from((1.0, 8.0, 32.0, 4096.0)), min_size=1, max_size=3)))
        for _ in names
    ]
    points = tuple(TablePoint(at, draw(numbers)) for at in itertools.product(*axes))
    return TableCost(names, points, draw(st.sampled_from(("hold", "extend") if beyond else ("hold",))))


@st.composite
def system_vectors(
    draw: st.DrawFn, name: str = "s", known: bool = False, complete: bool = False, beyond: bool = False
) -> SystemVector:
    """`complete`: with every primitive that an application may use. `beyond`: as `costs` has it."""
    names = (
        list(PRIMITIVES) if complete else draw(st.lists(st.sampled_from(PRIMITIVES), min_size=1, unique=True))
    )
    primitives = {}
    for primitive in names:
        share = draw(intervals(st.floats(0, 1), known))
        user = replace(share, high=min(share.high, 1.0))
        primitives[primitive] = PrimitiveCost(UNITS[primitive], draw(costs(known, beyond)), user)
    return SystemVector(name, draw(st.sampled_from(("ns", "us", "ms", "s"))), primitives)


@st.composite
def application_vectors(draw: st.DrawFn, name: str = "a", known: bool = False) -> ApplicationVector:
    counts = []
    for primitive in draw(st.lists(st.sampled_from(PRIMITIVES), min_size=1, max_size=6)):
        if draw(st.integers(0, 4)) == 0:
            parts = draw(st.lists(arguments, min_size=1, max_size=3))
            shares = tuple(Share(part, 1 / len(parts)) for part in parts)
            counts.append(Count(primitive, draw(intervals(known=known)), distribution=shares))
        else:
            counts.append(Count(primitive, draw(intervals(known=known)), draw(arguments)))
    return ApplicationVector(name, "request", tuple(counts))
