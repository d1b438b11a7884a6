"""The topic of the chat server: the slides' figures, a line for each way to serve and runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.chat_experiment import CONNECTIONS, COST_NS, write_chat_experiment
from helpers.synthetic_answers import java_answer
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.page import render
from regatta.answers.report.registry import sections_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.chat.topic import CHAT
from regatta.figures.axes import Figure
from regatta.figures.section import Section


def answered(directory: Path, **options: Any) -> Answer:
    return answer_experiment(write_chat_experiment(directory / "made-up", rounds=6, **options))


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answered(tmp_path_factory.mktemp("chat"))


def topic_of(answer: Answer) -> Section:
    found = CHAT.section_of(View(answer))
    assert found is not None
    return found


def figures(answer: Answer) -> dict[str, dict[str, Figure]]:
    return {
        group.title: {figure.title: figure for figure in group.figures} for group in topic_of(answer).groups
    }


def lines(figure: Figure) -> list[dict[str, Any]]:
    return [trace for trace in figure.traces if trace.get("mode") == "lines+markers"]


def test_each_figure_has_a_line_for_each_mode_and_runtime_that_can(answer: Answer) -> None:
    found = figures(answer)
    assert list(found) == [
        *("Throughput", "Latency", "Server CPU time", "Server and client"),
        *("Context switches", "Page faults"),
    ]
    percentiles = ("median", "99th percentile", "99.9th percentile")
    assert list(found["Latency"]) == [f"latency, {which}" for which in percentiles]
    assert set(found["Server CPU time"]) == {
        "per message sent",
        "per message sent, user",
        "per message sent, OS",
    }
    names = {"platform temurin-17", "platform temurin-21", "virtual temurin-21"}
    names |= {"selector temurin-17", "selector temurin-21"}
    for group in found.values():
        for figure in group.values():
            assert {note["text"] for note in figure.layout["annotations"]} == names
            assert figure.layout["xaxis"]["ticktext"] == [str(n) for n in CONNECTIONS]


def test_points_lie_where_they_were_made(answer: Answer) -> None:
    figure = figures(answer)["Server CPU time"]["per message sent"]
    at = {round(line["y"][0] / 1000, -1) for line in lines(figure)}
    assert at == {round(cost / 1000, -1) for cost in COST_NS.values()}


def test_counters_have_figures_by_space_where_they_were_measured(tmp_path: Path, answer: Answer) -> None:
    counted = figures(answered(tmp_path, counted=True))
    spaces = ("user", "OS", "overall")
    of_instructions = ("instructions per cycle", "per connection in the window")
    titles = [f"{title}, {space}" for title in of_instructions for space in spaces]
    assert list(counted["Instructions"]) == titles
    assert list(counted["Branches"]) == [
        f"{title}, {space}" for title in ("per instruction", "taken") for space in spaces
    ]
    assert len(counted["Stalls"]) == len(spaces)
    (only,) = counted["Counters"]
    assert only.startswith("context switches")
    assert not {"Instructions", "Counters"} & set(figures(answer))


def test_the_table_says_which_is_better_by_what(answer: Answer) -> None:
    table, _ = topic_of(answer).tables
    assert table.columns == (
        "configuration",
        "metric",
        "comparison",
        "connections",
        "ratio, 95 % CI",
        "adj. p (Holm)",
        "better",
    )
    rows = {row[1:4]: row[6] for row in table.rows if row[0].startswith("temurin-21")}
    assert rows["messages delivered per second", "virtual / platform", "20"] == "platform"
    assert rows["messages delivered per second", "virtual / platform", "200"] == "not significant"
    of_cost = {key[1:]: better for key, better in rows.items() if "CPU time" in key[0]}
    assert of_cost["virtual / platform", "20"] == "virtual"


def test_the_page_has_the_topic_and_its_sentences(answer: Answer) -> None:
    page = render(answer)
    assert 'id="chat"' in page
    for words in answer.findings["chat"]:
        assert words.split(":")[0] in page


def test_without_a_chat_server_there_is_no_topic() -> None:
    other = java_answer(n=3)
    assert CHAT.section_of(View(other)) is None
    assert "chat" not in {topic.anchor for topic in sections_of(View(other))}
