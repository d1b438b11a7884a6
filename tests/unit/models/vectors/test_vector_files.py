"""Files of vectors: what is wrong in them is told by line and key, all at once, and what is written is read back."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.golden import Golden
from helpers.vector_examples import application_vectors, system_of, system_vectors
from regatta.host.errors import RegattaError, SpecError
from regatta.models.vectors.files import parse_vector, read_vector, vector_text, write_vector
from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Count,
    LinearCost,
    PiecewiseCost,
    PrimitiveCost,
    Share,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)

SYSTEM = """\
kind: system
name: quiet
time_unit: us
level: 0.99
primitives:
  tcp_connect: {unit: operation, cost: 353}
  stat: {unit: operation, cost: {value: 20.9, low: 20.5, high: 21.25, n: 30}}
  open_close: {unit: operation, cost: {value: 24, n: 1, reason: one invocation}}
  file_read: {unit: operation, cost: {linear: {argument: bytes, fixed: 3, per: {value: 0.006, low: 0.005, high: 0.007}}}}
  gc_live:
    unit: object
    cost:
      table: {arguments: [bytes], outside: extend, points: [{at: 12, cost: 0.7}, {at: [132], cost: 1.46}]}
  copy: {unit: MiB, cost: {piecewise: {argument: bytes, breaks: [32768], pieces: [{fixed: 1, per: 2}, {fixed: -9, per: 3}]}}}
  simple_process: {unit: operation, cost: 8256, user_share: {value: 0.2, low: 0.1, high: 0.3}}
provenance:
  experiment: hbench-os
  build: 7
"""

APPLICATION = """\
kind: application
name: apache-static
per: request
time_unit: us
user_time: {value: 81, low: 80, high: 82}
benchmark: web/apache-static
counts:
  - {primitive: tcp_connect, count: 0.37}
  - {primitive: file_read, count: 1, arguments: {bytes: 14712}}
  - {primitive: file_read, count: 2, distribution: [{arguments: {bytes: 1}, share: 0.25}, {arguments: {bytes: 9}, share: 0.75}]}
  - {primitive: null_call, count: 7, stands_for: [times, getpid], rule: light calls cost a null call}
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse_vector(text, "f.yml")
    return [str(problem) for problem in caught.value.problems]


def problem_of_cost(cost: str, rest: str = "") -> str:
    (problem,) = problems_of(
        f"kind: system\nname: s\ntime_unit: ns\nprimitives:\n  p: {{unit: operation, cost: {cost}{rest}}}\n"
    )
    return problem


def test_a_system_vector_is_read_with_every_form_of_cost() -> None:
    exact = Value.exact
    table = TableCost(
        ("bytes",), (TablePoint((12.0,), exact(0.7)), TablePoint((132.0,), exact(1.46))), "extend"
    )
    pieces = ((exact(1.0), exact(2.0)), (exact(-9.0), exact(3.0)))
    found = parse_vector(SYSTEM, "f.yml")
    assert isinstance(found, SystemVector)
    assert (found.name, found.time_unit, found.level) == ("quiet", "us", 0.99)
    assert found.provenance == {"experiment": "hbench-os", "build": "7"}
    unknown = found.primitives["open_close"].cost
    assert isinstance(unknown, ConstantCost)
    assert (unknown.cost.value, unknown.cost.n, unknown.cost.reason) == (24, 1, "one invocation")
    assert unknown.cost.low != unknown.cost.low
    assert {name: one for name, one in found.primitives.items() if name != "open_close"} == {
        "tcp_connect": PrimitiveCost("operation", ConstantCost(exact(353.0))),
        "stat": PrimitiveCost("operation", ConstantCost(Value(20.9, 20.5, 21.25, 30))),
        "file_read": PrimitiveCost("operation", LinearCost("bytes", exact(3.0), Value(0.006, 0.005, 0.007))),
        "gc_live": PrimitiveCost("object", table),
        "copy": PrimitiveCost("MiB", PiecewiseCost("bytes", (32768.0,), pieces)),
        "simple_process": PrimitiveCost("operation", ConstantCost(exact(8256.0)), Value(0.2, 0.1, 0.3)),
    }


