"""What every board must be, whatever it shows."""

from __future__ import annotations

import json
import re
from itertools import combinations

import pytest
from dashboards.asking import ALL, Range, interpolated
from dashboards.boards import documents, files
from dashboards.influxql import FAILED
from grafana_foundation_sdk.models.dashboard import Dashboard
from ruamel.yaml import YAML

from helpers.boards import ROOT
from regatta.host.journal.record_shape import STATUSES
from regatta.influx.points import TAGS
from regatta.store.events import FAILED as FAILURES_OF_EVENTS

BOARDS = {board["uid"]: board for board in documents()}
PANELS = [(uid, panel) for uid, board in BOARDS.items() for panel in board["panels"]]
NAMES = [f"{uid}: {panel['title']}" for uid, panel in PANELS]
#: panels and transformations that Grafana 9.3 has
PANELS_OF_9_3 = {
    "barchart", "bargauge", "histogram", "heatmap", "stat", "state-timeline", "status-history", "table", "text", "timeseries",
}  # fmt: skip
TRANSFORMATIONS_OF_9_3 = {"organize", "merge", "labelsToFields", "reduce", "sortBy", "renameByRegex"}
#: properties of fields by which boards of Grafana 9.3 may override
PROPERTIES_OF_9_3 = {
    "unit", "decimals", "min", "max", "noValue", "links", "mappings", "thresholds", "color", "custom.displayMode",
    "custom.width", "custom.lineWidth", "custom.fillOpacity", "custom.fillBelowTo", "custom.showPoints", "custom.pointSize",
}  # fmt: skip
#: a use of a variable in a query
VARIABLE = re.compile(r"\$\{?(\w+)")
VARIABLES = {"experiment", "platform", "runtime", "collector", "benchmark", "heap"}
ALERTS = YAML(typ="safe").load(
    (ROOT / "dashboards" / "provisioning" / "alerting" / "regatta.yml").read_text()
)["groups"][0]["rules"]

panels = pytest.mark.parametrize(("uid", "panel"), PANELS, ids=NAMES)
boards = pytest.mark.parametrize("board", BOARDS.values(), ids=list(BOARDS))


def variables(board):
    return [one for one in board["templating"]["list"] if one["type"] == "query"]


def test_the_json_in_the_repository_is_what_the_code_makes():
    made = files()
    assert set((ROOT / "dashboards" / "json").iterdir()) == set(made)
    assert [path.name for path, text in made.items() if path.read_text(encoding="utf-8") != text] == []


def test_there_are_the_boards_that_others_link_to():
    names = (
        "fleet-now",
        "experiment",
        "compare-runtimes",
        "collectors",
        "vectors",
        "chat",
        "host-health",
        "history",
    )
    assert set(BOARDS) == {f"regatta-{name}" for name in names}


def test_all_boards_together_have_the_variables_that_people_choose_by():
    assert {one["name"] for board in BOARDS.values() for one in variables(board)} >= VARIABLES


@boards
def test_a_board_is_read_by_the_sdk_and_written_the_same(board):
    again = json.loads(json.dumps(board))
    Dashboard.from_json(again)
    # A schema of Grafana 9.3 or older: a newer Grafana migrates it, an older one could not.
    assert board["schemaVersion"] <= 37
    assert "id" not in board


@boards
def test_panels_have_numbers_of_their_own_and_lie_beside_each_other(board):
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers)
    places = [panel["gridPos"] for panel in board["panels"]]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for a, b in combinations(places, 2):
        beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
        assert beside or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]


@boards
def test_a_panel_that_is_repeated_has_its_row_for_itself(board):
    for panel in board["panels"]:
        if "repeat" in panel:
            assert panel["gridPos"]["w"] == 24
            assert panel["repeat"] in {one["name"] for one in variables(board) if one["multi"]}


@boards
def test_a_board_leads_to_the_others_in_the_same_time(board):
    paths = [link["url"].partition("?")[0] for link in board["links"]]
    assert sorted([*paths, f"/d/{board['uid']}"]) == sorted(f"/d/{uid}" for uid in BOARDS)
    assert all(link["type"] == "link" and link["keepTime"] for link in board["links"])
    assert "regatta" in board["tags"]


@boards
def test_a_link_takes_an_experiment_along_where_one_is_chosen_and_nothing_that_may_be_all(board):
    (experiment,) = (one for one in variables(board) if one["name"] == "experiment")
    for link in board["links"]:
        assert not link["includeVars"]
        assert set(re.findall(r"var-([\w-]+)", link["url"])) <= (
            set() if experiment["multi"] else {"experiment"}
        )


