"""What harnesses of other people print becomes iterations, or an error that says what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.golden import Golden
from regatta.host.adapters import ADAPTERS, Reported
from regatta.host.adapters.result import RunOutput
from regatta.host.journal.record import decode_line, encode_record
from regatta.host.journal.record_shape import shape_problem
from regatta.host.units import UNITS

OUTPUTS = Path(__file__).with_name("outputs")
TEXT = ("dacapo", "specjvm98", "specjvm2008", "specjbb2015")
DOCUMENTS = ("jmh", "renaissance")


def left(
    stdout: bytes = b"",
    stderr: bytes = b"",
    results: bytes | None = None,
    refused: str = "",
    cut: bool = False,
) -> RunOutput:
    return RunOutput(5_000_000, 0.25, 0.5, 1024, results, refused, stdout, cut, stderr, cut)


def kept(name: str) -> bytes:
    return (OUTPUTS / name).read_bytes()


def read(adapter: str, name: str, stdout: str = "", cut: bool = False) -> Reported:
    """Read a kept output: DaCapo's lines come on standard error, the others' on standard output or in a file."""
    data, other = kept(name), kept(stdout) if stdout else b""
    if adapter in DOCUMENTS:
        return ADAPTERS[adapter](left(results=data, stdout=other, cut=cut), {})
    if adapter == "dacapo":
        return ADAPTERS[adapter](left(stderr=data, stdout=other, cut=cut), {})
    return ADAPTERS[adapter](left(stdout=data, cut=cut), {})


def rows(reported: Reported, metric: str) -> list[tuple[Any, ...]]:
    return [(row[0], row[2], row[3]) for row in reported.iterations if row[1] == metric]


def assert_can_be_recorded(reported: Reported) -> None:
    record = {"v": 1, "iterations": reported.iterations, "digests": reported.digests, "info": reported.info}
    assert shape_problem(decode_line(encode_record({**record, "reason": reported.error})), needed=()) == ""
    for iteration, metric, value, unit, _, parameters in reported.iterations:
        assert type(iteration) is int
        assert iteration >= 0
        assert unit in UNITS
        assert metric.isascii()
        assert metric == metric.lower()
        assert isinstance(value, (int, float))
        assert value == value
        assert parameters is None or (parameters and list(parameters) == sorted(parameters))


RIGHT: dict[str, tuple[str, str, str, list[tuple[Any, ...]]]] = {
    "DaCapo 2006": ("dacapo", "dacapo-2006.txt", "elapsed", [(0, 2410, "ms"), (1, 1350, "ms"), (2, 1207, "ms")]),
    "DaCapo 9.12": ("dacapo", "dacapo-9.12.txt", "elapsed", [(0, 4821, "ms"), (1, 2207, "ms"), (2, 2013, "ms")]),
    "DaCapo 23.11": ("dacapo", "dacapo-23.11.txt", "elapsed", [(0, 6878, "ms"), (1, 4102, "ms")]),
    "ScalaBench": ("dacapo", "scalabench.txt", "elapsed", [(0, 9120, "ms"), (1, 5301, "ms")]),
    "Renaissance": (
        "renaissance", "renaissance.json", "elapsed",
        [(0, 1_200_000_000, "ns"), (1, 800_000_000, "ns"), (2, 790_000_000, "ns")],
    ),
    "SPECjvm98": ("specjvm98", "specjvm98.txt", "elapsed", [(0, 12.345, "s"), (1, 9.8, "s")]),
    "SPECjvm2008": ("specjvm2008", "specjvm2008.txt", "throughput", [(0, 171.95, "ops/min"), (1, 170.1, "ops/min")]),
    "SPECjvm2008's warm-up": ("specjvm2008", "specjvm2008.txt", "warmup_throughput", [(0, 172.35, "ops/min")]),
    "SPECjbb2015": ("specjbb2015", "specjbb2015.txt", "max_jops", [(0, 11640, "ops/s")]),
    "SPECjbb2015's other rate": ("specjbb2015", "specjbb2015.txt", "critical_jops", [(0, 2684, "ops/s")]),
    "SPECjbb2015 without the other rate": ("specjbb2015", "specjbb2015-no-critical.txt", "max_jops", [(0, 11640, "ops/s")]),
    "JMH, time": ("jmh", "jmh-average.json", "time", [(0, 12.5, "us"), (1, 11.0, "us")]),
    "JMH, throughput": ("jmh", "jmh-throughput.json", "throughput", [(0, 80_000.0, "ops/s"), (1, 90_000.0, "ops/s")]),
    "JMH, single shot": ("jmh", "jmh-single-shot.json", "time", [(0, 30.0, "s")]),
}  # fmt: skip


@pytest.mark.parametrize(("adapter", "file", "metric", "expected"), RIGHT.values(), ids=RIGHT)
def test_every_iteration_is_read_in_its_order(
    adapter: str, file: str, metric: str, expected: list[tuple[Any, ...]]
) -> None:
    reported = read(adapter, file)
    assert reported.error == ""
    assert rows(reported, metric) == [(i, pytest.approx(value), unit) for i, value, unit in expected]
    assert_can_be_recorded(reported)


WRONG = {
    "DaCapo FAILED": ("dacapo", "dacapo-failed.txt", "iteration 2 FAILED"),
    "DaCapo FAILED in its warm-up": ("dacapo", "dacapo-failed-warmup.txt", "iteration 1 FAILED"),
    "DaCapo threw": ("dacapo", "dacapo-exception.txt", "NoClassDefFoundError"),
    "DaCapo has no such size": ("dacapo", "dacapo-no-size.txt", "No configuration size, huge"),
    "DaCapo lost an iteration": ("dacapo", "dacapo-lost-iteration.txt", "end of iteration 2"),
    "DaCapo ended half way": ("dacapo", "dacapo-truncated.txt", "1 warm-up iterations but no"),
    "DaCapo with grouped digits": ("dacapo", "dacapo-grouped-digits.txt", "PASSED in "),
    "DaCapo with Arabic digits": ("dacapo", "dacapo-arabic-digits.txt", "PASSED in "),
    "DaCapo below zero": ("dacapo", "dacapo-negative.txt", "PASSED in "),
    "DaCapo for ever": ("dacapo", "dacapo-absurd.txt", "PASSED in "),
    "DaCapo in no time": ("dacapo", "dacapo-zero.txt", "0 ms"),
    "SPECjvm98 not valid": ("specjvm98", "specjvm98-not-valid.txt", "NOT VALID"),
    "SPECjvm98 ended half way": ("specjvm98", "specjvm98-truncated.txt", "2 executions started, 1 ended"),
    "SPECjvm98 with a decimal comma": ("specjvm98", "specjvm98-decimal-comma.txt", "expected seconds"),
    "SPECjvm98 with NaN": ("specjvm98", "specjvm98-nan.txt", "expected seconds"),
    "SPECjvm98 threw": ("specjvm98", "specjvm98-exception.txt", "NoSuchMethodError"),
    "SPECjvm2008 ended half way": ("specjvm2008", "specjvm2008-truncated.txt", "ops/m: 'Iteration 2 (240s)"),
    "SPECjvm2008 without a verdict": ("specjvm2008", "specjvm2008-no-verdict.txt", "not report a valid"),
    "SPECjvm2008 not valid": ("specjvm2008", "specjvm2008-not-valid.txt", "Not a valid run"),
    "SPECjvm2008 with a decimal comma": ("specjvm2008", "specjvm2008-decimal-comma.txt", "ops/m: 'Iteration 2 (240s)"),
    "SPECjvm2008 with an error": ("specjvm2008", "specjvm2008-error.txt", "validation failed for thread 1"),
    "SPECjvm2008 lost an iteration": ("specjvm2008", "specjvm2008-lost-iteration.txt", "expected iteration 1"),
    "SPECjvm2008 of two": ("specjvm2008", "specjvm2008-two-benchmarks.txt", "expected iteration 3"),
    "SPECjbb2015 without a result": ("specjbb2015", "specjbb2015-no-result.txt", "no result"),
    "SPECjbb2015 without end": ("specjbb2015", "specjbb2015-infinite.txt", "no max-jOPS"),
    "SPECjbb2015 ended half way": ("specjbb2015", "specjbb2015-truncated.txt", "no critical-jOPS"),
    "SPECjbb2015 not valid": ("specjbb2015", "specjbb2015-not-valid.txt", "Validation FAILED"),
    "SPECjbb2015 twice": ("specjbb2015", "specjbb2015-two-results.txt", "a second result"),
    "JMH of two forks": ("jmh", "jmh-two-forks.json", "(`-f 1`)"),
    "JMH not forked": ("jmh", "jmh-not-forked.json", "(`-f 1`)"),
    "JMH with NaN": ("jmh", "jmh-nan.json", "finite number, got 'NaN'"),
    "JMH in fortnights": ("jmh", "jmh-unknown-unit.json", "unknown unit 'fortnights/op'"),
    "JMH without values": ("jmh", "jmh-no-values.json", "got [[]]"),
    "JMH with a billion samples": ("jmh", "jmh-absurd.json", "samples in an iteration"),
    "JMH without a result": ("jmh", "jmh-no-result.json", "no result"),
    "JMH ended half way": ("jmh", "jmh-truncated.json", "not valid JSON"),
    "Renaissance failed": ("renaissance", "renaissance-failed.json", "got 'failure'"),
    "Renaissance was ended": ("renaissance", "renaissance-forced.json", "got 'forced'"),
    "Renaissance measured nothing": ("renaissance", "renaissance-nothing.json", "no result"),
    "Renaissance without a repetition": ("renaissance", "renaissance-no-repetition.json", "no repetition of scrabble"),
    "Renaissance of two": ("renaissance", "renaissance-two.json", "expected one benchmark"),
    "Renaissance below zero": ("renaissance", "renaissance-negative.json", "`duration_ns` of repetition 1, got -5"),
    "Renaissance in words": ("renaissance", "renaissance-words.json", "`duration_ns` of repetition 1, got '1,2'"),
    "Renaissance ended half way": ("renaissance", "renaissance-truncated.json", "not valid JSON"),
}  # fmt: skip


@pytest.mark.parametrize(("adapter", "file", "words"), WRONG.values(), ids=WRONG)
def test_an_output_that_is_not_right_is_an_error_that_says_why(adapter: str, file: str, words: str) -> None:
    reported = read(adapter, file)
    assert words in reported.error
    assert_can_be_recorded(reported)


def test_every_kept_output_is_read_by_a_test() -> None:
    used = {row[1] for row in (*RIGHT.values(), *WRONG.values())}
    elsewhere = {
        "README.md", "dacapo-23.11.stdout.txt", "dacapo-23.11-early.stdout.txt", "jmh-failure.stdout.txt",
        "jmh-parameters.json", "jmh-several.json", "jmh-profiler.json", "jmh-samples.json",
    }  # fmt: skip
    assert {path.name for path in OUTPUTS.iterdir()} == used | elsewhere


@pytest.mark.parametrize("adapter", [*TEXT, *DOCUMENTS])
def test_a_program_that_leaves_nothing_has_no_result(adapter: str) -> None:
    assert ADAPTERS[adapter](left(), {}).error.startswith("no result")


@pytest.mark.parametrize("adapter", DOCUMENTS)
def test_a_file_that_was_refused_is_the_error(adapter: str) -> None:
    words = "jmh.json: expected a regular file, got another kind of file"
    assert ADAPTERS[adapter](left(refused=words), {}).error == words


@pytest.mark.parametrize(
    ("adapter", "file"),
    [("specjvm98", "specjvm98.txt"), ("specjvm2008", "specjvm2008.txt"), ("specjbb2015", "specjbb2015.txt"),
     ("dacapo", "dacapo-2006.txt"), ("jmh", "jmh-average.json")],
)  # fmt: skip
def test_output_of_which_a_part_was_dropped_is_not_trusted(adapter: str, file: str) -> None:
    assert "output_kib" in read(adapter, file, cut=True).error


def test_numbered_iterations_are_whole_though_other_output_was_dropped(golden: Golden) -> None:
    reported = read("dacapo", "dacapo-23.11.txt", stdout="dacapo-23.11.stdout.txt", cut=True)
    assert (reported.error, len(reported.iterations)) == ("", 2)
    assert reported.info.keys() == {"latency"}
    golden("latency_without_numbers", reported.info["latency"])


def test_requests_of_dacapo_belong_to_their_iteration() -> None:
    reported = read("dacapo", "dacapo-23.11.txt", stdout="dacapo-23.11.stdout.txt")
    assert reported.error == ""
    assert_can_be_recorded(reported)
    assert rows(reported, "throughput") == [(0, 19607, "ops/s"), (1, 26260, "ops/s")]
    told = {
        (row[0], row[5]["kind"], row[5].get("window"), row[5]["percentile"]): row[2]
        for row in reported.iterations
        if row[1] == "latency"
    }
    assert told[0, "simple", None, 99.9] == 1_897_000
    assert told[1, "metered", "100 ms", 90] == 1_458_000
    assert told[0, "metered", "full", 100] == 560_272_000
    # Below what the harness' clock tells.
    assert (1, "simple", None, 50) not in told
    assert len(told) == 35


def test_requests_in_the_form_before_the_release_are_read_alike() -> None:
    reported = read("dacapo", "dacapo-23.11.txt", stdout="dacapo-23.11-early.stdout.txt")
    latencies = [
        (row[0], row[2]) for row in reported.iterations if row[1] == "latency" and row[5]["percentile"] == 50
    ]
    assert latencies == [(0, 602_000), (0, 792_915_000), (1, 69_000), (1, 99_542_000)]


def test_requests_of_an_unknown_iteration_are_left_out_and_said_to_be() -> None:
    reported = read("dacapo", "dacapo-9.12.txt", stdout="dacapo-23.11.stdout.txt")
    assert (reported.error, {row[1] for row in reported.iterations}) == ("", {"elapsed"})
    assert "without their numbers" in reported.info["latency"]


def test_parameters_of_jmh_are_parameters_of_the_record() -> None:
    reported = read("jmh", "jmh-parameters.json")
    assert [(row[0], row[2], row[5]) for row in reported.iterations] == [
        (0, 5.0, {"array_size": "10", "kind_of_data": "random"}),
        (1, 6.0, {"array_size": "10", "kind_of_data": "random"}),
        (0, 50.0, {"array_size": "100", "kind_of_data": "random"}),
        (1, 60.0, {"array_size": "100", "kind_of_data": "random"}),
    ]


def changed(file: str, change: Callable[[dict[str, Any]], object]) -> Reported:
    """Read a changed output of JMH."""
    document = json.loads(kept(file))
    for result in document:
        change(result)
    return ADAPTERS["jmh"](left(results=json.dumps(document).encode()), {})


@pytest.mark.parametrize(
    ("file", "unit", "right"),
    [
        ("jmh-throughput.json", "ms/op", False), ("jmh-throughput.json", "ops/ms", True),
        ("jmh-throughput.json", "B/op", False), ("jmh-average.json", "ops/s", False), ("jmh-average.json", "ns/op", True),
        ("jmh-average.json", "ns", False), ("jmh-single-shot.json", "ops/min", False), ("jmh-samples.json", "ops/us", False),
    ],
)  # fmt: skip
def test_the_unit_of_a_jmh_result_is_one_of_its_mode(file: str, unit: str, right: bool) -> None:
    reported = changed(file, lambda result: result["primaryMetric"].update(scoreUnit=unit))
    assert (reported.error == "") is right
    assert right or f"got '{unit}'" in reported.error


def test_a_parameter_of_jmh_named_as_one_of_the_record_gets_a_prefix() -> None:
    named = {"mode": "fast", "benchmark": "x", "size": "1"}
    reported = changed("jmh-average.json", lambda result: result.update(params=named))
    assert {tuple(row[5].items()) for row in reported.iterations} == {
        (("param_benchmark", "x"), ("param_mode", "fast"), ("size", "1"))
    }
    named["param_mode"] = "slow"
    assert "no unique name" in changed("jmh-average.json", lambda r: r.update(params=named)).error


def test_the_error_of_a_jmh_score_of_one_value_is_not_a_number() -> None:
    reported = changed("jmh-average.json", lambda result: result["primaryMetric"].update(scoreError="NaN"))
    assert (reported.error, len(reported.iterations)) == ("", 2)


@pytest.mark.parametrize(
    ("adapter", "file"), [("jmh", "jmh-average.json"), ("renaissance", "renaissance.json")]
)
def test_a_document_with_a_key_twice_is_an_error(adapter: str, file: str) -> None:
    text = kept(file).decode()
    at = text.index("{") + 1
    doubled = f'{text[:at]}"same": 1, "same": 2, {text[at:]}'
    assert "occurs twice" in ADAPTERS[adapter](left(results=doubled.encode()), {}).error
    line = b'{"iteration": 0, "metric": "time", "value": 1, "value": 2, "unit": "s"}'
    assert "occurs twice" in ADAPTERS["regatta"](left(results=line), {}).error


def test_a_renaissance_benchmark_that_checks_no_result_is_noted() -> None:
    warning = b"WARNING: This benchmark provides no result that can be validated.\n"
    assert read("renaissance", "renaissance.json").info == {}
    reported = ADAPTERS["renaissance"](left(results=kept("renaissance.json"), stdout=warning), {})
    assert reported.error == ""
    assert "validated" in reported.info["not_validated"]


def test_two_benchmarks_of_one_jmh_run_are_told_apart() -> None:
    reported = read("jmh", "jmh-several.json")
    assert [row[5] for row in reported.iterations] == [
        {"benchmark": "Sort.quick"},
        {"benchmark": "Sort.merge"},
    ]


def test_profilers_of_jmh_are_metrics_of_their_own() -> None:
    reported = read("jmh", "jmh-profiler.json")
    assert reported.error == ""
    assert rows(reported, "gc_alloc_rate") == [(0, 250.0, "MB/s"), (1, 251.0, "MB/s")]
    assert rows(reported, "gc_alloc_rate_norm") == [(0, 64.0, "bytes"), (1, 64.0, "bytes")]
    assert rows(reported, "gc_count") == [(0, 3.0, "count"), (1, 4.0, "count")]
    assert rows(reported, "gc_time") == [(0, 12.0, "ms"), (1, 13.0, "ms")]
    assert rows(reported, "hits") == [(0, 10.0, "count"), (1, 11.0, "count")]
    # No unit of ours, no number, a name that is taken: a profiler does not make a benchmark fail.
    assert reported.info == {"not_recorded": ["stack", "gc.churn", "gc-count", "throughput"]}
    assert len(rows(reported, "throughput")) == 2


def test_samples_of_jmh_give_their_mean_and_percentiles() -> None:
    reported = read("jmh", "jmh-samples.json")
    assert rows(reported, "time") == [(0, pytest.approx((50 + 80 + 150) / 10), "ns"), (1, 20.0, "ns")]
    told = {(row[0], row[5]["percentile"]): row[2] for row in reported.iterations if row[1] == "latency"}
    assert told == {(0, 50): 10.0, (0, 90): 20.0, (0, 100): 150.0, (1, 50): 20.0, (1, 100): 20.0}
    assert {row[1] for row in reported.iterations} == {"time", "latency"}


def test_what_a_jmh_benchmark_threw_is_the_reason() -> None:
    reported = ADAPTERS["jmh"](left(results=b"", stdout=kept("jmh-failure.stdout.txt")), {})
    failed, _, thrown = reported.error.partition(": ")
    assert failed == "the benchmark failed"
    assert thrown.startswith("java.lang.NumberFormatException: ")
    assert thrown in kept("jmh-failure.stdout.txt").decode()


@pytest.mark.parametrize(
    "printed", ["# Benchmark: a.B.bad\nIteration   1: <failure>\n\nExploded\n", "<failure>"]
)
def test_a_jmh_benchmark_that_threw_beside_one_that_did_not_is_a_failure(printed: str) -> None:
    reported = ADAPTERS["jmh"](left(results=kept("jmh-average.json"), stdout=printed.encode()), {})
    assert reported.error.startswith("the benchmark failed: ")
    assert ("Exploded" in printed) == ("Exploded" in reported.error)


@pytest.mark.parametrize("value", ["0.0", "-5.0", "-0.0"])
@pytest.mark.parametrize("file", ["jmh-average.json", "jmh-throughput.json", "jmh-single-shot.json"])
def test_a_time_or_a_rate_of_jmh_is_above_zero(file: str, value: str) -> None:
    document = json.loads(kept(file))
    document[0]["primaryMetric"]["rawData"][0][0] = float(value)
    reported = ADAPTERS["jmh"](left(results=json.dumps(document).encode()), {})
    assert "expected a value > 0, got " in reported.error


@pytest.mark.parametrize(("least", "error"), [(0.0, ""), (-1.0, "samples > 0, got a minimum of -1.0")])
def test_a_single_sample_of_jmh_may_be_below_what_the_clock_tells(least: float, error: str) -> None:
    document = json.loads(kept("jmh-samples.json"))
    document[0]["primaryMetric"]["rawDataHistogram"][0][0][0][0] = least
    reported = ADAPTERS["jmh"](left(results=json.dumps(document).encode()), {})
    assert (error in reported.error) if error else (reported.error == "")
    assert all(row[2] > 0 for row in reported.iterations)


def test_requests_of_jmh_that_all_took_no_time_are_an_error() -> None:
    document = json.loads(kept("jmh-samples.json"))
    document[0]["primaryMetric"]["rawDataHistogram"] = [[[[0.0, 5]]]]
    assert "> 0" in ADAPTERS["jmh"](left(results=json.dumps(document).encode()), {}).error


@pytest.mark.parametrize(
    "line",
    [
        "Unexpected exit of agent GRP1.Backend.beJVM", "agent unexpectedly terminated",
        "ERROR: no memory", "SEVERE no memory", "<Fri Nov 21 10:00:00 UTC 2026> ERROR no memory",
        "org.spec.jbb.controller.Controller: ERROR no memory", "[main] org.spec.jbb.Main ERROR no memory",
        "<10:00:00> [pool-1] jbb: SEVERE: no memory",
    ],
)  # fmt: skip
def test_a_line_of_specjbb2015_about_an_error_makes_the_run_fail(line: str) -> None:
    output = kept("specjbb2015.txt")
    for streams in ({"stdout": output + line.encode()}, {"stdout": output, "stderr": line.encode()}):
        assert ADAPTERS["specjbb2015"](left(**streams), {}).error == f"SPECjbb2015 reports: {line}"


def test_a_line_of_specjbb2015_that_counts_errors_is_none() -> None:
    output = kept("specjbb2015.txt") + b"Number of ERROR responses = 0\n"
    assert ADAPTERS["specjbb2015"](left(stdout=output), {}).error == ""


@pytest.mark.parametrize("adapter", ["specjbb2015", "specjvm98", "specjvm2008"])
def test_standard_error_of_which_a_part_was_dropped_is_not_trusted(adapter: str) -> None:
    given_output = left(stdout=kept(f"{adapter}.txt"))
    given_output.stderr_cut = True
    assert "output_kib" in ADAPTERS[adapter](given_output, {}).error


@pytest.mark.parametrize(
    "line", ["======= _213_javac Starting =======", "======= _213_javac Finished in 1.5 secs"]
)
def test_two_benchmarks_of_specjvm98_in_one_run_are_an_error(line: str) -> None:
    output = kept("specjvm98.txt") + line.encode() + b"\n"
    assert ADAPTERS["specjvm98"](left(stdout=output), {}).error.endswith(", got _209_db, _213_javac")


_lines = st.sampled_from(
    [line for path in sorted(OUTPUTS.glob("*.txt")) for line in path.read_bytes().split(b"\n") if line]
)
_garbled = st.builds(
    lambda line, cut, noise: line[:cut] + noise + line[cut:],
    _lines,
    st.integers(0, 120),
    st.binary(max_size=4),
)


@given(
    st.sampled_from(TEXT),
    st.lists(_lines | _garbled, max_size=8),
    st.lists(_lines | _garbled, max_size=8),
    st.booleans(),
)
@example("dacapo", [b"===== DaCapo "], [b"===== DaCapo  in "], False)
def test_lines_in_any_order_and_any_state_give_a_report(
    adapter: str, stdout: list[bytes], stderr: list[bytes], cut: bool
) -> None:
    given_lines = left(stdout=b"\n".join(stdout), stderr=b"\n".join(stderr), cut=cut)
    assert_can_be_recorded(ADAPTERS[adapter](given_lines, {}))


@given(st.sampled_from([*TEXT, *DOCUMENTS]), st.binary(max_size=400))
@example("jmh", b"[" * 100_000)
@example("jmh", b"[1e999]")
@example("renaissance", b'{"data": {"a": {"results": [{"duration_ns": 1e999}]}}}')
@example("renaissance", b'{"data": {"a": {"results": [{"duration_ns": ' + b"9" * 5000 + b"}]}}}")
def test_any_bytes_give_a_report(adapter: str, noise: bytes) -> None:
    assert_can_be_recorded(ADAPTERS[adapter](left(stdout=noise, stderr=noise, results=noise), {}))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just("ns/op"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in _places(item, (*path, key)))]


@given(st.data())
def test_a_document_with_anything_anywhere_gives_a_report(data: st.DataObject) -> None:
    adapter, file = data.draw(
        st.sampled_from(
            [("jmh", "jmh-parameters.json"), ("jmh", "jmh-profiler.json"), ("jmh", "jmh-samples.json"),
             ("renaissance", "renaissance.json")]
        )
    )  # fmt: skip
    document = json.loads(kept(file))
    place = data.draw(st.sampled_from(_places(document)[1:]))
    target = document
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = data.draw(_json)
    text = json.dumps(document).encode()
    assert_can_be_recorded(ADAPTERS[adapter](left(results=text), {}))
