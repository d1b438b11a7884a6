"""Every subject is one folder and one line: without them it is gone, and nothing else is."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from helpers.rich_experiment import write_rich_experiment
from regatta.answers import topics
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.answers.report import registry
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import COLUMNS, document_of, rows_of
from regatta.answers.report.page import render

FOLDERS = sorted(path.parent.name for path in Path(topics.__path__[0]).glob("*/topic.py"))
#: package of each topic's module, by its key
PACKAGES = {name: f"regatta.answers.topics.{name}" for name in FOLDERS} | {
    "events": "regatta.models.kernel_traces.topic",
    "predictions": "regatta.models.predict.topic",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rich_experiment(tmp_path_factory.mktemp("rich") / "made-up")


def test_every_folder_is_registered() -> None:
    folders = {path.name for path in Path(topics.__path__[0]).iterdir() if path.name[0] not in "_."}
    assert {name for name in folders if not name.endswith(".py")} == set(FOLDERS)
    assert sorted(topic.key for topic in registry.TOPICS) == sorted(PACKAGES)
    for name, package in PACKAGES.items():
        module = importlib.import_module(f"{package}.topic")
        own = [value for value in vars(module).values() if isinstance(value, Topic)]
        assert [topic.key for topic in own] == [name]
        assert any(topic is own[0] for topic in registry.TOPICS)


def test_no_two_topics_have_one_name_or_one_place() -> None:
    for part in (lambda t: t.words, lambda t: t.document, lambda t: t.rows):
        places = [own.place for _, own in registry.in_order(part)]
        assert len(set(places)) == len(places)
    headings = [words.key for _, words in registry.in_order(lambda topic: topic.words)]
    assert len(set(headings)) == len(headings)
    keys = [document.key for _, document in registry.in_order(lambda topic: topic.document)]
    assert len(set(keys)) == len(keys)


@pytest.mark.full  # answers once for each topic
def test_a_topic_without_its_line_is_gone_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = answer_experiment(folder)
    document = json.loads(json.dumps(document_of(whole)))
    anchors = {topic.key: topic.section_of(View(whole)) for topic in registry.TOPICS}
    assert sum(section is not None for section in anchors.values()) >= 12
    for topic in registry.TOPICS:
        with monkeypatch.context() as without:
            without.setattr(
                registry, "TOPICS", tuple(other for other in registry.TOPICS if other is not topic)
            )
            answer = answer_experiment(folder)
            left = json.loads(json.dumps(document_of(answer)))
            shown = {section.anchor for section in registry.sections_of(View(answer))}
            rows = list(rows_of(answer))
        assert topic.key not in answer.findings
        assert dict(answer.findings) == {k: v for k, v in whole.findings.items() if k != topic.key}
        gone = set() if topic.document is None else {topic.document.key}
        assert set(document) - set(left) == gone
        same = set(left) - {"findings", "headline"}
        assert {key: left[key] for key in same} == {key: document[key] for key in same}
        section = anchors[topic.key]
        for other in anchors.values():
            if other is not None:
                assert (other.anchor in shown) == (other is not section)
        assert all(set(row) <= set(COLUMNS) for row in rows)
        assert topic.of(answer) == topic.empty


def test_an_answer_without_any_topic_is_a_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "TOPICS", ())
    answer = answer_experiment(folder)
    assert answer.headline
    assert '<section id="cells">' in render(answer)