@boards
def test_a_variable_depends_on_those_before_it_alone(board):
    known = {"datasource"}
    for one in variables(board):
        assert set(VARIABLE.findall(one["query"])) <= known
        known.add(one["name"])
        assert one["includeAll"] == bool(one.get("allValue"))


@panels
def test_a_panel_asks_a_question_and_says_how_to_read_it_and_what_to_do_when_it_is_empty(uid, panel):
    assert panel["title"].endswith("?")
    if panel["type"] == "text":
        return
    defaults = panel["fieldConfig"]["defaults"]
    _, _, empty = panel["description"].rpartition("\n\nEmpty? ")
    assert len(empty) > 3
    assert defaults.get("noValue", empty) == empty
    assert defaults["unit"]


@panels
def test_the_text_for_no_value_is_in_no_gauge_and_on_no_logarithmic_axis(uid, panel):
    defaults = panel["fieldConfig"]["defaults"]
    overrides = [
        {one["id"]: one["value"] for one in each["properties"]} for each in panel["fieldConfig"]["overrides"]
    ]
    scales = [defaults["custom"].get("scaleDistribution", {})] if "custom" in defaults else []
    scales += [each["custom.scaleDistribution"] for each in overrides if "custom.scaleDistribution" in each]
    logarithmic = any(scale.get("type") == "log" for scale in scales)
    assert ("noValue" in defaults) == (not logarithmic and panel["type"] not in {"bargauge", "gauge", "text"})
    for each in overrides:
        if "gauge" in each.get("custom.displayMode", ""):
            assert each["noValue"] == "–"


@boards
def test_no_two_variables_share_an_id(board):
    ids = [one["id"] for one in board["templating"]["list"] if "id" in one]
    assert len(set(ids)) == len(ids)


@boards
def test_a_variable_stands_escaped_in_a_regular_expression(board):
    queries = [one["query"] for one in variables(board)]
    queries += [target["query"] for panel in board["panels"] for target in panel.get("targets", ())]
    queries += [one["query"] for one in board["annotations"].get("list", ())]
    within = [text for query in queries for text in re.findall(r"[=!]~ (/(?:\\.|[^/\\])*/)", query)]
    assert within
    for text in within:
        used = VARIABLE.findall(text)
        assert used == re.findall(r"\$\{(\w+):regex\}", text)


@panels
def test_a_panel_has_nothing_that_grafana_9_3_has_not(uid, panel):
    assert panel["type"] in PANELS_OF_9_3
    assert {step["id"] for step in panel["transformations"]} <= TRANSFORMATIONS_OF_9_3
    assert {
        one["id"] for each in panel["fieldConfig"]["overrides"] for one in each["properties"]
    } <= PROPERTIES_OF_9_3
    assert {each["matcher"]["id"] for each in panel["fieldConfig"]["overrides"]} <= {
        "byName",
        "byRegexp",
        "byType",
    }


@panels
def test_a_query_is_influxql_and_asks_for_what_is_chosen(uid, panel):
    letters = [target["refId"] for target in panel.get("targets", ())]
    assert len(set(letters)) == len(letters)
    known = {one["name"] for one in BOARDS[uid]["templating"]["list"]} | {"timeFilter", "__interval"}
    for target in panel.get("targets", ()):
        assert target["datasource"] == {"type": "influxdb", "uid": "${datasource}"}
        assert target["rawQuery"]
        assert target["query"].startswith("SELECT ")
        used = set(VARIABLE.findall(target["query"]))
        assert "experiment" in used
        assert used <= known
        for name in used - {"timeFilter", "__interval", "mode"}:
            assert f'"{name}" =~ /^${{{name}:regex}}$/' in target["query"]


@panels
def test_what_is_drawn_over_time_is_asked_for_in_the_time_that_is_shown(uid, panel):
    for target in panel.get("targets", ()):
        if panel["type"] == "timeseries":
            assert "$timeFilter" in target["query"]
            assert target["resultFormat"] == "time_series"
            assert target["alias"]


def test_values_are_put_into_queries_as_grafana_does():
    when = Range(1000, 2000)
    where = '"benchmark" =~ /^${benchmark:regex}$/ AND $timeFilter GROUP BY time($__interval), "$other"'
    put = interpolated(where, {"benchmark": ("a/b:c d=1.5", "x+y")}, when, {})
    assert put == (
        r'"benchmark" =~ /^(a\/b:c d=1\.5|x\+y)$/ AND time >= 1000ms and time <= 2000ms GROUP BY time(10ms), "$other"'
    )
    assert interpolated("/^${heap:regex}$/", {"heap": ALL}, when, {"heap": ".*"}) == "/^.*$/"
    # As it is, where nothing says how: so do versions before 10.
    assert interpolated("/^$heap$/", {"heap": ("a/b",)}, when, {}) == "/^a/b$/"


