"""The heap of a spec: factors of minheap or sizes, each a list or an exact range."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import Discriminator, Field, Tag, model_validator

from regatta.spec.fields import MAX_ITEMS, Exact, Strict, refusal


class _Range(Strict):
    """Evenly spaced values, both ends included; exact, so that 1 to 6 by 0.25 are 21."""

    first: Any = Field(alias="from")
    last: Any = Field(alias="to")
    step: Any

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.last < self.first:
            raise refusal("`from` <= `to`", "exchange them", key="from")
        steps = Decimal(self.last - self.first) / self.step
        if steps != steps.to_integral_value():
            reached = Decimal(self.first + self.step * int(steps))
            raise refusal(
                "`to` = `from` + a multiple of `step`", f"write `to: {reached.normalize():f}`", key="to"
            )
        if steps >= MAX_ITEMS:
            raise refusal(f"at most {MAX_ITEMS} values in a range", "increase `step`", key="step")
        return self

    def values(self) -> list[Any]:
        """Return all values in ascending order."""
        return [self.first + self.step * i for i in range(int((self.last - self.first) / self.step) + 1)]


class FactorRange(_Range):
    """Evenly spaced factors, both ends included."""

    first: Annotated[Exact, Field(gt=0)] = Field(alias="from", description="First factor.", examples=[1])
    last: Annotated[Exact, Field(gt=0)] = Field(
        alias="to", description="Last factor, included.", examples=[6]
    )
    step: Annotated[Exact, Field(gt=0)] = Field(
        description="Distance between neighbors. `to` minus `from` must be a multiple of it.", examples=[0.25]
    )


class SizeRange(_Range):
    """Evenly spaced sizes, both ends included."""

    first: int = Field(alias="from", description="First size in MiB.", ge=1, le=2**24, examples=[64])
    last: int = Field(alias="to", description="Last size in MiB, included.", ge=1, le=2**24, examples=[512])
    step: int = Field(
        description="Distance between neighbors in MiB. `to` minus `from` must be a multiple of it.",
        ge=1,
        le=2**24,
        examples=[64],
    )


def _list_or_range(value: Any) -> str:
    return "<range>" if isinstance(value, dict | Strict) else "<list>"


_FactorList = Annotated[list[Annotated[Exact, Field(gt=0)]], Field(min_length=1, max_length=MAX_ITEMS)]
_SizeList = Annotated[list[Annotated[int, Field(ge=1, le=2**24)]], Field(min_length=1, max_length=MAX_ITEMS)]
Factors = Annotated[
    Annotated[_FactorList, Tag("<list>")] | Annotated[FactorRange, Tag("<range>")],
    Discriminator(_list_or_range),
]
Sizes = Annotated[
    Annotated[_SizeList, Tag("<list>")] | Annotated[SizeRange, Tag("<range>")], Discriminator(_list_or_range)
]


class HeapSpec(Strict):
    """Heap of Java runtimes (both `-Xms` and `-Xmx`): either multiples of the minheap or sizes."""

    factors: Factors | None = Field(
        None,
        description="Multiples of the minheap of the benchmark: a list, or `{from, to, step}` with both ends "
        "included.",
        examples=[[1.5, 4], {"from": 1, "to": 6, "step": 0.25}],
    )
    sizes_mib: Sizes | None = Field(
        None,
        description="Heap sizes in MiB: a list, or `{from, to, step}` with both ends included.",
        examples=[[64, 256], {"from": 64, "to": 512, "step": 64}],
    )

    @model_validator(mode="after")
    def _one(self) -> HeapSpec:
        if (self.factors is None) == (self.sizes_mib is None):
            raise refusal(
                "either `factors` or `sizes_mib`",
                "remove one (to override an included spec, set it to null)",
            )
        return self


def factors(heap: HeapSpec | None) -> list[Decimal]:
    """Return the heap factors of a spec, exact."""
    given = heap.factors if heap else None
    return given.values() if isinstance(given, FactorRange) else list(given or ())


def sizes_mib(heap: HeapSpec | None) -> list[int]:
    """Return the heap sizes of a spec, in MiB."""
    given = heap.sizes_mib if heap else None
    return given.values() if isinstance(given, SizeRange) else list(given or ())
