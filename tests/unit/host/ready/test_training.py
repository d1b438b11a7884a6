"""Training runs on this machine: made once, kept whole, put into the command; a JVM is asked whether it can at all."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from regatta.host.ready.runtimes import provision
from regatta.host.ready.training import train_here
from regatta.host.values.cell import Cell, TrainingRun
from regatta.host.values.experiment import (
    Benchmark,
    Cores,
    Expectation,
    Experiment,
    Heap,
    Modifier,
    PerturbationLimits,
    ProcessEnvironment,
    Rlimits,
    Runtime,
    SteadyState,
    Training,
)
from regatta.host.values.resolved import File, ResolvedHost
from regatta.planner.cells import Crossing
from regatta.planner.training import train_cells

BENCHMARK = Benchmark(
    suite="s", name="x", size="small", kind="java", command=("{runtime}", "run"), adapter="process",
    adapter_options={}, metric="elapsed", better="lower", parameters={}, environment={}, arrange={}, check=(),
    expect=Expectation(), builds={}, inputs={},
)  # fmt: skip
EXPERIMENT = Experiment(
    name="e", question="", spec_path="e.yml", hosts=(), runtimes=(), collectors=(), modifiers=((),), heaps=(),
    benchmarks=(BENCHMARK,), invocations=1, steady=SteadyState("startup", 1, 0), order="interleaved", seed=5,
    compare=("runtime",), rounds_per_segment=1, timeout_s=10.0, output_kib=1, cores=Cores(), limits=PerturbationLimits(),
    environment=ProcessEnvironment(), rlimits=Rlimits(), excludes=(), baseline={}, minheap_passes=1, level=0.95,
)  # fmt: skip
HOST = ResolvedHost("local", "local", {}, "class", {"PATH": "/usr/bin:/bin"}, {}, {}, {}, {}, {})


def trained(crossing: Crossing) -> Crossing:
    """With every training run made here."""
    return train_cells(crossing, lambda cells: train_here(cells, EXPERIMENT, HOST))


#: writes its file, and a line for each time it was run, with what it saw of its surroundings
TRAINER = """#!/bin/sh
echo "$REGATTA_SEED $EXTRA $HOME $(cat given 2>/dev/null)" >> {log}
test "$2" = fail && { echo "java.lang.OutOfMemoryError: Java heap space"; echo bye; exit 1; }
test "$2" = idle || echo $$ > "${1#-XX:Make=}"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "log"


def trained_cell(folder: Path, log: Path, word: str = "run", cell_id: str = "cell") -> Cell:
    program = folder / "trainer"
    if not program.exists():
        program.write_text(TRAINER.replace("{log}", str(log)))
        program.chmod(0o755)
    (folder / "input").write_text("arranged")
    argv = (str(program), "-XX:Use={trained}", word)
    training = TrainingRun((str(program), "-XX:Make={output}", word), "app.aot")
    return Cell(
        cell_id, "local", "local", BENCHMARK, "a", "g1", "cache", Heap(mib=64), argv, {"EXTRA": "extra"},
        {"given": str(folder / "input")}, (), (File(str(program), "0" * 64),), training,
    )  # fmt: skip


def test_the_file_is_made_once_and_stands_in_the_command_and_among_the_files(
    tmp_path: Path, log: Path
) -> None:
    crossing = Crossing([trained_cell(tmp_path, log)])
    (cell,) = trained(crossing).cells
    (again,) = trained(crossing).cells
    assert cell == again
    path = Path(cell.argv[1].removeprefix("-XX:Use="))
    assert cell.files[1] == File(str(path), hashlib.sha256(path.read_bytes()).hexdigest())
    assert [p.name for p in path.parent.iterdir()] == ["app.aot"]
    # Once, with the measured environment and no other, and with the files that the program expects.
    assert log.read_text() == "5 extra  arranged\n"
    assert crossing.cells[0].argv[1] == "-XX:Use={trained}"