def test_an_application_vector_is_read() -> None:
    shares = (Share({"bytes": 1.0}, 0.25), Share({"bytes": 9.0}, 0.75))
    light = Count(
        "null_call", Value.exact(7.0), stands_for=("times", "getpid"), rule="light calls cost a null call"
    )
    assert parse_vector(APPLICATION, "f.yml") == ApplicationVector(
        "apache-static",
        "request",
        (
            Count("tcp_connect", Value.exact(0.37)),
            Count("file_read", Value.exact(1.0), {"bytes": 14712.0}),
            Count("file_read", Value.exact(2.0), distribution=shares),
            light,
        ),
        user_time=Value(81.0, 80.0, 82.0),
        time_unit="us",
        benchmark="web/apache-static",
    )


def test_pauses_and_threads_of_an_application_are_kept() -> None:
    text = APPLICATION + "pause_time: {value: 5, low: 4, high: 6, n: 3}\nparallelism: 1.75\n"
    found = parse_vector(text, "f.yml")
    assert isinstance(found, ApplicationVector)
    assert (found.pause_time, found.parallelism) == (Value(5.0, 4.0, 6.0, 3), 1.75)
    assert parse_vector(vector_text(found), "g.yml") == found
    assert "parallelism: expected" in problems_of(APPLICATION + "parallelism: 0.5\n")[0]


def test_every_problem_is_told_at_once_by_line_and_key(golden: Golden) -> None:
    found = problems_of(
        "kind: system\nname: s\ntime_unit: hours\nprimitives:\n"
        "  a: {unit: operation, cost: -1}\n"
        "  b: {unit: furlong, cost: {value: 5, low: 6, high: 7}}\n"
        "  c: {unit: operation}\n"
        "  d: {unit: operation, cost: .inf, colour: red}\n"
        "  e: {unit: operation, cost: {linear: {argument: bytes, fixed: '3', per: -2}}}\n"
    )
    golden("all at once", "\n".join(found))


@pytest.mark.parametrize(
    "cost",
    [
        "{value: 5, low: 4}",
        "{value: 5, low: 4, high: 4.5}",
        "{value: .nan}",
        "true",
        "{}",
        "{value: 1, linear: {argument: a, fixed: 1, per: 1}}",
        "{n: 3, linear: {argument: a, fixed: 1, per: 1}}",
        "{table: {arguments: [a, a], points: [{at: [1, 1], cost: 1}]}}",
        "{table: {arguments: [a, b], points: [{at: 1, cost: 1}]}}",
        "{table: {arguments: [a], points: [{at: 1, cost: 1}, {at: 1.0, cost: 2}]}}",
        "{table: {arguments: [a, b], points: [{at: [1, 1], cost: 1}, {at: [2, 2], cost: 1}]}}",
        "{table: {arguments: [a], outside: guess, points: [{at: 1, cost: 1}]}}",
        "{table: {arguments: [a], points: [{at: 1, cost: -1}]}}",
        "{table: {arguments: [a], points: [{at: -8, cost: 1}]}}",
        "{piecewise: {argument: a, breaks: [3, 2], pieces: [{fixed: 1, per: 1}, {fixed: 1, per: 1}, {fixed: 1, per: 1}]}}",
        "{piecewise: {argument: a, breaks: [-3], pieces: [{fixed: 1, per: 1}, {fixed: 1, per: 1}]}}",
        "{piecewise: {argument: a, breaks: [3, 4], pieces: [{fixed: 1, per: 1}, {fixed: 1, per: 1}]}}",
        "{piecewise: {argument: a, breaks: [3], pieces: [{fixed: 1, per: 1}, {fixed: -9, per: 2}]}}",
        "{piecewise: {argument: a, breaks: [3], pieces: [{fixed: 1, per: 1}, {fixed: 9, per: -1}]}}",
    ],
)
def test_a_cost_that_is_none_is_refused(cost: str, golden: Golden) -> None:
    golden(cost, problem_of_cost(cost))


@pytest.mark.parametrize(
    "cost",
    [
        "{value: 5, low: -5.5, high: 6}",
        "{linear: {argument: a, fixed: {value: 1, low: -1, high: 3}, per: 1}}",
        "{table: {arguments: [a], points: [{at: 1, cost: {value: 1, low: -1, high: 3}}]}}",
    ],
)
def test_the_interval_of_a_cost_has_no_negative_end(cost: str) -> None:
    problem = problem_of_cost(cost)
    assert "`low` >= 0" in problem
    assert "`low: 0`" in problem


