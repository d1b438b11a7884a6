"""Tables of primitives, such as `configs/primitives/os.yml`: the series of a suite for each cost of a system vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, model_validator

from regatta.host.errors import Problem, SpecError
from regatta.models.vectors.values import Outside, PrimitiveUnit
from regatta.spec.fields import MAX_ITEMS, Line, Name, ParameterName, ScalarValue, Strict, listed, refusal
from regatta.spec.problems import check, shown_path
from regatta.spec.yaml_lines import Document, parse_yaml, read_yaml

#: the folder of a clone's tables of primitives, and the name of the table for the operating system
TABLES, OS = Path("configs") / "primitives", "os"
_SUFFIX = ".yml"
Model = TypeVar("Model", bound=Strict)

#: `constant`: a single series; `fixed`, `per`: that part of the line over an argument; `linear`: the line; `table`: every
#: series unchanged; `piecewise`: a line between two adjacent breaks
CostKind = Literal["constant", "fixed", "per", "linear", "table", "piecewise"]


#: option of `cost` -> its kind
_KINDS: dict[str, CostKind] = {"fixed_of": "fixed", "per_of": "per"}
_KINDS |= {"linear": "linear", "table": "table", "piecewise": "piecewise"}


class ChosenSeries(Strict):
    """All series of a benchmark that have these parameters."""

    suite: Name = Field(description="Name of the suite.", examples=["lm"])
    benchmark: Name = Field(description="Name of the benchmark.", examples=["lat_syscall"])
    metric: Line = Field("latency", description="Metric of the benchmark.", examples=["latency"])
    parameters: dict[ParameterName, ScalarValue] = Field(
        {},
        description="Parameters of the metric and their values. The selected series must differ only in the "
        "arguments of the cost.",
        max_length=32,
        examples=[{"call": "stat"}],
    )


class ShareChoice(Strict):
    """Metric of the same benchmark that gives the share of the cost in user mode."""

    metric: Line = Field(description="A metric that is a ratio or a percentage.", examples=["user_share"])
    parameters: dict[ParameterName, ScalarValue] = Field(
        {}, description="As in `series`. Several series are averaged.", max_length=32, examples=[{}]
    )


def _check_breaks(breaks: list[float]) -> list[float]:
    if any(low >= high for low, high in pairwise(breaks)):
        raise refusal("numbers in ascending order")
    return breaks


class CostSpec(Strict):
    """The function to fit to the series: one key with its options. `cost: constant` uses the single series unchanged."""

    fixed_of: ParameterName | None = Field(
        None, description="The constant term of the line over this parameter.", examples=["bytes"]
    )
    per_of: ParameterName | None = Field(
        None,
        description="The slope of the line over this parameter, which must be in the unit of the primitive.",
        examples=["bytes"],
    )
    linear: ParameterName | None = Field(
        None,
        description="The line over this parameter, which becomes the argument of the cost.",
        examples=["bytes"],
    )
    table: Annotated[list[ParameterName], BeforeValidator(listed), Field(max_length=8)] = Field(
        [], description="All series unchanged, over these parameters.", examples=[["bytes"]]
    )
    piecewise: ParameterName | None = Field(
        None, description="A line over this parameter between each two `breaks`.", examples=["bytes"]
    )
    breaks: Annotated[
        list[Annotated[float, Field(gt=0, le=1e15)]], Field(max_length=32), AfterValidator(_check_breaks)
    ] = Field(
        [],
        description="With `piecewise`: values where one line ends and the next one starts, such as the sizes of "
        "caches.",
        examples=[[1048576]],
    )
    outside: Outside = Field(
        "hold",
        description="With `table`: value outside the measured points. `hold`: the nearest value. `extend`: the "
        "line through the last two points.",
        examples=["extend"],
    )

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        if value == "constant":
            return {}
        if not isinstance(value, dict) or not value:
            raise refusal(f"`constant`, or one of {', '.join(_KINDS)}", "write `{linear: bytes}`")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> CostSpec:
        given = [key for key in _KINDS if getattr(self, key)]
        if self.model_fields_set and len(given) != 1:
            raise refusal(f"one of {', '.join(_KINDS)}", "write `{linear: bytes}`")
        if bool(self.breaks) != (self.piecewise is not None):
            raise refusal(
                "`breaks` if and only if `piecewise`", "write `{piecewise: bytes, breaks: [1048576]}`"
            )
        if "outside" in self.model_fields_set and not self.table:
            raise refusal("`outside` only with `table`", "remove it", key="outside")
        if len(set(self.table)) != len(self.table):
            raise refusal("unique arguments", "remove one", key="table")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"const": "constant"}, handler(schema)]}

    @property
    def kind(self) -> CostKind:
        """Return the kind of cost."""
        return next((kind for key, kind in _KINDS.items() if getattr(self, key)), "constant")

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the parameters of the series that are the cost's arguments: none for `constant`; several only for `table`."""
        one = self.fixed_of or self.per_of or self.linear or self.piecewise
        return (one,) if one else tuple(self.table)


