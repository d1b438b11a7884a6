"""Parameters that a spec chooses beside a size: crossed, named, and refused where the benchmark has no such thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.specs.spec_examples import write
from regatta.host.errors import Problem
from regatta.host.values.experiment import Exclude, Experiment

Load = Callable[..., Experiment]
One = Callable[..., tuple[str, str, str, str]]
Wrong = Callable[..., tuple[Problem, ...]]

SPEC = """
    name: scaled
    benchmarks: [{suite: scale, benchmark: select, parameters: PARAMETERS}]
    invocations: {fixed: 3}
    """


@pytest.fixture(autouse=True)
def suite(home: Path) -> None:
    write(
        home / "configs/suites/scale.yml",
        """
        suite: scale
        inputs: {text: {command: [make-text, --kib, "{kib}", "{output}"]}}
        files: {side: {name: side.txt, from: a shop, command: [make-text, --kib, "{kib}", "{output}"]}}
        benchmarks:
          select:
            command: [sel, --parallel, "{parallel}", --placement, "{placement}", --of, "{kind}"]
            sizes:
              default:
                parameters: {placement: free, parallel: 1, kind: file, idle: 0}
                expect: {stdout_sha256: "0000000000000000000000000000000000000000000000000000000000000000"}
              large: {parameters: {placement: free, parallel: 8, kind: file, idle: 0}}
          pack:
            command: [pack, copy.txt]
            arrange: {copy.txt: "{input.text}"}
            sizes: {default: {parameters: {kib: 4}}}
          shop:
            command: [shop, "{file.side}"]
            sizes: {default: {parameters: {kib: 4}}}
          plain: {command: [plain]}
        """,
    )


def chosen(parameters: str) -> str:
    return SPEC.replace("PARAMETERS", parameters)


def test_lists_are_crossed_in_the_given_order_and_take_the_place_of_the_size_s_values(load: Load) -> None:
    found = load(chosen("{parallel: [4, 1], placement: [free, compact]}")).benchmarks
    assert [(b.parameters["parallel"], b.parameters["placement"]) for b in found] == [
        (4, "free"), (4, "compact"), (1, "free"), (1, "compact"),
    ]  # fmt: skip
    assert all(b.parameters["kind"] == "file" for b in found)
    assert {b.expect.stdout_sha256 for b in found} == {"0" * 64}


def test_a_label_tells_what_was_chosen_by_name_and_nothing_else(load: Load) -> None:
    (one,) = load(chosen("{placement: compact, parallel: 2}")).benchmarks
    assert one.label == "scale/select:default parallel=2 placement=compact"
    (plain,) = load(chosen("{}")).benchmarks
    assert plain.label == "scale/select:default"


def test_values_that_would_blur_a_label_are_in_quotes(load: Load) -> None:
    found = load(chosen('{kind: [true, "a b", "x=1", "", a/b:c]}')).benchmarks
    assert [b.label.removeprefix("scale/select:default ") for b in found] == [
        "kind=true", 'kind="a b"', 'kind="x=1"', 'kind=""', "kind=a/b:c",
    ]  # fmt: skip


def test_parameters_go_with_every_benchmark_and_size_of_the_entry(load: Load) -> None:
    text = chosen("{parallel: [1, 2]}").replace(
        "benchmark: select", "benchmark: select, size: [default, large]"
    )
    assert [b.label for b in load(text).benchmarks] == [
        "scale/select:default parallel=1",
        "scale/select:default parallel=2",
        "scale/select:large parallel=1",
        "scale/select:large parallel=2",
    ]


@pytest.mark.parametrize("benchmark", ["pack", "shop"])
def test_a_parameter_of_an_input_or_a_file_alone_can_be_chosen(load: Load, benchmark: str) -> None:
    text = chosen("{kib: [1, 2]}").replace("benchmark: select", f"benchmark: {benchmark}")
    assert [b.parameters["kib"] for b in load(text).benchmarks] == [1, 2]


@pytest.mark.parametrize(
    "parameters",
    [
        "{paralel: 2}",
        "{parallel: [1, 2, 1]}",
        "{parallel: [1, '1']}",
        "{parallel: [1, 1.0]}",
        "{parallel: []}",
        "{parallel: [[1]]}",
        "{parallel: null}",
        "{seed: 2}",
        "{idle: [1, 2]}",
    ],
)
def test_what_cannot_be_chosen_is_told(one: One, parameters: str, golden: Golden) -> None:
    golden(parameters, str(Problem(*one(chosen(parameters)))))


def test_a_benchmark_without_parameters_has_none_to_choose(one: One) -> None:
    _, expected, got, _ = one(chosen("{parallel: 2}").replace("benchmark: select", "benchmark: plain"))
    assert "`scale/plain:default` (none defined)" in expected
    assert got == "'parallel'"


def test_an_unknown_parameter_is_told_once_though_every_benchmark_lacks_it(wrong: Wrong) -> None:
    problems = wrong(chosen("{nonsense: 2}").replace("benchmark: select", "benchmark: all"))
    assert len(problems) == 1


def test_more_combinations_than_any_list_may_have_are_refused_before_they_are_made(one: One) -> None:
    numbers = "[" + ", ".join(map(str, range(1000))) + "]"
    _, expected, got, _ = one(chosen(f"{{parallel: {numbers}, placement: {numbers}, kind: {numbers}}}"))
    assert (expected, got) == ("at most 1000 combinations", "1000000000")


@pytest.mark.parametrize("again", ["{parallel: 2}", "{parallel: 2.0}", "{parallel: '2', placement: free}"])
def test_the_same_parameters_twice_are_one_measurement_too_many(one: One, again: str) -> None:
    entry = f"\n  - {{suite: scale, benchmark: select, parameters: {again}}}"
    text = f"""
