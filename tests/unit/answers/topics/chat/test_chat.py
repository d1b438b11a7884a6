"""Chat servers over their connections: a mode beats another where it does by construction, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.chat_experiment import (
    CONNECTIONS,
    COST_NS,
    INSTRUCTIONS_PER_CONNECTION,
    IPC,
    SPEED,
    write_chat_experiment,
)
from helpers.golden import Golden
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.chat.compute import Chat
from regatta.answers.topics.chat.topic import CHAT


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer_experiment(write_chat_experiment(tmp_path_factory.mktemp("chat") / "made-up"))


def places_of(answer: Answer) -> str:
    """Return what the sentences are about, which is what stands before their first colon."""
    return "\n".join(sorted({words.partition(": ")[0] for words in answer.headline}))


def test_a_mode_beats_another_where_it_was_made_to(answer: Answer) -> None:
    found = {
        (c.place.runtime, c.mode, c.base, c.connections): (c.verdict, c.ratio)
        for c in CHAT.of(answer).contrasts
        if c.metric == "delivered_rate"
    }
    # 17 has no virtual threads: one pair of modes there and three on 21.
    assert len(found) == 3 + 9
    verdicts = {n: found["temurin-21", "virtual", "platform", n][0] for n in (20, 200, 800)}
    assert verdicts == {20: "worse", 200: "open", 800: "better"}
    for (_, mode, base, n), (_, ratio) in found.items():
        assert ratio.low < SPEED[mode][n] / SPEED[base][n] < ratio.high


def test_less_processor_time_for_a_message_is_better(answer: Answer) -> None:
    found = [c for c in CHAT.of(answer).contrasts if c.metric == "cpu_per_message"]
    assert {c.verdict for c in found} == {"better"}
    for contrast in found:
        assert contrast.ratio.point == pytest.approx(
            COST_NS[contrast.mode] / COST_NS[contrast.base], rel=0.05
        )


def test_a_claim_counts_how_many_were_looked_at(answer: Answer) -> None:
    assert all(c.p_holm >= c.p for c in CHAT.of(answer).contrasts)
    least = min(CHAT.of(answer).contrasts, key=lambda c: c.p)
    assert least.p_holm == pytest.approx(least.p * len(CHAT.of(answer).contrasts))


def test_the_first_sentences_say_from_where_on_which_mode_wins(answer: Answer, golden: Golden) -> None:
    mine = [words for words in answer.headline if words.startswith("temurin-21 g1, closed loop")]
    golden("modes", "\n".join(mine))
    selector = next(
        words
        for words in answer.headline
        if "delivered per second, one selector" in words and "temurin-17" in words
    )
    golden("modes-of-an-older-runtime", selector)
    # What is told of the modes needs no list of forty means, and no comparison of the same mode between runtimes.
    assert all(" connections" in words for words in answer.headline)


def test_counters_of_the_runner_are_in_the_curves_of_their_mode(tmp_path: Path, answer: Answer) -> None:
    chat = CHAT.of(answer_experiment(write_chat_experiment(tmp_path / "made-up", rounds=3, counted=True)))
    curves = [
        c for c in chat.curves if c.metric == "counter_iteration_ipc" and c.place.runtime == "temurin-21"
    ]
    assert {(c.mode, c.aspect) for c in curves} == {(mode, space) for mode in COST_NS for space in IPC}
    for curve in curves:
        assert [point.connections for point in curve.points] == list(CONNECTIONS)
        assert curve.at(20).estimate.point == pytest.approx(IPC[curve.aspect], rel=0.1)
    assert {c.place for c in curves} == {
        c.place for c in chat.curves if c.metric == "delivered_rate" and c.place.runtime == "temurin-21"
    }
    per_connection = [c for c in chat.curves if c.metric == "counter_instructions_per_connection"]
    assert {c.aspect for c in per_connection} == set(IPC)
    for point in (point for curve in per_connection for point in curve.points):
        assert point.estimate.point == INSTRUCTIONS_PER_CONNECTION
        assert set(point.values) == {INSTRUCTIONS_PER_CONNECTION}
    assert not [c for c in CHAT.of(answer).curves if c.metric.startswith("counter_")]


def test_one_mode_alone_is_told_by_its_means(tmp_path: Path) -> None:
    answer = answer_experiment(write_chat_experiment(tmp_path / "made-up", rounds=3, modes=("platform",)))
    assert CHAT.of(answer).contrasts == ()
    assert answer.headline


def test_at_a_planned_rate_modes_are_compared_by_how_late_they_are(tmp_path: Path, golden: Golden) -> None:
    answer = answer_experiment(write_chat_experiment(tmp_path / "made-up", rate=10))
    late = [c for c in CHAT.of(answer).contrasts if c.metric == "latency" and c.place.runtime == "temurin-21"]
    verdicts = {c.connections: c.verdict for c in late if (c.mode, c.base) == ("virtual", "platform")}
    assert verdicts == {20: "worse", 200: "open", 800: "better"}
    assert "delivered_rate" not in {c.metric for c in CHAT.of(answer).contrasts}
    golden("planned-rate", places_of(answer))


def test_one_invocation_gives_no_verdict(tmp_path: Path) -> None:
    answer = answer_experiment(write_chat_experiment(tmp_path / "made-up", rounds=1))
    assert {c.verdict for c in CHAT.of(answer).contrasts} == {"unknown"}
    assert any(" undefined (" in words for words in answer.findings["chat"])


def test_the_document_holds_every_contrast(answer: Answer) -> None:
    document = document_of(answer)
    assert len(document["chat"]["contrasts"]) == len(CHAT.of(answer).contrasts)


def test_other_programs_are_no_chat(tmp_path: Path) -> None:
    one = cell()
    rows = [[0, "elapsed", 1e9, "ns", None, {"connections": 20, "mode": "fast", "rate": 0}]]
    write_experiment(tmp_path / "made-up", [one], [record(one, 0, rows)], 1)
    answer = answer_experiment(tmp_path / "made-up")
    assert CHAT.of(answer) == Chat()
    assert "chat" not in answer.findings


def test_windows_of_two_lengths_are_two_places_and_no_cell_is_lost(tmp_path: Path, golden: Golden) -> None:
    # A spec may ask for both; the series say nothing of it, so that only the cells tell them apart.
    options = {"rounds": 3, "windows": (" seconds=1.5", " seconds=3")}
    answer = answer_experiment(write_chat_experiment(tmp_path / "made-up", **options))
    curves = [curve for curve in CHAT.of(answer).curves if curve.metric == "delivered_rate"]
    kinds = {curve.place.benchmark: [] for curve in curves}
    for curve in curves:
        kinds[curve.place.benchmark] += [curve.at(20).estimate.point]
    assert set(kinds) == {"chat/chat:short seconds=1.5", "chat/chat:short seconds=3"}
    assert len(CHAT.of(answer).cell_ids) == len({cell.cell_id for cell in answer.cells})
    short, long = kinds.values()
    assert [b / a for a, b in zip(short, long, strict=True)] == pytest.approx([2.0] * len(short), rel=0.1)
    golden("windows-of-two-lengths", places_of(answer))
    assert CHAT.of(answer).twice == ()


def test_a_cell_that_measures_what_another_measures_is_told_and_in_no_curve(
    tmp_path: Path, golden: Golden
) -> None:
    answer = answer_experiment(write_chat_experiment(tmp_path / "made-up", rounds=3, windows=("", " rate=0")))
    twice = CHAT.of(answer).twice
    assert len(twice) == 15
    told = [words for words in answer.findings["chat"] if "measured twice" in words]
    assert all(any(words.startswith(one) for words in told) for one in twice)
    golden("measured-twice", told[0])


def test_a_claim_on_what_is_delivered_says_that_the_server_had_processors_to_spare(
    tmp_path: Path, answer: Answer
) -> None:
    told = [words for words in answer.headline if "messages delivered" in words]
    assert told
    for words in told:
        used = words.partition("% of its CPUs")[0].rpartition("used")[2]
        shares = {int(share) for share in re.findall(r"\d+", used)}
        assert shares
        assert shares <= {29, 30, 31}
    assert not any("its CPUs" in words for words in answer.headline if words not in told)
    busy = answer_experiment(write_chat_experiment(tmp_path / "made-up", rounds=3, share=0.95))
    assert not any("its CPUs" in words for words in busy.headline)


def test_the_cost_of_a_message_is_in_a_table_with_intervals(answer: Answer, tmp_path: Path) -> None:
    table = CHAT.tables_of(View(answer))[1]
    assert table.columns[:3] == ("configuration", "mode", "connections")
    rows = [row for row in table.rows if row[0].startswith("temurin-21")]
    assert [row[1:3] for row in rows] == [(mode, "800") for mode in ("platform", "virtual", "selector")]
    for row in rows:
        assert len(row[3:]) == 5
        assert all(re.fullmatch(r"[\d.]+( \S+)? \[[\d.]+, [\d.]+\]", text) for text in row[3:])
    once = answer_experiment(write_chat_experiment(tmp_path / "made-up", rounds=1))
    assert len(CHAT.tables_of(View(once))) == 1


def test_a_jit_that_is_at_work_in_the_windows_is_told(answer: Answer, golden: Golden) -> None:
    told = [words for words in answer.findings["chat"] if "JIT compilation" in words]
    # Virtual threads only, which release 17 has not.
    assert [words.partition(":")[0] for words in told] == ["temurin-21 g1, closed loop"]
    golden("jit", told[0])
