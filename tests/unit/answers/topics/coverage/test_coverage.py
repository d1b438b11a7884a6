"""What ran at all is said in few words, and first where every cell was to run once."""

from __future__ import annotations

import json
from pathlib import Path

from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.result import Answer
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


def test_it_is_the_whole_headline_where_every_cell_was_to_run_once(tmp_path: Path, golden: Golden) -> None:
    answer = matrix(tmp_path, rounds=1, oom="z")
    golden("headline", "\n".join(answer.headline))


def test_it_is_a_topic_of_its_own_where_there_is_more_to_say(tmp_path: Path) -> None:
    answer = matrix(tmp_path, rounds=5)
    assert not any("completed" in sentence for sentence in answer.headline)
    assert answer.findings["coverage"][0] == "3 of 3 measured cells completed"


def test_nothing_is_said_where_everything_could_be_and_did() -> None:
    assert coverage_words([], [], []) == ()


def test_a_reason_is_told_once_with_what_it_is_about(golden: Golden) -> None:
    every = [(label("s/a:x", r, c), "why") for r in RUNTIMES for c in COLLECTORS]
    golden("all-collectors", "\n".join(coverage_words([], [], every)))
    one = [(label(f"s/p{i}:x", "jdk-17", "z"), "the JVM refuses: no Z") for i in range(9)]
    golden("many-benchmarks", "\n".join(coverage_words([], [], one)))
    uneven = [(label("s/a:x", "jdk-17", "z"), "why"), (label("s/a:x", "jdk-21", "g1"), "why")]
    golden("uneven-combinations", "\n".join(coverage_words([], [], uneven)))
    (long,) = coverage_words([], [], [("s/a:x", "x" * 500)])
    assert len(long) < 200