def test_other_commands_and_changed_files_are_trained_again(tmp_path: Path, log: Path) -> None:
    cell = trained_cell(tmp_path, log)
    other = replace(cell, cell_id="other")
    found = trained(Crossing([cell, other])).cells
    assert found[0].argv != found[1].argv
    # The same bytes at another time: a JVM would refuse the old file.
    program = Path(cell.argv[0])
    text = program.read_bytes()
    program.unlink()
    program.write_bytes(text)
    program.chmod(0o755)
    (new,) = trained(Crossing([cell])).cells
    assert new.argv != found[0].argv
    assert new.cell_id == cell.cell_id
    assert len(log.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("fail", "exit 1; java.lang.OutOfMemoryError: Java"),
        ("idle", "no such file"),
    ],
)
def test_a_cell_whose_training_fails_is_impossible_and_the_others_go_on(
    tmp_path: Path, log: Path, word: str, reason: str
) -> None:
    good, bad = trained_cell(tmp_path, log), trained_cell(tmp_path, log, word, "bad")
    crossing = trained(Crossing([bad, good], [("x", "y")], 2))
    assert [cell.cell_id for cell in crossing.cells] == ["cell"]
    other, (label, why) = crossing.impossible
    assert (other, label) == (("x", "y"), bad.label)
    assert why.startswith("training run failed: ")
    assert reason in why
    assert crossing.excluded == 2


def test_a_run_that_was_killed_half_way_leaves_nothing_that_is_taken_for_whole(
    tmp_path: Path, log: Path
) -> None:
    cell = trained_cell(tmp_path, log)
    (made,) = trained(Crossing([cell])).cells
    folder = Path(made.argv[1].removeprefix("-XX:Use=")).parent
    folder.rename(folder.with_name(folder.name + ".tmp"))
    (folder.with_name(folder.name + ".tmp") / "app.aot").write_text("half")
    (again,) = trained(Crossing([cell])).cells
    assert Path(again.argv[1].removeprefix("-XX:Use=")).read_text() != "half"


#: a JVM in 13 lines: it knows -Xint, one flag that writes a log, one that makes a file and one that reads it
JVM = """#!/bin/sh
for word in "$@"; do case "$word" in
  -XshowSettings:properties) echo "    java.home = {home}"; echo "toy version 1";;
  -XX:Make=*) echo cache > "${word#-XX:Make=}";;
  -XX:Idle=*) ;;
  -Xlog:*) echo log > "${word#-Xlog:}";;
  -XX:Use=*) test -f "${word#-XX:Use=}" || { echo "cannot open ${word#-XX:Use=}"; exit 1; };;
  -version|-Xint) ;;
  *) echo "Unrecognized option: $word"; exit 1;;
esac; done
"""


@pytest.mark.usefixtures("log")
def test_a_jvm_is_asked_about_each_modifier_and_answers_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "of the user"
    folder.mkdir()
    monkeypatch.chdir(folder)
    program = tmp_path / "bin/java"
    program.parent.mkdir()
    program.write_text(JVM.replace("{home}", str(tmp_path)))
    program.chmod(0o755)
    use = ("-XX:Use={trained}",)
    modifiers = (
        Modifier("interpreter", ("-Xint",)),
        Modifier("odd", ("-Xodd",)),
        Modifier("log", ("-Xlog:gc.log",)),
        Modifier("quiet", (), {"QUIET": "1"}),
        Modifier("cache", use, training=Training(("-XX:Make={output}",), "app.aot")),
        Modifier("old", use, training=Training(("-XX:Unknown={output}",), "app.aot")),
        Modifier("idle", use, training=Training(("-XX:Idle={output}",), "app.aot")),
    )
    runtime = provision(Runtime("toy", "java", "path", path=str(program)), (), modifiers)
    refused, idle = "the JVM refuses:", runtime.modifiers["idle"]
    assert runtime.modifiers == {
        "interpreter": "",
        "log": "",
        "odd": f"{refused} Unrecognized option: -Xodd",
        "cache": "",
        "old": f"{refused} Unrecognized option: -XX:Unknown=.../app.aot",
        "idle": idle,
    }
    assert " app.aot with -XX:Idle={output}" in idle
    assert not idle.startswith(refused)
    assert list(folder.iterdir()) == []