def test_a_history_is_drawn_with_the_shifts_that_were_found():
    (drawn,) = BOARDS["regatta-history"]["annotations"]["list"]
    assert "'shift'" in drawn["target"]["query"]
    # Where the query stands differs between versions.
    assert drawn["target"]["query"] == drawn["query"]
    assert drawn["textColumn"] == drawn["target"]["textColumn"] == "text"


@pytest.mark.parametrize("rule", ALERTS, ids=[rule["uid"] for rule in ALERTS])
def test_a_rule_says_what_to_do_and_reduces_what_it_asks(rule):
    assert rule["uid"].startswith("regatta-")
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]
    steps = {step["refId"]: step for step in rule["data"]}
    assert list(steps) == [step["model"]["refId"] for step in rule["data"]]
    assert steps[rule["condition"]]["model"]["type"] == "math"
    for step in rule["data"]:
        if step["datasourceUid"] != "__expr__":
            assert step["datasourceUid"] == "regatta-influxdb"
            assert step["relativeTimeRange"]["from"] > 0
        if step["model"].get("type") == "math":
            used = re.findall(r"\$(\w*)", step["model"]["expression"])
            assert used
            assert {steps[name]["model"].get("type") for name in used} == {"reduce"}


def test_boards_alerts_and_events_call_the_same_a_failure():
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-failures")
    (asked,) = (step["model"]["query"] for step in rule["data"] if "query" in step["model"])
    for text in (FAILED, asked):
        pattern = re.search(r'"status" =~ /(.*?)/', text)[1]
        assert [status for status in STATUSES if re.search(pattern, status)] == [
            status for status in STATUSES if status in FAILURES_OF_EVENTS
        ]


@pytest.mark.parametrize(
    ("disturbed", "recorded", "alarmed"),
    [(1, 4, False), (5, 19, False), (5, 20, True), (4, 20, False), (30, 100, True)],
)
def test_a_host_is_not_called_unquiet_for_one_of_a_few(disturbed, recorded, alarmed):
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-perturbed")
    steps = {step["refId"]: step["model"] for step in rule["data"]}
    text = steps[rule["condition"]]["expression"].replace("$", "").replace("&&", "and")
    assert bool(eval(text, {"C": disturbed, "D": recorded})) is alarmed


@pytest.mark.parametrize("rule", ALERTS, ids=[rule["uid"] for rule in ALERTS])
def test_a_rule_looks_back_for_a_day_as_points_may_come_hours_after_they_were_measured(rule):
    for step in rule["data"]:
        if step["datasourceUid"] != "__expr__":
            (days,) = re.findall(r"time > now\(\) - (\d+)d", step["model"]["query"])
            assert step["relativeTimeRange"]["from"] == int(days) * 86400


@pytest.mark.parametrize("rule", ALERTS, ids=[rule["uid"] for rule in ALERTS])
def test_a_rule_uses_only_labels_that_its_query_has_and_no_doubled_dollar(rule):
    labels = set()
    for step in rule["data"]:
        query = step["model"].get("query", "")
        # In a query a dollar ends a regular expression, and nothing else.
        assert re.findall(r"\$(.)", query) == ["/"] * query.count("$")
        _, _, grouped = query.rpartition(" GROUP BY ")
        measurement = re.search(r'FROM "(\w+)"', query)
        if measurement:
            labels |= set(TAGS[measurement[1]] if grouped == "*" else re.findall(r'"(\w+)"', grouped))
    for text in rule["annotations"].values():
        used = re.findall(r"\{\{ \$labels\.(\w+) \}\}", text)
        assert text.count("$") == len(used)
        assert set(used) <= labels


def test_provisioning_leaves_no_single_dollar_to_the_environment_but_its_own():
    # Grafana replaces nothing in what the rules of alerts have a dollar in.
    folders = ("dashboards", "datasources")
    for path in (
        one for name in folders for one in (ROOT / "dashboards" / "provisioning" / name).glob("*.yml")
    ):
        text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith("#"))
        found = re.findall(r"\$\{(\w+)\}|(?<!\$)\$(?!\$)(?!\{)", text.replace("$$", ""))
        assert set(found) <= {
            "REGATTA_BOARDS", "REGATTA_INFLUX_URL", "REGATTA_INFLUX_DATABASE", "REGATTA_INFLUX_READER",
            "REGATTA_INFLUX_READER_PASSWORD",
        }  # fmt: skip