def test_the_interval_of_a_count_has_no_negative_end() -> None:
    counted = "counts:\n  - {primitive: a, count: {value: 1, low: -0.5, high: 2}}\n"
    with pytest.raises(SpecError, match="`low` >= 0"):
        parse_vector(f"kind: application\nname: a\nper: request\ntime_unit: us\n{counted}", "f.yml")


def test_a_computed_interval_is_written_without_its_negative_part() -> None:
    number, slope = Value(2.0, -3.0, 7.0, 5), Value(1.0, -1.0, 3.0, 5)
    pieces = ((Value.exact(1.0), slope), (Value(-3.0, -9.0, 1.0, 5), Value.exact(3.0)))
    vector = system_of(
        line=PrimitiveCost("operation", LinearCost("bytes", number, slope), Value(0.9, 0.7, 1.1, 5)),
        pieces=PrimitiveCost("operation", PiecewiseCost("bytes", (4.0,), pieces), Value.exact(0.0)),
    )
    read = parse_vector(vector_text(vector), "f.yml")
    assert isinstance(read, SystemVector)
    line, pieced = read.primitives["line"], read.primitives["pieces"]
    assert line.cost == LinearCost("bytes", replace(number, low=0.0), replace(slope, low=0.0))
    assert line.user_share == Value(0.9, 0.7, 1.0, 5)
    # The fixed part of a later piece can be negative, and so can its interval.
    assert pieced.cost == PiecewiseCost("bytes", (4.0,), pieces)


@pytest.mark.parametrize(
    "share", ["1.5", "-0.1", "{value: 2, low: 0, high: 3}", "{value: 0.5, low: 0.2, high: 1.5}"]
)
def test_a_user_share_is_from_0_to_1(share: str) -> None:
    assert "f.yml:5:primitives.p.user_share" in problem_of_cost("1", f", user_share: {share}")


@pytest.mark.parametrize(
    "share", ["{}", "{low: 0.1, high: 0.2}", "{low: 0, high: 1, reason: guessed}", "{n: 3, reason: lost}"]
)
def test_a_user_share_that_is_not_known_has_a_reason_and_nothing_else(share: str, golden: Golden) -> None:
    golden(f"user_share: {share}", problem_of_cost("1", f", user_share: {share}"))


def test_a_user_share_that_is_not_known_is_written_and_read_back() -> None:
    unknown = Value(math.nan, reason="no user_share was measured")
    vector = SystemVector(
        "s", "ns", {"p": PrimitiveCost("operation", ConstantCost(Value.exact(1.0)), unknown)}
    )
    text = vector_text(vector)
    assert "user_share: {reason: " in text
    read = parse_vector(text, "f.yml")
    assert isinstance(read, SystemVector)
    share = read.primitives["p"].user_share
    assert math.isnan(share.value)
    assert share.reason == unknown.reason
    assert vector_text(read) == text


@pytest.mark.parametrize(
    "entry",
    [
        "{primitive: a, count: -1}",
        "{primitive: a}",
        "{count: 1}",
        "{primitive: a, count: 1, arguments: {bytes: many}}",
        "{primitive: a, count: 1, arguments: {bytes: .inf}}",
        "{primitive: a, count: 1, arguments: {bytes: -1}}",
        "{primitive: a, count: 1, distribution: [{arguments: {b: -4}, share: 1}]}",
        "{primitive: a, count: 1, arguments: {b: 1}, distribution: [{arguments: {b: 1}, share: 1}]}",
        "{primitive: a, count: 1, distribution: [{arguments: {b: 1}, share: 0.7}, {arguments: {b: 2}, share: 0.2}]}",
        "{primitive: a, count: 1, distribution: [{arguments: {b: 1}, share: 1.2}]}",
        "{primitive: a, count: 1, arguments: {b: 2}}\n  - {primitive: a, count: 3, arguments: {b: 2.0}}",
    ],
)
def test_a_count_that_is_none_is_refused(entry: str, golden: Golden) -> None:
    (problem,) = problems_of(f"kind: application\nname: a\nper: request\ncounts:\n  - {entry}\n")
    golden(entry, problem)


NO_VECTORS = {
    "no kind": "name: s\n",
    "kind misspelt": "kind: sistem\n",
    "list of kinds": "kind: [system]\n",
    "list": "- 1\n",
    "empty": "",
    "no primitives": "kind: system\nname: s\ntime_unit: ns\nprimitives: {}\n",
    "no counts": "kind: application\nname: s\nper: r\ncounts: []\n",
    "duplicate provenance": SYSTEM + "  build: 8\n",
    "duplicate primitive": SYSTEM.replace("  stat:", "  tcp_connect:"),
    "level too high": SYSTEM.replace("0.99", "1"),
    "level too low": SYSTEM.replace("0.99", "1e-20"),
    "name with a space": SYSTEM.replace("stat:", "'a stat':"),
}


