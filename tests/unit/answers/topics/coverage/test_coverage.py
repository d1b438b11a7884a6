"""What ran at all is said in few words, and first where every cell was to run once."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.answer import answer_experiment
from regatta.answers.result import Answer
from regatta.answers.topics.coverage.topic import coverage_words

RUNTIMES = ("jdk-17", "jdk-21")
COLLECTORS = ("serial", "g1", "z")


def label(benchmark: str, runtime: str, collector: str) -> str:
    return f"{benchmark} · {runtime} {collector} · 64 MiB"


def matrix(directory: Path, rounds: int, oom: str = "") -> Answer:
    cells = [cell(name, benchmark="vm/db:s1") for name in COLLECTORS]
    records = [
        record(one, r, [1e9], status="oom", reason="out of memory", position=i)
        if one["collector"] == oom
        else record(one, r, [1e9 + i + r], position=i)
        for r in range(rounds)
        for i, one in enumerate(cells)
    ]
    folder = write_experiment(directory, cells, records, rounds)
    path = folder / "plan" / "experiment.json"
    document = json.loads(path.read_text())
    document["impossible"] = [
        [label("vm/javac:s1", "jdk-21", c), "no module jdk.compiler"] for c in COLLECTORS
    ]
    path.write_text(json.dumps(document))
    return answer_experiment(folder)


def test_it_is_the_whole_headline_where_every_cell_was_to_run_once(tmp_path: Path) -> None:
    answer = matrix(tmp_path, rounds=1, oom="z")
    assert answer.headline == (
        "2 of 3 measured cells completed",
        "1 cell with status oom",
        "not possible: javac:s1, jdk-21: no module jdk.compiler (3 cells)",
    )


def test_it_is_a_topic_of_its_own_where_there_is_more_to_say(tmp_path: Path) -> None:
    answer = matrix(tmp_path, rounds=5)
    assert not any("completed" in sentence for sentence in answer.headline)
    assert answer.findings["coverage"][0] == "3 of 3 measured cells completed"


def test_nothing_is_said_where_everything_could_be_and_did() -> None:
    assert coverage_words([], [], []) == ()


def test_a_reason_is_told_once_with_what_it_is_about() -> None:
    every = [(label("s/a:x", r, c), "why") for r in RUNTIMES for c in COLLECTORS]
    assert coverage_words([], [], every) == ("not possible: a:x, jdk-17 and jdk-21: why (6 cells)",)
    one = [(label(f"s/p{i}:x", "jdk-17", "z"), "the JVM refuses: no Z") for i in range(9)]
    assert coverage_words([], [], one) == (
        "not possible: 9 benchmarks, jdk-17 z: the JVM refuses: no Z (9 cells)",
    )
    uneven = [(label("s/a:x", "jdk-17", "z"), "why"), (label("s/a:x", "jdk-21", "g1"), "why")]
    assert coverage_words([], [], uneven) == ("not possible: a:x, jdk-17 z and jdk-21 g1: why (2 cells)",)
    (long,) = coverage_words([], [], [("s/a:x", "x" * 500)])
    assert len(long) < 200
