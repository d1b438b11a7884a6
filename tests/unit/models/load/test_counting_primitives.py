"""The application vector of sessions: how often a mean request uses each primitive of a web server."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.host.errors import RegattaError
from regatta.models.load.counting import BOUNDS, read_sessions, vector_of
from regatta.models.load.drawing import Drawn, write_sessions
from regatta.models.load.visits import KINDS
from regatta.models.predict.prediction import predict
from regatta.models.vectors.files import read_vector, write_vector
from regatta.models.vectors.primitives import find_primitives, read_primitives
from regatta.models.vectors.values import (
    ConstantCost,
    PrimitiveCost,
    SystemVector,
    TableCost,
    TablePoint,
    Value,
)

HOME = Path(__file__).resolve().parents[4]
#: two sessions, 8 requests; the pause of 6 s needs another connection, and that of 5 s does not
SMALL = """regatta-sessions 1
objects 3
100
1000
3000
sessions 2
-1 5
0 0 8
100 1 0
6000000 2 8
6000000 2 0
0 1 3
-1 3
0 0 9
5000000 0 10
10 1 0
"""


def costs(get: TableCost, **others: float) -> SystemVector:
    known = {
        name: PrimitiveCost("operation", ConstantCost(Value.exact(cost))) for name, cost in others.items()
    }
    return SystemVector("server", "ns", {"get": PrimitiveCost("operation", get), **known})


def written(directory: Path, text: str) -> Path:
    path = directory / "few.sessions"
    path.write_text(text)
    return path


def test_the_primitives_of_a_small_file_are_those_that_a_person_counts(tmp_path: Path) -> None:
    vector = vector_of(read_sessions(written(tmp_path, SMALL)), "few")
    counts = {count.primitive: count.count.value for count in vector.counts}
    assert counts == {"get": 5 / 8, "head": 1 / 8, "unmodified": 1 / 8, "missing": 1 / 8, "connection": 3 / 8}
    get = vector.counts[0].distribution
    assert [(part.arguments["bytes"], part.share) for part in get] == [(100, 0.2), (1000, 0.4), (3000, 0.4)]
    assert (vector.per, vector.benchmark, vector.user_time) == ("request", "web/saturation", Value.exact(0.0))


@pytest.mark.parametrize(("old", "new"), [("\n", "\r\n"), ("\n", " \n"), ("\nsessions ", "\n\tsessions\t")])
def test_any_white_space_separates_the_words_of_a_file(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "spaced.sessions"
    path.write_bytes(SMALL.replace(old, new).encode())
    expected = vector_of(read_sessions(written(tmp_path, SMALL)), "few")
    assert vector_of(read_sessions(path), "few") == expected


def test_the_predicted_time_is_the_sum_of_the_costs_of_all_requests(tmp_path: Path) -> None:
    vector = vector_of(read_sessions(written(tmp_path, SMALL)), "few")
    points = tuple(
        TablePoint((at,), Value.exact(cost)) for at, cost in ((0.0, 10.0), (1024.0, 10.0), (4096.0, 40.96))
    )
    system = costs(TableCost(("bytes",), points), head=7.0, unmodified=5.0, missing=11.0, connection=16.0)
    large = 10.0 + (3000 - 1024) * 30.96 / 3072
    assert predict(vector, system).time.value == pytest.approx((3 * 10 + 2 * large + 7 + 5 + 11 + 3 * 16) / 8)


@st.composite
def loads(draw: st.DrawFn) -> Drawn:
    sizes = np.array(draw(st.lists(st.integers(1, 2**22), min_size=1, max_size=8)))
    lengths = np.array(draw(st.lists(st.integers(1, 6), min_size=1, max_size=6)))
    count = int(lengths.sum())

    def each(values: st.SearchStrategy[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(draw(st.lists(values, min_size=count, max_size=count)), dtype=np.int64)

    # Objects in their order, because a file leaves out those that no request asks for.
    objects = np.sort(np.unique(each(st.integers(0, len(sizes) - 1)), return_inverse=True)[1])
    used = sizes[: objects.max() + 1]
    return Drawn(
        np.full(len(lengths), -1), lengths, each(st.integers(0, 10**8)), objects,
        each(st.integers(0, len(KINDS) - 1)), each(st.integers(0, 1)).astype(bool), used,
        np.array(draw(st.lists(st.booleans(), min_size=len(used), max_size=len(used)))),
        np.array(draw(st.lists(st.integers(0, 10**8), max_size=5)), dtype=np.int64),
    )  # fmt: skip


@given(loads())
def test_a_file_of_sessions_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, load: Drawn
) -> None:
    path = tmp_path_factory.mktemp("load") / "sessions"
    write_sessions(load, path)
    read = read_sessions(path)
    for one in fields(Drawn):
        assert np.array_equal(getattr(read, one.name), getattr(load, one.name)), one.name


@given(loads())
def test_classes_of_sizes_do_not_change_a_cost_that_is_linear_between_their_bounds(load: Drawn) -> None:
    vector = vector_of(load, "load")
    grid = np.array([1.0, *BOUNDS])
    curve = grid**0.7
    points = tuple(
        TablePoint((at,), Value.exact(cost)) for at, cost in zip(grid.tolist(), curve.tolist(), strict=True)
    )
    zero = dict.fromkeys(("head", "unmodified", "missing", "connection"), 0.0)
    sent = load.sizes[load.objects[load.kinds == KINDS.index("ok")]]
    expected = float(np.interp(sent, grid, curve).sum()) / len(load.kinds)
    found = predict(vector, costs(TableCost(("bytes",), points, "extend"), **zero)).time.value
    assert found == pytest.approx(expected, rel=1e-9)
    assert sum(
        count.count.value for count in vector.counts if count.primitive != "connection"
    ) == pytest.approx(1)


def test_the_table_of_primitives_has_all_that_a_vector_counts(tmp_path: Path) -> None:
    vector = vector_of(read_sessions(written(tmp_path, SMALL)), "few")
    table = read_primitives(find_primitives("web", HOME))
    assert {count.primitive for count in vector.counts} == set(table.primitives)


def test_a_vector_is_read_as_it_was_written(tmp_path: Path) -> None:
    vector = vector_of(read_sessions(written(tmp_path, SMALL)), "few", "few.sessions")
    write_vector(vector, tmp_path / "few.yml")
    assert read_vector(tmp_path / "few.yml") == vector


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("regatta-sessions 1", "regatta-sessions 2"),
        ("objects 3", "objekts 3"),
        ("objects 3", "objects 4"),
        ("sessions 2\n", "sessions 3\n"),
        ("sessions 2\n", "sessions 0\n"),
        ("-1 5", "-1 4"),
        ("-1 5", "-1 0"),
        ("0 0 9", "0 3 9"),
        ("0 0 9", "0 0 4"),
        ("0 0 9", "0 0 x"),
        ("0 0 9", "0 0"),
        ("10 1 0\n", ""),
        ("0 0 9", "0 0 99999999999999999999"),
        ("0 0 9", "0 0 é"),
    ],
)
def test_a_file_that_is_not_one_of_sessions_is_refused(tmp_path: Path, old: str, new: str) -> None:
    assert SMALL.count(old) >= 1
    with pytest.raises(RegattaError) as caught:
        read_sessions(written(tmp_path, SMALL.replace(old, new, 1)))
    assert caught.value.problems[0].where.endswith("few.sessions")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegattaError):
        read_sessions(tmp_path / "none")
