"""Values of the model survive JSON; what has another shape is refused with its place."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from regatta.host.errors import HostError
from regatta.host.minheap.search import MinheapSearch, OpenAttempt
from regatta.host.values.cell import Cell
from regatta.host.values.experiment import (
    Benchmark,
    Collector,
    Expectation,
    Heap,
    Modifier,
    Training,
)
from regatta.host.values.from_json import value_from_json
from regatta.host.values.host import Host, SshPlace
from regatta.host.values.isolation import CellIsolation, Isolation
from regatta.host.values.resolved import File, ResolvedHost, ResolvedRuntime
from regatta.host.values.supplies import Supplies

BENCHMARK = Benchmark(
    suite="s", name="x", size="small", kind="java", command=("{runtime}", "X"), adapter="process",
    adapter_options={"text": "a", "whole": 1, "part": 0.5, "truth": True}, metric="elapsed", better="lower", parameters={},
    environment={}, arrange={}, check=(), expect=Expectation(), builds={}, inputs={},
)  # fmt: skip
CELL = Cell(
    "id", "h", "p", BENCHMARK, "a", "g1", "none", Heap(1.5, 24), ("java",), {}, {}, (), (File("/f", "0"),),
    isolation=CellIsolation("docker", "image"),
)  # fmt: skip
VALUES = [
    BENCHMARK,
    Host("h", "p", ssh=SshPlace("address", 22), cpus=(1, 2)),
    Heap(factor=1.5),
    Modifier("m", training=Training(("-X{output}",), "file"), isolation=Isolation(cpu_quota=2)),
    ResolvedHost(
        "h", "p", {}, "class", {"ODD": "\udcff"}, {"a": ResolvedRuntime("a", "/a", "v", "i", (File("/f", "0"),))}, {},
        {"b": {"o": File("/o", "1")}}, {}, {}, {"s/x:small": {"a": "why"}},
    ),
    Supplies("/home", {"PATH": "/bin"}),
    CELL,
    MinheapSearch("b", "r", "p", "f", 3, 100, 5.0, {"g1": OpenAttempt({"any": [1, {}]}, CELL.to_json(5.0, 1), {})}),
]  # fmt: skip


def sent(value: Any) -> Any:
    return json.loads(json.dumps(dataclasses.asdict(value)))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_is_sent_arrives(value: Any) -> None:
    assert value_from_json(type(value), sent(value), "v") == value


@pytest.mark.parametrize(
    ("kind", "changes", "where"),
    [
        (Host, {"name": 1}, "v.name"),
        (Host, {"name": None}, "v.name"),
        (Host, {"is_local": 1}, "v.is_local"),
        (Host, {"cpus": [1, True]}, r"v.cpus\[1\]"),
        (Host, {"cpus": {"1": 1}}, "v.cpus"),
        (Host, {"ssh": {"address": "a"}}, "v.ssh"),
        (Host, {"extra": 1}, "v: .* object of name"),
        (Benchmark, {"kind": "python"}, "v.kind"),
        (Benchmark, {"adapter_options": {"a": None}}, "v.adapter_options.a"),
        (Benchmark, {"adapter_options": {"a": []}}, "v.adapter_options.a"),
        (Benchmark, {"environment": []}, "v.environment"),
        (Heap, {"factor": "1"}, "v.factor"),
        (Heap, {"mib": 1.5}, "v.mib"),
    ],
)
def test_another_shape_is_named_with_its_place(kind: type[Any], changes: dict[str, Any], where: str) -> None:
    (value,) = (value for value in VALUES if type(value) is kind)
    with pytest.raises(HostError, match=where):
        value_from_json(kind, {**sent(value), **changes}, "v")


@pytest.mark.parametrize("value", [None, 1, "text", [], {}])
def test_what_is_no_object_of_the_fields_is_refused(value: Any) -> None:
    with pytest.raises(HostError, match="object of factor, mib"):
        value_from_json(Heap, value, "v")


def test_a_whole_number_may_stand_for_a_float_and_stays_as_it_is() -> None:
    made = value_from_json(Heap, {"factor": 2, "mib": None}, "v")
    assert repr(made.factor) == "2"


def test_a_missing_field_is_refused_even_where_it_has_a_default() -> None:
    with pytest.raises(HostError, match="name, flags, refused_by"):
        value_from_json(Collector, {"name": "g1", "flags": []}, "v")


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"argv": "java"}, "cell.argv"),
        ({"files": [{"path": "/f"}]}, r"cell.files\[0\]"),
        ({"extra": 1}, "cell: "),
    ],
)
def test_a_cell_of_a_plan_is_checked_too(changes: dict[str, Any], where: str) -> None:
    value = sent(OpenAttempt({}, CELL.to_json(5.0, 1), {}))
    value["cell"].update(changes)
    with pytest.raises(HostError, match=where):
        value_from_json(OpenAttempt, value, "v")
