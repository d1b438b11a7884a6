"""`regatta compare --counts`: exact differences and ratios of counts that do not vary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from helpers.compared_files import answered, file_of, shown
from helpers.golden import Golden
from regatta.cli.compare import compare
from regatta.host.errors import SpecError


def _counted(a: float = 1020.0, b: float = 1000.0, c: float = 1000.0) -> list[dict[str, Any]]:
    """Three groups of counts that do not vary, in three rounds of two heaps."""
    return [
        {"round": f"{heap}-{r}", "heap": heap, "collector": name, "instructions": count * heap}
        for heap in (1, 2)
        for r in range(3)
        for name, count in (("serial", a), ("g1", b), ("z", c))
    ]


OF_COUNTS = ("--value", "instructions", "--by", "collector")


@pytest.mark.parametrize("options", [(), ("--block", "round"), ("--method", "georges2007")])
def test_counts_without_variance_have_exact_differences_and_ratios(
    tmp_path: Path, options: tuple[str, ...], golden: Golden
) -> None:
    path = file_of(tmp_path, [row for row in _counted() if row["heap"] == 1])
    document = answered(path, *OF_COUNTS, "--counts", *options)
    assert document["counts"] is True
    for part in ("welch", "simultaneous", *(["paired"] if "--block" in options else [])):
        pairs = {(one["a"], one["b"]): one for one in document[part]}
        one, same = pairs["serial", "g1"], pairs["g1", "z"]
        assert (one["difference"], one["low"], one["high"], one["p"]) == (20.0, 20.0, 20.0, 0.0)
        assert (one["ratio"], one["ratio_low"], one["ratio_high"], one["reason"]) == (1.02, 1.02, 1.02, "")
        assert (same["difference"], same["low"], same["high"], same["p"]) == (0.0, 0.0, 0.0, 1.0)
        assert (same["ratio"], same["ratio_low"], same["ratio_high"]) == (1.0, 1.0, 1.0)
    words, notes = shown(path, *OF_COUNTS, "--counts", *options)
    golden("exact-counts", "\n".join(line for line in words.splitlines() if line.startswith("•")))
    assert "--counts" not in notes


def test_counts_within_factors_are_exact_in_each_combination(tmp_path: Path) -> None:
    path = file_of(tmp_path, _counted())
    document = answered(path, *OF_COUNTS, "--factors", "heap", "--counts")
    one = next(pair for pair in document["simultaneous"] if (pair["a"], pair["b"]) == ("serial", "g1"))
    # Differences of 20 and 40 have the same weight; both ratios are 1.02.
    assert (one["difference"], one["low"], one["high"], one["p"]) == (30.0, 30.0, 30.0, 0.0)
    assert (one["ratio"], one["ratio_low"]) == (pytest.approx(1.02, rel=1e-15), one["ratio_high"])
    assert one["method"] == "sidak-welch, no variance"
    # Over both heaps each group varies.
    assert all(pair["low"] < pair["difference"] < pair["high"] for pair in document["welch"])


def test_values_that_may_be_times_stay_undefined_and_name_the_option(tmp_path: Path, golden: Golden) -> None:
    path = file_of(tmp_path, [row for row in _counted() if row["heap"] == 1])
    document = answered(path, *OF_COUNTS)
    assert all(pair["low"] is None and pair["reason"] for pair in document["welch"])
    golden("perhaps-counts", "\n".join(document["notes"]))
    whole = answered(file_of(tmp_path, [row for row in _counted(1020.5) if row["heap"] == 1]), *OF_COUNTS)
    assert whole["notes"] == []


def test_counts_that_vary_are_compared_as_ever(tmp_path: Path) -> None:
    path = file_of(
        tmp_path, [{**row, "instructions": row["instructions"] + i} for i, row in enumerate(_counted())]
    )
    with_counts, without = (answered(path, *OF_COUNTS, *more) for more in (("--counts",), ()))
    assert {**with_counts, "counts": False} == without


def test_zero_counts_have_exact_differences_but_no_ratio(tmp_path: Path, golden: Golden) -> None:
    path = file_of(tmp_path, [row for row in _counted(20.0, 0.0, 0.0) if row["heap"] == 1])
    words, _ = shown(path, *OF_COUNTS, "--counts")
    golden("zero-counts", "\n".join(line for line in words.splitlines() if line.startswith("•")))


@pytest.mark.parametrize("value", ["1020.5", "-1"])
def test_a_value_that_is_no_count_is_rejected_with_its_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"collector,instructions\ng1,1000\nserial,{value}\n")
    done = CliRunner().invoke(compare, [str(path), *OF_COUNTS, "--counts"])
    assert isinstance(done.exception, SpecError)
    (problem,) = done.exception.problems
    assert (problem.where, problem.got) == (f"{path}:3:instructions", f"'{value}'")
    assert "--counts" in problem.fix
