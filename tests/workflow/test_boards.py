"""Every query of every panel, variable, annotation and alert, asked of a real InfluxDB as Grafana asks it, returns rows.

Run with `-s` it prints how many. Grafana itself is not here: NOT TESTED is how it draws them.
"""

from __future__ import annotations

import html
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dashboards.asking import ALL, Answer, Ask, Board, Range, full_range
from dashboards.frames import frame_of, series_of
from dashboards.pieces import MODE_COLOURS
from dashboards.preview import bar_texts, page

from helpers.board_experiments import write_board_experiments
from helpers.boards import ALERTS, DOCUMENTS, rows_of_panel, told
from helpers.chat_experiment import CONNECTIONS, PLATFORM_RATE
from helpers.experiments.small_experiments import SmallExperiment
from helpers.influx_server import READER, InfluxServer
from helpers.opened_pages import (
    BROWSER,
    PREVIEW_DRAWN,
    needs_browser,
    overlaps,
    serious_findings,
    show,
    wait_until,
)
from helpers.served_experiment import as_home, write_served_experiment
from regatta.cli.history import history
from regatta.cli.ingest import ingest
from regatta.figures.browser import Browser
from regatta.models.cli.predict import predict

NIGHTS = tuple(f"nightly-{n}" for n in range(1, 5))
#: what a stranger would choose
CHOSEN: dict[str, dict[str, str | tuple[str, ...]]] = {
    "experiment": {"experiment": "collectors"},
    "compare-runtimes": {"experiment": "twice"},
    "compare-platforms": {"experiment": "platforms"},
    "collectors": {"experiment": "collectors"},
    "chat": {"runtime": "temurin-21"},
    "history": {"experiment": NIGHTS},
    "host-health": {"collector": "g1"},
}
#: where there are two of each thing, and what is drawn beside
TWICE: dict[str, dict[str, str]] = {
    "experiment": {"experiment": "twice"},
    "compare-runtimes": {"experiment": "twice"},
    "compare-platforms": {"experiment": "twice"},
    "collectors": {"experiment": "twice"},
    "host-health": {"experiment": "twice"},
    "vectors": {"experiment": "vectors"},
    "chat": {"experiment": "nightly-chat"},
}
#: Of the experiment that was really measured here (two programs without a heap, in an A/A test) these boards must show something.
REAL = {
    "fleet-now": {
        "What happened last on each host?",  # no workflow ran
        "Did invocations fail?", "Did steps of workflows fail?", "Which steps failed, and why?",
    },
    "experiment": {
        "Which alternatives differ from the baseline, by how much?", "Which invocations were excluded, and why?",
        "Which alternatives lead over a suite?",
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
            for more in ((), ("--verify",)):
                done = CliRunner().invoke(ingest, [str(path), *more], catch_exceptions=False)
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
            assert "history written to " in done.output

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


def unit_of(panel: dict[str, Any], column: str) -> str | None:
    """The unit of a column of its own."""
    own = [each for each in panel["fieldConfig"]["overrides"] if each["matcher"]["options"] == column]
    return next((one["value"] for each in own for one in each["properties"] if one["id"] == "unit"), None)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_panel_and_variable_of_a_board_gets_rows(ask: Ask, name: str) -> None:
    board = Board(DOCUMENTS[name], ask, full_range(ask), CHOSEN.get(name))
    # `only_runtime` has a value if there is one runtime.
    empty = {variable for variable, options in board.options.items() if not options}
    assert {variable for variable in empty if not variable.startswith("only_")} == set()
    assert [title for title, rows in shown(board) if not rows] == []
    for answer in board.panels():
        if answer.panel["type"] == "table":
            names, rows = frame_of(answer)
            texts = {
                name for row in rows for name, value in zip(names, row, strict=True) if isinstance(value, str)
            }
            assert {name for name in texts if unit_of(answer.panel, name) != "string"} == set(), board.title(
                answer
            )


@pytest.mark.parametrize("name", REAL)
def test_what_was_really_measured_is_shown(ask: Ask, name: str) -> None:
    board = Board(DOCUMENTS[name], ask, full_range(ask), {"experiment": "really", "host": "local"})
    assert {title for title, rows in shown(board) if not rows} <= REAL[name]


def test_a_preview_shows_the_titles_of_all_panels_with_what_was_chosen_and_says_what_it_is_not(
    ask: Ask,
) -> None:
    when = full_range(ask)
    boards = [Board(one, ask, when, {"experiment": "collectors"}) for one in DOCUMENTS.values()]
    shown_page = page(boards, when)
    assert "Not Grafana" in shown_page
    for title in (
        "How long does apps/ecj:small take at each heap on alpha?",
        "How certain is the time with each collector and heap?",
    ):
        assert f"<h3>{title}</h3>" in shown_page
    for document in DOCUMENTS.values():
        for heading in (panel for panel in document["panels"] if panel["type"] == "row"):
            assert f">{html.escape(heading['title'])}</h2>" in shown_page
    # A variable that the board has not would be left as it is.
    assert not [line for line in shown_page.split("<h3>")[1:] if "$" in line.split("</h3>")[0]]


def test_shifts_of_a_history_are_drawn_once_where_they_began(ask: Ask) -> None:
    board = Board(DOCUMENTS["history"], ask, full_range(ask), CHOSEN["history"])
    (events,) = board.annotations()
    rows = [dict(zip(events["columns"], row, strict=True)) for row in events["values"]]
    assert len(rows) == 2
    (began,) = {row["time"] for row in rows}
    (first,) = ask("SELECT first(started_utc_ns) FROM invocation WHERE experiment = 'nightly-3'")
    assert began == first["values"][0][1] // 10**6
    assert all("slower than before" in row["text"] for row in rows)
    listed = rows_of_panel(board, "What has changed?")
    assert {row["text"] for row in listed} == {row["text"] for row in rows}
    assert all(1 < row["low"] < row["ratio"] < row["high"] for row in listed)
    # Lines of one collector have its shift alone.
    alone = Board(DOCUMENTS["history"], ask, full_range(ask), {**CHOSEN["history"], "collector": "g1"})
    (events,) = alone.annotations()
    assert len(events["values"]) == 1


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


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_query_of_a_variable_is_answered_with_one_column(ask: Ask, name: str) -> None:
    board = Board(DOCUMENTS[name], ask, full_range(ask), CHOSEN.get(name))
    for one in DOCUMENTS[name]["templating"]["list"]:
        if one["type"] == "query":
            for series in board.answer(one["query"]):
                assert series["columns"][0] in {"time", "key"}
                assert len(series["columns"]) == 2, one["name"]


def test_the_newest_experiment_is_chosen_first(ask: Ask) -> None:
    newest = {
        one["tags"]["experiment"]: one["values"][0][0]
        for one in ask('SELECT last("iteration_rows") FROM "invocation" GROUP BY "experiment"')
    }
    by_age = sorted(newest, key=lambda name: -newest[name])
    chats, systems = ({name for name in newest if part in name} for part in ("chat", "vectors"))
    with_kind = {
        name: {
            one["tags"]["experiment"]
            for one in ask(f"SELECT last(n) FROM estimate WHERE kind = '{kind}' GROUP BY experiment")
        }
        for name, kind in (
            ("collectors", "overhead"),
            ("compare-runtimes", "runtime"),
            ("compare-platforms", "platform"),
        )
    }
    shown_by = {"chat": chats, "vectors": systems, **with_kind}
    for name, document in DOCUMENTS.items():
        board = Board(document, ask, full_range(ask))
        expected = [one for one in by_age if one in shown_by.get(name, newest)]
        assert board.options["experiment"] == expected, name
        assert board.values["experiment"] in {(expected[0],), ALL}


# What a board must not hide


_VERDICT = re.compile(r' WHERE "significant" (?:=|<>) \'yes\'')
_NEWEST = re.compile(r'last\("n"\).* FROM "(estimate|vector)" WHERE (.*?) GROUP BY')


@pytest.mark.parametrize("name", TWICE)
def test_no_two_estimates_share_a_row(ask: Ask, name: str) -> None:
    asked: dict[str, dict[str, int]] = {}

    def heard(text: str) -> list[Mapping[str, Any]]:
        found = ask(text)
        # Bars ask for ratios of each verdict alone: together they are all.
        parts = _VERDICT.split(text)
        key = parts[0][parts[0].index("FROM (") :] if len(parts) > 1 else text
        asked.setdefault(key, {})[text] = sum(len(one["values"]) for one in found)
        return found

    list(Board(DOCUMENTS[name], heard, full_range(ask), TWICE[name]).panels())
    compared = 0
    for text, parts in asked.items():
        rows = sum(parts.values())
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


def test_the_parts_of_a_stacked_bar_end_where_its_interval_ends(ask: Ask) -> None:
    board = Board(DOCUMENTS["experiment"], ask, full_range(ask), CHOSEN["experiment"])
    rows = rows_of_panel(board, "$benchmark_ratio: how far from the baseline is each alternative on $host?")
    undefined = [row for row in rows if row["low"] is None]
    assert all(row["higher, certain"] is row["lower, possible"] is None for row in undefined)
    assert all(row["without interval"] == (row["difference"] or 0) for row in undefined)
    rows = [row for row in rows if row["low"] is not None]
    assert {row["without interval"] for row in rows} == {0}
    assert any(row["low"] > 0 for row in rows)
    assert any(row["high"] < 0 for row in rows)
    for row in rows:
        certain, possible = (row[f"higher, {part}"] for part in ("certain", "possible"))
        below, perhaps_below = (row[f"lower, {part}"] for part in ("certain", "possible"))
        assert certain == pytest.approx(max(row["low"], 0))
        assert certain + possible == pytest.approx(max(row["high"], 0))
        assert below == pytest.approx(min(row["high"], 0))
        assert below + perhaps_below == pytest.approx(min(row["low"], 0))
    means = rows_of_panel(board, "$benchmark_mean: what is the mean $metric of each configuration on $host?")
    assert means
    for row in (row for row in means if row["low time"] is not None):
        assert row["base time"] == row["low time"]
        assert row["base time"] + row["low to mean time"] == pytest.approx(row["mean time"])
        assert row["mean time"] + row["mean to high time"] == pytest.approx(row["high time"])


def test_runtimes_are_shown_relative_to_the_first_one_though_the_baseline_is_a_collector(ask: Ask) -> None:
    board = Board(DOCUMENTS["compare-runtimes"], ask, full_range(ask), CHOSEN["compare-runtimes"])
    assert board.options["baseline"] == ["jdk-17"]
    rows = rows_of_panel(board, "How far is each runtime from $baseline, on which benchmark?")
    intervals = rows_of_panel(board, "$benchmark_runtime: how certain are the differences from $baseline?")
    assert [row["benchmark"] for row in rows] == ["apps/ecj:small", "apps/h2:small"]
    assert [row["runtime"] for row in intervals] == ["jdk-21", "jdk-21"]
    for row, interval in zip(rows, intervals, strict=True):
        assert row["jdk-21"] == interval["difference"]
        assert interval["low"] < interval["difference"] < interval["high"]
        assert "jdk-17" not in row
    table = rows_of_panel(board, "Which alternatives differ from the baseline, by how much?")
    # Two benchmarks, hosts, heaps, collectors and sets of modifiers.
    assert len(table) == 2**5
    assert {row["baseline"] for row in table} == {"jdk-17"}


def test_platforms_are_ranked_over_all_benchmarks_and_compared_on_each(ask: Ask) -> None:
    board = Board(DOCUMENTS["compare-platforms"], ask, full_range(ask), CHOSEN["compare-platforms"])
    assert (board.options["baseline"], board.options["alternative"]) == (["x86"], ["arm"])
    truth = (1.3 * 1.4 / 0.8) ** 0.5 - 1
    rows = rows_of_panel(board, "$alternative: how far from the baseline on each benchmark?")
    assert [row["benchmark"] for row in rows] == ["apps/ecj:small", "apps/h2:small", "apps/xalan:small"]
    base, mean = rows_of_panel(board, "How far is each from the baseline, over all benchmarks?")
    assert (base["alternative"], base["difference"], base["low"]) == ("x86", 0, None)
    for row in (*rows, mean):
        assert row["low"] < row["difference"] < row["high"]
        assert row["difference"] == pytest.approx(truth, abs=0.03)
    ranking = rows_of_panel(board, "What is the ranking, and for which benchmarks and hosts does it hold?")
    first, *others = sorted(ranking, key=lambda row: row["rank"])
    assert (first["rank"], first["compared"], first["reason"]) == (1, "x86", "baseline")
    statements = {row["holds for"]: row for row in others}
    assert set(statements) == {"these benchmarks and hosts", "similar benchmarks", "similar hosts"}
    assert {(row["rank"], row["compared"]) for row in others} == {(2, "arm")}
    assert statements["these benchmarks and hosts"]["low"] - 1 == pytest.approx(mean["low"])
    assert statements["similar hosts"]["low"] < 1 < statements["these benchmarks and hosts"]["low"]
    ratios = rows_of_panel(board, "What is the ratio in every configuration?")
    assert len(ratios) == 4 * (3 * 2 + 3 + 1)
    leading = rows_of_panel(board, "Which platforms or hosts lead, over all benchmarks and on each?")
    assert [(row["benchmark"], row["rank"], row["compared"], row["leader"]) for row in leading] == [
        (benchmark, *row)
        for benchmark in ("none", "apps/ecj:small", "apps/h2:small", "apps/xalan:small")
        for row in ((1, "x86", "yes"), (2, "arm", "no"))
    ]
    assert {row["reason"] for row in leading[::2]} == {"best"}
    assert all(1 < row["low"] < row["ratio"] < row["high"] for row in leading[1::2])
    pairs = rows_of_panel(board, "Which pairs differ?")
    assert [row["benchmark"] for row in pairs] == [row["benchmark"] for row in leading[::2]]
    hosts = rows_of_panel(board, "$benchmark_mean: how much do the hosts differ?")
    assert sorted(row["host"] for row in hosts) == sorted(["altra", "graviton", "ryzen", "xeon"] * 3)


def test_alternatives_are_ranked_over_a_suite(ask: Ask) -> None:
    board = Board(DOCUMENTS["experiment"], ask, full_range(ask), CHOSEN["experiment"])
    rows = rows_of_panel(board, "Which alternatives lead over a suite?")
    assert rows
    for heap in {row["heap"] for row in rows}:
        of_heap = sorted((row for row in rows if row["heap"] == heap), key=lambda row: row["rank"])
        assert [row["rank"] for row in of_heap] == list(range(1, len(of_heap) + 1))
        assert (of_heap[0]["suite"], of_heap[0]["leader"], of_heap[0]["reason"]) == ("apps", "yes", "best")
        assert {row["leader"] for row in of_heap if row["low"] is not None and row["low"] > 1} == {"no"}


def test_the_times_of_measurement_of_platforms_are_shown_with_their_drift(ask: Ask) -> None:
    board = Board(DOCUMENTS["compare-platforms"], ask, full_range(ask), CHOSEN["compare-platforms"])
    rows = rows_of_panel(board, "When was each measured, and did its values change meanwhile?")
    assert [row["measured on"] for row in rows] == ["arm", "x86"]
    (started,) = ask(
        "SELECT min(started_utc_ns), max(started_utc_ns) FROM invocation WHERE experiment = 'platforms'"
    )
    _, first_ns, last_ns = started["values"][0]
    assert round(min(row["begun"] for row in rows)) == round(first_ns / 10**6)
    assert round(max(row["newest"] for row in rows)) == round(last_ns / 10**6)
    bars = rows_of_panel(board, "How far did the values drift?")
    for row, bar in zip(rows, bars, strict=True):
        assert (row["drift"], row["low"], row["high"]) == (bar["difference"], bar["low"], bar["high"])
        assert row["low"] < 0 < row["high"]


def test_an_experiment_that_compares_no_platforms_says_so_instead_of_empty_panels(ask: Ask) -> None:
    when = full_range(ask)
    board = Board(DOCUMENTS["compare-platforms"], ask, when, {"experiment": "collectors"})
    assert board.values["experiment"] == ("collectors",)
    answers = list(board.panels())
    assert not any(answer.rows for answer in answers)
    shown_page = page([board], when)
    assert shown_page.count(">no platforms compared in ") == len(answers)


#: the texts of a preview
TEXTS = "h1, h2, h3, main > p, .stat, .empty, td, th, .plotly-graph-div svg text"
#: panels, and their texts that end beyond the panel or the drawing
CUT = """[...document.querySelectorAll(".panel")].flatMap(panel => {
  const outside = (one, of) => {
    const [a, b] = [one.getBoundingClientRect(), of.getBoundingClientRect()];
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
  };
  const cut = [...panel.querySelectorAll("h3, .empty, .stat, .rows")].filter(one => outside(one, panel));
  const drawn = [...panel.querySelectorAll("svg text")].filter(one => outside(one, one.closest(".plotly-graph-div")));
  return [...cut, ...drawn, ...(panel.scrollWidth > panel.clientWidth ? [panel] : [])]
    .filter(one => one.textContent.trim())
    .map(one => [panel.querySelector("h3").textContent, one.textContent.slice(0, 60)]);
})"""
#: panels that show nothing, and do not say why
NOTHING = """[...document.querySelectorAll(".panel")].filter(panel =>
  !panel.querySelector("tr + tr, .barlayer path, .scatterlayer path.point, .scatterlayer path.js-line")
  && (panel.querySelector(".empty, .stat")?.textContent.trim().length || 0) < 1
).map(panel => panel.querySelector("h3").textContent)"""


@needs_browser
def test_a_preview_overlaps_nowhere_cuts_no_text_and_leaves_nothing_empty_at_two_widths_in_both_schemes(
    ask: Ask, tmp_path: Path
) -> None:
    when, file = full_range(ask), tmp_path / "boards.html"
    boards = [Board(one, ask, when, CHOSEN.get(name)) for name, one in DOCUMENTS.items()]
    file.write_text(page(boards, when), encoding="utf-8")
    with Browser(BROWSER) as browser:
        browser.call("Page.enable")
        for width in (1280, 1920):
            show(browser, width=width)
            # Drawings keep the width that they are drawn with.
            browser.call("Page.navigate", url="about:blank")
            browser.call("Page.navigate", url=file.as_uri())
            wait_until(browser, PREVIEW_DRAWN)
            for scheme in ("dark", "light"):
                show(browser, scheme, width)
                assert overlaps(browser, TEXTS) == [], (width, scheme)
                assert browser.evaluate(CUT) == [], (width, scheme)
                assert browser.evaluate(NOTHING) == [], (width, scheme)
            assert browser.evaluate("document.documentElement.scrollWidth") == width
            # Both rankings and the times of platforms fit; the details may scroll on a narrow screen.
            scrolled = (
                "[...document.querySelectorAll('#compare-platforms ~ .grid')][0].querySelectorAll('.rows')"
            )
            cut = browser.evaluate(f"[...{scrolled}].map(one => one.scrollWidth > one.clientWidth)")
            assert cut == [False] * 3 + [width < 1600] * 2
        # The rows of a table are alike.
        browser.evaluate("document.querySelectorAll('tr:nth-child(n + 3)').forEach(row => row.remove())")
        for scheme in ("dark", "light"):
            show(browser, scheme)
            assert serious_findings(browser) == [], scheme


def test_chat_is_drawn_over_the_number_of_connections_with_the_ends_of_intervals(ask: Ask) -> None:
    board = Board(DOCUMENTS["chat"], ask, full_range(ask), CHOSEN["chat"])
    assert board.options["program"] == ["chat/chat:short"]
    assert board.options["choices"] == ["", " window=9"]
    modes = [f"{mode} mode" for mode in MODE_COLOURS]
    for title in (
        "How long does a message take, at the 99th percentile?", "How many messages does the server deliver?",
        "How much processor time does a message cost?",
    ):  # fmt: skip
        rows = rows_of_panel(board, title)
        assert [2 ** row["log2"] for row in rows] == pytest.approx(CONNECTIONS)
        for row in rows:
            assert set(row) == {
                "log2",
                *(f"{mode}{end}" for mode in modes for end in ("", " low", " high")),
            }
            assert all(row[f"{mode} low"] < row[mode] < row[f"{mode} high"] for mode in modes)
    rows = rows_of_panel(board, "How long does a message take, at the 99th percentile?")
    assert 10 ** rows[0]["platform mode"] == pytest.approx(4 * 20 * 1e3 / PLATFORM_RATE, rel=0.05)
    # Each further choice is drawn alone: a line has one value per number of connections.
    board = Board(DOCUMENTS["chat"], ask, full_range(ask), {**CHOSEN["chat"], "choices": " window=9"})
    faster = rows_of_panel(board, "How long does a message take, at the 99th percentile?")
    assert 10 ** (rows[0]["platform mode"] - faster[0]["platform mode"]) == pytest.approx(2, rel=0.05)


def test_time_is_drawn_over_the_size_of_the_heap_with_the_ends_of_intervals(ask: Ask) -> None:
    board = Board(DOCUMENTS["collectors"], ask, full_range(ask), CHOSEN["collectors"])
    rows = rows_of_panel(board, "How long does $benchmark take at each heap on $host?")
    assert [row["MiB"] for row in rows] == [48, 96]
    for row in rows:
        for collector in ("serial", "parallel", "g1", "z"):
            assert row[f"{collector} low"] < row[collector] < row[f"{collector} high"]
    assert set(rows[0]) == {
        "MiB",
        *(f"{one}{end}" for one in ("serial", "parallel", "g1", "z") for end in ("", " low", " high")),
    }
    means = ask(
        "SELECT last(n), point FROM estimate WHERE experiment = 'collectors' AND metric = 'elapsed' AND kind = 'mean' AND benchmark = 'apps/ecj:small'"
        " AND host = 'alpha' AND heap = '1.5x' AND collector = 'g1'"
    )
    assert rows[0]["g1"] == pytest.approx(means[0]["values"][0][2] / 1e6)


def test_bars_are_in_natural_order_and_named_by_what_differs(ask: Ask) -> None:
    board = Board(DOCUMENTS["experiment"], ask, full_range(ask), CHOSEN["experiment"])
    (answer, *_) = told(board, "$benchmark_mean: what is the mean $metric of each configuration on $host?")
    assert bar_texts(frame_of(answer), answer.panel) == [
        f"{collector} {heap}" for heap in ("1.5x", "3x") for collector in ("g1", "parallel", "serial", "z")
    ]
    board = Board(DOCUMENTS["vectors"], ask, full_range(ask))
    texts = [
        row["label"]
        for row in rows_of_panel(board, "$primitive: how does the time depend on its parameters?")
    ]
    assert texts[:2] == ["processes 2", "processes 8"]
    assert board.options["curve"] == ["lat_ctx"]
    curve = rows_of_panel(board, "$curve: how does the time depend on the size?")
    assert [row["log2"] for row in curve] == [1, 3]
    assert all(row["alpha"] == row["beta"] > 900 for row in curve)
    board = Board(DOCUMENTS["chat"], ask, full_range(ask), CHOSEN["chat"])
    (answer,) = told(board, "How long does a message take?")
    connections = [int(text.split()[0]) for text in bar_texts(frame_of(answer), answer.panel)]
    assert connections == sorted(connections)
    assert len(set(connections)) == 3


def test_links_lead_to_the_time_in_which_an_experiment_was_measured(ask: Ask) -> None:
    board = Board(DOCUMENTS["experiment"], ask, full_range(ask), CHOSEN["experiment"])
    started = [
        row[1] // 10**6
        for one in ask("SELECT started_utc_ns FROM invocation WHERE experiment = 'collectors'")
        for row in one["values"]
    ]
    ((begun,), (ended,)) = board.values["begun"], board.values["ended"]
    assert (float(begun), float(ended)) == (min(started) - 60_000, max(started) + 60_000)
    board = Board(DOCUMENTS["fleet-now"], ask, full_range(ask), {"experiment": "collectors"})
    rows = rows_of_panel(board, "What runs where, and when is it done?")
    assert {row["begun"] for row in rows} == {min(started)}
    assert max(row["newest"] for row in rows) == max(started)
    assert {row["done"] for row in rows} == {(90 - 2) / 108}


def test_a_host_has_one_row_with_its_share_of_perturbed_invocations(ask: Ask) -> None:
    board = Board(DOCUMENTS["fleet-now"], ask, full_range(ask), {"experiment": "collectors"})
    rows = rows_of_panel(board, "Which hosts are disturbed?")
    assert [row["host"] for row in rows] == ["alpha", "beta"]
    for row in rows:
        assert row["share perturbed"] == row["perturbed"] / row["invocations"] > 0
    (whole,) = rows_of_panel(board, "What share was perturbed?")
    assert whole["share perturbed"] == sum(r["perturbed"] for r in rows) / sum(r["invocations"] for r in rows)


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
    answers = told(board, "$benchmark: did anything change while it ran?")
    drawn = [one for answer in answers for one in series_of(answer)]
    assert {value for _, _, points in drawn for _, value in points} <= elapsed
    assert sum(name.startswith("perturbed: ") for name, _, _ in drawn) == len(disturbed) > 1


def test_a_history_opens_with_one_experiment_and_makes_one_line_of_those_that_are_chosen(ask: Ask) -> None:
    opened = Board(DOCUMENTS["history"], ask, full_range(ask))
    (experiment,) = opened.values["experiment"]
    assert experiment in opened.options["experiment"]
    chosen = Board(DOCUMENTS["history"], ask, full_range(ask), CHOSEN["history"])
    for answer in told(chosen, "$benchmark, $collector collector: how did it develop?"):
        assert {(name, len(points)) for name, _, points in series_of(answer)} == {
            ("low time", 4), ("point time", 4), ("high time", 4),
        }  # fmt: skip
