"""System vectors from made-up records: every kind of cost, the summaries, what is left out and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from helpers.golden import Golden
from helpers.synthetic_journal import cell, native, record, write_experiment
from regatta.answers.spine.parts import Place
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Heap
from regatta.models.cli.vector import _files
from regatta.models.vectors.files import read_vector, write_vector
from regatta.models.vectors.measured import NATIVE, summary_named, system_names, system_vectors
from regatta.models.vectors.primitives import (
    OS,
    PrimitiveRule,
    PrimitiveTable,
    ShareChoice,
    find_primitives,
    read_primitives,
)
from regatta.models.vectors.values import ConstantCost, LinearCost, PiecewiseCost, TableCost

HOME = Path(__file__).resolve().parents[4]
ROUNDS = 5
SIZES = (64, 1024, 4096, 65536)
Row = list[Any]


def rows(metric: str, values: Sequence[float], unit: str = "ns", **parameters: Any) -> list[Row]:
    return [[i, metric, value, unit, 10, parameters or None] for i, value in enumerate(values)]


def experiment(folder: Path, made: Any, modifiers: Sequence[str] = ("none",), **facts: Any) -> Path:
    """One cell of `lm/x` for each set of modifiers; `made(round, modifiers)` are its rows."""
    cells = [native("lm/x:default", metric="latency", modifiers=name) for name in modifiers]
    records = [
        record(cell, r, made(r, cell["modifiers"]), block=i)
        for r in range(ROUNDS)
        for i, cell in enumerate(cells)
    ]
    return write_experiment(folder, cells, records, ROUNDS, **{"method": "fixed", **facts})


def table(**rules: PrimitiveRule) -> PrimitiveTable:
    return PrimitiveTable(rules, "table.yml")


def rule(kind: str = "constant", *arguments: str, unit: Any = "operation", **more: Any) -> PrimitiveRule:
    chosen = {"suite": "lm", "benchmark": more.pop("benchmark", "x")}
    chosen |= {key: more.pop(key) for key in ("metric", "parameters") if key in more}
    share = more.pop("share", None)
    cost = {kind: list(arguments) if kind == "table" else arguments[0], **more} if arguments else kind
    return PrimitiveRule.model_validate({"unit": unit, "series": chosen, "cost": cost, "user_share": share})


def by_t(values: Sequence[float]) -> tuple[float, float, float]:
    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values))
    return float(np.mean(values) - half), float(np.mean(values)), float(np.mean(values) + half)


def test_a_constant_cost_is_the_mean_over_invocations_of_each_ones_median(tmp_path: Path) -> None:
    def made(r: int, _: str) -> list[Row]:
        return [
            *rows("latency", [100 + r, 100 + 2 * r, 900], call="stat"),
            *rows("latency", [7], call="null"),
        ]

    folder = experiment(
        tmp_path, made, level=0.95, host_facts={"alpha": {"cpu": "a processor", "kernel": "6.1"}}
    )
    found, told = system_vectors(folder, table(stat=rule(parameters={"call": "stat"})))
    (system,) = found
    assert told == []
    cost = system.primitives["stat"].cost
    assert isinstance(cost, ConstantCost)
    expected = by_t([100 + 2 * r for r in range(ROUNDS)])
    assert (cost.cost.low, cost.cost.value, cost.cost.high) == pytest.approx(expected)
    assert cost.cost.n == ROUNDS
    assert (system.name, system.time_unit, system.level) == ("alpha", "ns", 0.95)
    assert system.provenance == {
        "experiment": "made-up", "host": "alpha", "platform": "local", "configuration": "native",
        "fingerprint": "cpu a processor; kernel 6.1", "summary": "median", "primitives": "table.yml",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("summary", "expected"), [("median", 3.0), ("mean", 202.0), ("trimmed:20", 3.0), ("trimmed:0", 202.0)]
)
def test_the_summary_of_the_repetitions_is_chosen(tmp_path: Path, summary: str, expected: float) -> None:
    folder = experiment(tmp_path, lambda r, _: rows("latency", [1, 1000, 2, 3, 4]))
    (system,), _ = system_vectors(folder, table(x=rule()), summary)
    cost = system.primitives["x"].cost
    assert isinstance(cost, ConstantCost)
    assert cost.cost.value == pytest.approx(expected)
    # All invocations are alike, so that there is a value and no interval, and why.
    assert "equal" in cost.cost.reason
    assert np.isnan(cost.cost.low)
    assert system.provenance["summary"] == summary


@pytest.mark.parametrize("name", ["best", "trimmed", "trimmed:50", "trimmed:x", "trimmed:-1", "trimmed:nan"])
def test_a_summary_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match="trimmed:N"):
        summary_named(name)


def line(r: int, _: str = "") -> list[Row]:
    return [
        row
        for size in SIZES
        for row in rows("latency", [(400 + 10 * r) + (0.2 + 0.01 * r) * size], bytes=size)
    ]


def test_lines_give_their_parts_and_each_part_has_the_interval_over_invocations(tmp_path: Path) -> None:
    rules = table(
        reading=rule("linear", "bytes"),
        latency=rule("fixed_of", "bytes"),
        transfer=rule("per_of", "bytes", unit="byte"),
    )
    (system,), told = system_vectors(experiment(tmp_path, line), rules)
    fixed, per = by_t([400 + 10 * r for r in range(ROUNDS)]), by_t([0.2 + 0.01 * r for r in range(ROUNDS)])
    reading, latency, transfer = (system.primitives[name].cost for name in ("reading", "latency", "transfer"))
    assert isinstance(reading, LinearCost)
    assert reading.argument == "bytes"
    assert (reading.fixed.low, reading.fixed.value, reading.fixed.high) == pytest.approx(fixed)
    assert (reading.per.low, reading.per.value, reading.per.high) == pytest.approx(per)
    assert latency == ConstantCost(reading.fixed)
    assert transfer == ConstantCost(reading.per)
    assert told == []
    assert "reading 0.0 % at" in system.provenance["largest_residuals"]


def test_a_line_that_misses_is_told_and_pieces_hit(tmp_path: Path, golden: Golden) -> None:
    def kinked(r: int, _: str) -> list[Row]:
        return [
            row
            for size in (1024, 4096, 16384, 65536, 262144)
            for row in rows("latency", [(100 + r) + 0.1 * size + max(0.0, 0.4 * (size - 16384))], bytes=size)
        ]

    folder = experiment(tmp_path, kinked)
    rules = table(line=rule("linear", "bytes"), pieces=rule("piecewise", "bytes", breaks=[16384.0]))
    (system,), told = system_vectors(folder, rules)
    assert len(told) == 1
    assert told[0].startswith("alpha: line: ")
    assert "linear fit deviates by " in told[0]
    pieces = system.primitives["pieces"].cost
    assert isinstance(pieces, PiecewiseCost)
    assert [per.value for _, per in pieces.pieces] == pytest.approx([0.1, 0.5])
    assert [fixed.value for fixed, _ in pieces.pieces] == pytest.approx([102, 102 - 0.4 * 16384])
    few = table(pieces=rule("piecewise", "bytes", breaks=[2048.0, 3000.0]))
    found, told = system_vectors(folder, few)
    assert found == []
    (excluded,) = told
    golden("too few sizes", excluded)


def test_a_table_has_every_point_and_needs_a_full_grid(tmp_path: Path) -> None:
    def grid(r: int, modifiers: str) -> list[Row]:
        whole = [(a, b) for a in (1, 2) for b in (10, 20, 30)]
        return [
            row
            for a, b in (whole[1:] if modifiers == "holes" else whole)
            for row in rows("latency", [a * b + r], a=a, b=b)
        ]

    folder = experiment(tmp_path, grid, ("none", "holes"))
    (system,), told = system_vectors(folder, table(x=rule("table", "a", "b", outside="extend")))
    cost = system.primitives["x"].cost
    assert isinstance(cost, TableCost)
    assert (cost.arguments, cost.outside) == (("a", "b"), "extend")
    assert {point.at: point.cost.value for point in cost.points} == pytest.approx(
        {(a, b): a * b + 2.0 for a in (1, 2) for b in (10, 20, 30)}
    )
    assert "got 5 of 6" in told[0]


@pytest.mark.parametrize(
    ("value", "unit", "of", "cost"),
    [
        (2, "us", "operation", 2000.0),
        (1, "GB/s", "byte", 1.0),
        (1024, "MiB/s", "MiB", 1e9 / 1024),
        (1e6, "ops/s", "object", 1000.0),
    ],
)
def test_bandwidths_and_rates_become_what_one_unit_costs(
    tmp_path: Path, value: float, unit: str, of: str, cost: float
) -> None:
    folder = experiment(tmp_path, lambda r, _: rows("bandwidth", [value], unit))
    (system,), _ = system_vectors(folder, table(x=rule(unit=of, metric="bandwidth")))
    found = system.primitives["x"]
    assert isinstance(found.cost, ConstantCost)
    assert (found.unit, found.cost.cost.value) == (of, pytest.approx(cost))


def test_the_part_in_user_mode_is_measured_or_not_known(tmp_path: Path, golden: Golden) -> None:
    share = ShareChoice(metric="user_share")

    def made(r: int, modifiers: str) -> list[Row]:
        known = rows("user_share", [0.2 + 0.01 * r], "ratio", kib=0) + rows(
            "user_share", [40 + r], "percent", kib=9
        )
        return [*rows("latency", [5.0 + r]), *([] if modifiers == "untold" else known)]

    folder = experiment(tmp_path, made, ("none", "untold"))
    (told_of, untold), told = system_vectors(folder, table(x=rule(share=share)))
    assert told_of.primitives["x"].user_share.value == pytest.approx(0.32)
    assert told_of.primitives["x"].user_share.low < 0.32
    assert math.isnan(untold.primitives["x"].user_share.value)
    golden("reason of an unknown share", untold.primitives["x"].user_share.reason)
    (remark,) = told
    golden("unknown share", remark)


def test_a_table_can_say_in_which_mode_all_its_costs_are(tmp_path: Path) -> None:
    folder = experiment(
        tmp_path, lambda r, _: [*rows("latency", [5.0 + r]), *rows("user_share", [0.25], "ratio")]
    )
    own = rule(share=ShareChoice(metric="user_share"))
    (system,), _ = system_vectors(folder, PrimitiveTable({"x": rule(), "own": own}, "table.yml", 1.0))
    assert system.primitives["x"].user_share.value == 1.0
    assert system.primitives["own"].user_share.value == 0.25


def test_a_cost_that_is_too_cheap_for_a_number_lies_between_0_and_its_limit(
    tmp_path: Path, golden: Golden
) -> None:
    def made(r: int, _: str) -> list[Row]:
        # In each odd round, the cheap ones have only a limit.
        metric = "latency_at_most" if r % 2 else "latency"
        return [
            *rows("latency_at_most", [4.0 + r], call="cheap"),
            *rows(metric, [2.0], call="unstable"),
            *rows(metric, [2.0], call="line", bytes=0),
            *rows("latency", [2.0 + 64 * (1 + 0.1 * r)], call="line", bytes=64),
            *rows("latency", [2.0 + 4096 * (1 + 0.1 * r)], call="line", bytes=4096),
        ]

    rules = table(
        cheap=rule(parameters={"call": "cheap"}),
        unstable=rule(parameters={"call": "unstable"}),
        line=rule("linear", "bytes", parameters={"call": "line"}),
        points=rule("table", "bytes", parameters={"call": "line"}),
        pieces=rule("piecewise", "bytes", breaks=[100], parameters={"call": "line"}),
    )
    (system,), told = system_vectors(experiment(tmp_path, made), rules)
    cheap, unstable, line_, points = (
        system.primitives[name].cost for name in rules.primitives if name != "pieces"
    )
    assert isinstance(cheap, ConstantCost)
    half = np.mean([4.0 + r for r in range(ROUNDS)]) / 2
    assert (cheap.cost.low, cheap.cost.value, cheap.cost.high) == (0.0, pytest.approx(half), 4.0 + ROUNDS - 1)
    assert isinstance(unstable, ConstantCost)
    limited = sum(1 for r in range(ROUNDS) if r % 2)
    assert unstable.cost.value == pytest.approx(2.0 - limited / ROUNDS)
    assert (unstable.cost.low, unstable.cost.high >= 2.0, unstable.cost.reason) == (0.0, True, "")
    assert isinstance(line_, LinearCost)
    assert (line_.fixed.low, line_.fixed.high >= 2.0) == (0.0, True)
    assert line_.per.low > 0.9
    assert isinstance(points, TableCost)
    assert [point.cost.low == 0.0 for point in points.points] == [True, False, False]
    assert len(told) == 1
    golden("limit in pieces", told[0])


def test_an_invocation_with_numbers_and_limits_has_a_limit(tmp_path: Path) -> None:
    """Of an operation at the resolution, some repetitions have a number."""

    def made(_: int, __: str) -> list[Row]:
        return [*rows("latency", [3.0, 5.0, 7.0]), *rows("latency_at_most", [4.0])]

    (system,), told = system_vectors(experiment(tmp_path, made), table(x=rule()))
    cost = system.primitives["x"].cost
    assert told == []
    assert isinstance(cost, ConstantCost)
    assert (cost.cost.low, cost.cost.value, cost.cost.high) == (0.0, 2.5, 5.0)


def test_what_was_not_measured_is_left_out_and_told(tmp_path: Path, golden: Golden) -> None:
    def made(r: int, _: str) -> list[Row]:
        return [
            *rows("latency", [1.0 + r], call="a"),
            *rows("latency", [2.0], call="b"),
            *rows("latency", [0], call="zero"),
        ]

    rules = table(
        a=rule(parameters={"call": "a"}),
        both=rule(),
        none=rule(parameters={"call": "c"}),
        zero=rule(parameters={"call": "zero"}),
        no_line=rule("linear", "bytes", parameters={"call": "a"}),
        elsewhere=rule(benchmark="y"),
    )
    (system,), told = system_vectors(experiment(tmp_path, made), rules)
    assert list(system.primitives) == ["a"]
    assert [sentence.split(" excluded: ")[0] for sentence in told] == [
        "alpha: both", "alpha: none", "alpha: zero", "alpha: no_line", "alpha: elsewhere",
    ]  # fmt: skip
    golden("two series", told[0])
    golden("no records", told[4])
    assert "elsewhere excluded" in system.provenance["remarks"]


def test_a_system_without_any_series_is_told_in_one_sentence(tmp_path: Path, golden: Golden) -> None:
    folder = experiment(tmp_path, lambda r, _: rows("latency", [1.0]))
    elsewhere = rule(benchmark="y")
    found, (told,) = system_vectors(folder, table(a=elsewhere, b=elsewhere))
    assert found == []
    golden("no series", told)


def test_each_set_of_modifiers_is_a_system_and_failed_or_perturbed_invocations_are_in_none(
    tmp_path: Path,
) -> None:
    cells = [native("lm/x:default", metric="latency", modifiers=name) for name in ("none", "one-processor")]
    records = [
        record(cell, r, rows("latency", [100.0 * (1 + i) + (1000 if r == 3 else r)]), block=i, status=status)
        for r in range(ROUNDS)
        for i, cell in enumerate(cells)
        for status in ["perturbed" if r == 3 else "ok"]
    ]
    folder = write_experiment(tmp_path, cells, records, ROUNDS, method="fixed")
    plain, one = system_vectors(folder, table(x=rule()))[0]
    assert [plain.name, one.name] == ["alpha", "alpha-one-processor"]
    for system, base in ((plain, 100), (one, 200)):
        cost = system.primitives["x"].cost
        assert isinstance(cost, ConstantCost)
        assert (cost.cost.n, cost.cost.value) == (4, pytest.approx(base + 7 / 4))


def test_what_was_made_can_be_written_and_read_again(tmp_path: Path) -> None:
    rules = table(
        reading=rule("linear", "bytes"), transfer=rule("per_of", "bytes", unit="byte"), gone=rule(metric="no")
    )
    (system,), _ = system_vectors(experiment(tmp_path / "made", line), rules)
    write_vector(system, tmp_path / "vector.yml")
    assert read_vector(tmp_path / "vector.yml") == system


def on(
    host: str, runtime: str = NATIVE, collector: str = "", modifiers: str = "none", heap: Heap | None = None
) -> Place:
    return Place(host, "", "", runtime, collector, modifiers, heap or Heap())


def test_a_system_is_called_by_its_host_and_what_is_not_as_usual() -> None:
    places = [
        on("alpha"),
        on("alpha", modifiers="in-docker+half-quota"),
        on("alpha", "temurin-21"),
        on("alpha", "temurin-21", "G1", "none", Heap(2.0)),
    ]
    names = ["alpha", "alpha-in-docker+half-quota", "alpha-temurin-21", "alpha-temurin-21-G1-2x"]
    assert system_names(places) == names


def test_systems_that_would_be_called_alike_have_their_whole_configuration() -> None:
    alike = [on("n1", modifiers="quiet"), on("n1-quiet"), on("n2", modifiers="quiet")]
    assert system_names(alike) == ["n1 native quiet", "n1-quiet native", "n2-quiet"]
    assert system_names([on("n1", "quiet"), on("n1", modifiers="quiet")]) == ["n1 quiet", "n1 native quiet"]


def test_each_collector_and_heap_is_a_system(tmp_path: Path) -> None:
    chosen = [("G1", 1.5), ("G1", 3.0), ("Serial", 1.5)]
    cells = [
        cell(collector, benchmark="lm/x:default", runtime="temurin-21", heap_factor=factor, metric="latency")
        for collector, factor in chosen
    ]
    records = [
        record(cell, r, rows("latency", [100.0 * (1 + i) + r]), block=i)
        for r in range(ROUNDS)
        for i, cell in enumerate(cells)
    ]
    found, told = system_vectors(
        write_experiment(tmp_path, cells, records, ROUNDS, method="fixed"), table(x=rule())
    )
    assert told == []
    assert [one.name for one in found] == [
        "alpha-temurin-21-G1-1.5x", "alpha-temurin-21-G1-3x", "alpha-temurin-21-Serial-1.5x",
    ]  # fmt: skip
    costs = [one.primitives["x"].cost for one in found]
    assert [one.cost.value for one in costs if isinstance(one, ConstantCost)] == pytest.approx(
        [102, 202, 302]
    )
    kept = [{key: one.provenance[key] for key in ("configuration", "runtime", "heap")} for one in found]
    assert kept[0] == {"configuration": "temurin-21 G1", "runtime": "temurin-21", "heap": "1.5x"}


def test_no_two_systems_are_written_into_one_file(tmp_path: Path) -> None:
    found = _files(["a b", "a-b", "a-b-2", "a/b"], tmp_path)
    assert [path.name for path in found] == ["a-b.yml", "a-b-2.yml", "a-b-2-2.yml", "a-b-3.yml"]


@pytest.mark.parametrize("name", [OS, "files"])
def test_the_tables_of_the_operating_system_read_and_name_each_series_once(name: str) -> None:
    found = read_primitives(find_primitives(name, HOME))
    assert found.source.endswith(f"configs/primitives/{name}.yml")
    for primitive, rule in found.primitives.items():
        assert rule.description, primitive
        per_unit = rule.cost.kind == "per" or rule.series.metric == "bandwidth"
        assert per_unit == (rule.unit != "operation"), primitive
