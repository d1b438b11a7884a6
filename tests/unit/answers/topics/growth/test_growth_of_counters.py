"""Growth over a parameter in an answer: which series have one, and what the table says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from helpers.golden import Golden
from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.result import Answer
from regatta.answers.topics.growth.topic import GROWTH, Grown


def answer_of(folder: Path, connections: tuple[int, ...]) -> Answer:
    """Switches grow with the square, faults not at all, and the time linearly."""
    cells = [native(f"chat/chat:short connections={n} mode=virtual") for n in connections]
    records = []
    for number in range(4):
        for position, (cell, n) in enumerate(zip(cells, connections, strict=True)):
            rows: list[list[Any]] = [
                [0, "elapsed", (1000 + 5 * n) * (1 + number / 1000), "ns", None, None],
                [0, "counter_context_switches", 3 * n * n + number, "count", None, None],
                [0, "counter_page_faults", 100 + number % 2, "count", None, {"space": "user"}],
                [0, "counter_migrations", 0, "count", None, None],
                [0, "other", 7 * n, "count", None, None],
                *(
                    [0, "counter_kernel_profile", used_s, "s", None, {"symbol": symbol}]
                    for symbol, used_s in (
                        ("all", 1 + n / 100),
                        ("schedule", n / 200),
                        ("poll", n / 100),
                        ("fork", 2),
                    )
                ),
            ]
            records.append(record(cell, number, rows, position=position))
    return answer_experiment(write_experiment(folder / "made-up", cells, records, 4, method="fixed"))


def test_each_series_has_its_kind_and_its_row(tmp_path: Path, golden: Golden) -> None:
    answer = answer_of(tmp_path, (20, 50, 100, 200, 400))
    found: tuple[Grown, ...] = answer.topics["growth"]
    kinds = {one.metric: one.growth.plausible for one in found if "symbol" not in one.parameters}
    assert kinds["counter_context_switches"][0] == "quadratic"
    assert kinds["counter_page_faults"][0] == "constant"
    assert kinds["elapsed"] == ("linear",)
    # Without events there is no growth, and other metrics are not counters.
    assert set(kinds) == {"counter_context_switches", "counter_page_faults", "elapsed"}
    assert {(one.parameter, one.sizes) for one in found} == {
        ("connections", (20.0, 50.0, 100.0, 200.0, 400.0))
    }
    table, functions = GROWTH.tables_of(View(answer))
    golden("table", "\n".join(" | ".join(row) for row in [table.columns, *table.rows]))
    golden("functions", "\n".join(" | ".join(row) for row in [functions.columns, *functions.rows]))


def test_three_values_of_a_parameter_have_no_growth(tmp_path: Path) -> None:
    answer = answer_of(tmp_path, (20, 50, 100))
    assert answer.topics.get("growth", ()) == ()
    assert GROWTH.section_of(View(answer)) is None


def growths_of(folder: Path, curve: Callable[[int], float], rounds: int = 4) -> list[str]:
    """Return the cells exponent, growth and best fit of a metric that follows a curve, with noise of 0.2 %."""
    random = np.random.default_rng(1)
    sizes = (20, 50, 100, 200, 400)
    cells = [native(f"chat/chat:short connections={n}") for n in sizes]
    records = [
        record(
            cell,
            number,
            [[0, "elapsed", curve(n) * (1 + 0.002 * random.standard_normal()), "ns", None, None]],
        )
        for number in range(rounds)
        for cell, n in zip(cells, sizes, strict=True)
    ]
    answer = answer_experiment(write_experiment(folder / "made-up", cells, records, rounds, method="fixed"))
    table = GROWTH.tables_of(View(answer))[0]
    (row,) = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return [row[column] for column in ("exponent", "growth", "best fit")]


def test_a_falling_quantity_has_a_negative_exponent_and_its_own_kinds(tmp_path: Path) -> None:
    exponent, kinds, formula = growths_of(tmp_path, lambda n: 1e6 / n)
    assert exponent.startswith("-1.0")
    assert kinds.startswith("1/n")
    assert "× 1/n" in formula
    exponent, kinds, formula = growths_of(tmp_path / "slow", lambda n: 1e6 * n**-0.152)
    assert exponent.startswith("-0.15")
    assert kinds == "power law"
    assert "× n^-0.15" in formula


def test_a_quantity_that_no_kind_describes_fits_none(tmp_path: Path) -> None:
    _, kinds, _ = growths_of(tmp_path, lambda n: 1000.0 if n < 150 else 3000.0)
    assert kinds.startswith("none fits (p <")


def test_without_repetitions_the_fit_is_not_tested(tmp_path: Path) -> None:
    _, kinds, _ = growths_of(tmp_path, lambda n: 5.0 * n, rounds=1)
    assert kinds.startswith("linear")
    assert "not tested" in kinds
