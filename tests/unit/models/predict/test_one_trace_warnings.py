"""Vectors of one trace: predictions by them, and by mixes that have them, warn."""

from __future__ import annotations

from helpers.golden import Golden
from helpers.vector_examples import application_of, constant, system_of
from regatta.models.predict.mixing import mixed
from regatta.models.predict.predictions import Request, RequestedApplication, forecast_of
from regatta.models.vectors.sources import SystemSource
from regatta.models.vectors.values import ApplicationVector, Count, Value

ONCE, OFTEN = Value(10, 10, 10, 1, "one trace"), Value(20, 18, 22, 5)
SYSTEM = SystemSource(system_of(a=constant(100), b=constant(10)))


def warnings(asked: RequestedApplication) -> str:
    """The warnings that intervals are too narrow, one per line."""
    told = forecast_of(Request((asked,), (SYSTEM,))).warnings
    return "\n".join(one for one in told if "Intervals exclude" in one)


def of(number: Value, name: str, *primitives: str, user: Value | None = None) -> ApplicationVector:
    return application_of(*(Count(primitive, number) for primitive in primitives), name=name, user=user)


def test_counts_of_one_trace_and_a_user_time_of_one_run_are_told_each_by_itself(golden: Golden) -> None:
    golden("counts of one trace", warnings(RequestedApplication(of(ONCE, "x", "a", user=OFTEN))))
    golden("user time of one run", warnings(RequestedApplication(of(OFTEN, "x", "a", user=ONCE))))


def test_a_mix_with_an_application_of_one_trace_warns(golden: Golden) -> None:
    parts = ((of(ONCE, "once", "a", user=ONCE), 0.5), (of(OFTEN, "often", "a", "b", user=OFTEN), 0.5))
    golden("mix", warnings(RequestedApplication(mixed("both", parts), parts)))
    often = ((of(OFTEN, "one", "a", user=OFTEN), 0.5), parts[1])
    assert warnings(RequestedApplication(mixed("both", often), often)) == ""
