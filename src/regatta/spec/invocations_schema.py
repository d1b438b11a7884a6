"""How often each cell is measured: a fixed number of rounds, or a rule of stopping."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from regatta.spec.fields import Strict, refusal

#: the plan holds a quantile for each
MAX_ADAPTIVE = 10_000


class Adaptive(Strict):
    """Rounds until the comparisons are as narrow as wanted. All alternatives of a block stop together, on their differences."""

    rule: Literal["stein", "javastats"] = Field(
        "stein",
        description="`stein`: the spread of the pilot says once how many rounds are needed. `javastats`: after each segment "
        "it is seen whether the interval is narrow enough; intervals that stop so cover less than they say "
        "(0.90 to 0.94 for 0.95 with a pilot of 3).",
        examples=["javastats"],
    )
    target_percent: float = Field(
        1.0,
        description="Wanted half-width of each ratio's interval, in per cent.",
        gt=0,
        le=100,
        examples=[2],
    )
    pilot: int = Field(
        10,
        description="Rounds before the first decision. They are the first segment.",
        ge=3,
        le=MAX_ADAPTIVE,
        examples=[5],
    )
    maximum: int = Field(
        30,
        description="Rounds at most. Where the target would take more, or the pilot shows several modes, so many are run "
        "and the answer says that the target was not met.",
        ge=3,
        le=MAX_ADAPTIVE,
        examples=[50],
    )

    @model_validator(mode="after")
    def _room(self) -> Adaptive:
        if self.maximum < self.pilot:
            raise refusal(
                f"`maximum` of at least `pilot` ({self.pilot})",
                f"`maximum: {self.pilot}` or more",
                key="maximum",
            )
        return self


class Invocations(Strict):
    """How often each cell is measured, each time in a fresh process. Either `fixed` or `adaptive`."""

    fixed: int | None = Field(
        None,
        description="As many rounds for every cell. 30 is the setting for publication. Where the first iteration is an "
        "invocation's number (`startup`), one more is run before them and left out: it finds cold disk caches.",
        ge=1,
        le=10_000_000,
        examples=[10],
    )
    adaptive: Adaptive | None = Field(
        None,
        description=str(Adaptive.__doc__),
        examples=[{"target_percent": 1}],
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Invocations:
        fix = "`invocations: {fixed: 10}`"
        if self.adaptive is not None and self.fixed is not None:
            raise refusal("either `fixed` or `adaptive`", "remove one of them", key="adaptive")
        if self.adaptive is None and self.fixed is None:
            raise refusal("`fixed`, the number of invocations, or `adaptive`", fix, key="fixed")
        return self
