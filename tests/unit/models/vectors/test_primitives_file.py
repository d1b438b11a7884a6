"""Tables of primitives: read whole, and every problem told where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from regatta.host.errors import SpecError
from regatta.models.vectors.primitives import read_primitives

WHOLE = """\
primitives:
  stat:
    description: A name
    series: {suite: lm, benchmark: lat_syscall, parameters: {call: stat}}
    cost: constant
  moved:
    unit: byte
    series: {suite: lm, benchmark: bw, metric: bandwidth, parameters: {kib: 64}}
    cost: {per_of: bytes}
  read:
    series: {suite: lm, benchmark: lat, parameters: {}}
    cost: {piecewise: bytes, breaks: [4096, 65536]}
    user_share: {metric: user, parameters: {bytes: 512}}
  grid:
    series: {suite: lm, benchmark: lat}
    cost: {table: [a, b], outside: extend}
"""


def test_a_table_of_primitives_is_read(tmp_path: Path) -> None:
    path = tmp_path / "own.yml"
    path.write_text(WHOLE)
    found = read_primitives(path)
    assert list(found.primitives) == ["stat", "moved", "read", "grid"]
    stat = found.primitives["stat"]
    assert (stat.unit, stat.description, stat.user_share) == ("operation", "A name", None)
    assert (stat.series.suite, stat.series.benchmark, stat.series.metric) == ("lm", "lat_syscall", "latency")
    assert stat.series.parameters == {"call": "stat"}
    costs = {name: (rule.cost.kind, rule.cost.arguments) for name, rule in found.primitives.items()}
    assert costs["stat"] == ("constant", ())
    assert costs["moved"] == ("per", ("bytes",))
    assert found.primitives["moved"].series.parameters == {"kib": 64}
    read = found.primitives["read"]
    assert (costs["read"], read.cost.breaks) == (("piecewise", ("bytes",)), [4096.0, 65536.0])
    assert read.user_share is not None
    assert (read.user_share.metric, read.user_share.parameters) == ("user", {"bytes": 512})
    assert (costs["grid"], found.primitives["grid"].cost.outside) == (("table", ("a", "b")), "extend")


SERIES = "series: {suite: lm, benchmark: lat, parameters: {bytes: 1}}"


@pytest.mark.parametrize(
    ("entry", "where", "expected"),
    [
        (f"{{{SERIES}}}", "x.cost", ""),
        ("{cost: constant}", "x.series", ""),
        (f"{{{SERIES}, cost: often}}", "x.cost", "`constant`, or one of"),
        (f"{{{SERIES}, cost: {{}}}}", "x.cost", "`constant`, or one of"),
        (f"{{{SERIES}, cost: {{linear: a, table: [b]}}}}", "x.cost", "one of fixed_of"),
        (f"{{{SERIES}, cost: {{linear: a, breaks: [1]}}}}", "x.cost", "`breaks` if and only if"),
        (f"{{{SERIES}, cost: {{piecewise: a}}}}", "x.cost", "`breaks` if and only if"),
        (
            f"{{{SERIES}, cost: {{piecewise: a, breaks: [2, 1]}}}}",
            "x.cost.breaks",
            "numbers in ascending order",
        ),
        (
            f"{{{SERIES}, cost: {{linear: a, outside: hold}}}}",
            "x.cost.outside",
            "`outside` only with `table`",
        ),
        (f"{{{SERIES}, cost: {{table: [a, a]}}}}", "x.cost.table", "unique arguments"),
        (f"{{{SERIES}, cost: {{linear: bytes}}}}", "x.cost", "`cost` or in `parameters`"),
        (f"{{{SERIES}, cost: constant, unit: kilo}}", "x.unit", "one of operation, byte"),
        (
            f"{{{SERIES}, cost: constant, user_share: {{metric: latency}}}}",
            "x.user_share.metric",
            "that of `cost`",
        ),
        (f"{{{SERIES}, cost: constant, weight: 1}}", "x.weight", ""),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(tmp_path: Path, entry: str, where: str, expected: str) -> None:
    path = tmp_path / "own.yml"
    path.write_text(f"primitives:\n  x: {entry}\n")
    with pytest.raises(SpecError) as error:
        read_primitives(path)
    (problem,) = error.value.problems
    assert problem.where.endswith(f"own.yml:2:primitives.{where}"), problem
    assert expected in problem.expected, problem


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "own.yml"
    path.write_text(
        f"primitives:\n  x: {{{SERIES}}}\n  y: {{{SERIES}, cost: often}}\n  z: {{cost: constant}}\n"
    )
    with pytest.raises(SpecError) as error:
        read_primitives(path)
    assert [problem.where.split(":")[-2] for problem in error.value.problems] == ["2", "3", "4"]