@pytest.mark.parametrize("name", NO_VECTORS)
def test_a_file_that_is_no_vector_is_refused(name: str, golden: Golden) -> None:
    golden(name, "\n".join(problems_of(NO_VECTORS[name])))


@pytest.mark.parametrize("path", ["/dev/null", "."])
def test_what_is_no_file_is_named(path: str) -> None:
    with pytest.raises(SpecError, match="not a regular file"):
        read_vector(Path(path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"gone\.yml: .* no such file"):
        read_vector(tmp_path / "gone.yml")


@pytest.mark.parametrize("text", [SYSTEM, APPLICATION])
def test_what_was_read_is_written_and_read_again(text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "v.yml"
    found = parse_vector(text, "f.yml")
    write_vector(found, path)
    assert repr(read_vector(path)) == repr(found)
    assert path.stat().st_mode & 0o777 == 0o644
    assert [one.name for one in path.parent.iterdir()] == ["v.yml"]
    write_vector(found, path)
    assert path.read_text() == vector_text(found)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
lines = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), min_size=1, max_size=20
)


@settings(max_examples=40, deadline=None)
@given(
    system_vectors(beyond=True),
    lines,
    st.dictionaries(
        st.from_regex(r"[A-Za-z0-9][a-z0-9_+-]{0,9}", fullmatch=True),
        texts,
        max_size=3,
    ),
    st.floats(0.5, 0.999),
)
def test_any_system_vector_is_written_and_read_back(
    system: SystemVector, name: str, provenance: dict[str, str], level: float
) -> None:
    system = replace(system, name=name, provenance=provenance, level=level)
    assert repr(parse_vector(vector_text(system), "f.yml")) == repr(system)


@settings(max_examples=40, deadline=None)
@given(
    application_vectors(),
    lines,
    st.lists(lines, max_size=3),
    st.one_of(st.just(""), lines),
    st.floats(0, 1e15),
)
def test_any_application_vector_is_written_and_read_back(
    application: ApplicationVector, name: str, calls: list[str], rule: str, user: float
) -> None:
    # Each entry once: what differs in nothing else is told apart by its rule.
    counts = tuple(
        replace(count, stands_for=tuple(calls), rule=f"{rule}{n}")
        for n, count in enumerate(application.counts)
    )
    whole = replace(
        application,
        name=name,
        per=name,
        counts=counts,
        benchmark=rule,
        metric=rule,
        user_time=Value.exact(user),
        time_unit="s",
    )
    assert repr(parse_vector(vector_text(whole), "f.yml")) == repr(whole)


def test_a_later_piece_may_begin_at_nothing_but_for_rounding() -> None:
    fixed = -0.1 * 32769.7
    pieces = ((Value.exact(1.0), Value.exact(1.0)), (Value.exact(fixed), Value.exact(0.1)))
    for begin in (32769.7, math.nextafter(32769.7, 0)):
        cost = PrimitiveCost("byte", PiecewiseCost("bytes", (begin,), pieces))
        system = SystemVector("s", "ns", {"p": cost})
        assert parse_vector(vector_text(system), "f.yml") == system


def test_what_is_no_number_is_not_written(tmp_path: Path) -> None:
    unknown = PrimitiveCost("operation", ConstantCost(Value(float("nan"), reason="never measured")))
    with pytest.raises(RegattaError) as caught:
        write_vector(SystemVector("s", "ns", {"p": unknown}), tmp_path / "v.yml")
    (problem,) = caught.value.problems
    assert (problem.where, problem.got, problem.fix) == ("s: p", "nan", "never measured")
    assert list(tmp_path.iterdir()) == []


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    falling = LinearCost("bytes", Value.exact(5.0), Value.exact(-1.0))
    with pytest.raises(SpecError, match=r"v\.yml:6:primitives\.p\.cost\.linear\.per: expected a number >= 0"):
        write_vector(SystemVector("s", "ns", {"p": PrimitiveCost("byte", falling)}), tmp_path / "v.yml")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegattaError, match="expected a writable file"):
        write_vector(parse_vector(SYSTEM, "f.yml"), tmp_path / "file" / "v.yml")