class PrimitiveRule(Strict):
    """A primitive: its cost, and the series that the cost is derived from."""

    description: Line = Field(
        "", description="Description of one operation.", examples=["open a file, close it"]
    )
    unit: PrimitiveUnit = Field(
        "operation", description="Unit in which the primitive is counted.", examples=["operation", "byte"]
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
    def _not_chosen_twice(self) -> PrimitiveRule:
        twice = [name for name in self.cost.arguments if name in self.series.parameters]
        if twice:
            expected = f"`{twice[0]}` either in `cost` or in `parameters`"
            raise refusal(expected, "remove it from `parameters`", key="cost")
        return self


class PrimitivesFile(Strict):
    """How to derive the costs of system vectors from the series of an experiment."""

    user_share: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        description="Share of each cost in user mode, unless the primitive has a `user_share`. 1: methods of a library, "
        "whose time is part of the application's user time.",
        examples=[1],
    )
    primitives: dict[Name, PrimitiveRule] = Field(
        description="The primitives, by name.",
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


@dataclass(frozen=True)
class PrimitiveTable:
    """All primitives of a kind of system, in order."""

    primitives: Mapping[str, PrimitiveRule]
    #: the file of the table
    source: str = ""
    #: of primitives without a measured one
    user_share: float = 0.0


def find_primitives(name: str, home: Path | None) -> Path:
    """Find a table of primitives by its file, or by its name in `configs/primitives`.

    Raises:
        SpecError: the table is missing.
    """
    if Path(name).is_file():
        return Path(name)
    where = "--primitives"
    if home is None:
        expected = f"the table of primitives {TABLES / name}{_SUFFIX} in a clone of Regatta"
        fix = "change into the clone, or set REGATTA_HOME to it"
        raise SpecError.of(where, expected, "no clone found", fix)
    path = home / TABLES / f"{name}{_SUFFIX}"
    if not path.is_file():
        names = sorted(one.stem for one in path.parent.glob(f"*{_SUFFIX}"))
        known = [name for name in names if not name.endswith("-calls")]
        expected = f"a file with a table of primitives, or a name in {TABLES}"
        raise SpecError.of(where, f"{expected} ({', '.join(known) or 'none defined'})", repr(name))
    return path


def read_primitives(path: Path) -> PrimitiveTable:
    """Read a table of primitives.

    Raises:
        SpecError: every problem of the file.
    """
    return _primitives(read_yaml(path, shown_path(path)))


def parse_primitives(text: str, file: str) -> PrimitiveTable:
    """Read a table of primitives from text; `file` is its name in problems. Raises the errors of `read_primitives`."""
    return _primitives(parse_yaml(text.encode(), file))


def _primitives(document: Document) -> PrimitiveTable:
    model = checked_table(document, PrimitivesFile, _check_shares)
    return PrimitiveTable(model.primitives, document.file, model.user_share)


def checked_table(
    document: Document, model: type[Model], also: Callable[[Model, Document, list[Problem]], None]
) -> Model:
    """Return a table as a model; `also` adds the problems that need the whole file.

    Raises:
        SpecError: every problem of the file.
    """
    problems: list[Problem] = []
    found = check(model, document, problems)
    if found is not None:
        also(found, document, problems)
    if found is None or problems:
        raise SpecError(problems)
    return found


def _check_shares(model: PrimitivesFile, document: Document, problems: list[Problem]) -> None:
    for name, spec in model.primitives.items():
        if spec.user_share is not None and spec.user_share.metric == spec.series.metric:
            where = document.where(("primitives", name, "user_share", "metric"))
            expected = "a metric different from that of `cost`"
            problems.append(Problem(where, expected, spec.series.metric, "use `user_share`"))
