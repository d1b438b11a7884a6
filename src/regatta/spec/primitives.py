"""Tables of primitives, such as `configs/primitives/os.yml`: which series of a suite each cost of a system vector is made from."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, model_validator

from regatta.host.errors import Problem, SpecError
from regatta.spec.fields import MAX_ITEMS, Line, Name, ParameterName, ScalarValue, Strict, refusal
from regatta.spec.primitive_table import CostKind, CostRule, PrimitiveRule, PrimitiveTable, SeriesChoice
from regatta.spec.problems import check, shown_path
from regatta.spec.vectors import Outside, PrimitiveUnit
from regatta.spec.yaml_lines import Document, read_yaml

OS = Path("configs") / "primitives" / "os.yml"
_KINDS: dict[str, CostKind] = {
    "fixed_of": "fixed", "per_of": "per", "linear": "linear", "table": "table", "piecewise": "piecewise",
}  # fmt: skip


class ChosenSeries(Strict):
    """Series of a benchmark: all that have these parameters."""

    suite: Name = Field(description="The suite.", examples=["lm"])
    benchmark: Name = Field(description="Its benchmark.", examples=["lat_syscall"])
    metric: Line = Field("latency", description="The benchmark's metric.", examples=["latency"])
    parameters: dict[ParameterName, ScalarValue] = Field(
        {},
        description="Parameters of the metric and their values. What is not named here, and is no argument of the cost, must not "
        "tell series apart.",
        max_length=32,
        examples=[{"call": "stat"}],
    )


class ShareChoice(Strict):
    """The metric that tells which part of the cost is spent in user mode; of the same benchmark."""

    metric: Line = Field(description="A ratio or per cent.", examples=["user_share"])
    parameters: dict[ParameterName, ScalarValue] = Field(
        {}, description="As of the series; several series give their mean.", max_length=32, examples=[{}]
    )


def _check_breaks(breaks: list[float]) -> list[float]:
    if any(low >= high for low, high in pairwise(breaks)):
        raise refusal("numbers in ascending order")
    return breaks


def _listed(value: Any) -> Any:
    """A single value is a list of one."""
    return value if isinstance(value, list) else [value]


class CostSpec(Strict):
    """What the series become; one of the keys but `breaks` and `outside`. `cost: constant` is the one series as it is."""

    fixed_of: ParameterName | None = Field(
        None, description="The fixed part of the line over this parameter.", examples=["bytes"]
    )
    per_of: ParameterName | None = Field(
        None,
        description="What each unit of this parameter adds; the parameter must be in the primitive's unit.",
        examples=["bytes"],
    )
    linear: ParameterName | None = Field(
        None, description="The line over this parameter, which is the cost's argument.", examples=["bytes"]
    )
    table: Annotated[list[ParameterName], BeforeValidator(_listed), Field(max_length=8)] = Field(
        [], description="Every series as it is, over these parameters.", examples=[["bytes"]]
    )
    piecewise: ParameterName | None = Field(
        None, description="Lines over this parameter between `breaks`.", examples=["bytes"]
    )
    breaks: Annotated[
        list[Annotated[float, Field(gt=0, le=1e15)]], Field(max_length=32), AfterValidator(_check_breaks)
    ] = Field(
        [],
        description="With `piecewise`: where one line ends and the next begins, such as the sizes of caches.",
        examples=[[1048576]],
    )
    outside: Outside = Field(
        "hold",
        description="With `table`: beyond the measured points the nearest value (`hold`), or on along the last two.",
        examples=["extend"],
    )

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        if value == "constant":
            return {}
        if not isinstance(value, dict) or not value:
            raise refusal(f"`constant`, or one of {', '.join(_KINDS)}", "{linear: bytes}")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> CostSpec:
        given = [key for key in _KINDS if getattr(self, key)]
        if self.model_fields_set and len(given) != 1:
            raise refusal(f"one of {', '.join(_KINDS)}", "{linear: bytes}")
        if bool(self.breaks) != (self.piecewise is not None):
            raise refusal("`breaks` exactly with `piecewise`", "{piecewise: bytes, breaks: [1048576]}")
        if "outside" in self.model_fields_set and not self.table:
            raise refusal("`outside` with `table` only", "remove it", key="outside")
        if len(set(self.table)) != len(self.table):
            raise refusal("every argument once", key="table")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"const": "constant"}, handler(schema)]}

    def rule(self) -> CostRule:
        """The frozen value."""
        for key, kind in _KINDS.items():
            if value := getattr(self, key):
                arguments = tuple(value) if kind == "table" else (value,)
                return CostRule(kind, arguments, tuple(map(float, self.breaks)), self.outside)
        return CostRule()


class PrimitiveSpec(Strict):
    """One primitive: what it costs, and which series say so."""

    description: Line = Field("", description="What one operation is.", examples=["open a file, close it"])
    unit: PrimitiveUnit = Field(
        "operation", description="What one count of it is.", examples=["operation", "byte"]
    )
    series: ChosenSeries = Field(
        description=str(ChosenSeries.__doc__),
        examples=[{"suite": "lm", "benchmark": "lat_syscall", "parameters": {"call": "stat"}}],
    )
    cost: CostSpec = Field(description=str(CostSpec.__doc__), examples=["constant", {"linear": "bytes"}])
    user_share: ShareChoice | None = Field(
        None, description=str(ShareChoice.__doc__), examples=[{"metric": "user_share"}]
    )

    @model_validator(mode="after")
    def _not_chosen_twice(self) -> PrimitiveSpec:
        twice = [name for name in self.cost.rule().arguments if name in self.series.parameters]
        if twice:
            expected = f"`{twice[0]}` as the cost's argument or among `parameters`, not both"
            raise refusal(expected, "remove it from `parameters`", key="cost")
        return self


class PrimitivesFile(Strict):
    """A table of primitives: how the costs of system vectors are made from the series of an experiment."""

    primitives: dict[Name, PrimitiveSpec] = Field(
        description="Name to primitive.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[
            {
                "stat": {
                    "series": {"suite": "lm", "benchmark": "lat_syscall", "parameters": {"call": "stat"}},
                    "cost": "constant",
                }
            }
        ],
    )


def read_primitives(path: Path) -> PrimitiveTable:
    """Read a table of primitives.

    Args:
        path: such as `find_home() / OS`.

    Raises:
        SpecError: every problem of the file.
    """
    document = read_yaml(path, shown_path(path))
    problems: list[Problem] = []
    model = check(PrimitivesFile, document, problems)
    if model is not None:
        _check_shares(model, document, problems)
    if model is None or problems:
        raise SpecError(problems)
    return PrimitiveTable({name: _rule(spec) for name, spec in model.primitives.items()}, shown_path(path))


def _rule(spec: PrimitiveSpec) -> PrimitiveRule:
    chosen, share = spec.series, spec.user_share
    return PrimitiveRule(
        spec.unit,
        SeriesChoice(chosen.suite, chosen.benchmark, chosen.metric, dict(chosen.parameters)),
        spec.cost.rule(),
        None
        if share is None
        else SeriesChoice(chosen.suite, chosen.benchmark, share.metric, dict(share.parameters)),
        spec.description,
    )


def _check_shares(model: PrimitivesFile, document: Document, problems: list[Problem]) -> None:
    for name, spec in model.primitives.items():
        if spec.user_share is not None and spec.user_share.metric == spec.series.metric:
            where = document.where(("primitives", name, "user_share", "metric"))
            problems.append(
                Problem(where, "another metric than that of the cost", spec.series.metric, "user_share")
            )
