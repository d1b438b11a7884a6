"""`regatta compare`: anyone's data through the same estimates, against R and NIST."""

from __future__ import annotations

import csv
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from click.testing import CliRunner

from helpers.golden import Golden
from regatta.cli.compare import compare
from regatta.stats.median import median_interval

ROOT = Path(__file__).parents[4]
R = json.loads((ROOT / "tests/reference/compare.json").read_text())
NIST = Path(scipy.__file__).parent / "stats/tests/data/nist_anova"


def file_of(tmp_path: Path, rows: list[dict[str, Any]]) -> str:
    path = tmp_path / "data.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def answered(path: str, *options: str) -> dict[str, Any]:
    done = CliRunner().invoke(compare, [path, *options, "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def shown(path: str, *options: str) -> tuple[str, str]:
    done = CliRunner().invoke(compare, [path, *options], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout, done.stderr


def agrees(found: dict[str, Any], expected: dict[str, Any], rel: float = 1e-9) -> None:
    for key, value in expected.items():
        if isinstance(value, float | int):
            assert found[key] == pytest.approx(value, rel=rel, abs=1e-9), key
        else:
            assert found[key] == value, key


def test_one_factor_agrees_with_rs_aov_tukeyhsd_and_t_test(tmp_path: Path) -> None:
    expected = R["plant"]
    document = answered(file_of(tmp_path, expected["rows"]), "--value", "weight", "--by", "group")
    assert document["anova"]["df"] == expected["df"]
    assert document["anova"]["F"] == pytest.approx(expected["F"], rel=1e-12)
    assert document["anova"]["p"] == pytest.approx(expected["p"], rel=1e-9)
    assert (document["anova"]["method"], document["anova"]["reason"]) == ("anova", "")
    for found, pair in zip(document["tukey"], expected["tukey"], strict=True):
        agrees(found, pair, 1e-6)
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
        "file", "value", "by", "block", "factors", "level", "method", "seed", "resamples", "rows", "left_out",
        "means", "welch", "paired", "anova", "tukey", "median", "bca", "notes",
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
    for found, pair in zip(document["tukey"], expected["tukey"], strict=True):
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
    assert anova["error"]["df"] == 41
    assert any("not balanced over" in note for note in document["notes"])


def test_tukeys_pairs_of_several_factors_are_judged_by_the_error_that_all_leave(tmp_path: Path) -> None:
    path = file_of(tmp_path, R["warpbreaks"]["rows"])
    document = answered(path, "--value", "breaks", "--by", "tension", "--factors", "wool")
    assert document["factors"] == ["tension", "wool"]
    assert [row["factor"] for row in document["anova"]["factors"]] == ["tension", "wool", "tension:wool"]
    assert document["notes"] == []
    for found, expected in zip(document["tukey"], R["warpbreaks"]["tukey"], strict=True):
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
        *document["tukey"],
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
    assert answer["welch"] == answer["tukey"] == []
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
    output, _ = shown(path, "--value", "t", "--by", "who", "--block", "run", "--level", "0.5")
    (sentence,) = (line for line in output.splitlines() if "than b" in line)
    golden("groups-without-a-common-block", sentence)
