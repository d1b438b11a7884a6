"""A benchmark is asked once for each runtime whether it can run there; its own words are the reason where it cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_training import BENCHMARK, EXPERIMENT, HOST

from helpers.golden import Golden
from regatta.host.errors import HostError
from regatta.host.ready.probes import probe_benchmarks
from regatta.host.values.experiment import Experiment, Modifier, Runtime
from regatta.host.values.resolved import ResolvedHost, ResolvedRuntime
from regatta.planner.cells import cross

#: the last words of the runtime that lacks something
WHY = "not possible: no module jdk.compiler"
#: tells each time that it was asked, and answers by its name
JVM = """#!/bin/sh
echo "$@" >> {log}
case $0 in
  *able) exit 0 ;;
  *lacking) echo "noise"; echo "{why}" >&2; exit 4 ;;
  *mute) exit 4 ;;
  *failing) echo "Could not allocate compressed class space" >&2; exit 1 ;;
  *old) echo "Error: LinkageError: java.lang.UnsupportedClassVersionError: Main" >&2; exit 1 ;;
  *killed) kill -9 $$ ;;
esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "log"


def asked(
    folder: Path, log: Path, *names: str, probe: tuple[str, ...] = ("{runtime}", "{benchmark}", "--probe")
) -> tuple[Experiment, ResolvedHost]:
    runtimes = {}
    for name in names:
        program = folder / name
        program.write_text(JVM.replace("{log}", str(log)).replace("{why}", WHY))
        program.chmod(0o755)
        runtimes[name] = ResolvedRuntime(name, str(program), name, f"identity of {name}")
    experiment = replace(
        EXPERIMENT,
        benchmarks=(replace(BENCHMARK, probe=probe),),
        runtimes=tuple(Runtime(name, "java", "path", flags=("-Dhere",)) for name in names),
    )
    return experiment, replace(HOST, runtimes=runtimes)


def test_a_runtime_that_cannot_run_it_is_refused_in_the_benchmarks_last_words(
    tmp_path: Path, log: Path, golden: Golden
) -> None:
    experiment, host = asked(tmp_path, log, "able", "lacking", "mute", "old")
    probed = probe_benchmarks(experiment, host)
    (refused,) = probed.refused_benchmarks.values()
    assert probed.refused_benchmarks == {BENCHMARK.label: refused}
    assert refused.keys() == {"lacking", "mute", "old"}
    assert refused["lacking"] == WHY
    assert refused["old"] == "Error: LinkageError: java.lang.UnsupportedClassVersionError: Main"
    golden("mute", refused["mute"])
    assert log.read_text().splitlines() == ["-Dhere x --probe"] * 4


def test_its_cells_are_impossible_with_that_reason_whatever_the_modifiers(tmp_path: Path, log: Path) -> None:
    experiment, host = asked(tmp_path, log, "able", "lacking")
    experiment = replace(experiment, modifiers=((), (Modifier("quiet", environment={"Q": "1"}),)))
    crossing = cross(experiment, probe_benchmarks(experiment, host), {})
    assert [cell.runtime for cell in crossing.cells] == ["able", "able"]
    assert [reason for _, reason in crossing.impossible] == [WHY] * 2


def test_it_is_asked_once_and_again_when_the_runtime_is_another_build(tmp_path: Path, log: Path) -> None:
    experiment, host = asked(tmp_path, log, "lacking")
    assert probe_benchmarks(experiment, host) == probe_benchmarks(experiment, host)
    assert len(log.read_text().splitlines()) == 1
    other = {"lacking": replace(host.runtimes["lacking"], identity="another")}
    probe_benchmarks(experiment, replace(host, runtimes=other))
    assert len(log.read_text().splitlines()) == 2


def test_a_probe_that_is_killed_says_nothing_and_is_asked_again(tmp_path: Path, log: Path) -> None:
    experiment, host = asked(tmp_path, log, "killed")
    for _ in range(2):
        with pytest.raises(HostError, match="got exit -9"):
            probe_benchmarks(experiment, host)
    assert len(log.read_text().splitlines()) == 2


def test_a_probe_that_fails_says_nothing_of_the_runtime_and_is_asked_again(tmp_path: Path, log: Path) -> None:
    experiment, host = asked(tmp_path, log, "failing")
    for _ in range(2):
        with pytest.raises(HostError, match="Could not allocate"):
            probe_benchmarks(experiment, host)
    assert len(log.read_text().splitlines()) == 2


def test_it_is_asked_again_in_another_environment(tmp_path: Path, log: Path) -> None:
    experiment, host = asked(tmp_path, log, "able")
    for answer in ("1", "2", "2"):
        (one,) = experiment.benchmarks
        other = replace(experiment, benchmarks=(replace(one, environment={"ANSWER": answer}),))
        probe_benchmarks(other, host)
    assert len(log.read_text().splitlines()) == 2


def test_a_benchmark_without_a_probe_is_not_asked(tmp_path: Path, log: Path) -> None:
    experiment, host = asked(tmp_path, log, "lacking", probe=())
    assert probe_benchmarks(experiment, host).refused_benchmarks == {}
    assert not log.exists()
