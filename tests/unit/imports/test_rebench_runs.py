"""What comes of a ReBench configuration runs what ReBench itself would run: its own code is asked."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from helpers.specs.imported import REBENCH, commands, load, of_rebench
from helpers.specs.rebench_itself import Run, runs
from regatta.host.values.experiment import Experiment

_NO_LIMIT_S = 604_800


def ours(experiments: dict[str, Experiment]) -> set[Run]:
    """Every command of some experiments with its repetitions; their time limits stand apart."""
    return {
        (
            folder,
            words,
            tuple(sorted(environment.items())),
            one.invocations,
            (one.steady.iterations, one.steady.warmup),
            0,
        )
        for one in experiments.values()
        for folder, words, environment in commands(one)
    }


def theirs(path: Path) -> set[Run]:
    """The same of ReBench's: an invocation has more iterations than it warms up with."""
    return {(*run[:4], (max(run[4][0], run[4][1] + 1), run[4][1]), 0) for run in runs(path)}


@pytest.mark.parametrize("path", REBENCH, ids=lambda path: path.stem)
def test_a_kept_configuration_runs_what_rebench_would_run(path: Path, tmp_path: Path) -> None:
    experiments = load(of_rebench(path), tmp_path)
    expected = theirs(path)
    assert len(expected) > 3
    assert ours(experiments) == expected


@pytest.mark.parametrize("path", REBENCH, ids=lambda path: path.stem)
def test_the_time_limit_of_a_spec_is_the_longest_of_its_runs(path: Path, tmp_path: Path) -> None:
    limits = {run[:2]: run[5] for run in runs(path)}
    for experiment in load(of_rebench(path), tmp_path).values():
        of_it = [limits[folder, words] for folder, words, _ in commands(experiment)]
        assert experiment.timeout_s == max(_NO_LIMIT_S if limit in (-1, 0) else limit for limit in of_it)


_name = st.sampled_from(["a", "b", "two words", "x/y", "ü", "1", "all"])
_count = st.integers(1, 4) | st.integers(1, 4).map(lambda n: f"{n}!")
_values = st.lists(st.sampled_from([1, 10, 2.5, "s", "two words", "", "{x}"]), min_size=1, max_size=3)
_pieces = [
    "%(benchmark)s", "%(input)s", "'%(input)s'", "-c%(cores)s", '"%(variable)s"', "-i %(iterations)s", "%(warmup)s", "%(tag)s",
    "%(suite)s", "'%(executor)s'", "{plain}", "a\\ b", "''", "%%%%", "--x='%(variable)s %(input)s'",
]  # fmt: skip
_words = st.lists(st.sampled_from(_pieces), min_size=1, max_size=4).map(" ".join)
_layer = st.fixed_dictionaries(
    {},
    optional={
        "invocations": _count,
        "iterations": _count,
        "warmup": st.integers(0, 3),
        "env": st.dictionaries(
            st.sampled_from(["A", "B", "PATH"]), st.sampled_from(["1", "x y", "~/p"]), max_size=2
        ),
        "max_invocation_time": st.sampled_from([-1, 5, 60]),
    },
)
_variables = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("input_sizes", "cores", "variable_values", "tags"), _values)
)


def _layered(*parts: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(lambda found: {key: value for part in found for key, value in part.items()})


_details = _layered(
    _layer, _variables, st.fixed_dictionaries({}, optional={"extra_args": _words, "command": _name})
)
_benchmark = _name | st.dictionaries(_name, _details.filter(bool), min_size=1, max_size=1)
_suite = _layered(
    _layer, _variables,
    st.fixed_dictionaries(
        {"gauge_adapter": st.just("PlainSecondsLog"), "command": _words, "benchmarks": st.lists(_benchmark, min_size=1, max_size=3)},
        optional={"location": st.sampled_from(["here", "/there/%(benchmark)s", "~/home"])},
    ),
)  # fmt: skip
_executor = _layered(
    _layer, _variables,
    st.fixed_dictionaries(
        {"executable": st.sampled_from(["prog", "./run", "A=1 prog"])},
        optional={"path": st.sampled_from(["bin", "/opt/bin", "~/bin"]), "args": _words},
    ),
)  # fmt: skip


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    """A configuration with settings in any of its layers."""
    suites = draw(st.dictionaries(_name, _suite, min_size=1, max_size=2))
    executors = draw(st.dictionaries(_name, _executor, min_size=1, max_size=2))
    some_suites = st.lists(st.sampled_from(sorted(suites)), min_size=1, max_size=2, unique=True)
    some_executor = st.sampled_from(sorted(executors))
    within = _layered(_layer, _variables, st.fixed_dictionaries({}, optional={"suites": some_suites}))
    execution = some_executor | st.tuples(some_executor, within.filter(bool)).map(
        lambda pair: {pair[0]: pair[1]}
    )
    experiment = _layered(
        _layer, _variables,
        st.fixed_dictionaries({"suites": some_suites, "executions": st.lists(execution, min_size=1, max_size=2)}),
    )  # fmt: skip
    return {
        # Without any, ReBench 1.4 puts `None` in place of `%(warmup)s`.
        "runs": {"warmup": 0} | draw(_layer),
        "benchmark_suites": suites,
        "executors": executors,
        "experiments": draw(
            st.dictionaries(_name.filter(lambda name: name != "all"), experiment, min_size=1, max_size=2)
        ),
    }


@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(configuration=configurations())
def test_any_configuration_runs_what_rebench_would_run(configuration: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.conf"
        path.write_text(json.dumps(configuration))
        expected = {(run[1], *run[:1], *run[2:]) for run in theirs(path)}
        found = {(run[1], *run[:1], *run[2:]) for run in ours(load(of_rebench(path), Path(folder) / "ours"))}
        assert found == expected


def test_programs_and_archives_that_a_command_only_names_are_listed(tmp_path: Path) -> None:
    (tmp_path / "in.conf").write_text(
        "benchmark_suites:\n"
        '  S: {gauge_adapter: Time, command: "-cp lib/a.jar:b.jar %(benchmark)s", benchmarks: [x, y]}\n'
        "executors:\n"
        "  here: {path: bin, executable: run}\n"
        "  found: {executable: java}\n"
        "experiments:\n"
        "  X: {executions: [here, found], suites: [S]}\n"
    )
    told = [item for item in of_rebench(tmp_path / "in.conf").items if "cell identity" in item.why]
    assert [(item.line, item.key, item.why.split("`")[1]) for item in told] == [
        (2, "benchmark_suites.S.command", "lib/a.jar"),
        (2, "benchmark_suites.S.command", "b.jar"),
    ]
