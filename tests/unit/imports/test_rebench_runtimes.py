"""ReBench's executors become runtimes of one experiment, so that blocks pair them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers.specs.imported import REBENCH, load, of_rebench
from regatta.host.values.experiment import Experiment
from regatta.imports.drafts import to_yaml


def imported(folder: Path, **keys: Any) -> list[Experiment]:
    (folder / "in.conf").write_text(to_yaml(keys))
    return list(load(of_rebench(folder / "in.conf"), folder / "out").values())


def suite(command: str, *benchmarks: Any, **more: Any) -> dict[str, Any]:
    return {"gauge_adapter": "Time", "command": command, "benchmarks": [*benchmarks], **more}


def pairs(experiment: Experiment) -> dict[str, list[str]]:
    """Benchmark -> the runtimes that run it."""
    spared = {(one.benchmark, one.runtime) for one in experiment.excludes}
    return {
        one.label.removesuffix(":default"): [
            runtime.name
            for runtime in experiment.runtimes
            if one.command_on(runtime) and (one.label, runtime.name) not in spared
        ]
        for one in experiment.benchmarks
    }


def test_executors_of_a_suite_run_the_same_benchmark(tmp_path: Path) -> None:
    (experiment,) = imported(
        tmp_path,
        benchmark_suites={"s": suite("run.py %(benchmark)s", "a", "b")},
        executors={
            "old": {"path": "/opt/old", "executable": "python"},
            "new": {"executable": "python3", "args": "-X 'a b'"},
        },
        experiments={"e": {"executions": ["old", "new"], "suites": ["s"]}},
    )
    assert pairs(experiment) == {"s/a": ["old", "new"], "s/b": ["old", "new"]}
    assert [(one.path, one.flags) for one in experiment.runtimes] == [
        ("/opt/old/python", ()),
        ("python3", ("-X", "a b")),
    ]
    # The folder of a suite without a `location` is that of its executor.
    assert experiment.benchmarks[0].commands == {
        "old": ("env", "--chdir=/opt/old", "{runtime}", "run.py", "a"),
        "new": ("env", f"--chdir={tmp_path}", "{runtime}", "run.py", "a"),
    }


def test_one_command_for_all_executors_needs_no_languages(tmp_path: Path) -> None:
    (experiment,) = imported(
        tmp_path,
        benchmark_suites={"s": suite("%(benchmark)s", "a", location="/work")},
        executors={"x": {"executable": "x"}, "y": {"executable": "y"}},
        experiments={"e": {"executions": ["x", "y"], "suites": ["s"]}},
    )
    (benchmark,) = experiment.benchmarks
    assert benchmark.command == ("env", "--chdir=/work", "{runtime}", "a")
    assert {runtime.language for runtime in experiment.runtimes} == {""}


def test_experiments_of_languages_become_one() -> None:
    (path,) = (path for path in REBENCH if path.stem == "languages")
    found = of_rebench(path)
    (spec,) = found.specs
    runtimes = spec.body["define"]["runtimes"]
    assert {name: body["language"] for name, body in runtimes.items()} == {
        "jvm": "jvm", "jvm-int": "jvm", "mri": "mri"
    }  # fmt: skip
    (draft,) = spec.suites
    commands = {name: list(body["commands"]) for name, body in draft.body["benchmarks"].items()}
    assert commands == {name: ["jvm", "mri"] for name in ("Bounce", "Queens", "Sieve")}
    joined = [item.key for item in found.items if "is one benchmark" in item.why]
    assert joined == [f"benchmark_suites.java.benchmarks[{index}]" for index in range(3)]


def test_programs_with_other_arguments_or_of_one_executor_stay_apart(tmp_path: Path) -> None:
    (experiment,) = imported(
        tmp_path,
        benchmark_suites={
            "js": suite("a.js %(benchmark)s", {"sum": {"extra_args": 10}}, "sort"),
            "py": suite("a.py %(benchmark)s", {"sum": {"extra_args": 99}}, "sort"),
            "js-strict": suite("-s a.js %(benchmark)s", "sort"),
        },
        executors={"node": {"executable": "node"}, "py": {"executable": "python3"}},
        experiments={
            "e": {"executions": [{"node": {"suites": ["js", "js-strict"]}}, {"py": {"suites": ["py"]}}]}
        },
    )
    # `py` is compared with the first of the two suites that `node` runs.
    assert pairs(experiment) == {
        "in/sum": ["node-2"],
        "in/sort": ["node-2", "py"],
        "in/sum-99": ["py"],
        "js-strict/sort": ["node-2"],
    }


def test_a_suite_that_an_executor_does_not_run_is_excluded_for_it(tmp_path: Path) -> None:
    (experiment,) = imported(
        tmp_path,
        benchmark_suites={"s": suite("s %(benchmark)s", "a"), "t": suite("t %(benchmark)s", "b")},
        executors={"x": {"executable": "x"}, "y": {"executable": "y"}},
        experiments={"e": {"executions": ["x", {"y": {"suites": ["t"]}}], "suites": ["s", "t"]}},
    )
    assert pairs(experiment) == {"s/a": ["x"], "t/b": ["x", "y"]}


def test_executors_may_differ_in_their_environment(tmp_path: Path) -> None:
    (experiment,) = imported(
        tmp_path,
        benchmark_suites={"s": suite("%(benchmark)s", "a", location="/work")},
        executors={
            "x": {"executable": "x", "env": {"A": "{1}"}},
            "y": {"executable": "y", "env": {"PATH": "/opt/bin"}},
            "z": {"executable": "z"},
        },
        experiments={"e": {"executions": ["x", "y", "z"], "suites": ["s"], "env": {"B": "2"}}},
    )
    assert pairs(experiment) == {"s/a": ["x", "y", "z"]}
    assert experiment.benchmarks[0].commands == {
        "x": ("env", "--chdir=/work", "A={{1}}", "{runtime}", "a"),
        # Its program is found by `env`, which is the runtime, on that PATH.
        "y": ("env", "--chdir=/work", "PATH=/opt/bin", "{runtime}", "a"),
        "z": ("env", "--chdir=/work", "B=2", "{runtime}", "a"),
    }
    assert (experiment.runtimes[1].path, experiment.runtimes[1].flags) == ("/usr/bin/env", ("y",))


def test_experiments_with_another_environment_stay_apart(tmp_path: Path) -> None:
    (experiment,) = imported(
        tmp_path,
        benchmark_suites={"s": suite("%(benchmark)s", "a", location="/work")},
        executors={"x": {"executable": "x"}, "y": {"executable": "y"}},
        experiments={
            "plain": {"executions": ["x", "y"], "suites": ["s"]},
            "checked": {"executions": ["x", "y"], "suites": ["s"], "env": {"CHECK": "1"}},
        },
    )
    assert pairs(experiment) == {"s/a": ["x", "y"], "s/a-2": ["x", "y"]}
    assert [dict(one.environment) for one in experiment.benchmarks] == [{}, {"CHECK": "1"}]
