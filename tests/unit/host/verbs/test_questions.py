"""Questions to a host: JSON of the agreed shape is answered, anything else gets an error of ours and runs nothing."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regatta.host.verbs.questions import command

HOST = {"name": "h", "platform": "p"}
SEARCH = dict.fromkeys(
    ("benchmark", "runtime", "platform", "file", "passes", "largest_mib", "timeout_s", "attempts")
)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path))

    def ask(what: str, data: bytes) -> Any:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        assert command([what, str(tmp_path)]) == 0
        return json.loads(capsys.readouterr().out)

    return ask


def test_a_host_says_what_it_is(ask: Any) -> None:
    assert ask("facts", b"{}")["answer"]["facts"]["architecture"]


@pytest.mark.parametrize("what", ["facts", "resolve", "train", "minheap"])
@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff", b"null", b"[]", b"[" * 100_000, b'{"a":', b'{"unknown": 1}',
        pickle.dumps({"root": "/"}),
        json.dumps({"experiment": 1, "host": HOST, "supplies": {}}).encode(),
        json.dumps({"cells": [1], "experiment": {}, "host": HOST}).encode(),
        json.dumps({**SEARCH, "attempts": {"g1": []}}).encode(),
    ],
)  # fmt: skip
def test_a_malformed_question_gets_an_error_that_names_it(ask: Any, what: str, data: bytes) -> None:
    error = ask(what, data)["error"]
    assert error["exit_code"] == 3
    ((where, expected, got, _),) = error["problems"]
    assert where.startswith(f"question `{what}`")
    assert expected
    assert got
    assert len(got) < 400
