"""The page on adapters says what there is, and its suites are suites."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from regatta.host.adapters import ADAPTERS
from regatta.host.adapters.jmh import _OTHER_UNITS
from regatta.host.errors import Problem
from regatta.host.units import UNITS
from regatta.spec.suites import check_suite, resolve_benchmark
from regatta.spec.yaml_lines import parse_yaml

ROOT = Path(__file__).resolve().parents[4]
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
(OWN_SUITE,) = re.findall(r"```yaml\n(suite: .*?)```", PAGE, re.DOTALL)


def test_the_suite_of_ones_own_jmh_jar_is_one() -> None:
    problems: list[Problem] = []
    suite = check_suite(parse_yaml(OWN_SUITE.encode(), "own.yml"), problems)
    assert problems == []
    assert suite is not None
    for size in ("small", "large"):
        benchmark = resolve_benchmark(suite, "parse", size, problems)
        assert benchmark.files["benchmarks"].name == "benchmarks.jar"
    assert problems == []


def test_the_table_names_every_suite_with_its_adapter_and_its_files() -> None:
    rows = re.findall(r"^\| `([a-z0-9.-]+)` \| `([a-z0-9]+)` \| (.*?) \| (.*?) \|", PAGE, re.MULTILINE)
    assert len(rows) == 9
    for name, adapter, needs, metric in rows:
        suite = YAML(typ="safe").load((ROOT / "configs" / "suites" / f"{name}.yml").read_text())
        assert {entry["adapter"] for entry in suite["benchmarks"].values()} == {adapter}
        assert adapter in ADAPTERS
        assert all(f"`{file['name']}`" in needs for file in suite.get("files", {}).values())
        metrics = {entry.get("metric", "elapsed") for entry in suite["benchmarks"].values()}
        assert all(f"`{one}`" in metric for one in metrics)


@pytest.mark.parametrize("unit", sorted({unit for unit, _ in _OTHER_UNITS.values()} | {"ops/min"}))
def test_every_unit_that_adapters_give_is_one_of_ours(unit: str) -> None:
    assert unit in UNITS


def test_operations_a_minute_are_a_sixtieth_of_those_a_second() -> None:
    assert UNITS["ops/min"] == ("rate", pytest.approx(UNITS["ops/s"][1] / 60))
