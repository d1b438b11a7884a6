"""What is wrong with an input is told with its place, what was expected, what was found and how to mend it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.specs.imported import HOME, load, of_rebench
from regatta.host.errors import Problem, SpecError
from regatta.imports.drafts import write_files
from regatta.imports.rebench import import_rebench
from regatta.imports.running_ng import import_running_ng
from regatta.imports.words import Names, clean, shell_syntax
from regatta.spec.fields import NAME
from regatta.spec.yaml_lines import parse_yaml

REBENCH = """\
benchmark_suites:
  S: {gauge_adapter: Time, command: "%(benchmark)s", benchmarks: [b]}
executors:
  E: {executable: run}
experiments:
  X: {executions: [E], suites: [S]}
"""

RUNNING_NG = """\
suites: {d: {type: DaCapo, release: "9.12", path: /d.jar, timing_iteration: 3}}
runtimes: {j: {type: OpenJDK, release: 21, home: /jdk}}
modifiers: {m: {type: JVMArg, val: "-Da={0}"}}
benchmarks: {d: [fop]}
configs: ["j|m-1"]
invocations: 3
heap_range: 6
spread_factor: 1
minheap_multiplier: 1
"""


def problems(path: Path, text: str) -> list[Problem]:
    path.write_text(text)
    importing = import_rebench if path.suffix == ".conf" else import_running_ng
    with pytest.raises(SpecError) as caught:
        importing(path, HOME)
    assert caught.value.exit_code == 2
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("old", "new", "where", "told"),
    [
        (REBENCH, "", "", "a ReBench configuration"),
        (REBENCH, "- a list", "1", "a ReBench configuration"),
        ("executions: [E]", "executions: [F]", "6:experiments.X.executions[0]", "an executor (E)"),
        ("suites: [S]", "suites: [s]", "6:experiments.X.suites[0]", "a benchmark suite (S)"),
        ("gauge_adapter: Time, ", "", "2:benchmark_suites.S.gauge_adapter", "gauge_adapter: RebenchLog"),
        ("{executable: run}", "{path: run}", "4:executors.E.executable", "executable: java"),
        ('"%(benchmark)s"', '"%(bench)s"', "2:benchmark_suites.S.command", "%(input)s"),
        ('"%(benchmark)s"', '"100 %"', "2:benchmark_suites.S.command", "%-formatting"),
        ('"%(benchmark)s"', "\"it's\"", "2:benchmark_suites.S.command", "closed quotes"),
        ("{executable: run}", "{executable: run, iterations: ten}", "4:executors.E.iterations", "an integer"),
        ("{executable: run}", "{executable: run, invocations: 0!}", "4:executors.E.invocations", ">= 1"),
        ("{executable: run}", "{executable: run, env: [A]}", "4:executors.E.env", "a mapping"),
        ("{executable: run}", "{executable: run, cores: 4}", "4:executors.E.cores", "cores: [1, 10]"),
        ("{executable: run}", "{executable: run, max_invocation_time: -2}", "max_invocation_time", ">= -1"),
        ("benchmarks: [b]", "benchmarks: []", "2:benchmark_suites.S.benchmarks", "benchmarks: [NAME]"),
        ("benchmarks: [b]", "benchmarks: [{a: {}, b: {}}]", "benchmarks[0]", "name of a benchmark"),
        ("executions: [E]", "executions: []", "6:experiments.X.executions", "add an executor"),
        ("executions: [E]", "executions: [E], action: look", "6:experiments.X.action", "an action"),
        ("benchmark_suites:", "default_experiment: Y\nbenchmark_suites:", "1:default_experiment", "an experiment"),
        ('command: "%(benchmark)s"', 'command: "a | b"', "5:experiments", "can be imported"),
        ("executors:", "virtual_machines:", "3:virtual_machines", "ReBench >= 1.0"),
        ("[E]", "[E", "6", "YAML"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_rebench_file(tmp_path: Path, old: str, new: str, where: str, told: str) -> None:
    assert old in REBENCH
    found = problems(tmp_path / "wrong.conf", REBENCH.replace(old, new))
    assert any(where in problem.where and told in str(problem) for problem in found), found


@pytest.mark.parametrize(
    ("old", "new", "where", "told"),
    [
        (RUNNING_NG, "", "", "a running-ng configuration"),
        ('["j|m-1"]', '["k|m-1"]', "5:configs[0]", "a runtime (j)"),
        ('["j|m-1"]', '["j|n"]', "5:configs[0]", "a modifier (m)"),
        ('["j|m-1"]', "[[j]]", "5:configs[0]", "a string"),
        ('["j|m-1"]', "[]", "5:configs", "configs"),
        ("{d: [fop]}", "{e: [fop]}", "4:benchmarks.e", "of `suites` (d)"),
        ("{d: [fop]}", "{d: []}", "4:benchmarks.d", "benchmarks"),
        ("{d: [fop]}", "{d: [{name: fop}]}", "4:benchmarks.d[0].bm_name", "bm_name: fop"),
        ("timing_iteration: 3", "timing_iteration: often", "1:suites.d.timing_iteration", "converge"),
        (", timing_iteration: 3", "", "1:suites.d.timing_iteration", "timing_iteration: 5"),
        ("release: 21", "release: new", "2:runtimes.j.release", "an integer"),
        ("home: /jdk", "house: /jdk", "2:runtimes.j.home", "home: /usr/lib/jvm"),
        ('"-Da={0}"', '"-Da={0.__class__}"', "3:modifiers.m.val", "first value"),
        ('"-Da={0}"', "\"it's\"", "3:modifiers.m.val", "closed quotes"),
        ('type: JVMArg, val: "-Da={0}"', "type: ModifierSet, val: m", "3:modifiers.m", "nested sets"),
        ("invocations: 3", "invocations: 0", "6:invocations", ">= 1"),
        ("heap_range: 6", "heap_range: 0.5", "7:heap_range", ">= 1"),
        ("spread_factor: 1", "spread_factor: x", "8:spread_factor", "a number"),
        ("suites:", "overrides: {a: 1}\nsuites:", "1:includes", "add `includes`"),
        ("suites:", "includes: [none.yml]\nsuites:", "1:includes[0]", "an existing file"),
        ("suites:", "includes: [wrong.yml]\nsuites:", "1:includes[0]", "without a cycle"),
        ("suites:", "includes: [$NO_SUCH_VARIABLE/x]\nsuites:", "1:includes[0]", "set $NO_SUCH_VARIABLE"),
        ("suites:", "includes: [base.yml]\noverrides: {a.b: 1}\nsuites:", "2:overrides.a.b", "correct `a`"),
        ("invocations: 3", "includes: [base.yml]\ninvocations: 3", "7:invocations", "in one file only"),
        ("type: OpenJDK", "type: JikesRVM", "5:configs", "can be imported"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_running_ng_file(
    tmp_path: Path, old: str, new: str, where: str, told: str
) -> None:
    assert old in RUNNING_NG
    (tmp_path / "base.yml").write_text("invocations: 10\n")
    found = problems(tmp_path / "wrong.yml", RUNNING_NG.replace(old, new, 1))
    assert any(where in problem.where and told in str(problem) for problem in found), found


def test_without_the_folder_of_running_ng_an_include_says_how_to_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RUNNING_NG_PACKAGE_DATA", raising=False)
    (problem,) = problems(tmp_path / "a.yml", "includes: [$RUNNING_NG_PACKAGE_DATA/base/runbms.yml]\n")
    assert "--package-data" in problem.fix


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such file"):
        import_rebench(tmp_path / "none.conf", HOME)


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = REBENCH.replace("gauge_adapter: Time, ", "").replace("{executable: run}", "{iterations: x}")
    assert len(problems(tmp_path / "wrong.conf", text)) == 3


def test_a_value_never_reaches_a_shell_or_a_format(tmp_path: Path) -> None:
    for text in ("a; rm x", "a && b", "$(a)", "`a`", 'a "$B"', "a > b", "a*", "a\nb"):
        assert shell_syntax(text), text
    for text in ("a 'b; $c' \"d & e\" f\\;g", "--x=y", "a#b"):
        assert not shell_syntax(text), text


def test_files_that_are_there_are_kept_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "in.conf").write_text(REBENCH)
    found = of_rebench(tmp_path / "in.conf")
    load(found, tmp_path / "out")
    (tmp_path / "out" / "in.yml").write_text("mine")
    with pytest.raises(SpecError, match="--force"):
        write_files(found.files(), tmp_path / "out", force=False)
    assert (tmp_path / "out" / "in.yml").read_text() == "mine"
    write_files(found.files(), tmp_path / "out", force=True)
    assert (tmp_path / "out" / "in.yml").read_text().startswith("# Imported from")


@pytest.mark.parametrize(
    "text", ["", "..", "a b", "-x", "_213_javac", "ü", "a/b/../c", "x" * 99, "a+b", ".hidden", "a--b"]
)
def test_any_text_becomes_a_name(text: str) -> None:
    name = clean(text)
    assert NAME.fullmatch(name)
    assert ".." not in name
    names = Names(["x"])
    given = [names.free(text) for _ in range(3)]
    assert len(set(given)) == 3
    assert all(NAME.fullmatch(one) for one in given)


def test_a_comment_cannot_end_before_its_line_does(tmp_path: Path) -> None:
    text = REBENCH.replace("executable: run", 'executable: run, "new\\nname: key": 1')
    (tmp_path / "in.conf").write_text(text)
    found = of_rebench(tmp_path / "in.conf")
    (experiment,) = load(found, tmp_path / "out").values()
    assert experiment.name == "in"
    assert "new name: key" in (tmp_path / "out" / "in.yml").read_text()


def test_merge_keys_count_as_in_yaml_1_1(tmp_path: Path) -> None:
    text = b"a: &A {x: 1, y: 1}\nb: &B {y: 2, z: 2}\nc: {<<: [*A, *B], z: 3}\nd: {<<: *A}\n"
    document = parse_yaml(text, "in.conf", merge_keys=True)
    assert document.value["c"] == {"x": 1, "y": 1, "z": 3}
    assert document.value["d"] == {"x": 1, "y": 1}
    # A value that was merged stands where it was written.
    assert (document.mark(("c", "y")).line, document.mark(("c", "z")).line) == (1, 3)
    with pytest.raises(SpecError, match="no merge key"):
        parse_yaml(text, "in.yml")
    with pytest.raises(SpecError, match="after `<<` · got 1"):
        parse_yaml(b"a: {<<: 1}", "in.conf", merge_keys=True)


def test_merges_of_merges_have_a_bound() -> None:
    lines = ["a0: &A0 {k0: 1}"]
    lines += [f"a{n}: &A{n} {{<<: [*A{n - 1}, *A{n - 1}], k{n}: 1}}" for n in range(1, 60)]
    with pytest.raises(SpecError, match="at most 20000 values"):
        parse_yaml("\n".join(lines).encode(), "in.conf", merge_keys=True)
