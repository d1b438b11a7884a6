"""Files of vectors: what primitives cost on a system, how often an application uses them."""

from __future__ import annotations

import math
from collections import Counter
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator

from regatta.spec.fields import MAX_ITEMS, Line, Name, Strict, Text, listed, one_or_list, refusal

Finite = Annotated[float, Field(ge=-1e18, le=1e18)]
NotNegative = Annotated[float, Field(ge=0, le=1e18)]


def number_as_value(value: Any) -> Any:
    """A plain number is exact: `12.5` is `{value: 12.5}` with nothing around it."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"value": value, "low": value, "high": value}
    if isinstance(value, str | bool | list) or value is None:
        raise refusal("a number, or a mapping with its interval", "a number without quotes or unit")
    return value


def check_ends(value: float, low: float | None, high: float | None) -> None:
    """Refuse an end alone, and ends on the wrong side of the value."""
    if (low is None) != (high is None):
        raise refusal("both `low` and `high`, or neither", "add the other")
    if low is not None and low > value:
        raise refusal(f"a number of at most the value ({value:g})", key="low")
    if high is not None and high < value:
        raise refusal(f"a number of at least the value ({value:g})", key="high")


class IntervalSpec(Strict):
    """A number, where it is known, with its interval."""

    value: Finite | None = Field(None, description="The number.", examples=[12.5])
    low: Finite | None = Field(None, description="Where its interval begins.", examples=[12.1])
    high: Finite | None = Field(None, description="Where it ends.", examples=[12.9])
    n: int = Field(
        0, description="How many invocations it is made of; 0: not told.", ge=0, le=2**53, examples=[30]
    )
    reason: Line = Field("", description="Why it has no interval.", examples=["one invocation"])

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return number_as_value(value)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.value is not None:
            check_ends(self.value, self.low, self.high)
        elif self.low is not None or self.high is not None or self.n or not self.reason:
            raise refusal("a `value`, or a `reason` alone why it is not known", "add `value`")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, handler(schema)]}


class NumberSpec(IntervalSpec):
    """A number with its interval. A plain number is exact; without `low` and `high` the interval is not known."""

    value: Finite = Field(description="The number.", examples=[12.5])


class AmountSpec(NumberSpec):
    """A number of at least 0 with its interval; a plain number is exact."""

    value: NotNegative = Field(description="The number.", examples=[12.5])


class UserShareSpec(IntervalSpec):
    """A part with its interval; a plain number is exact. Where it is not known, a `reason` alone says why."""

    value: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="The part, from 0 to 1.", examples=[0.21]
    )


#: default of `user_share`, written as a file would write it
ALL_KERNEL: Any = 0
#: shares add up to 1, but for the rounding of percentages that were written by hand
SHARES_WITHIN = 1e-6

#: sizes and numbers of things: a cost is measured of none that is below 0
Arguments = Annotated[dict[Name, NotNegative], Field(max_length=16)]


class LineSpec(Strict):
    """A cost of `fixed + per * argument`."""

    argument: Name = Field(description="The argument's name.", examples=["bytes"])
    fixed: AmountSpec = Field(description="The cost where the argument is 0.", examples=[310])
    per: AmountSpec = Field(description="What each unit of the argument adds.", examples=[0.021])


Place = Annotated[
    list[NotNegative],
    BeforeValidator(listed),
    one_or_list({"type": "number", "minimum": 0}),
]


class PointSpec(Strict):
    """The cost at one point of a table."""

    at: Place = Field(
        description="A value of at least 0 for each argument, in their order; a plain number where there is one argument.",
        min_length=1,
        max_length=8,
        examples=[[12]],
    )
    cost: AmountSpec = Field(description="The cost there.", examples=[0.000704])


class TableSpec(Strict):
    """A cost that is measured at the points of a full grid, and interpolated between them linearly in every argument."""

    arguments: list[Name] = Field(
        description="Names of the arguments.", min_length=1, max_length=8, examples=[["bytes"]]
    )
    points: list[PointSpec] = Field(
        description="Every combination of the values that the arguments have here.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[{"at": 12, "cost": 0.704}, {"at": 132, "cost": 1.46}]],
    )
    outside: Literal["hold", "extend"] = Field(
        "hold",
        description="Beyond the points: the value of the nearest one, or the line through the last two.",
        examples=["extend"],
    )

    @model_validator(mode="after")
    def _full(self) -> TableSpec:
        if len(set(self.arguments)) != len(self.arguments):
            raise refusal("every argument once", key="arguments")
        places = [tuple(point.at) for point in self.points]
        if wrong := next((at for at in places if len(at) != len(self.arguments)), None):
            expected = f"points `at` {len(self.arguments)} values, as there are arguments"
            raise refusal(expected, f"not {list(wrong)}", key="points")
        if twice := next((at for at, times in Counter(places).items() if times > 1), None):
            raise refusal("every point once", f"remove one at {_at(twice)}", key="points")
        axes = [sorted({at[n] for at in places}) for n in range(len(self.arguments))]
        whole = math.prod(len(axis) for axis in axes)
        if whole != len(places):
            expected = f"a full grid: {' x '.join(str(len(axis)) for axis in axes)} = {whole} points"
            raise refusal(expected, f"there are {len(places)}; measure the others", key="points")
        return self


def _at(place: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in place)


class PieceSpec(Strict):
    """A line; its `fixed` may be below 0 where its piece begins later."""

    fixed: NumberSpec = Field(description="Where the line meets the argument 0.", examples=[310])
    per: NumberSpec = Field(description="What each unit of the argument adds.", examples=[0.021])


class PiecesSpec(Strict):
    """A cost that is a line between breaks, such as the sizes of caches."""

    argument: Name = Field(description="The argument's name.", examples=["bytes"])
    breaks: list[NotNegative] = Field(
        description="Where a new piece begins, ascending.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[32768]],
    )
    pieces: list[PieceSpec] = Field(
        description="One more than there are breaks; piece i holds from break i-1 up to below break i.",
        min_length=2,
        max_length=MAX_ITEMS + 1,
        examples=[[{"fixed": 310, "per": 0.021}, {"fixed": 200, "per": 0.025}]],
    )

    @model_validator(mode="after")
    def _in_order(self) -> PiecesSpec:
        if any(later <= earlier for earlier, later in zip(self.breaks, self.breaks[1:], strict=False)):
            raise refusal("breaks in ascending order, each once", "sort them", key="breaks")
        if len(self.pieces) != len(self.breaks) + 1:
            raise refusal(f"{len(self.breaks) + 1} pieces for {len(self.breaks)} breaks", key="pieces")
        for number, piece in enumerate(self.pieces):
            ends = [*self.breaks[max(number - 1, 0) : number], *self.breaks[number : number + 1]]
            ends = [0.0, *ends] if number == 0 else ends
            # A line that begins at 0 somewhere misses it by the rounding of `fixed`.
            slack = 1e-9 * abs(piece.fixed.value)
            below = [end for end in ends if piece.fixed.value + piece.per.value * end < -slack]
            if below or (number == len(self.breaks) and piece.per.value < 0):
                at = f"at {below[0]:g}" if below else "where the argument is large"
                raise refusal(f"costs of at least 0 (piece {number + 1} is below it {at})", key="pieces")
        return self


class CostSpec(Strict):
    """What one operation or unit costs: a number (with its interval), or a `linear`, `table` or `piecewise` function."""

    value: NotNegative | None = Field(
        None, description="The same whatever the arguments; in the system's `time_unit`.", examples=[12.5]
    )
    low: Finite | None = Field(None, description="Where its interval begins.", examples=[12.1])
    high: Finite | None = Field(None, description="Where it ends.", examples=[12.9])
    n: int = Field(
        0, description="How many invocations it is made of; 0: not told.", ge=0, le=2**53, examples=[30]
    )
    reason: Line = Field("", description="Why it has no interval.", examples=["one invocation"])
    linear: LineSpec | None = Field(
        None,
        description="A line in one argument.",
        examples=[{"argument": "bytes", "fixed": 310, "per": 0.021}],
    )
    table: TableSpec | None = Field(
        None,
        description="Interpolated between measured points.",
        examples=[{"arguments": ["bytes"], "points": [{"at": 12, "cost": 0.704}]}],
    )
    piecewise: PiecesSpec | None = Field(
        None,
        description="Lines between breaks.",
        examples=[
            {
                "argument": "bytes",
                "breaks": [32768],
                "pieces": [{"fixed": 310, "per": 0.021}, {"fixed": 200, "per": 0.025}],
            }
        ],
    )

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        return number_as_value(value)

    @model_validator(mode="after")
    def _one_form(self) -> CostSpec:
        given = [
            name for name in ("value", "linear", "table", "piecewise") if getattr(self, name) is not None
        ]
        if len(given) != 1:
            raise refusal(
                "one of `value`, `linear`, `table` and `piecewise`", "keep one" if given else "12.5"
            )
        if self.value is not None:
            check_ends(self.value, self.low, self.high)
        elif self.low is not None or self.high is not None or self.n or self.reason:
            raise refusal(
                f"`low`, `high`, `n` and `reason` at the numbers of `{given[0]}`", "move them there"
            )
        return self

    def arguments(self) -> tuple[str, ...]:
        """The arguments that the cost asks for."""
        if self.table is not None:
            return tuple(map(str, self.table.arguments))
        line = self.linear or self.piecewise
        return () if line is None else (str(line.argument),)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number", "minimum": 0}, handler(schema)]}


Range = Annotated[list[NotNegative], Field(min_length=2, max_length=2)]


class PrimitiveSpec(Strict):
    """What one primitive costs."""

    unit: Literal["operation", "byte", "object", "page", "MiB"] = Field(
        description="What one count of it is.", examples=["operation"]
    )
    cost: CostSpec = Field(
        description="What one operation or unit costs: a number, exact; or a mapping.",
        examples=[{"value": 12.5, "low": 12.1, "high": 12.9, "n": 30}],
    )
    user_share: UserShareSpec = Field(
        ALL_KERNEL,
        description="Which part of the cost is spent in user mode; the rest is the kernel's.",
        examples=[0.21],
    )
    measured: dict[Name, Range] = Field(
        {},
        description="Of each argument of the cost the least and the largest at which it was measured; a prediction that goes beyond is warned of.",
        max_length=8,
        examples=[{"bytes": [1024, 131072]}],
    )

    @model_validator(mode="after")
    def _ranges(self) -> PrimitiveSpec:
        known = self.cost.arguments()
        for name, (low, high) in self.measured.items():
            if name not in known:
                raise refusal(
                    f"an argument of the cost ({', '.join(known) or 'it has none'})",
                    f"remove `{name}`",
                    key="measured",
                )
            if low > high:
                raise refusal("the least, then the largest", f"{name}: [{high:g}, {low:g}]", key="measured")
        return self


#: as of experiments and of `--level`
Level = Annotated[float, Field(ge=0.5, le=0.9999)]
Provenance = Annotated[dict[Name, Text], Field(max_length=100)]
TimeUnitName = Literal["ns", "us", "ms", "s"]


class SystemFile(Strict):
    """What each primitive costs on one system: a host with one configuration. `regatta vector system` makes it."""

    kind: Literal["system"] = Field(description="Says that it is a system vector.", examples=["system"])
    name: Line = Field(
        description="The system's name.", min_length=1, max_length=200, examples=["quiet-xeon"]
    )
    time_unit: TimeUnitName = Field(description="Of all costs.", examples=["ns"])
    level: Level = Field(0.95, description="Of all intervals.", examples=[0.99])
    primitives: dict[Name, PrimitiveSpec] = Field(
        description="Name to cost.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[{"tcp_connect": {"unit": "operation", "cost": 353}}],
    )
    provenance: Provenance = Field(
        {},
        description="Where it comes from, in words: experiment, host, configuration, fingerprint.",
        examples=[{"experiment": "hbench-os", "host": "local"}],
    )


class ShareSpec(Strict):
    """A part of a distribution."""

    arguments: Arguments = Field(
        description="The arguments of this part, at least 0.", examples=[{"bytes": 512}]
    )
    share: Annotated[float, Field(ge=0, le=1)] = Field(
        description="Which part of the counts has them.", examples=[0.35]
    )


class CountSpec(Strict):
    """How often one primitive is used. A primitive may stand in several entries that differ in their arguments."""

    primitive: Name = Field(description="The primitive's name.", examples=["tcp_connect"])
    count: AmountSpec = Field(description="Operations or units, for one `per`.", examples=[0.37])
    arguments: Arguments = Field(
        {}, description="The arguments it is used with, at least 0.", examples=[{"bytes": 14712}]
    )
    distribution: list[ShareSpec] = Field(
        [],
        description="Several arguments with the part of the counts that each has, instead of `arguments`.",
        max_length=MAX_ITEMS,
        examples=[
            [{"arguments": {"bytes": 512}, "share": 0.35}, {"arguments": {"bytes": 5120}, "share": 0.65}]
        ],
    )
    stands_for: list[Line] = Field(
        [],
        description="The calls that the entry stands for, where they are not the primitive itself.",
        max_length=MAX_ITEMS,
        examples=[["getpid", "times"]],
    )
    rule: Line = Field("", description="The rule that says so.", examples=["light calls cost a null call"])

    @model_validator(mode="after")
    def _either(self) -> CountSpec:
        if self.distribution and self.arguments:
            raise refusal("either `arguments` or a `distribution`", "remove one", key="arguments")
        total = math.fsum(part.share for part in self.distribution)
        if self.distribution and abs(total - 1.0) > SHARES_WITHIN:
            raise refusal("shares that add up to 1", f"they add up to {total:g}", key="distribution")
        return self


class ApplicationFile(Strict):
    """How often an application uses each primitive. `regatta trace` makes it."""

    kind: Literal["application"] = Field(
        description="Says that it is an application vector.", examples=["application"]
    )
    name: Line = Field(
        description="The application's name.", min_length=1, max_length=200, examples=["apache-static"]
    )
    per: Line = Field(
        description="The unit of work that the counts are for.", min_length=1, examples=["request"]
    )
    level: Level = Field(0.95, description="Of all intervals.", examples=[0.99])
    time_unit: TimeUnitName = Field("ns", description="Of `user_time`.", examples=["us"])
    user_time: AmountSpec | None = Field(
        None, description="Time in user mode for one `per`, where it was measured.", examples=[81000]
    )
    benchmark: Line = Field(
        "", description="The benchmark that it is the vector of.", examples=["web/apache-static"]
    )
    counts: list[CountSpec] = Field(
        description="The entries.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[{"primitive": "tcp_connect", "count": 0.37}]],
    )
    provenance: Provenance = Field(
        {},
        description="Where it comes from, in words: tool, command, host, units, calls.",
        examples=[{"tool": "strace", "host": "local"}],
    )

    @model_validator(mode="after")
    def _once(self) -> ApplicationFile:
        seen: set[str] = set()
        for entry in self.counts:
            what = repr(
                (
                    entry.primitive,
                    sorted(entry.arguments.items()),
                    entry.distribution,
                    entry.stands_for,
                    entry.rule,
                )
            )
            if what in seen:
                raise refusal(
                    "every entry once", f"add the counts of `{entry.primitive}` together", key="counts"
                )
            seen.add(what)
        return self
