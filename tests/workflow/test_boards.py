"""Every query of every panel, variable, annotation and alert, asked of a real InfluxDB as Grafana asks it, returns rows.

Run with `-s` it prints how many. Grafana itself is not here: NOT TESTED is how it draws them.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from dashboards.asking import Answer, Ask, Board, Range, full_range
from dashboards.boards import documents
from dashboards.frames import frame_of, series_of
from dashboards.preview import bar_texts, page
from ruamel.yaml import YAML
from small_experiments import SmallExperiment

from helpers.board_experiments import write_board_experiments
from helpers.boards import ROOT
from helpers.influx_server import READER, InfluxServer
from helpers.served_experiment import as_home, write_served_experiment
from regatta.cli.history import history
from regatta.cli.ingest import ingest
from regatta.cli.predict import predict
from regatta.influx.lines import encode
from regatta.influx.points import ESTIMATE, EVENT, HOST_STATE, INVOCATION, make_point
from regatta.influx.prediction_points import prediction_points
from regatta.predict.predictions import Asked, Request, forecast_of
from regatta.predict.vector_sources import Sources

DOCUMENTS = {board["uid"].removeprefix("regatta-"): board for board in documents()}
ALERTS = YAML(typ="safe").load(
    (ROOT / "dashboards" / "provisioning" / "alerting" / "regatta.yml").read_text()
)["groups"][0]["rules"]
NIGHTS = tuple(f"nightly-{n}" for n in range(1, 5))
#: what a stranger would choose
CHOSEN: dict[str, dict[str, str | tuple[str, ...]]] = {
    "experiment": {"experiment": "collectors"},
    "compare-runtimes": {"experiment": "collectors"},
    "chat": {"runtime": "temurin-21"},
    "history": {"experiment": NIGHTS},
    "host-health": {"collector": "g1"},
}
#: where there are two of each thing, and what is drawn beside
TWICE: dict[str, dict[str, str]] = {
    "experiment": {"experiment": "twice"},
    "compare-runtimes": {"experiment": "twice"},
    "collectors": {"experiment": "twice"},
    "host-health": {"experiment": "twice"},
    "vectors": {"experiment": "vectors"},
    "chat": {"experiment": "nightly-chat"},
}
#: Of the experiment that was really measured here (two programs without a heap, in an A/A test) these boards must show something.
REAL = {
    "fleet-now": {
        "What runs where, and when is it done?", "What happened last on each host?",  # no workflow ran
        "Did invocations fail?", "Were any disturbed?", "Did steps of workflows fail?", "Which steps failed, and why?",
    },
    "experiment": {
        "Which alternatives differ from the baseline, by how much?", "How far from the baseline is each alternative in $benchmark?",
        "Which invocations gave no number, and why?", "Which invocations were disturbed, and by what?",
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
        # Predictions on the hosts of an experiment that has vectors of its own.
        home = as_home(write_served_experiment(folder / "served", experiment="vectors"))
        patch.setitem(os.environ, "REGATTA_HOME", str(home))
        arguments = ["apache-static", "--on", "served", "--results", str(home / "results"), "--ingest"]
        done = CliRunner().invoke(predict, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        patch.delitem(os.environ, "REGATTA_HOME")
        for _ in range(2):
            done = CliRunner().invoke(history, [*nights, "--ingest"], catch_exceptions=False)
            assert "shifts written to " in done.output

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
    for title in (
        "How long does apps/ecj:small take at each heap on alpha?",
        "How sure is the time with serial?",
    ):
        assert f"<h2>{title}</h2>" in shown_page
    # A variable that the board has not would be left as it is.
    assert not [line for line in shown_page.split("<h2>")[1:] if "$" in line.split("</h2>")[0]]


def test_shifts_of_a_history_are_drawn_once_where_they_began(ask: Ask) -> None:
    board = Board(DOCUMENTS["history"], ask, full_range(ask), CHOSEN["history"])
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
            found = ask(step["model"]["query"])
            sets.append({tuple(sorted(one["tags"].items())) for one in found})
            assert sets[-1]
            assert len(sets[-1]) == len(found)
            assert all(len(one["values"]) == 1 for one in found)
    # What one step of arithmetic joins must be there on both sides.
    assert all(sets[0] <= other for other in sets)


# What a board must not hide


_NEWEST = re.compile(r'last\("\w+"\).* FROM "(estimate|vector)" WHERE (.*?) GROUP BY')


def told(board: Board, title: str) -> list[Answer]:
    """The panel of that title, in all its repetitions."""
    found = [answer for answer in board.panels() if answer.panel["title"] == title]
    assert found
    return found


@pytest.mark.parametrize("name", TWICE)
def test_no_two_estimates_share_a_row(ask: Ask, name: str) -> None:
    asked: list[tuple[str, int]] = []

    def heard(text: str) -> list[Mapping[str, Any]]:
        found = ask(text)
        asked.append((text, sum(len(one["values"]) for one in found)))
        return found

    list(Board(DOCUMENTS[name], heard, full_range(ask), TWICE[name]).panels())
    compared = 0
    for text, rows in asked:
        if inner := _NEWEST.search(text):
            series = ask(f'SELECT last("n") FROM "{inner[1]}" WHERE {inner[2]} GROUP BY *')
            assert rows == len(series), text
            compared += rows
    assert compared


@pytest.mark.parametrize("name", TWICE)
def test_no_two_bars_of_a_panel_are_called_the_same(ask: Ask, name: str) -> None:
    board = Board(DOCUMENTS[name], ask, full_range(ask), TWICE[name])
    for answer in board.panels():
        if answer.panel["type"] == "barchart" and answer.rows:
            texts = Counter(bar_texts(frame_of(answer), answer.panel))
            assert set(texts.values()) == {1}, (board.title(answer), texts)


def test_failures_are_what_failed_crashed_or_took_too_long_on_boards_and_in_alerts(ask: Ask) -> None:
    by_status = {
        one["tags"]["status"]: one["values"][0][1]
        for one in ask(
            "SELECT count(iteration_rows) FROM invocation WHERE experiment = 'collectors' GROUP BY status"
        )
    }
    assert by_status["oom"] > 0 < by_status["crashed"]
    board = Board(DOCUMENTS["fleet-now"], ask, full_range(ask), {"experiment": "collectors"})
    (answer,) = told(board, "Did invocations fail?")
    assert answer.found[0][1][0]["values"][0][1] == by_status["crashed"]
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-failures")
    alarmed = ask(rule["data"][0]["model"]["query"])
    assert sum(one["values"][0][1] for one in alarmed) == by_status["crashed"]


def test_the_order_of_measurement_is_drawn_of_invocations_and_never_of_their_means(ask: Ask) -> None:
    where = "experiment = 'collectors' AND \"host\" = 'alpha'"
    elapsed = {
        row[1] for one in ask(f"SELECT elapsed_ns FROM invocation WHERE {where}") for row in one["values"]
    }
    disturbed = ask(
        f"SELECT count(elapsed_ns) FROM invocation WHERE {where} AND status = 'perturbed' GROUP BY *"
    )
    now_ms = time.time_ns() // 10**6
    # So long that a step of the axis holds many invocations.
    board = Board(DOCUMENTS["experiment"], ask, Range(now_ms - 2 * 10**11, now_ms), CHOSEN["experiment"])
    (answer,) = told(board, "Did anything change while it ran?")
    drawn = series_of(answer)
    assert {value for _, _, points in drawn for _, value in points} <= elapsed
    assert sum(name.startswith("perturbed: ") for name, _, _ in drawn) == len(disturbed) > 1


def test_a_history_opens_with_one_experiment_and_makes_one_line_of_those_that_are_chosen(ask: Ask) -> None:
    opened = Board(DOCUMENTS["history"], ask, full_range(ask))
    (experiment,) = opened.values["experiment"]
    assert experiment in opened.options["experiment"]
    chosen = Board(DOCUMENTS["history"], ask, full_range(ask), CHOSEN["history"])
    for answer in told(chosen, "How did $benchmark develop with $collector?"):
        assert {(name, len(points)) for name, _, points in series_of(answer)} == {
            ("low time", 4), ("point time", 4), ("high time", 4),
        }  # fmt: skip


Written = Callable[..., Ask]


@pytest.fixture
def made_of(influx_server: InfluxServer) -> Written:
    """Asks a database that has nothing but the given points."""

    def make(*points: Any) -> Ask:
        database = influx_server.new_database()
        influx_server.write(b"".join(encode(point) for point in points), database)
        return lambda text: [
            {"tags": {}, **one} for one in influx_server.query(text, database, READER, epoch="ms")
        ]

    return make


PLACE = ("nightly", "alpha", "x86", "apps/h2:small", "jdk-21", "g1", "none", "2x")
#: what variables are chosen from
RAN = make_point(INVOCATION, (*PLACE, "ok"), {"iteration_rows": 1}, time.time_ns())


def estimated(kind: str, ago_s: float, **fields: Any) -> Any:
    tags = (*PLACE, "elapsed")
    more = ("ratio", "", kind, "serial") if kind == "ratio" else ("ns", "", kind, "")
    common = {"level": 0.95, "theta_percent": 3.0, "better": "lower", "label": "apps/h2:small · jdk-21 g1"}
    return make_point(ESTIMATE, (*tags, *more), {**common, **fields}, time.time_ns() - int(ago_s * 1e9))


def test_a_name_with_characters_of_regular_expressions_is_chosen_alone(made_of: Written) -> None:
    programs = (("vm/compress:s10", "1.5x"), ("vm/compress:s1.", "1x5x"))
    fields = {"n": 5, "point": 1.0, "low": 0.9, "high": 1.1, "level": 0.95}
    ask = made_of(
        *(
            make_point(
                ESTIMATE,
                (*PLACE[:3], benchmark, *PLACE[4:7], heap, "elapsed", "ns", "", "mean", ""),
                fields,
                time.time_ns(),
            )
            for benchmark, heap in programs
        )
    )
    for benchmark, heap in programs:
        board = Board(DOCUMENTS["history"], ask, Range(0, 2**41), {"benchmark": benchmark, "heap": heap})
        assert (board.values["benchmark"], board.values["heap"]) == ((benchmark,), (heap,))
        (answer,) = told(board, "How did $benchmark develop with $collector?")
        assert [len(one["values"]) for _, series in answer.found for one in series] == [1]


def test_an_estimate_that_has_become_undefined_is_shown_so_and_alarms_nobody(made_of: Written) -> None:
    older = {"n": 5, "point": 1.2, "low": 1.1, "high": 1.3}
    newer = {"n": 6, "reason": "not steady"}
    known = made_of(RAN, *(estimated(kind, 3600, **older) for kind in ("ratio", "mean")))
    become = made_of(
        RAN,
        *(
            estimated(kind, ago, **fields)
            for kind in ("ratio", "mean")
            for ago, fields in ((3600, older), (60, newer))
        ),
    )
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-regression")
    query = rule["data"][0]["model"]["query"]
    assert known(query)
    assert become(query) == []
    for ask, n, ends in ((known, 5, {1.1, 1.2, 1.3}), (become, 6, {None})):
        board = Board(DOCUMENTS["experiment"], ask, Range(0, 2**41))
        for title in (
            "Which alternatives differ from the baseline, by how much?",
            "What was estimated, and how sure is it?",
        ):
            (answer,) = told(board, title)
            names, (row,) = frame_of(answer)
            shown_row = dict(zip(names, row, strict=True))
            assert shown_row["n"] == n
            assert shown_row["reason"] == (None if n == 5 else "not steady")
            middle = "ratio" if "ratio" in names else "mean time"
            sides = ("low", "high") if "low" in names else ("low time", "high time")
            assert {shown_row[name] for name in (middle, *sides)} == ends


def test_all_entries_of_a_primitive_are_shown_and_the_primitives_where_no_whole_is_known(
    made_of: Written,
) -> None:
    sources = Sources(ROOT, ROOT / "results")
    systems = tuple(sources.systems("emulated-aarch64"))
    traced = sources.application("apache-fastcgi")
    assert traced is not None
    for application, quantity in ((traced, "elapsed"), (replace(traced, user_time=None), "primitives")):
        found = forecast_of(Request((Asked(application),), systems))
        board = Board(
            DOCUMENTS["vectors"], made_of(*prediction_points(found, time.time_ns())), Range(0, 2**41)
        )
        (counts,) = told(board, "How often does $application use each primitive?")
        names, rows = frame_of(counts)
        (light,) = (row for row in rows if row[names.index("primitive")] == "null_call")
        own = [count.count.value for count in traced.counts if count.primitive == "null_call"]
        assert len(own) > 1
        assert light[names.index("count")] == pytest.approx(sum(own))
        (row,) = found.applications[0].systems
        (contributions,) = told(board, "Which primitive takes how much of $application?")
        shown_time = sum(one["values"][0][1] for _, series in contributions.found for one in series)
        assert shown_time == pytest.approx(row.prediction.time.value)
        (ranking,) = told(board, "How long will $application take on each system?")
        names, (total,) = frame_of(ranking)
        assert total[names.index("predicted")] == pytest.approx(row.elapsed.value)
        assert json.loads(total[names.index("quantity")]) == {"time": quantity}


def test_an_alarm_takes_both_sides_from_one_point(made_of: Written) -> None:
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-regression")
    narrow, wide = {"low": 1.04, "theta_percent": 3.0}, {"low": 1.04, "theta_percent": 5.0}
    for theta, alarmed in ((narrow, True), (wide, False)):
        ask = made_of(estimated("ratio", 60, n=5, point=1.06, high=1.08, **theta))
        (series,) = ask(rule["data"][0]["model"]["query"])
        assert (series["values"][0][1] > 1) is alarmed


def test_one_disturbed_invocation_among_a_hundred_quiet_ones_is_seen(made_of: Written) -> None:
    now_ns = time.time_ns()
    fields = ("steal_percent", "psi_io_percent", "swap_pages", "throttle_events")
    points = [
        make_point(
            HOST_STATE, ("demo", "alpha", "x86"), {**dict.fromkeys(fields, 40.0 * (n == 50)), "perturbed": n == 50},
            now_ns - n * 10**9,
        )
        for n in range(100)
    ]  # fmt: skip
    day = Range(now_ns // 10**6 - 86_400_000 * 7, now_ns // 10**6)
    board = Board(DOCUMENTS["host-health"], made_of(*points), day)
    for title in (
        "Does another guest take the processor away?", "Do tasks wait for something?", "Does it swap?", "Is it throttled?",
    ):  # fmt: skip
        (answer,) = told(board, title)
        values = [value for _, _, drawn in series_of(answer) for _, value in drawn if value is not None]
        assert max(values) == 40.0, title


def test_what_was_killed_runs_no_more_once_its_last_report_is_out_of_the_shown_time(made_of: Written) -> None:
    day_ms, now_ms = 86_400_000, time.time_ns() // 10**6
    reported = {"text": "", "planned": 10, "recorded": 5, "failed": 0, "perturbed": 0, "remaining_s": 60.0}
    ask = made_of(make_point(EVENT, ("demo", "alpha", "progress"), reported, (now_ms - 2 * day_ms) * 10**6))
    for days, rows in ((3, 1), (1, 0)):
        board = Board(DOCUMENTS["fleet-now"], ask, Range(now_ms - days * day_ms, now_ms))
        (answer,) = told(board, "What runs where, and when is it done?")
        assert answer.rows == rows
