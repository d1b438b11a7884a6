"""What the imported adapters read of an output is what ReBench's own read of it."""

from __future__ import annotations

import pytest
from rebench.interop.adapter import ExecutionDeliveredNoResults, ResultsIndicatedAsInvalid

from helpers.specs.rebench_itself import measurements
from regatta.host.adapters.regex import read
from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.units import UNITS
from regatta.imports.rebench_adapters import gauge_of

OUTPUTS = {
    "TimeManual": "real\t0m0.502s\nuser\t0m0.250s\nsys\t0m0.010s\n",
    "RebenchLog": """\
Starting DeltaBlue benchmark ...
DeltaBlue loading: iterations=1 runtime: 70us
DeltaBlue: iterations=1 runtime: 12345us
DeltaBlue: iterations=1 runtime: 1.5e1ms
some.prefix: Richards: iterations=10 runtime: .5us
DeltaBlue: iterations=3 average: 12ms total: 36ms
Total Runtime: 40000us
""",
    "ValidationLog": """\
Savina.Chat: iterations=1 runtime: 1200us success: true
Savina.Chat warm: iterations=1 runtime: 3ms success: true
Savina.Chat: iterations=1 runtime: 7ms success: true
nothing here
""",
    "PlainSecondsLog": "0.5\n 12 \nno number\n1e-3\n.25\n7.\n",
    "SavinaLog": "ForkJoin  Iteration-1:  12.5 ms\nForkJoin Iteration-2: 3.25 ms\nForkJoin Iteration-x: 1.0 ms\nError of no consequence\n",
    "JMH": """\
# Benchmark: org.example.Sorting.sort
# Warmup Iteration   1: 12.5 ns/op
Iteration   1: 11.25 ns/op
Iteration   2: 11 ns/op

Result: 11.1
# Run complete. Total time: 00:00:05

Benchmark     Mode  Cnt   Score   Error  Units
Sorting.sort  avgt    2  11.125          ns/op
""",
    "Multivariate": """\
0:RESULT-bar:ms:   1.5
0:RESULT-total:    10.5
1:RESULT-bar:ms:   2
1:RESULT-total:    11
""",
    "TestExecutor": "RESULT-bar: 1.5\nRESULT-total:  10.5\nRESULT-total: 12.0\nRESULT-whole: 3\n",
}  # fmt: skip


def ours(adapter: str, output: str, errors: str = "") -> Reported:
    left = RunOutput(
        elapsed_ns=1, user_s=0.0, system_s=0.0, max_rss_kib=None, results=None, refused="", stdout=output.encode(),
        stdout_cut=False, stderr=errors.encode(),
    )  # fmt: skip
    return read(left, gauge_of(adapter).keys["adapter_options"])


def in_seconds(value: float, unit: str) -> float:
    # ReBench calls JMH's unit as it is printed.
    return value * UNITS[unit.removesuffix("/op")][1]


@pytest.mark.parametrize("adapter", OUTPUTS)
def test_the_same_values_are_read_of_an_output(adapter: str) -> None:
    expected: dict[str, list[float]] = {}
    for point in measurements(adapter, OUTPUTS[adapter]):
        for criterion, value, unit in point:
            if unit != "bool" and not (adapter == "RebenchLog" and ":" in criterion):
                expected.setdefault(criterion, []).append(in_seconds(value, unit))
    found: dict[str, list[float]] = {}
    reported = ours(adapter, OUTPUTS[adapter])
    assert not reported.error
    for index, metric, value, unit, _, _ in reported.iterations:
        assert index == len(found.setdefault(metric, []))
        found[metric].append(in_seconds(value, unit))
    main = gauge_of(adapter).keys["metric"]
    renamed = {main if criterion == "total" else criterion: values for criterion, values in expected.items()}
    assert set(found) == set(renamed)
    assert len(found[main]) > (adapter != "TimeManual")
    for metric, values in found.items():
        assert values == pytest.approx(renamed[metric], rel=1e-12)


ERRORS = ["Error: no such thing", "Segmentation fault", "it ended: Bus error"]
MORE = {
    "TimeManual": [],
    "RebenchLog": ["the result is incorrect", "Failed the verification", "Benchmark done. verification failed"],
    "ValidationLog": ["the result is incorrect", "Failed the verification"],
    "PlainSecondsLog": ["an error", "the result is incorrect"],
    "JMH": [],
    "Multivariate": ["FAILED"],
    "TestExecutor": ["FAILED"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("adapter", "line"), [(a, line) for a, more in MORE.items() for line in [*ERRORS, *more]]
)
def test_an_output_that_rebench_discards_is_a_failure(adapter: str, line: str) -> None:
    output = f"{line}\n{OUTPUTS[adapter]}"
    with pytest.raises(ExecutionDeliveredNoResults):
        measurements(adapter, output)
    assert line[:20] in ours(adapter, output).error


@pytest.mark.parametrize("adapter", OUTPUTS)
def test_an_output_without_a_result_is_none(adapter: str) -> None:
    with pytest.raises(ExecutionDeliveredNoResults):
        measurements(adapter, "hello\n")
    assert ours(adapter, "hello\n").error.startswith("no result")


def test_standard_error_is_read_as_well() -> None:
    whole = OUTPUTS["RebenchLog"]
    assert ours("RebenchLog", "", whole).iterations == ours("RebenchLog", whole).iterations
    assert "Bus error" in ours("RebenchLog", whole, "program: Bus error\n").error


def test_a_run_that_tells_of_no_success_is_a_failure() -> None:
    output = OUTPUTS["ValidationLog"].replace("7ms success: true", "7ms success: false")
    assert "success: false" in ours("ValidationLog", output).error


def test_errors_that_time_no_longer_looks_for_are_listed() -> None:
    ((why, _),) = gauge_of("Time").notes
    for line in ERRORS:
        # ReBench discards such a run, and `process` reads no output.
        with pytest.raises(ResultsIndicatedAsInvalid):
            measurements("Time", line)
        assert any(word in line for word in why.split("`")[1::2])
