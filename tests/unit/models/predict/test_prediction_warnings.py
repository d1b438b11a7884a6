"""What predictions warn of: arguments that nobody measured, user time that is not brought from one system to another."""

from __future__ import annotations

from dataclasses import replace

from helpers.golden import Golden
from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.models.predict.forecast import Forecast
from regatta.models.predict.predictions import Replaced, Request, RequestedApplication, forecast_of
from regatta.models.predict.tables import changes_table, speed_ups_table
from regatta.models.predict.what_if import parse_change
from regatta.models.vectors.sources import SystemSource
from regatta.models.vectors.values import (
    ApplicationVector,
    LinearCost,
    PrimitiveCost,
    SystemVector,
    Value,
)

READ = PrimitiveCost(
    "operation",
    LinearCost("bytes", Value.exact(100), Value.exact(0.1)),
    measured={"bytes": (1024.0, 16384.0)},
)


def on_host(system: SystemVector) -> SystemVector:
    return replace(system, provenance={"fingerprint": system.name})


def forecast(application: ApplicationVector, *systems: SystemVector, **more: object) -> Forecast:
    sources = tuple(SystemSource(one) for one in systems)
    return forecast_of(Request((RequestedApplication(application),), sources, **more))  # type: ignore[arg-type]


def test_a_cost_that_is_used_far_from_where_it_was_measured_is_told_with_its_part_of_the_time(
    golden: Golden,
) -> None:
    systems = [system_of(name, read=READ, null=constant(1)) for name in ("one", "two")]
    far = application_of(count_of("read", 1, bytes=9000), count_of("read", 1, bytes=99_000), name="far")
    (told,) = [one for one in forecast(far, *systems).warnings if "extrapolated" in one]
    golden("extrapolated cost", told)
    near = application_of(count_of("read", 1000, bytes=9000), count_of("read", 1, bytes=99_000))
    small = application_of(count_of("read", 1, bytes=12), name="small")
    assert not any("extrapolated" in one for one in forecast(near, *systems).warnings)
    (told,) = [one for one in forecast(small, *systems).warnings if "extrapolated" in one]
    assert "read at bytes 12" in told


def test_user_time_that_is_not_brought_to_a_system_is_told(golden: Golden) -> None:
    old = on_host(system_of("old", a=constant(1000), user_work=constant(20)))
    new = on_host(system_of("new", a=constant(1000), user_work=constant(10)))
    plain = on_host(system_of("plain", a=constant(1000)))
    traced = replace(
        application_of(count_of("a", 4), name="cgi", user=Value.exact(4000)),
        provenance={"fingerprint": "old"},
    )
    (warning,) = [one for one in forecast(traced, old, new, plain).warnings if "is assumed to be" in one]
    golden("user time that is not brought", warning)
    assert not any("is assumed to be" in one for one in forecast(traced, old, new).warnings)


def test_a_change_of_what_work_in_user_mode_costs_is_told_as_what_it_saves(golden: Golden) -> None:
    old = on_host(system_of("old", a=constant(1000), user_work=constant(20)))
    new = on_host(system_of("new", a=constant(1000), user_work=constant(10)))
    traced = replace(
        application_of(count_of("a", 4), name="cgi", user=Value.exact(4000)),
        provenance={"fingerprint": "old"},
    )
    found = forecast(traced, old, new, changes={"user_work": parse_change("0.5x")})
    times = {row.system: row.elapsed.value for row in found.applications[0].systems}
    assert times == {"old": 6000, "new": 5000}
    (said,) = [one for one in found.sentences if "saves" in one]
    golden("saved by a change", said)
    table = changes_table(found.applications[0], found.changes)
    assert [(row[0], row[-1]) for row in table.rows] == [("new", "16.7 %"), ("old", "25.0 %")]


def test_a_change_that_slows_down_is_told_as_a_cost_and_never_as_a_negative_saving(golden: Golden) -> None:
    base = on_host(system_of("base", a=constant(1000), b=constant(0)))
    slow = on_host(system_of("slow", a=constant(500), b=constant(1500)))
    cgi = application_of(count_of("a", 2), count_of("b", 2), name="cgi", user=Value.exact(4000))
    dearer = [
        one for one in forecast(cgi, base, slow, changes={"a": parse_change("2x")}).sentences if "2x" in one
    ]
    golden("a-cost-on-both-systems", "\n".join(dearer))
    both = [
        one
        for one in forecast(cgi, base, slow, changes={"a": parse_change("700ns")}).sentences
        if "700" in one
    ]
    golden("a-saving-and-a-cost", "\n".join(both))


def test_a_speedup_that_is_undefined_has_its_reason_in_the_table_and_the_sentence(golden: Golden) -> None:
    system = on_host(system_of("old", a=constant(1000)))
    cgi = application_of(count_of("a", 4), count_of("lacking", 1), name="cgi", user=Value.exact(4000))
    fast = application_of(count_of("a", 2), name="fast", user=Value.exact(4000))
    replaced = Replaced(RequestedApplication(cgi), RequestedApplication(fast))
    found = forecast_of(Request((), (SystemSource(system),), replaced=(replaced,)))
    table = speed_ups_table(found.speed_ups)
    assert table.columns == ("system", "replacement", "note")
    assert [row[:2] for row in table.rows] == [("old", "cgi → fast")]
    note = table.rows[0][2]
    golden("speedup-without-a-cost", note)
    assert any(note in one for one in found.sentences)


def test_the_measured_share_of_system_classes_is_told_with_the_predicted_one(golden: Golden) -> None:
    put = constant(1000, user=1)
    old = on_host(system_of("old", put=put))
    new = on_host(system_of("new", put=put))
    share = "62.1 % [58.0, 66.1] (95 % CI, 523 samples)"
    jess = application_of(count_of("put", 4), name="jess", user=Value.exact(10_000))
    traced = replace(jess, provenance={"fingerprint": "old", "system_share": share})
    (said,) = [one for one in forecast(traced, old, new).sentences if "system classes" in one]
    golden("measured and predicted share", said)
    # On another JVM the share is another.
    (said,) = [one for one in forecast(traced, new).sentences if "system classes" in one]
    golden("measured share", said)
    assert not any("system classes" in one for one in forecast(jess, old, new).sentences)
