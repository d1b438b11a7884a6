"""The number of invocations in a spec: fixed, or decided while measuring."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from regatta.host.journal.looks import FIRST
from regatta.spec.fields import Strict, refusal

#: the plan holds a quantile for each round
MAX_ADAPTIVE = 10_000


#: measuring time: a number and its unit
BUDGET = "[1-9][0-9]{0,5}[smhd]"
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def _check_room(pilot: int, maximum: int) -> None:
    if maximum < pilot:
        raise refusal(f"`maximum` >= `pilot` ({pilot})", f"write `maximum: {pilot}` or more", key="maximum")


class Adaptive(Strict):
    """Measure until the intervals are narrow enough. All alternatives of a block stop together, based on their differences, except with `javastats-cell`."""

    rule: Literal["stein", "javastats", "javastats-cell"] = Field(
        "stein",
        description="`stein`: the variance of the pilot determines the number of rounds once. `javastats`: the "
        "interval width is checked after each segment. Intervals under `javastats` cover less than "
        "stated (0.90 to 0.94 for 0.95 with a pilot of 3). `javastats-cell`: the same for each cell alone, by the "
        "interval of its mean. Comparisons then use the blocks that both cells have.",
        examples=["javastats"],
    )
    target_percent: float = Field(
        1.0,
        description="Target half-width of the interval of each ratio, in percent. With `javastats-cell`: of each mean, in "
        "percent of the mean.",
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
        description="Maximum number of rounds. If the target needs more, or if the pilot shows a gap, such as"
        " rare slow runs, all of them run and the answer reports that the target was not met.",
        ge=3,
        le=MAX_ADAPTIVE,
        examples=[50],
    )

    @model_validator(mode="after")
    def _room(self) -> Adaptive:
        _check_room(self.pilot, self.maximum)
        return self


class Decide(Strict):
    """Measure each comparison until it has an answer: one alternative is faster, or they are equivalent. An alternative whose comparisons all have an answer leaves the blocks."""

    relevance_percent: float = Field(
        2.0,
        description="Largest irrelevant difference, in percent. A comparison is equivalent if its interval excludes larger ones.",
        gt=0,
        le=100,
        examples=[1],
    )
    pilot: int = Field(
        FIRST,
        description="Rounds before the values are looked at. Answers after few rounds have wide intervals.",
        ge=FIRST,
        le=MAX_ADAPTIVE,
        examples=[5],
    )
    maximum: int = Field(
        30,
        description="Maximum number of rounds. A comparison without an answer ends earlier if an answer within them is not to be "
        "expected. Rare slow runs and differences that depend on their predecessors need all rounds.",
        ge=3,
        le=MAX_ADAPTIVE,
        examples=[100],
    )
    budget: str | None = Field(
        None,
        description="Measuring time of the experiment on each host, as `90s`, `30m`, `2h` or `1d`. When it is spent, the comparisons "
        "without an answer are undecided. Measuring ends where the rounds until the next look at the values would exceed it.",
        pattern=f"^{BUDGET}$",
        examples=["2h"],
    )
    hosts: Literal["each", "together"] = Field(
        "each",
        description="`each`: every host decides for itself. `together`: after each segment, all hosts wait for each other, and the "
        "mean difference over the hosts of a platform decides. They then need fewer rounds. The first segment is the `pilot`, and "
        "`segment.rounds` is 5 if omitted.",
        examples=["together"],
    )

    @model_validator(mode="after")
    def _room(self) -> Decide:
        _check_room(self.pilot, self.maximum)
        return self

    @property
    def budget_s(self) -> float | None:
        """Return the budget in seconds."""
        return None if self.budget is None else int(self.budget[:-1]) * _SECONDS[self.budget[-1]]


class Invocations(Strict):
    """Number of invocations of each cell, each in a fresh process: `fixed`, `adaptive` or `decide`. `fixed` can be the minimum of a number that each host decides."""

    fixed: int | None = Field(
        None,
        description="Number of rounds of every cell. For publication, use 30. With `method: startup` or `replay`,"
        " one additional round runs first and is excluded, because it runs with cold disk caches.",
        ge=1,
        le=10_000_000,
        examples=[10],
    )
    each_counter: int | None = Field(
        None,
        description="Rounds in which each counter of the processor is counted, at least. A round counts one group of counters, and a "
        "host has as many groups as its processor needs. `fixed` rounds run first, then the rounds that are still needed "
        "(docs/counters.md).",
        ge=1,
        le=1000,
        examples=[2],
    )
    seconds: float | None = Field(
        None,
        description="Measuring time of each cell, in seconds. `fixed` rounds run first, then as many as this time allows, at most "
        "`maximum`. With `decide`: where 30 rounds or more fit into this time (`decide.maximum`, if that is smaller), as many run as "
        "fit, at most `maximum`. Else the values decide, and after ten rounds with fewer than three complete blocks, a comparison is "
        "undecided. Without `decide`, all alternatives of a block have the same number of rounds. A block group has this time for each of its cells. "
        "The time of a round is the sum of the median times of its invocations in the `fixed` rounds (`decide.pilot` rounds), each with its preparation, the "
        "work of the runner and the sync of its record, without repetitions of perturbed invocations.",
        gt=0,
        le=1_000_000,
        examples=[3],
    )
    maximum: int | None = Field(
        None,
        description="With `seconds`: maximum number of rounds in this time.",
        ge=1,
        le=10_000_000,
        examples=[3000],
    )
    discarded: int | None = Field(
        None,
        description="Rounds that run before all others and are excluded from every estimate. If omitted: 1 with `method: startup` or "
        "`replay`, because it runs with cold disk caches, else 0.",
        ge=0,
        le=100_000,
        examples=[3],
    )
    adaptive: Adaptive | None = Field(
        None,
        description=str(Adaptive.__doc__),
        examples=[{"target_percent": 1}],
    )
    decide: Decide | None = Field(
        None,
        description=str(Decide.__doc__),
        examples=[{"relevance_percent": 1}],
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Invocations:
        given = [key for key in ("fixed", "adaptive", "decide") if getattr(self, key) is not None]
        if len(given) > 1:
            raise refusal("one of `fixed`, `adaptive` and `decide`", "remove the others", key=given[-1])
        if not given:
            fix = "write `invocations: {fixed: 10}`"
            raise refusal("`fixed` (the number of invocations), `adaptive` or `decide`", fix, key="fixed")
        if self.each_counter is not None and self.fixed is None:
            raise refusal(
                "`fixed` beside `each_counter`",
                "add `fixed: 10`, or remove `each_counter`",
                key="each_counter",
            )
        return self

    @model_validator(mode="after")
    def _of_time(self) -> Invocations:
        if (self.seconds is None) != (self.maximum is None):
            key = "maximum" if self.maximum is None else "seconds"
            raise refusal("both `seconds` and `maximum`, or none of them", f"add `{key}`", key=key)
        if self.seconds is None or self.maximum is None:
            return self
        if self.adaptive is not None or self.each_counter is not None:
            other = "each_counter" if self.adaptive is None else "adaptive"
            fix = f"remove `{other}`, or `seconds`"
            raise refusal("only `fixed` or `decide` beside `seconds`", fix, key="seconds")
        name, least = "fixed", self.fixed or 0
        if self.decide is not None:
            name, least = "decide.maximum", self.decide.maximum
            if self.decide.budget is not None:
                fix = "remove `budget`, or `seconds` and `maximum`"
                raise refusal("no `decide.budget` beside `seconds`", fix, key="seconds")
            if self.decide.hosts == "together":
                fix = "remove `hosts: together`, or `seconds` and `maximum`"
                raise refusal("hosts that decide for themselves beside `seconds`", fix, key="seconds")
        if self.maximum < least:
            raise refusal(
                f"`maximum` >= `{name}` ({least})", f"write `maximum: {least}` or more", key="maximum"
            )
        return self
