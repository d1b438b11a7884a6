"""`include:` merges specs, and every value keeps the place where it was written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.specs.spec_examples import JAVA, MINIMAL, write
from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Experiment, Heap
from regatta.imports.running_ng_files import read_configuration
from regatta.spec.include import read_with_includes

Load = Callable[..., Experiment]
Wrong = Callable[..., tuple[Problem, ...]]


def test_mappings_are_merged_and_everything_else_replaced(load: Load, home: Path) -> None:
    write(home / "base.yml", "seed: 7\ncompare: [heap, collector]\niterations: {count: 9, warmup: 4}\n")
    experiment = load(MINIMAL, "include: base.yml\ncompare: [runtime]\niterations: {warmup: 2}")
    assert experiment.seed == 7
    assert experiment.compare == ("runtime",)
    assert (experiment.steady.iterations, experiment.steady.warmup) == (9, 2)


def test_later_files_win_over_earlier_ones_and_the_spec_over_all(load: Load, home: Path) -> None:
    write(home / "a.yml", "seed: 1\nlevel: 0.9\ntimeout_s: 1\n")
    write(home / "b.yml", "seed: 2\nlevel: 0.8\n")
    experiment = load(MINIMAL, "include: [a.yml, b.yml]\nseed: 3")
    assert (experiment.seed, experiment.level, experiment.timeout_s) == (3, 0.8, 1.0)


def test_includes_are_relative_to_the_file_that_includes(load: Load, home: Path) -> None:
    write(home / "shared/all.yml", "include: more/seed.yml\n")
    write(home / "shared/more/seed.yml", "include: ../level.yml\nseed: 5\n")
    write(home / "shared/level.yml", "level: 0.9\n")
    experiment = load(MINIMAL, "include: shared/all.yml")
    assert (experiment.seed, experiment.level) == (5, 0.9)


def test_null_takes_back_what_an_include_says(load: Load, home: Path) -> None:
    write(home / "base.yml", "heap: {factors: [2]}\n")
    text = JAVA.replace("heap: {factors: [2]}", "heap: {factors: null, sizes_mib: [64]}")
    assert load(text, "include: base.yml").heaps == (Heap(mib=64),)


def test_a_mistake_is_told_where_it_stands(wrong: Wrong, home: Path) -> None:
    write(
        home / "shared/base.yml", "# first line\niterations:\n  count: 3\n  warmup: 3\nseeed: 1\nlevel: 2\n"
    )
    found = wrong(MINIMAL, "include: shared/base.yml\nlevel: 3\niterations: {count: x}")
    assert [p.where for p in found] == [
        "spec.yml:5:level",
        "spec.yml:6:iterations.count",
        "shared/base.yml:5:seeed",
    ]


def test_a_mistake_between_two_files_is_told_at_the_key_to_blame(wrong: Wrong, home: Path) -> None:
    write(home / "base.yml", "iterations: {count: 9, warmup: 4}\n")
    (problem,) = wrong(MINIMAL, "include: base.yml\niterations: {count: 2}")
    assert (problem.where, problem.got) == ("base.yml:1:iterations.warmup", "4")
    assert problem.expected == "`warmup` < `count` (2)"
    assert "`count: 5`" in problem.fix


def test_replaced_lists_leave_no_places_behind(home: Path) -> None:
    write(home / "base.yml", "a: {b: [1, 2, 3]}\n")
    write(home / "spec.yml", "include: base.yml\na:\n  b: [x]\n")
    document = read_with_includes(Path("spec.yml"))
    assert document.value == {"a": {"b": ["x"]}}
    assert document.where(("a", "b", 0)) == "spec.yml:3:a.b[0]"
    assert ("a", "b", 2) not in document.marks


def test_missing_includes_are_all_told(wrong: Wrong) -> None:
    found = wrong(MINIMAL, "include: [gone.yml, away.yml]")
    assert [(p.where, p.expected, p.got) for p in found] == [
        ("spec.yml:4:include[0]", "an existing file", "'gone.yml'"),
        ("spec.yml:4:include[1]", "an existing file", "'away.yml'"),
    ]


def test_an_included_file_with_bad_yaml_is_named(wrong: Wrong, home: Path) -> None:
    write(home / "base.yml", "seed: 1\nseed: 2\n")
    assert wrong(MINIMAL, "include: base.yml")[0].where == "base.yml:2"


def test_an_included_file_must_be_a_mapping(wrong: Wrong, home: Path) -> None:
    write(home / "base.yml", "- 1\n")
    (problem,) = wrong(MINIMAL, "include: base.yml")
    assert (problem.where, problem.expected) == ("base.yml:1", "a mapping")


@pytest.mark.parametrize("value", ["~", "{a: b}", "[[x]]", "''", '"a\\0"'])
def test_an_include_is_a_path_or_a_list_of_paths(wrong: Wrong, value: str) -> None:
    assert wrong(MINIMAL, f"include: {value}")[0].where.startswith("spec.yml:4:include")


@pytest.mark.parametrize("value", ["/dev/zero", ".", "x/../..", "spec.yml"])
def test_only_other_files_can_be_included(wrong: Wrong, value: str) -> None:
    assert wrong(MINIMAL, f"include: {value}")


def test_a_circle_of_includes_is_drawn(wrong: Wrong, home: Path) -> None:
    write(home / "a.yml", "include: b.yml\n")
    write(home / "b.yml", "seed: 1\ninclude: a.yml\n")
    (problem,) = wrong(MINIMAL, "include: a.yml")
    assert (problem.where, problem.got) == ("b.yml:2:include", "a.yml -> b.yml -> a.yml")


def test_a_file_may_be_included_twice_but_not_without_end(load: Load, home: Path) -> None:
    write(home / "l0.yml", "seed: 4\n")
    for level in range(1, 5):
        write(home / f"l{level}.yml", f"include: [l{level - 1}.yml, l{level - 1}.yml]\n")
    assert load(MINIMAL, "include: l4.yml").seed == 4
    for level in range(5, 12):
        write(home / f"l{level}.yml", f"include: [l{level - 1}.yml, l{level - 1}.yml]\n")
    with pytest.raises(SpecError, match="at most 64 includes"):
        load(MINIMAL, "include: l11.yml")


@pytest.mark.parametrize("part", ["[" + "x," * 15_000 + "]", "[" + "x," * 15_000, f'"{"x" * 250_000}"'])
def test_all_includes_of_a_spec_share_one_budget(wrong: Wrong, home: Path, part: str) -> None:
    for i in range(40):
        write(home / f"base{i}.yml", f"key{i}: {part}\n")
    names = ", ".join(f"base{i}.yml" for i in range(40))
    problems = [p for p in wrong(MINIMAL, f"include: [{names}]") if "its includes" in p.expected]
    assert len(problems) == 1
    assert problems[0].where.startswith(("base1.yml", "base2.yml", "base3.yml", "base4.yml"))


def test_a_configuration_of_another_tool_has_the_same_budget(tmp_path: Path) -> None:
    for i in range(40):
        write(tmp_path / f"base{i}.yml", f"key{i}: [{'x,' * 15_000}]\n")
    main = tmp_path / "main.yml"
    write(main, f"includes: [{', '.join(f'base{i}.yml' for i in range(40))}]\n")
    with pytest.raises(SpecError, match="its includes"):
        read_configuration(main, None)


def test_the_suites_of_a_spec_share_a_budget_too(wrong: Wrong, home: Path) -> None:
    for i in range(40):
        write(home / f"s{i}.suite.yml", f"suite: s{i}\nkey: [{'x,' * 15_000}]\n")
    names = ", ".join(f"s{i}.suite.yml" for i in range(40))
    problems = [p for p in wrong(MINIMAL, f"suites: [{names}]") if "its includes" in p.expected]
    assert len(problems) == 1
