"""Kept minheaps: a spec asks for them, and what lacks or was measured otherwise is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.specs.spec_examples import JAVA, write
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Experiment
from regatta.spec.minheaps import MinheapsFile, merged_minheaps, minheaps_text, read_minheaps

Load = Callable[..., Experiment]

KEPT = MinheapsFile(
    suite="toy",
    runtime="jdk-21",
    build='openjdk 21 "x": y',
    architecture="x86_64",
    collectors=["serial", "g1"],
    passes=2,
    iterations=1,
    heaps_mib={"lzw": {"default": 20, "small": 3}},
)
ASKED = "minheap: {source: kept}"


def keep(home: Path, kept: MinheapsFile) -> None:
    write(home / "configs/suites/minheap/toy.yml", minheaps_text(kept))


def test_what_is_written_is_read_again(home: Path) -> None:
    keep(home, KEPT)
    problems: list = []
    assert read_minheaps(home, "toy", problems) == KEPT
    assert problems == []


def test_a_spec_that_asks_for_them_gets_them_by_label(home: Path, load: Load, golden: Golden) -> None:
    keep(home, KEPT)
    text = JAVA.replace("benchmark: lzw}", "benchmark: lzw, size: [small, default]}")
    kept = load(text, ASKED).kept_minheaps
    assert kept is not None
    assert kept.heaps_mib == {"toy/lzw:small": 3, "toy/lzw:default": 20}
    assert kept.sources.keys() == {"toy"}
    golden("source", kept.sources["toy"])
    assert load(text).kept_minheaps is None


def test_a_spec_of_sizes_needs_none(home: Path, load: Load) -> None:
    text = JAVA.replace("factors: [2]", "sizes_mib: [64]")
    assert load(text, ASKED).kept_minheaps is None


def test_a_benchmark_without_one_is_told_with_what_measures_it(
    home: Path, one: Callable[..., tuple[str, ...]]
) -> None:
    keep(home, KEPT.model_copy(update={"heaps_mib": {"lzw": {"small": 3}}}))
    where, expected, got, fix = one(JAVA, ASKED)
    assert where == "spec.yml:6:minheap.source"
    assert "minheap of toy/lzw:default in " in expected
    assert "configs/suites/minheap/toy.yml" in expected
    assert got == "missing"
    assert "regatta minheap SPEC --keep" in fix


def test_a_minheap_of_other_work_is_told(home: Path, load: Load, one: Callable[..., tuple[str, ...]]) -> None:
    suite = home / "configs/suites/toy.yml"
    suite.write_text(
        suite.read_text().replace("{kib: 10}}", f"{{kib: 10}}, expect: {{digest: {'a' * 64}}}}}")
    )
    keep(home, KEPT.model_copy(update={"outputs": {"lzw": {"default": "a" * 64}}}))
    assert load(JAVA, ASKED).kept_minheaps is not None
    keep(home, KEPT.model_copy(update={"outputs": {"lzw": {"default": "b" * 64}}}))
    where, expected, got, fix = one(JAVA, ASKED)
    assert where == "spec.yml:6:minheap.source"
    assert ("a" * 16 in expected, "b" * 16 in got) == (True, True)
    assert "--keep" in fix


def test_a_file_of_another_suite_and_a_heap_that_is_none_are_told(
    home: Path, wrong: Callable[..., tuple]
) -> None:
    keep(home, KEPT.model_copy(update={"suite": "other"}))
    (problem,) = wrong(JAVA, ASKED)
    assert problem.where.endswith("configs/suites/minheap/toy.yml:2:suite")
    assert (problem.expected.split(",")[0], problem.got) == ("`toy`", "'other'")
    write(home / "configs/suites/minheap/toy.yml", minheaps_text(KEPT).replace("small: 3", "small: 0"))
    (problem,) = wrong(JAVA, ASKED)
    assert "toy.yml:10:heaps_mib.lzw.small" in problem.where


def test_new_ones_are_added_to_those_measured_in_the_same_way_only() -> None:
    new = KEPT.model_copy(update={"heaps_mib": {"lzw": {"small": 4}, "gzip": {"default": 9}}})
    assert merged_minheaps(None, new) is new
    assert merged_minheaps(KEPT, new).heaps_mib == {
        "lzw": {"default": 20, "small": 4},
        "gzip": {"default": 9},
    }
    others = {"runtime": "other", "build": "other", "collectors": ["serial"], "passes": 3, "iterations": 2}
    for key, value in others.items():
        with pytest.raises(SpecError) as raised:
            merged_minheaps(KEPT, new.model_copy(update={key: value}))
        (problem,) = raised.value.problems
        assert not problem.expected.endswith(problem.got), key
        assert "--replace" in problem.fix
