"""`regatta compare`: anyone's data through the same estimates, against R and NIST."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from click.testing import CliRunner

from helpers.compared_files import answered, file_of, shown
from helpers.golden import Golden
from regatta.answers.compare.compute import answer_foreign
from regatta.answers.compare.table import ForeignTable, Labels
from regatta.cli.compare import compare
from regatta.stats.all_pairs import paired_pairs, welch_pairs
from regatta.stats.median import median_interval
from regatta.stats.strata import VALUES, strata_anova

ROOT = Path(__file__).parents[4]
R = json.loads((ROOT / "tests/reference/compare.json").read_text())
NIST = Path(scipy.__file__).parent / "stats/tests/data/nist_anova"


def agrees(found: dict[str, Any], expected: dict[str, Any], rel: float = 1e-9) -> None:
    for key, value in expected.items():
        if isinstance(value, float | int):
            assert found[key] == pytest.approx(value, rel=rel, abs=1e-9), key
        else:
            assert found[key] == value, key


def test_one_factor_agrees_with_rs_aov_tukeyhsd_and_t_test(tmp_path: Path) -> None:
    expected = R["plant"]
    path = file_of(tmp_path, expected["rows"])
    document = answered(path, "--value", "weight", "--by", "group")
    assert document["anova"]["df"] == expected["df"]
    assert document["anova"]["F"] == pytest.approx(expected["F"], rel=1e-12)
    assert document["anova"]["p"] == pytest.approx(expected["p"], rel=1e-9)
    assert (document["anova"]["method"], document["anova"]["reason"]) == ("anova", "")
    paper = answered(path, "--value", "weight", "--by", "group", "--method", "georges2007")
    for found, pair in zip(paper["simultaneous"], expected["tukey"], strict=True):
        agrees(found, pair, 1e-6)
        assert found["method"] == "tukey"
    first = document["welch"][0]
    assert (first["a"], first["b"], first["reason"]) == ("ctrl", "trt1", "")
    agrees(first, expected["welch"], 1e-9)
    assert [(w["a"], w["b"]) for w in document["welch"]] == [
        ("ctrl", "trt1"),
        ("ctrl", "trt2"),
        ("trt1", "trt2"),
    ]
    assert document["paired"] == []


def test_every_key_of_the_document_is_there(tmp_path: Path) -> None:
    rows = R["plant"]["rows"]
    document = answered(file_of(tmp_path, rows), "--value", "weight", "--by", "group", "--seed", "7")
    assert list(document) == [
        "file", "value", "by", "block", "factors", "counts", "level", "method", "seed", "resamples", "rows", "left_out",
        "means", "welch", "paired", "anova", "simultaneous", "median", "bca", "notes",
    ]  # fmt: skip
    assert (document["value"], document["by"], document["block"]) == ("weight", "group", None)
    assert (document["factors"], document["level"], document["method"]) == ([], 0.95, "regatta")
    assert (document["rows"], document["left_out"], document["seed"]) == (30, 0, 7)
    assert list(document["means"]) == ["ctrl", "trt1", "trt2"]
    control = np.array([row["weight"] for row in rows if row["group"] == "ctrl"])
    mean = document["means"]["ctrl"]
    assert (mean["n"], mean["method"], mean["reason"]) == (10, "t", "")
    assert (mean["mean"], mean["sd"]) == pytest.approx((control.mean(), control.std(ddof=1)), rel=1e-14)
    median = median_interval(control)
    assert document["median"]["ctrl"] == {
        "n": 10, "value": median.point, "low": median.low, "high": median.high, "reason": "",
    }  # fmt: skip
    bca = document["bca"]["ctrl"]
    assert bca["low"] == pytest.approx(mean["low"], abs=0.1)
    assert mean["low"] < bca["low"] < bca["value"] < bca["high"]


def test_the_seed_is_all_the_luck_there_is(tmp_path: Path) -> None:
    path = file_of(tmp_path, R["plant"]["rows"])
    options = ("--value", "weight", "--by", "group")
    assert answered(path, *options) == answered(path, *options)
    assert answered(path, *options)["bca"] != answered(path, *options, "--seed", "2")["bca"]


def test_blocks_agree_with_rs_aov_and_tukeyhsd(tmp_path: Path) -> None:
    expected = R["penicillin"]
    path = file_of(tmp_path, expected["rows"])
    document = answered(path, "--value", "yield", "--by", "process", "--block", "blend")
    assert document["anova"]["method"] == "block-anova"
    assert document["anova"]["df"] == expected["df"]
    assert document["anova"]["F"] == pytest.approx(expected["F"], rel=1e-12)
    paper = answered(
        path, "--value", "yield", "--by", "process", "--block", "blend", "--method", "georges2007"
    )
    for found, pair in zip(paper["simultaneous"], expected["tukey"], strict=True):
        agrees(found, pair, 1e-6)
    assert [pair["n"] for pair in document["paired"]] == [5] * 6


def test_pairs_agree_with_rs_paired_t_test(tmp_path: Path) -> None:
    expected = R["sleep"]
    path = file_of(tmp_path, expected["rows"])
    document = answered(path, "--value", "extra", "--by", "group", "--block", "ID")
    (pair,) = document["paired"]
    agrees(pair, {key: expected[key] for key in ("difference", "low", "high", "p")})
    assert (pair["n"], pair["df"]) == (10, 9)
    # Hours of sleep won or lost have no ratio.
    assert pair["ratio"] is None
    assert pair["ratio_low"] is None
    assert "not positive" in pair["reason"]


@pytest.mark.parametrize("kind", ["1", "2", "3"])
def test_several_factors_agree_with_cars_anova(tmp_path: Path, kind: str) -> None:
    path = file_of(tmp_path, R["holes"]["rows"])
    options = ("--value", "breaks", "--by", "wool", "--factors", "wool,tension", "--type", kind)
    document = answered(path, *options)
    anova = document["anova"]
    assert (anova["type"], anova["reason"], document["factors"]) == (int(kind), "", ["wool", "tension"])
    for found, expected in zip(anova["factors"], R["holes"][f"type{kind}"], strict=True):
        agrees(found, expected, 1e-8)
        assert found["omega2"] < found["eta2"]
    assert [(one["name"], one["df_error"]) for one in anova["strata"]] == [(VALUES, 41)]
    assert any("not balanced over" in note for note in document["notes"])


def test_tukeys_pairs_of_several_factors_are_judged_by_the_error_that_all_leave(tmp_path: Path) -> None:
    path = file_of(tmp_path, R["warpbreaks"]["rows"])
    document = answered(path, "--value", "breaks", "--by", "tension", "--factors", "wool")
    assert document["factors"] == ["tension", "wool"]
    assert [row["factor"] for row in document["anova"]["factors"]] == ["tension", "wool", "tension:wool"]
    assert document["notes"] == []
    paper = answered(
        path, "--value", "breaks", "--by", "tension", "--factors", "wool", "--method", "georges2007"
    )
    for found, expected in zip(paper["simultaneous"], R["warpbreaks"]["tukey"], strict=True):
        agrees(found, expected, 1e-6)


@pytest.mark.parametrize(
    ("name", "digits"), [("SiRstv", 9), ("AtmWtAg", 9), ("SmLs01", 9), ("SmLs06", 9), ("SmLs09", 4)]
)
def test_nists_certified_f_comes_through(tmp_path: Path, name: str, digits: int) -> None:
    text = (NIST / f"{name}.dat").read_text()
    first, last = (int(x) for x in re.search(r"Data\s+\(lines (\d+) to (\d+)\)", text).groups())
    lines = text.splitlines()
    certified = float(next(line for line in lines if line.startswith("Between")).split()[-1])
    rows = [line.split() for line in lines[first - 1 : last] if line.strip()]
    path = file_of(tmp_path, [{"treatment": a, "response": b} for a, b in rows])
    document = answered(path, "--value", "response", "--by", "treatment")
    assert document["anova"]["F"] == pytest.approx(certified, rel=10.0**-digits)


def test_nist_numacc4_comes_through(tmp_path: Path) -> None:
    values = [10000000.2, *[10000000.1, 10000000.3] * 500]
    rows = [{"who": who, "x": f"{value:.1f}"} for who in ("a", "b") for value in values]
    document = answered(file_of(tmp_path, rows), "--value", "x", "--by", "who", "--method", "georges2007")
    assert document["means"]["a"]["mean"] == 10000000.2
    assert document["means"]["a"]["sd"] == pytest.approx(0.1, rel=1e-7)
    assert document["means"]["a"]["method"] == "z"
    (pair,) = document["welch"]
    assert pair["difference"] == 0.0
    # z: no degrees of freedom
    assert pair["df"] is None
    assert pair["p"] == pytest.approx(1.0)
    half = 1.959963984540054 * 0.1 * math.sqrt(2 / 1001)
    assert pair["high"] == pytest.approx(half, rel=1e-6)
    assert pair["ratio_high"] - 1 == pytest.approx(half / 10000000.2, rel=1e-6)


def test_the_papers_way_rounds_its_degrees_of_freedom(tmp_path: Path) -> None:
    path = file_of(tmp_path, R["plant"]["rows"])
    options = ("--value", "weight", "--by", "group", "--method", "georges2007", "--level", "0.9")
    document = answered(path, *options)
    assert document["method"] == "georges2007"
    assert document["welch"][0]["df"] == 17
    assert document["level"] == 0.9


def test_undefined_numbers_are_null_with_a_reason(tmp_path: Path) -> None:
    rows = [{"vm": "a", "t": 1}, {"vm": "a", "t": 1}, {"vm": "b", "t": 3}, {"vm": "c", "t": ""}]
    document = answered(file_of(tmp_path, rows), "--value", "t", "--by", "vm")
    assert (document["rows"], document["left_out"]) == (4, 1)
    means = document["means"]
    assert means["a"]["reason"].startswith("all 2 values are equal")
    assert (means["a"]["mean"], means["a"]["low"]) == (1.0, None)
    assert (means["b"]["mean"], means["b"]["sd"]) == (3.0, None)
    assert (means["c"]["n"], means["c"]["mean"], means["c"]["reason"]) == (0, None, "no values")
    assert document["anova"]["F"] is None
    assert document["anova"]["reason"]
    for entry in (
        *document["welch"],
        *document["simultaneous"],
        *document["median"].values(),
        *document["bca"].values(),
    ):
        assert entry["low"] is None
        assert entry["reason"]


def test_the_first_sentences_answer(tmp_path: Path, golden: Golden) -> None:
    out, err = shown(file_of(tmp_path, R["plant"]["rows"]), "--value", "weight", "--by", "group")
    golden("three-groups", "\n".join(line for line in out.splitlines() if line.startswith("•")))
    assert "30 values in 30 rows" in out
    golden("three-groups-notes", err)


def test_two_groups_are_answered_by_welch_or_by_pairs(tmp_path: Path, golden: Golden) -> None:
    path = file_of(tmp_path, R["sleep"]["rows"])
    out, _ = shown(path, "--value", "extra", "--by", "group")
    golden("two-groups", out.splitlines()[0])
    out, _ = shown(path, "--value", "extra", "--by", "group", "--block", "ID")
    golden("two-groups-in-blocks", out.splitlines()[0])


def test_a_baseline_that_is_not_positive_is_answered_in_the_unit_of_the_values(
    tmp_path: Path, golden: Golden
) -> None:
    rows = [{"vm": "ab"[i % 2], "t": -10.0 * (i % 2) + i / 10} for i in range(12)]
    out, _ = shown(file_of(tmp_path, rows), "--value", "t", "--by", "vm")
    golden("baseline-that-is-not-positive", out.splitlines()[0])


def test_what_was_left_out_and_what_lacks_a_block_is_said(tmp_path: Path, golden: Golden) -> None:
    rows = [
        {"day": d, "vm": v, "t": 10 + d + "ab".index(v) + (d * 7 % 3) / 10} for d in range(6) for v in "ab"
    ]
    rows[3]["t"] = ""
    _, err = shown(file_of(tmp_path, rows), "--value", "t", "--by", "vm", "--block", "day")
    golden("excluded-rows-and-blocks", err)


def test_tables_show_several_factors_and_what_cannot_be_estimated(tmp_path: Path) -> None:
    out, _ = shown(
        file_of(tmp_path, R["warpbreaks"]["rows"]),
        "--value",
        "breaks",
        "--by",
        "tension",
        "--factors",
        "wool",
    )
    assert "ANOVA, type 2" in out
    assert "tension:wool" in out
    rows = [{"vm": v, "heap": h, "t": i} for i, (v, h) in enumerate((v, h) for v in "ab" for h in (64, 128))]
    out, _ = shown(file_of(tmp_path, rows), "--value", "t", "--by", "vm", "--factors", "heap")
    assert ": undefined (one value " in out


def test_many_groups_are_answered_shortly(tmp_path: Path, golden: Golden) -> None:
    rows = [{"vm": f"g{i:02}", "t": 100 + 10 * i + j % 3} for i in range(12) for j in range(6)]
    out, _ = shown(file_of(tmp_path, rows), "--value", "t", "--by", "vm")
    sentences = [line for line in out.splitlines() if line.startswith("•")]
    assert len(sentences) == 11
    golden("many-groups", sentences[-1])


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    rows = [{"vm": name, "t": i} for i in range(5) for name in ("\x1b[31m[bold]red", "b")]
    out, err = shown(file_of(tmp_path, rows), "--value", "t", "--by", "vm")
    assert "\x1b" not in out + err
    assert "[bold]red" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--value", "wait", "--by", "group"], "expected a column 'wait'"),
        (["--value", "weight", "--by", "group", "--level", "95"], "--level"),
        (["--value", "weight", "--by", "group", "--type", "4"], "--type"),
        (["--value", "weight"], "--by"),
    ],
)
def test_a_wrong_command_ends_with_2(tmp_path: Path, options: list[str], message: str) -> None:
    path = file_of(tmp_path, R["plant"]["rows"])
    done = subprocess.run(
        [sys.executable, "-m", "regatta", "compare", path, *options], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_the_example_of_the_documentation_is_what_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/compare.md").read_text()
    data, command, answer = (
        re.search(f"```{kind}\n(.*?)```", page, re.DOTALL)[1] for kind in ("csv", "sh", "text")
    )
    (tmp_path / "runs.csv").write_text(data)
    monkeypatch.chdir(tmp_path)
    program, verb, *arguments = command.split()
    assert (program, verb) == ("regatta", "compare")
    out, err = shown(*arguments)
    lines = [line.rstrip() for line in (out + "\n" + err).splitlines()]
    assert lines == answer.splitlines()


def test_one_group_has_its_means_and_nothing_to_be_compared_with(tmp_path: Path) -> None:
    # NIST's NumAcc4: mean 10000000.2, standard deviation 0.1.
    values = ["10000000.2", *["10000000.1", "10000000.3"] * 500]
    file = tmp_path / "numacc4.csv"
    file.write_text("of,x\n" + "".join(f"only,{value}\n" for value in values))
    result = CliRunner().invoke(compare, [str(file), "--value", "x", "--by", "of", "--json"])
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["means"]["only"]["mean"] == pytest.approx(10000000.2, rel=1e-15)
    assert answer["means"]["only"]["sd"] == pytest.approx(0.1, rel=1e-7)
    assert answer["welch"] == answer["simultaneous"] == []
    assert answer["anova"]["F"] is None
    assert answer["anova"]["reason"]
    told = CliRunner().invoke(compare, [str(file), "--value", "x", "--by", "of"]).stdout
    assert "only one group (only)" in told


def _lopsided(groups: dict[str, tuple[float, range]]) -> list[dict[str, Any]]:
    """Values of each group at a level, in blocks; those from the sixth on are a hundred times as large."""
    rng = np.random.default_rng(3)
    return [
        {"t": level * (1.0 if block < 6 else 100.0) * rng.normal(1.0, 0.003), "who": who, "run": block}
        for who, (level, blocks) in groups.items()
        for block in blocks
    ]


@pytest.mark.parametrize(
    "groups",
    [
        {"a": (1.1, range(6)), "b": (1.0, range(12))},
        {"a": (1.1, range(6)), "b": (1.0, range(12)), "c": (1.0, range(6))},
    ],
)
def test_a_difference_within_blocks_is_a_share_of_the_mean_in_those_blocks(
    tmp_path: Path, groups: dict[str, tuple[float, range]]
) -> None:
    path = file_of(tmp_path, _lopsided(groups))
    output, _ = shown(path, "--value", "t", "--by", "who", "--block", "run")
    (sentence,) = (line for line in output.splitlines() if "than b" in line)
    percent = re.search(r"has ([0-9.]+) % \[([0-9.]+), ([0-9.]+)\] higher t than b", sentence)
    assert percent is not None, sentence
    point, low, high = map(float, percent.groups())
    assert 8.5 < low < point < high < 11.5


def test_groups_that_share_no_block_differ_by_no_share(tmp_path: Path, golden: Golden) -> None:
    groups = {"a": (1.5, range(6)), "b": (1.0, range(6, 12)), "c": (1.0, range(12))}
    path = file_of(tmp_path, [{**row, "t": row["t"] + 100} for row in _lopsided(groups)])
    options = ("--value", "t", "--by", "who", "--block", "run", "--level", "0.5")
    output, _ = shown(path, *options)
    (sentence,) = (line for line in output.splitlines() if line.startswith("• a / b"))
    golden("groups-without-a-common-block", sentence)
    output, _ = shown(path, *options, "--method", "georges2007")
    (sentence,) = (line for line in output.splitlines() if "than b" in line)
    golden("groups-connected-by-a-third", sentence)


def _noisy(counts: tuple[int, ...], spreads: tuple[float, ...]) -> list[dict[str, Any]]:
    rng = np.random.default_rng(21)
    return [
        {"vm": "abc"[i], "t": float(rng.normal(100.0, spread))}
        for i, (count, spread) in enumerate(zip(counts, spreads, strict=True))
        for _ in range(count)
    ]


def test_every_pair_of_three_groups_has_its_own_variance(tmp_path: Path) -> None:
    rows = _noisy((10, 10, 3), (1.0, 1.0, 10.0))
    document = answered(file_of(tmp_path, rows), "--value", "t", "--by", "vm")
    values = [np.array([row["t"] for row in rows if row["vm"] == name]) for name in "abc"]
    for pair, ratio in zip(document["simultaneous"], welch_pairs(values), strict=True):
        assert (pair["a"], pair["b"]) == ("abc"[ratio.first], "abc"[ratio.second])
        assert [pair[key] for key in ("ratio", "ratio_low", "ratio_high")] == pytest.approx(
            [ratio.ratio.point, ratio.ratio.low, ratio.ratio.high], rel=1e-12
        )
        assert pair["method"] == "sidak-welch"
    for single, pair in zip(document["welch"], document["simultaneous"], strict=True):
        assert pair["difference"] == pytest.approx(single["difference"], rel=1e-12)
        assert pair["p"] == pytest.approx(1 - (1 - single["p"]) ** 3, rel=1e-9)
        assert pair["high"] - pair["low"] > single["high"] - single["low"]


def test_pairs_in_blocks_have_the_ratios_of_an_experiments_pairs(tmp_path: Path) -> None:
    rows = R["penicillin"]["rows"]
    document = answered(
        file_of(tmp_path, rows), "--value", "yield", "--by", "process", "--block", "blend", "--level", "0.9"
    )
    names = list(document["means"])
    blends = list(dict.fromkeys(row["blend"] for row in rows))
    table = np.full((len(blends), len(names)), np.nan)
    for row in rows:
        table[blends.index(row["blend"]), names.index(row["process"])] = row["yield"]
    (pairs,) = paired_pairs([table], 0.9)
    for pair, ratio in zip(document["simultaneous"], pairs, strict=True):
        assert [pair[key] for key in ("ratio_low", "ratio_high")] == pytest.approx(
            [ratio.ratio.low, ratio.ratio.high], rel=1e-12
        )
        assert (pair["method"], pair["n"]) == ("sidak-paired-t", 5)


def test_values_that_are_not_positive_are_compared_in_their_unit_with_a_reason_for_no_ratio(
    tmp_path: Path, golden: Golden
) -> None:
    rows = [
        {"vm": vm, "t": level + i / 10}
        for vm, level in (("a", -0.2), ("b", 9.0), ("c", 9.0))
        for i in range(6)
    ]
    path = file_of(tmp_path, rows)
    document = answered(path, "--value", "t", "--by", "vm")
    first, _, last = document["simultaneous"]
    assert first["ratio"] is None
    assert "not positive" in first["reason"]
    assert first["low"] < -9.2 < first["high"] < 0.0
    assert last["ratio"] == pytest.approx(1.0)
    out, _ = shown(path, "--value", "t", "--by", "vm")
    golden("values-that-are-not-positive", out.splitlines()[0])


def test_pairs_within_factors_are_the_mean_of_the_differences_in_each_combination(tmp_path: Path) -> None:
    rows = R["warpbreaks"]["rows"]
    document = answered(file_of(tmp_path, rows), "--value", "breaks", "--by", "tension", "--factors", "wool")
    first = document["simultaneous"][0]
    sides = [
        [
            np.array([r["breaks"] for r in rows if r["tension"] == first[key] and r["wool"] == wool], float)
            for wool in "AB"
        ]
        for key in ("a", "b")
    ]
    assert first["difference"] == pytest.approx(np.mean(sides[0]) - np.mean(sides[1]))
    parts = np.array([x.var(ddof=1) / x.size / 4 for side in sides for x in side])
    df = parts.sum() ** 2 / (parts**2 / 8).sum()
    half = scipy.stats.t.ppf(0.5 + 0.95 ** (1 / 3) / 2, df) * math.sqrt(parts.sum())
    assert first["df"] == pytest.approx(df)
    assert first["high"] - first["difference"] == pytest.approx(half)


@pytest.mark.parametrize("method", ["regatta", "georges2007"])
def test_pairs_do_not_depend_on_the_type_of_the_sums_of_squares(tmp_path: Path, method: str) -> None:
    rng = np.random.default_rng(22)
    rows = [
        {"vm": vm, "heap": heap, "t": float(rng.normal(100 + 10 * (vm == "c") + heap / 10, 1))}
        for vm in "abc"
        for heap in (64, 128)
        for _ in range(5)
        if (vm, heap) != ("b", 128)
    ]
    path = file_of(tmp_path, rows)
    options = ("--value", "t", "--by", "vm", "--factors", "heap", "--method", method)
    second, third = (answered(path, *options, "--type", kind) for kind in "23")
    assert third["anova"]["reason"]
    assert second["anova"]["reason"] == ""
    for key in ("simultaneous", "welch", "means", "median", "bca", "notes"):
        assert third[key] == second[key]
    assert all(pair["low"] is not None for pair in third["simultaneous"])
    assert third["anova"]["strata"] == second["anova"]["strata"] != []


def _in_blocks(blocks: int = 8, seed: int = 36) -> list[dict[str, Any]]:
    """Runs of three collectors per block; every block has one heap, and heaps do not differ."""
    rng = np.random.default_rng(seed)
    rows = []
    for block in range(blocks):
        level = rng.normal(0.0, 12.0)
        for collector, mean in (("serial", 330.0), ("parallel", 300.0), ("g1", 322.0)):
            time_ms = round(float(mean + level + rng.normal(0.0, 3.0)), 1)
            rows.append(
                {"round": block, "heap_mib": (64, 128)[block % 2], "collector": collector, "time_ms": time_ms}
            )
    return rows


IN_BLOCKS = ("--value", "time_ms", "--by", "collector", "--factors", "heap_mib", "--block", "round")


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_factors_in_blocks_are_tested_in_the_stratum_in_which_they_vary(tmp_path: Path, kind: int) -> None:
    rows = _in_blocks()
    # Two blocks lack a run each, so that the types differ.
    rows = [row for at, row in enumerate(rows) if at not in (4, 9)]
    document = answered(file_of(tmp_path, rows), *IN_BLOCKS, "--type", str(kind))
    anova = document["anova"]
    expected = strata_anova(
        [row["time_ms"] for row in rows],
        [
            ("collector", [["serial", "parallel", "g1"].index(row["collector"]) for row in rows]),
            ("heap_mib", [row["heap_mib"] for row in rows]),
        ],
        [("blocks", [row["round"] for row in rows])],
        kind,
    )
    assert (anova["type"], anova["method"], anova["reason"]) == (kind, f"strata-anova-type-{kind}", "")
    for found, row in zip(anova["factors"], expected.rows, strict=True):
        agrees(
            found,
            {
                "factor": row.source, "stratum": row.stratum, "df": row.df, "df_error": row.df_error,
                "df_approx": row.df_approx, "df_error_approx": row.df_error_approx, "ss": row.ss,
                "ms_error": row.ms_error, "F": row.f, "p": row.p, "eta2": row.eta2_partial,
                "omega2": row.omega2_partial, "reason": row.note,
            },
        )  # fmt: skip
        assert found["F"] == pytest.approx(found["ss"] / found["df"] / found["ms_error"])
    assert [row["stratum"] for row in anova["factors"]] == [
        "within blocks",
        "between blocks",
        "within blocks",
    ]
    for found, error in zip(anova["strata"], expected.strata, strict=True):
        agrees(found, asdict(error))
    assert not any("ignores blocks" in note for note in document["notes"])


def test_the_papers_way_tests_factors_without_blocks_and_says_so(tmp_path: Path) -> None:
    path = file_of(tmp_path, _in_blocks())
    document = answered(path, *IN_BLOCKS, "--method", "georges2007")
    assert {row["stratum"] for row in document["anova"]["factors"]} == {VALUES}
    # As docs/compare.md says.
    assert document["anova"]["factors"][1]["p"] == pytest.approx(0.0052, abs=5e-5)
    assert any("ignores blocks of round" in note for note in document["notes"])


def test_the_errors_of_strata_do_not_depend_on_the_type_when_a_cell_is_empty(tmp_path: Path) -> None:
    rows = [row for row in _in_blocks() if (row["collector"], row["heap_mib"]) != ("g1", 128)]
    path = file_of(tmp_path, rows)
    second, third = (answered(path, *IN_BLOCKS, "--type", kind) for kind in "23")
    assert "empty" in third["anova"]["reason"]
    assert {row["F"] for row in third["anova"]["factors"]} == {None}
    assert second["anova"]["reason"] == ""
    assert third["anova"]["strata"] == second["anova"]["strata"] != []
    for key in ("simultaneous", "paired", "welch", "means", "notes"):
        assert third[key] == second[key]


def test_the_table_of_factors_in_blocks_is_that_of_the_documentation(tmp_path: Path, golden: Golden) -> None:
    out, _ = shown(file_of(tmp_path, _in_blocks()), *IN_BLOCKS)
    table = re.search(r"ANOVA, type 2\n.*?(?=\n\n)", out, re.DOTALL)
    assert table is not None
    text = "\n".join(line.rstrip() for line in table[0].splitlines())
    golden("factors-in-blocks", text)
    assert text in (ROOT / "docs/compare.md").read_text()


def test_differences_of_blocks_are_rarely_an_effect_of_what_is_constant_in_them() -> None:
    found = []
    for seed in range(400):
        rows = _in_blocks(10, seed)
        names = {
            column: tuple(dict.fromkeys(str(row[column]) for row in rows))
            for column in ("collector", "heap_mib", "round")
        }
        by, heap, block = (
            Labels(column, levels, np.array([levels.index(str(row[column])) for row in rows]))
            for column, levels in names.items()
        )
        values = np.array([row["time_ms"] for row in rows])
        table = ForeignTable(
            "f", "time_ms", values, by, block, (heap,), ("collector", "heap_mib"), len(rows), 0
        )
        factorial = answer_foreign(table).factorial
        assert factorial is not None
        found.append([row.p < 0.05 for row in factorial.rows])
    collector, heap_mib, both = np.mean(found, axis=0)
    # The standard error of 5 % is 1.1 %. Tested against values, the heap is significant in about 30 %.
    assert collector == 1.0
    assert heap_mib < 0.09
    assert both < 0.09
