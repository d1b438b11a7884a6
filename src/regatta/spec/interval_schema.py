"""Numbers of vectors with their intervals, as files hold them."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator

from regatta.spec.fields import Line, Strict, refusal

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
