"""Files of vectors: costs of primitives on a system, and their counts in an application."""

from __future__ import annotations

import math
from collections import Counter
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator

from regatta.spec.fields import MAX_ITEMS, Line, Name, Strict, Text, listed, one_or_list, refusal

Finite = Annotated[float, Field(ge=-1e18, le=1e18)]
NotNegative = Annotated[float, Field(ge=0, le=1e18)]


class IntervalSpec(Strict):
    """A number, where it is known, with its interval."""

    #: range of possible values, which contains the ends of the interval
    possible: ClassVar[tuple[float, float]] = (-math.inf, math.inf)

    value: Finite | None = Field(None, description="The number.", examples=[12.5])
    low: Finite | None = Field(None, description="Lower end of the interval.", examples=[12.1])
    high: Finite | None = Field(None, description="Upper end of the interval.", examples=[12.9])
    n: int = Field(
        0, description="Number of invocations behind the value. 0: unknown.", ge=0, le=2**53, examples=[30]
    )
    reason: Line = Field("", description="Reason why there is no interval.", examples=["one invocation"])

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        """Convert a plain number to an exact value: `12.5` is `{value: 12.5}` without an interval."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"value": value, "low": value, "high": value}
        if isinstance(value, str | bool | list) or value is None:
            expected = "a number, or a mapping with `value` and its interval"
            raise refusal(expected, "write a number without quotes and unit")
        return value

    def check_ends(self, value: float) -> None:
        """Reject a single end, and ends on the wrong side of the value."""
        if (self.low is None) != (self.high is None):
            raise refusal("both `low` and `high`, or neither", "add the missing one")
        if self.low is None or self.high is None:
            return
        least, most = self.possible
        if self.low > value:
            raise refusal(f"`low` <= `value` ({value:g})", key="low")
        if self.high < value:
            raise refusal(f"`high` >= `value` ({value:g})", key="high")
        if self.low < least:
            raise refusal(f"`low` >= {least:g}", f"write `low: {least:g}`", key="low")
        if self.high > most:
            raise refusal(f"`high` <= {most:g}", f"write `high: {most:g}`", key="high")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.value is not None:
            self.check_ends(self.value)
        elif self.low is not None or self.high is not None or self.n or not self.reason:
            raise refusal("`value`, or only `reason` if the value is undefined", "add `value`")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, handler(schema)]}


class NumberSpec(IntervalSpec):
    """A number with its interval. A plain number is exact. Without `low` and `high`, the interval is unknown."""

    value: Finite = Field(description="The number.", examples=[12.5])


class AmountSpec(NumberSpec):
    """A number of at least 0 with its interval, also of at least 0. A plain number is exact."""

    possible = (0.0, math.inf)
    value: NotNegative = Field(description="The number.", examples=[12.5])


class UserShareSpec(IntervalSpec):
    """A share with its interval. A plain number is exact. If the share is unknown, give a `reason` only."""

    possible = (0.0, 1.0)
    value: Annotated[float, Field(ge=0, le=1)] | None = Field(
        None, description="The share, from 0 to 1.", examples=[0.21]
    )


#: default of `user_share`, written as in a file
ALL_KERNEL: Any = 0
#: tolerance of the sum of shares from 1, for rounded percentages in hand-written files
SHARES_WITHIN = 1e-6

#: sizes and numbers of objects: no cost is measured at a negative one
Arguments = Annotated[dict[Name, NotNegative], Field(max_length=16)]


class LineSpec(Strict):
    """A cost of `fixed + per * argument`."""

    argument: Name = Field(description="Name of the argument.", examples=["bytes"])
    fixed: AmountSpec = Field(description="Cost at argument 0.", examples=[310])
    per: AmountSpec = Field(description="Additional cost per unit of the argument.", examples=[0.021])


At = Annotated[list[NotNegative], BeforeValidator(listed), one_or_list({"type": "number", "minimum": 0})]


class PointSpec(Strict):
    """The cost at one point of a table."""

    at: At = Field(
        description="Value of each argument, at least 0, in their order. With one argument, a plain number.",
        min_length=1,
        max_length=8,
        examples=[[12]],
    )
    cost: AmountSpec = Field(description="Cost at the point.", examples=[0.000704])


class TableSpec(Strict):
    """A cost measured at the points of a full grid, with linear interpolation in every argument."""

    arguments: list[Name] = Field(
        description="Names of the arguments.", min_length=1, max_length=8, examples=[["bytes"]]
    )
    points: list[PointSpec] = Field(
        description="The points: every combination of the values of the arguments.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[{"at": 12, "cost": 0.704}, {"at": 132, "cost": 1.46}]],
    )
    outside: Literal["hold", "extend"] = Field(
        "hold",
        description="Value outside the points. `hold`: the value of the nearest point. `extend`: the line through"
        " the last two points.",
        examples=["extend"],
    )

    @model_validator(mode="after")
    def _full(self) -> TableSpec:
        if len(set(self.arguments)) != len(self.arguments):
            raise refusal("unique arguments", "remove one", key="arguments")
        places = [tuple(point.at) for point in self.points]
        if wrong := next((at for at in places if len(at) != len(self.arguments)), None):
            expected = f"points with {len(self.arguments)} values in `at`, one per argument"
            raise refusal(expected, f"correct the point {list(wrong)}", key="points")
        if twice := next((at for at, times in Counter(places).items() if times > 1), None):
            raise refusal("unique points", f"remove one at {_at(twice)}", key="points")
        axes = [sorted({at[n] for at in places}) for n in range(len(self.arguments))]
        whole = math.prod(len(axis) for axis in axes)
        if whole != len(places):
            expected = f"a full grid: {' x '.join(str(len(axis)) for axis in axes)} = {whole} points"
            raise refusal(expected, "measure the missing points", key="points")
        return self


def _at(place: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" for value in place)


class PieceSpec(Strict):
    """A linear function. Its `fixed` can be negative if its piece does not start at 0."""

    fixed: NumberSpec = Field(description="Value of the line at argument 0.", examples=[310])
    per: NumberSpec = Field(description="Additional cost per unit of the argument.", examples=[0.021])


class PiecesSpec(Strict):
    """A cost that is linear between breaks, such as the sizes of caches."""

    argument: Name = Field(description="Name of the argument.", examples=["bytes"])
    breaks: list[NotNegative] = Field(
        description="Start of each new piece, ascending.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[32768]],
    )
    pieces: list[PieceSpec] = Field(
        description="One piece more than there are breaks. Piece i applies from break i-1 (included) to break i "
        "(excluded).",
        min_length=2,
        max_length=MAX_ITEMS + 1,
        examples=[[{"fixed": 310, "per": 0.021}, {"fixed": 200, "per": 0.025}]],
    )

    @model_validator(mode="after")
    def _in_order(self) -> PiecesSpec:
        if any(later <= earlier for earlier, later in zip(self.breaks, self.breaks[1:], strict=False)):
            raise refusal("unique breaks in ascending order", "sort them", key="breaks")
        if len(self.pieces) != len(self.breaks) + 1:
            raise refusal(f"{len(self.breaks) + 1} pieces for {len(self.breaks)} breaks", key="pieces")
        for number, piece in enumerate(self.pieces):
            ends = [*self.breaks[max(number - 1, 0) : number], *self.breaks[number : number + 1]]
            ends = [0.0, *ends] if number == 0 else ends
            # A line through 0 at a break misses it by the rounding of `fixed`.
            slack = 1e-9 * abs(piece.fixed.value)
            below = [end for end in ends if piece.fixed.value + piece.per.value * end < -slack]
            if below or (number == len(self.breaks) and piece.per.value < 0):
                at = f"at {below[0]:g}" if below else "for large arguments"
                raise refusal(f"costs >= 0 (piece {number + 1} is negative {at})", key="pieces")
        return self


class CostSpec(IntervalSpec):
    """Cost of one operation or unit: a number with its interval, or a `linear`, `table` or `piecewise` function."""

    possible = (0.0, math.inf)
    value: NotNegative | None = Field(
        None,
        description="Cost that is independent of arguments, in the `time_unit` of the system.",
        examples=[12.5],
    )
    linear: LineSpec | None = Field(
        None,
        description="A linear function of one argument.",
        examples=[{"argument": "bytes", "fixed": 310, "per": 0.021}],
    )
    table: TableSpec | None = Field(
        None,
        description="Interpolation between measured points.",
        examples=[{"arguments": ["bytes"], "points": [{"at": 12, "cost": 0.704}]}],
    )
    piecewise: PiecesSpec | None = Field(
        None,
        description="A linear function between each two breaks.",
        examples=[
            {
                "argument": "bytes",
                "breaks": [32768],
                "pieces": [{"fixed": 310, "per": 0.021}, {"fixed": 200, "per": 0.025}],
            }
        ],
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        kinds = ("value", "linear", "table", "piecewise")
        given = [name for name in kinds if getattr(self, name) is not None]
        if len(given) != 1:
            fix = "keep one" if given else "add `value: 12.5`"
            raise refusal("one of `value`, `linear`, `table` and `piecewise`", fix)
        if self.value is not None:
            self.check_ends(self.value)
        elif self.low is not None or self.high is not None or self.n or self.reason:
            raise refusal(f"`low`, `high`, `n` and `reason` inside `{given[0]}`", "move them there")
        return self

    def arguments(self) -> tuple[str, ...]:
        """Return the arguments of the cost."""
        if self.table is not None:
            return tuple(map(str, self.table.arguments))
        line = self.linear or self.piecewise
        return () if line is None else (str(line.argument),)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "number", "minimum": 0}, handler(schema)]}


Range = Annotated[list[NotNegative], Field(min_length=2, max_length=2)]


class PrimitiveSpec(Strict):
    """The cost of one primitive."""

    unit: Literal["operation", "byte", "object", "page", "MiB"] = Field(
        description="Unit in which the primitive is counted.", examples=["operation"]
    )
    cost: CostSpec = Field(
        description="Cost of one operation or unit: an exact number, or a mapping.",
        examples=[{"value": 12.5, "low": 12.1, "high": 12.9, "n": 30}],
    )
    user_share: UserShareSpec = Field(
        ALL_KERNEL,
        description="Share of the cost that is spent in user mode. The rest is kernel time.",
        examples=[0.21],
    )
    measured: dict[Name, Range] = Field(
        {},
        description="For each argument of the cost, the smallest and the largest measured value. A prediction "
        "outside this range gives a warning.",
        max_length=8,
        examples=[{"bytes": [1024, 131072]}],
    )

    @model_validator(mode="after")
    def _ranges(self) -> PrimitiveSpec:
        known = self.cost.arguments()
        for name, (low, high) in self.measured.items():
            if name not in known:
                expected = f"an argument of the cost ({', '.join(known) or 'none defined'})"
                raise refusal(expected, f"remove `{name}`", key="measured")
            if low > high:
                raise refusal("[minimum, maximum]", f"write `{name}: [{high:g}, {low:g}]`", key="measured")
        return self


#: same range as for experiments and `--level`
Level = Annotated[float, Field(ge=0.5, le=0.9999)]
Provenance = Annotated[dict[Name, Text], Field(max_length=100)]
TimeUnitName = Literal["ns", "us", "ms", "s"]


class SystemFile(Strict):
    """The cost of each primitive on one system: a host with one configuration. `regatta vector system` writes this file."""

    kind: Literal["system"] = Field(description="Marks the file as a system vector.", examples=["system"])
    name: Line = Field(
        description="Name of the system.", min_length=1, max_length=200, examples=["quiet-xeon"]
    )
    time_unit: TimeUnitName = Field(description="Unit of all costs.", examples=["ns"])
    level: Level = Field(0.95, description="Confidence level of all intervals.", examples=[0.99])
    primitives: dict[Name, PrimitiveSpec] = Field(
        description="The primitives, by name.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[{"tcp_connect": {"unit": "operation", "cost": 353}}],
    )
    provenance: Provenance = Field(
        {},
        description="Origin of the vector, as text: experiment, host, configuration, fingerprint.",
        examples=[{"experiment": "hbench-os", "host": "local"}],
    )


class ShareSpec(Strict):
    """A part of a distribution."""

    arguments: Arguments = Field(description="Arguments of this part, at least 0.", examples=[{"bytes": 512}])
    share: Annotated[float, Field(ge=0, le=1)] = Field(
        description="Share of the count with these arguments.", examples=[0.35]
    )


class CountSpec(Strict):
    """How often one primitive is used. A primitive can have several entries with different arguments."""

    primitive: Name = Field(description="Name of the primitive.", examples=["tcp_connect"])
    count: AmountSpec = Field(
        description="Number of operations or units per unit of work (`per`).", examples=[0.37]
    )
    arguments: Arguments = Field(
        {}, description="Arguments that it is used with, at least 0.", examples=[{"bytes": 14712}]
    )
    distribution: list[ShareSpec] = Field(
        [],
        description="Several sets of arguments, each with its share of the count, instead of `arguments`.",
        max_length=MAX_ITEMS,
        examples=[
            [{"arguments": {"bytes": 512}, "share": 0.35}, {"arguments": {"bytes": 5120}, "share": 0.65}]
        ],
    )
    stands_for: list[Line] = Field(
        [],
        description="System calls that the entry represents, if they differ from the primitive.",
        max_length=MAX_ITEMS,
        examples=[["getpid", "times"]],
    )
    rule: Line = Field(
        "",
        description="The rule that maps these calls to the primitive.",
        examples=["light calls cost a null call"],
    )

    @model_validator(mode="after")
    def _either(self) -> CountSpec:
        if self.distribution and self.arguments:
            raise refusal("either `arguments` or `distribution`", "remove one", key="arguments")
        total = math.fsum(part.share for part in self.distribution)
        if self.distribution and abs(total - 1.0) > SHARES_WITHIN:
            raise refusal(
                f"shares with the sum 1 (the sum is {total:g})", "correct the shares", key="distribution"
            )
        return self


class ApplicationFile(Strict):
    """How often an application uses each primitive. `regatta trace` writes this file."""

    kind: Literal["application"] = Field(
        description="Marks the file as an application vector.", examples=["application"]
    )
    name: Line = Field(
        description="Name of the application.", min_length=1, max_length=200, examples=["apache-static"]
    )
    per: Line = Field(
        description="Unit of work that the counts refer to.", min_length=1, examples=["request"]
    )
    level: Level = Field(0.95, description="Confidence level of all intervals.", examples=[0.99])
    time_unit: TimeUnitName = Field("ns", description="Unit of `user_time`.", examples=["us"])
    user_time: AmountSpec | None = Field(
        None, description="Time in user mode per unit of work (`per`), if it was measured.", examples=[81000]
    )
    pause_time: AmountSpec | None = Field(
        None,
        description="Of `user_time`, the pauses of a garbage collector per unit of work. Predictions assume the same pauses on"
        " all systems.",
        examples=[1500],
    )
    parallelism: Annotated[float, Field(ge=1, le=1e6)] = Field(
        1.0,
        description="Number of threads that did the work at the same time. The counts are those of all threads, `user_time` is"
        " elapsed time. Predictions divide the counts by this number.",
        examples=[1.8],
    )
    benchmark: Line = Field(
        "", description="Benchmark that the vector describes.", examples=["web/apache-static"]
    )
    metric: Line = Field(
        "",
        description="Metric of the benchmark that is the elapsed time of one unit of work. Default: `elapsed_per_request` for a"
        " request, `elapsed` for an iteration.",
        examples=["elapsed"],
    )
    counts: list[CountSpec] = Field(
        description="The entries of the vector.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[[{"primitive": "tcp_connect", "count": 0.37}]],
    )
    provenance: Provenance = Field(
        {},
        description="Origin of the vector, as text: tool, command, host, units, calls.",
        examples=[{"tool": "strace", "host": "local"}],
    )

    @model_validator(mode="after")
    def _once(self) -> ApplicationFile:
        seen: set[str] = set()
        for entry in self.counts:
            arguments = sorted(entry.arguments.items())
            what = repr((entry.primitive, arguments, entry.distribution, entry.stands_for, entry.rule))
            if what in seen:
                raise refusal("unique entries", f"merge the counts of `{entry.primitive}`", key="counts")
            seen.add(what)
        return self
