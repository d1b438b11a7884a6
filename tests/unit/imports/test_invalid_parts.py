"""An invalid part of a file is listed and left out, and the rest is imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.specs.imported import HERE, HOME, load, of_rebench, of_running_ng
from regatta.cli.import_ import import_
from regatta.host.errors import SpecError
from regatta.imports.drafts import Imported
from regatta.imports.ledger import Item, grouped

LANGUAGES = HERE / "rebench" / "languages.conf"

RUNNING_NG = """\
suites:
  d: {type: DaCapo, release: "9.12", path: /d.jar, timing_iteration: 3}
  e: {type: DaCapo, release: "23.11", timing_iteration: 3}
runtimes:
  j: {type: OpenJDK, release: 21, home: /jdk}
  k: {type: OpenJDK, release: 25}
modifiers: {m: {type: JVMArg, val: -Da=1}}
benchmarks: {d: [fop, {name: large}, h2], e: [fop], f: [fop]}
configs: [j, j|m, k, k|m, j|n]
invocations: 3
"""


def left_out(found: Imported, *keys: str) -> list[Item]:
    return [item for item in found.items if item.kind == "left out" and item.key in keys]


def test_an_experiment_without_executors_is_left_out_and_listed(tmp_path: Path) -> None:
    found = of_rebench(LANGUAGES)
    assert list(load(found, tmp_path)) == ["languages"]
    (item,) = left_out(found, "experiments.smalltalk")
    line = LANGUAGES.read_text().splitlines().index("    executions: []") + 1
    assert f"languages.conf:{line}:experiments.smalltalk.executions: expected " in item.why
    assert item.why.endswith("got an empty list")
    assert item.fix
    # Nothing of it counts as imported.
    assert left_out(found, "benchmark_suites.smalltalk")
    # The comment is wrapped, where depends on the length of the path.
    head = " ".join((tmp_path / "languages.yml").read_text().split("\n\n")[0].replace("\n#", "").split())
    assert "experiments.smalltalk · excluded · invalid: " in head


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("executions: [mri]", "executions: [jruby]", "experiments.ruby.executions[0]"),
        ("suites: [ruby]", "suites: []", "experiments.ruby.suites"),
        ("{executable: ruby}", "{path: /usr/bin}", "executors.mri.executable"),
        ("mri: {executable: ruby}", "mri: {executable: ruby, iterations: ten}", "executors.mri.iterations"),
        ('"harness.rb %(benchmark)s', '"harness.rb %(bench)s', "benchmark_suites.ruby.command"),
    ],
)
def test_an_invalid_experiment_leaves_the_others_as_they_are(
    tmp_path: Path, old: str, new: str, where: str
) -> None:
    path = tmp_path / "languages.conf"
    text = LANGUAGES.read_text()
    path.write_text(text.split("  ruby:\n    description: Ruby\n")[0])
    without = of_rebench(path)
    assert old in text
    path.write_text(text.replace(old, new))
    found = of_rebench(path)
    (item,) = left_out(found, "experiments.ruby")
    assert where in item.why
    assert found.specs == without.specs


def test_a_file_of_which_no_experiment_is_valid_ends_with_2_and_every_problem(tmp_path: Path) -> None:
    path = tmp_path / "in.conf"
    text = LANGUAGES.read_text().replace("executions: [mri]", "executions: []")
    path.write_text(text.replace("executions: [jvm", "executions: [none"))
    with pytest.raises(SpecError) as caught:
        of_rebench(path)
    assert caught.value.exit_code == 2
    places = [problem.where.partition("experiments.")[2] for problem in caught.value.problems]
    assert sorted(places) == [
        "java-interpreter.executions[0]", "java.executions[0]", "ruby.executions", "smalltalk.executions"
    ]  # fmt: skip


def test_invalid_configs_and_benchmarks_of_running_ng_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "in.yml"
    path.write_text(RUNNING_NG)
    found = of_running_ng(path)
    (experiment,) = load(found, tmp_path / "out").values()
    assert [benchmark.name for benchmark in experiment.benchmarks] == ["fop", "h2"]
    assert [runtime.path for runtime in experiment.runtimes] == ["/jdk/bin/java"]
    assert len(experiment.modifiers) == 2
    reasons = {item.key: item.why for item in found.items if item.why.startswith("invalid: ")}
    assert {key: why.split(": ")[1].rpartition(":")[2] for key, why in reasons.items()} == {
        "benchmarks.d[1]": "benchmarks.d[1].bm_name",
        "benchmarks.e[0]": "suites.e.path",
        "benchmarks.f": "benchmarks.f",
        "configs[2]": "runtimes.k.home",
        "configs[3]": "runtimes.k.home",
        "configs[4]": "configs[4]",
    }


def test_remarks_that_differ_in_quoted_text_are_one_group() -> None:
    items = [Item("a.conf", line, "x", "changed", f"`{line}` is 1", "write `1`") for line in (1, 2, 3)]
    other = Item("a.conf", 4, "x", "left out", "`4` is 1", "write `1`")
    assert grouped([items[0], other, *items[1:]]) == [(items[0], 3), (other, 1)]
    assert items[0].shown(3) == f"a.conf:1:x (first of 3) · changed · {items[0].why} · {items[0].fix}"


def test_the_command_groups_similar_remarks_unless_told_to_be_verbose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGATTA_HOME", str(HOME))
    words = ["rebench", str(LANGUAGES), "--output", "out", "--force"]
    short = CliRunner().invoke(import_, words, catch_exceptions=False)
    whole = CliRunner().invoke(import_, [*words, "--verbose"], catch_exceptions=False)
    assert (short.exit_code, whole.exit_code) == (0, 0)
    items = of_rebench(LANGUAGES).items
    assert whole.stdout.splitlines() == [str(item) for item in items]
    assert len(short.stdout.splitlines()) == len(grouped(items)) < len(items)
    assert "experiments.smalltalk · excluded" in short.stdout
    assert "--verbose" in short.stderr
    assert "--verbose" not in whole.stderr
