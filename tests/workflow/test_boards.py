"""Every query of every panel, variable, annotation and alert, asked of a real InfluxDB as Grafana asks it, returns rows.

Run with `-s` it prints how many. Grafana itself is not here: NOT TESTED is how it draws them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from board_experiments import write_board_experiments
from boards import ROOT
from click.testing import CliRunner
from dashboards.asking import Answer, Ask, Board, full_range
from dashboards.boards import documents
from dashboards.preview import page
from influx_server import READER, InfluxServer
from ruamel.yaml import YAML
from small_experiments import SmallExperiment

from regatta.cli.history import history
from regatta.cli.ingest import ingest

DOCUMENTS = {board["uid"].removeprefix("regatta-"): board for board in documents()}
ALERTS = YAML(typ="safe").load(
    (ROOT / "dashboards" / "provisioning" / "alerting" / "regatta.yml").read_text()
)["groups"][0]["rules"]
#: what a stranger would choose
CHOSEN: dict[str, dict[str, str]] = {
    "experiment": {"experiment": "collectors"},
    "compare-runtimes": {"experiment": "collectors"},
    "chat": {"runtime": "temurin-21"},
    "history": {"benchmark": "apps/h2:small", "heap": "2x"},
}
#: Of the experiment that was really measured here (two programs without a heap, in an A/A test) these boards must show something.
REAL = {
    "fleet-now": {
        "What runs where, and when is it done?", "What happened last on each host?",  # no workflow ran
        "Did invocations fail?", "Were any disturbed?", "Did steps of workflows fail?", "Which steps failed, and why?",
    },
    "experiment": {
        "Which alternatives differ from the baseline, by how much?", "How far from the baseline is each alternative in $benchmark?",
        "Which invocations failed, and why?", "Which invocations were disturbed, and by what?",
    },
    "host-health": {"Does the clock change?", "Does it get hot?", "Is it throttled?"},
}  # fmt: skip


@pytest.fixture(scope="module")
def ask(influx_server: InfluxServer, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Asks a database with all that the boards can show, by the account that may read alone."""
    folder = tmp_path_factory.mktemp("boards")
    database = influx_server.new_database()
    settings = influx_server.write_settings(folder, database)
    small = SmallExperiment(folder, name="really", invocations={"fixed": 4}, segment={"rounds": 4}, aa=True)
    small.step_by_step()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "REGATTA_INFLUX", str(settings))
        written = [*write_board_experiments(folder / "results"), small.folder.path]
        for path in written:
            done = CliRunner().invoke(ingest, [str(path)], catch_exceptions=False)
            assert done.exit_code == 0, done.output
        nights = [
            str(path) for path in written if path.name.startswith("nightly-") and "chat" not in path.name
        ]
        for _ in range(2):
            done = CliRunner().invoke(history, [*nights, "--ingest"], catch_exceptions=False)
            assert "2 shifts written" in done.output

    def query(text: str) -> list[Mapping[str, Any]]:
        found = influx_server.query(text, database, READER, epoch="ms")
        return [{"tags": {}, **one} for one in found]

    return query


def shown(board: Board) -> list[tuple[str, int]]:
    """Titles of panels with the rows of all their repetitions, which are printed."""
    counts: dict[str, int] = {}
    answers: list[Answer] = list(board.panels())
    for answer in answers:
        if answer.found:
            title = answer.panel["title"]
            counts[title] = counts.get(title, 0) + answer.rows
    for title, rows in counts.items():
        print(f"{board.name:18}{rows:8}  {title}", file=sys.stderr)
    return list(counts.items())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_panel_and_variable_of_a_board_gets_rows(ask: Ask, name: str) -> None:
    board = Board(DOCUMENTS[name], ask, full_range(ask), CHOSEN.get(name))
    assert [variable for variable, options in board.options.items() if not options] == []
    assert [title for title, rows in shown(board) if not rows] == []


@pytest.mark.parametrize("name", REAL)
def test_what_was_really_measured_is_shown(ask: Ask, name: str) -> None:
    board = Board(DOCUMENTS[name], ask, full_range(ask), {"experiment": "really", "host": "local"})
    assert {title for title, rows in shown(board) if not rows} <= REAL[name]


def test_a_preview_shows_the_titles_of_all_panels_with_what_was_chosen_and_says_what_it_is_not(
    ask: Ask,
) -> None:
    when = full_range(ask)
    shown_page = page([Board(DOCUMENTS["collectors"], ask, when, {"experiment": "collectors"})], when)
    assert "Not Grafana" in shown_page
    for title in ("How long does apps/ecj:small take at each heap?", "How sure is the time with serial?"):
        assert f"<h2>{title}</h2>" in shown_page
    # A variable that the board has not would be left as it is.
    assert not [line for line in shown_page.split("<h2>")[1:] if "$" in line.split("</h2>")[0]]


def test_shifts_of_a_history_are_drawn_once_where_they_began(ask: Ask) -> None:
    board = Board(DOCUMENTS["history"], ask, full_range(ask))
    (events,) = board.annotations()
    rows = [dict(zip(events["columns"], row, strict=True)) for row in events["values"]]
    assert len(rows) == 2
    (began,) = {row["time"] for row in rows}
    (first,) = ask("SELECT first(started_utc_ns) FROM invocation WHERE experiment = 'nightly-3'")
    assert began == first["values"][0][1] // 10**6
    assert all("slower than before" in row["text"] for row in rows)


@pytest.mark.parametrize("rule", ALERTS, ids=[rule["uid"] for rule in ALERTS])
def test_a_rule_gets_rows_that_it_can_tell_apart(ask: Ask, rule: dict[str, Any]) -> None:
    sets = []
    for step in rule["data"]:
        if step["datasourceUid"] == "regatta-influxdb":
            found = ask(step["model"]["query"].replace("$$", "$"))
            sets.append({tuple(sorted(one["tags"].items())) for one in found})
            assert sets[-1]
            assert len(sets[-1]) == len(found)
            assert all(len(one["values"]) == 1 for one in found)
    # What one step of arithmetic joins must be there on both sides.
    assert all(sets[0] <= other for other in sets)