name: scaled
invocations: {{fixed: 3}}
benchmarks:
  - {{suite: scale, benchmark: select, parameters: {{parallel: [2, 3]}}}}{entry}
"""
    where, expected, got, fix = one(text)
    assert (where, fix) == ("spec.yml:5:benchmarks[1]", "remove one")
    assert expected.startswith("unique combinations ")
    assert got.startswith("duplicate scale/select:default parallel=2")


def test_what_the_size_says_already_is_no_second_benchmark(one: One) -> None:
    text = """
name: scaled
invocations: {fixed: 3}
benchmarks:
  - {suite: scale, benchmark: select}
  - {suite: scale, benchmark: select, parameters: {parallel: [1, 2]}}
"""
    _, expected, got, _ = one(text)
    assert expected.startswith("unique combinations ")
    assert got == "duplicate scale/select:default parallel=1"


def test_an_exclude_names_parameters_by_their_values(load: Load) -> None:
    text = chosen("{parallel: [1, 2], placement: [free, compact]}")
    more = "exclude: [{benchmark: select, parameters: {parallel: 1, placement: compact}}, {parameters: {parallel: 2}}]"
    assert load(text, more).excludes == tuple(
        Exclude(benchmark=f"scale/select:default parallel={n} placement={where}")
        for n, where in ((1, "compact"), (2, "free"), (2, "compact"))
    )


@pytest.mark.parametrize(
    "exclude",
    [
        "{parameters: {parallel: 7}}",
        "{parameters: {paralel: 1}}",
        "{size: default, parameters: {parallel: 1, placement: compact}}",
    ],
)
def test_an_exclude_of_parameters_that_nothing_has_is_told(one: One, exclude: str, golden: Golden) -> None:
    golden(exclude, str(Problem(*one(chosen("{parallel: [1, 2]}"), f"exclude: [{exclude}]"))))


@pytest.mark.parametrize(
    ("runtime", "needed"),
    [("{language: ruby, kind: program, provider: path, path: ruby}", "`language: ruby`"),
     ("{kind: program, provider: path, path: ruby}", "a command without `language`"),
     ("{provider: path, path: java}", "`kind: java`")],
)  # fmt: skip
def test_a_runtime_that_no_benchmark_uses_is_named_with_what_it_lacks(
    home: Path, one: One, runtime: str, needed: str
) -> None:
    write(
        home / "configs/suites/scripts.yml",
        """
        suite: scripts
        benchmarks: {hello: {kind: program, commands: {perl: ["{runtime}", -e, "1"]}}}
        """,
    )
    text = f"""
name: languages
define: {{runtimes: {{perl: {{kind: program, language: perl, provider: path, path: perl}}, other: {runtime}}}}}
runtimes: [perl, other]
benchmarks: [{{suite: scripts, benchmark: hello}}]
invocations: {{fixed: 3}}
"""
    where, expected, got, _ = one(text)
    assert (where, got) == ("spec.yml:3:runtimes[1]", "'other'")
    assert expected.endswith(f"(no benchmark has {needed})")
