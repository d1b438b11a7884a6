"""The form of every dashboard, whatever it shows."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations

import pytest
from dashboards.asking import ALL, Range, interpolated, panels_of
from dashboards.boards import documents, files
from dashboards.pieces import COLLECTOR_COLOURS, MODE_COLOURS, STATUS_COLOURS
from grafana_foundation_sdk.models.dashboard import Dashboard
from ruamel.yaml import YAML

from helpers.boards import ROOT
from regatta.figures.text import show_significance
from regatta.host.journal.record_shape import STATUSES
from regatta.store.events import FAILED as FAILURES_OF_EVENTS

BOARDS = {board["uid"]: board for board in documents()}
PANELS = [(uid, panel) for uid, board in BOARDS.items() for panel in panels_of(board)]
NAMES = [f"{uid}: {panel['title']}" for uid, panel in PANELS]
#: panels and transformations that Grafana 9.3 has
PANELS_OF_9_3 = {
    "alertlist", "barchart", "bargauge", "histogram", "heatmap", "stat", "state-timeline", "status-history", "table", "text", "timeseries", "xychart",
}  # fmt: skip
TRANSFORMATIONS_OF_9_3 = {
    "calculateField", "filterFieldsByName", "labelsToFields", "merge", "organize", "reduce", "renameByRegex", "sortBy",
}  # fmt: skip
#: properties of fields by which boards of Grafana 9.3 may override
PROPERTIES_OF_9_3 = {
    "unit", "decimals", "min", "max", "noValue", "links", "mappings", "thresholds", "color", "custom.displayMode",
    "custom.width", "custom.lineWidth", "custom.fillOpacity", "displayName", "custom.axisLabel", "custom.fillBelowTo", "custom.hideFrom", "custom.showPoints", "custom.pointSize",
    "custom.pointSize.fixed",
}  # fmt: skip
#: a use of a variable in a query
VARIABLE = re.compile(r"\$\{?(\w+)")
VARIABLES = {"experiment", "platform", "runtime", "collector", "benchmark", "heap"}

panels = pytest.mark.parametrize(("uid", "panel"), PANELS, ids=NAMES)
boards = pytest.mark.parametrize("board", BOARDS.values(), ids=list(BOARDS))


def variables(board):
    return [one for one in board["templating"]["list"] if one["type"] == "query"]


def transformations(panel):
    return panel.get("transformations") or []


def overrides(panel):
    return (panel.get("fieldConfig") or {}).get("overrides") or []


def properties(panel, column):
    """The settings of a column, by name."""
    found = {}
    for each in overrides(panel):
        if each["matcher"] == {"id": "byName", "options": column}:
            found.update({one["id"]: one["value"] for one in each["properties"]})
    return found


def columns(panel):
    """The columns that a table or a bar chart shows, by the names that it shows."""
    (last,) = (step["options"] for step in transformations(panel)[-1:])
    kept = [
        step["options"]["include"]["names"]
        for step in transformations(panel)
        if step["id"] == "filterFieldsByName"
    ]
    return [last["renameByName"].get(name, name) for name in kept[-1]] if kept else []


def test_the_json_in_the_repository_is_what_the_code_makes():
    made = files()
    assert set((ROOT / "dashboards" / "json").iterdir()) == set(made)
    assert [path.name for path, text in made.items() if path.read_text(encoding="utf-8") != text] == []


def test_there_are_the_boards_that_others_link_to():
    names = (
        "fleet-now",
        "experiment",
        "compare-runtimes",
        "compare-platforms",
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
    headings = [panel for panel in board["panels"] if panel["type"] == "row"]
    numbers = [panel["id"] for panel in (*panels_of(board), *headings)]
    assert len(set(numbers)) == len(numbers)
    # Grafana moves the panels of a collapsed row to below its heading when it is opened.
    for together in (board["panels"], *(heading["panels"] for heading in headings)):
        places = [panel["gridPos"] for panel in together]
        assert all(place["x"] + place["w"] <= 24 for place in places)
        for a, b in combinations(places, 2):
            beside = a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"]
            assert beside or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"]


@boards
def test_details_are_below_collapsed_headings_and_nothing_else_is(board):
    for heading in (panel for panel in board["panels"] if panel["type"] == "row"):
        assert heading["collapsed"] == bool(heading["panels"]) == heading["title"].startswith("Details: ")


@boards
def test_a_panel_that_is_repeated_has_its_row_for_itself(board):
    for panel in panels_of(board):
        if "repeat" in panel:
            assert panel["gridPos"]["w"] == 24
            assert panel["repeat"] in {one["name"] for one in variables(board) if one["multi"]}


@boards
def test_a_board_leads_to_the_others_in_the_same_time(board):
    own = f"/d/{board['uid']}"
    others = [link for link in board["links"] if not link["url"].startswith(f"{own}?")]
    paths = [link["url"].partition("?")[0] for link in others]
    assert sorted([*paths, own]) == sorted(f"/d/{uid}" for uid in BOARDS)
    assert all(link["type"] == "link" and link["keepTime"] for link in others)
    assert "regatta" in board["tags"]


@boards
def test_a_link_takes_an_experiment_along_where_one_is_chosen_and_nothing_that_may_be_all(board):
    (experiment,) = (one for one in variables(board) if one["name"] == "experiment")
    for link in board["links"]:
        assert not link["includeVars"]
        assert set(re.findall(r"var-([\w-]+)", link["url"])) <= (
            {"datasource"} if experiment["multi"] else {"datasource", "experiment"}
        )


@boards
def test_a_variable_depends_on_those_before_it_alone(board):
    known = {"datasource"}
    for one in variables(board):
        assert set(VARIABLE.findall(one["query"])) <= known
        known.add(one["name"])
        assert one["includeAll"] == bool(one.get("allValue"))


def test_a_table_has_settings_of_its_own_for_all_columns():
    # The migration of Grafana 12 skips the columns of a table without them.
    tables = [panel for _, panel in PANELS if panel["type"] == "table"]
    assert tables
    assert all(panel["fieldConfig"]["defaults"]["custom"] == {} for panel in tables)


@panels
def test_the_texts_below_bars_are_no_numbers_with_a_unit(uid, panel):
    if panel["type"] == "barchart":
        assert properties(panel, panel["options"]["xField"])["unit"] == "string"


@panels
def test_a_heading_of_a_table_is_not_cut(uid, panel):
    # Grafana 9.4 cut headings of 10 letters at 90 px, and of 14 letters at 115 px.
    if panel["type"] == "table":
        widths = {name: properties(panel, name).get("custom.width") for name in columns(panel)}
        assert {name: width for name, width in widths.items() if width and width < 12 + 8 * len(name)} == {}


@boards
def test_the_query_of_a_variable_selects_one_column(board):
    # Versions of Grafana take the second column of several, or the first one that is no time.
    for one in variables(board):
        if not one["query"].startswith("SHOW TAG VALUES FROM "):
            selected = re.fullmatch(r"SELECT (.*?) FROM .*", one["query"])[1]
            assert re.fullmatch(r'"\w+"|count\("\w+"\)|floor\(.*\) .*', selected), one["name"]
            assert "," not in selected


@panels
def test_rows_that_are_merged_have_no_time_of_their_query(uid, panel):
    # Each statement has its own `now()`: equal rows of two queries would have different times.
    chain = transformations(panel)
    for place, step in enumerate(chain):
        if step["id"] == "merge":
            excluded = chain[place - 1]["options"]["excludeByName"]
            assert excluded.get("Time") or "Time" in columns(panel)


@boards
def test_panels_of_estimates_are_repeated_for_what_has_such_estimates(board):
    queries = {one["name"]: one["query"] for one in variables(board)}
    for panel in panels_of(board):
        asked = " ".join(target["query"] for target in panel.get("targets", ()))
        if "repeat" in panel and ' FROM "estimate"' in asked:
            repeated = queries[panel["repeat"]]
            assert ' FROM "estimate" ' in repeated
            for tag in ("metric", "parameters"):
                assert (f"${{{tag}:regex}}" in asked) <= (f"${{{tag}:regex}}" in repeated), panel["title"]
            kinds = set(re.findall(r"\"kind\" = '(\w+)'", asked))
            assert kinds == set(re.findall(r"\"kind\" = '(\w+)'", repeated))


@boards
def test_a_board_of_estimates_opens_with_an_experiment_that_has_them(board):
    (experiment,) = (one for one in variables(board) if one["name"] == "experiment")
    source = re.search(r' FROM "(\w+)"', experiment["query"])[1]
    # The others select all experiments at first.
    assert source in ({"invocation"} if experiment["includeAll"] else {"estimate", "vector"})


@boards
def test_the_newest_experiment_comes_first(board):
    (experiment,) = (one for one in variables(board) if one["name"] == "experiment")
    assert experiment["query"].startswith('SELECT "experiment" FROM (')
    assert experiment["query"].endswith(" ORDER BY time DESC")
    # As the query sorts them, so that the first one is selected.
    assert experiment["sort"] == 0
    assert experiment.get("current") in (None, {}) or experiment["current"]["value"] == ["$__all"]


@panels
def test_a_panel_asks_a_question_and_says_how_to_read_it_and_what_to_do_when_it_is_empty(uid, panel):
    assert panel["title"].endswith("?")
    _, _, empty = panel["description"].rpartition("\n\nEmpty? ")
    assert len(empty) > 3
    if panel["type"] == "alertlist":
        return
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults.get("noValue", empty) == empty
    assert defaults["unit"]


@panels
def test_the_text_for_no_value_is_in_no_gauge_and_on_no_logarithmic_axis(uid, panel):
    if panel["type"] == "alertlist":
        return
    defaults = panel["fieldConfig"]["defaults"]
    found = [{one["id"]: one["value"] for one in each["properties"]} for each in overrides(panel)]
    scales = [defaults["custom"].get("scaleDistribution", {})] if "custom" in defaults else []
    scales += [each["custom.scaleDistribution"] for each in found if "custom.scaleDistribution" in each]
    logarithmic = any(scale.get("type") == "log" for scale in scales)
    assert ("noValue" in defaults) == (not logarithmic and panel["type"] not in {"bargauge", "gauge"})
    for each in found:
        if each.get("custom.displayMode") in {"basic", "gradient-gauge", "lcd-gauge"}:
            assert each["noValue"] == "–"


@boards
def test_no_two_variables_share_an_id(board):
    ids = [one["id"] for one in board["templating"]["list"] if "id" in one]
    assert len(set(ids)) == len(ids)


@boards
def test_a_variable_stands_escaped_in_a_regular_expression(board):
    queries = [one["query"] for one in variables(board)]
    queries += [target["query"] for panel in panels_of(board) for target in panel.get("targets", ())]
    queries += [one["query"] for one in board["annotations"].get("list", ())]
    within = [text for query in queries for text in re.findall(r"[=!]~ (/(?:\\.|[^/\\])*/)", query)]
    assert within
    for text in within:
        used = VARIABLE.findall(text)
        assert used == re.findall(r"\$\{(\w+):regex\}", text)


@panels
def test_a_panel_has_nothing_that_grafana_9_3_has_not(uid, panel):
    assert panel["type"] in PANELS_OF_9_3
    assert {step["id"] for step in transformations(panel)} <= TRANSFORMATIONS_OF_9_3
    names = {one["id"] for each in overrides(panel) for one in each["properties"]}
    assert names <= PROPERTIES_OF_9_3
    assert {each["matcher"]["id"] for each in overrides(panel)} <= {
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
        # Variables of a name that differs are in GROUP BY.
        for name in used - {"timeFilter", "__interval", "curve"}:
            if name in {"program", "choices", "mode"}:
                # Parts of the label of a benchmark.
                assert f"${{{name}:regex}}" in re.search(r'"benchmark" =~ /\^(.*?)\$/', target["query"])[1]
                continue
            tag, _, _ = name.partition("_")
            if tag in {"benchmark", "host"}:
                # Panels are repeated for the values that have estimates of a kind.
                assert f'"{tag}" =~ /^${{{name}:regex}}$/' in target["query"]
                continue
            if name.startswith("only_"):
                assert (
                    f"{name.removeprefix('only_')}${{{name}:regex}}"
                    in target["query"].partition(" GROUP BY ")[2]
                )
                continue
            assert f'"{name}" =~ /^${{{name}:regex}}$/' in target["query"]


@panels
def test_what_is_drawn_over_time_is_asked_for_in_the_time_that_is_shown(uid, panel):
    for target in panel.get("targets", ()):
        if panel["type"] == "timeseries":
            assert "$timeFilter" in target["query"]
            assert target["resultFormat"] == "time_series"
            assert target["alias"]


#: what Grafana makes of the condition in the test below
QUERY_WITH_VALUES = r'"benchmark" =~ /^(a\/b:c d=1\.5|x\+y)$/ AND time >= 1000ms and time <= 2000ms GROUP BY time(10ms), "$other"'


def test_values_are_put_into_queries_as_grafana_does():
    when = Range(1000, 2000)
    where = '"benchmark" =~ /^${benchmark:regex}$/ AND $timeFilter GROUP BY time($__interval), "$other"'
    put = interpolated(where, {"benchmark": ("a/b:c d=1.5", "x+y")}, when, {})
    assert put == QUERY_WITH_VALUES
    assert interpolated("/^${heap:regex}$/", {"heap": ALL}, when, {"heap": ".*"}) == "/^.*$/"
    # As it is, where nothing says how: so do versions before 10.
    assert interpolated("/^$heap$/", {"heap": ("a/b",)}, when, {}) == "/^a/b$/"


def test_a_history_is_drawn_with_the_shifts_that_were_found():
    both = BOARDS["regatta-history"]["annotations"]["list"]
    for drawn, kind in zip(both, ("'shift'", "'environment'"), strict=True):
        assert kind in drawn["target"]["query"]
        # Where the query stands differs between versions.
        assert drawn["target"]["query"] == drawn["query"]
        assert drawn["textColumn"] == drawn["target"]["textColumn"] == "text"


def test_provisioning_has_all_folders_whose_absence_grafana_9_logs_as_an_error():
    folders = {path.name for path in (ROOT / "dashboards" / "provisioning").iterdir()}
    assert folders == {"alerting", "dashboards", "datasources", "notifiers", "plugins"}


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


@boards
def test_a_board_shows_at_most_eight_variables_and_none_of_them_as_json(board):
    shown = {one["name"] for one in board["templating"]["list"] if one.get("hide") != 2}
    assert 2 <= len(shown) <= 8
    assert "experiment" in shown
    assert not shown & {"datasource", "parameters"}


@panels
def test_differences_have_a_zero_in_the_middle_of_an_axis_that_small_ones_do_not_fill(uid, panel):
    if panel["type"] == "barchart" and "higher, certain" in columns(panel):
        custom = panel["fieldConfig"]["defaults"]["custom"]
        assert -custom["axisSoftMin"] == custom["axisSoftMax"] == 0.2


@panels
def test_no_panel_shows_parameters_as_json(uid, panel):
    if panel["type"] in {"table", "barchart"}:
        shown = next(
            (
                s["options"]["include"]["names"]
                for s in transformations(panel)
                if s["id"] == "filterFieldsByName"
            ),
            None,
        )
        hidden = transformations(panel)[-1]["options"].get("excludeByName", {})
        queried = any(
            '"parameters"' in target["query"].rpartition(" GROUP BY ")[2] for target in panel["targets"]
        )
        assert "parameters" not in shown if shown is not None else hidden.get("parameters") or not queried
        assert (panel["options"] or {}).get("xField") != "parameters"
    assert not [target for target in panel.get("targets", ()) if "tag_parameters" in target.get("alias", "")]


@panels
def test_a_status_has_its_colour(uid, panel):
    if panel["type"] == "table" and "status" in columns(panel):
        (mapping,) = properties(panel, "status")["mappings"]
        assert set(mapping["options"]) == set(STATUSES)
        by_status = {status: one["color"] for status, one in mapping["options"].items()}
        assert len({by_status["ok"], by_status["perturbed"], by_status["failed"]}) == 3
        assert all(by_status[status] == by_status["failed"] for status in FAILURES_OF_EVENTS)
    for target in panel.get("targets", ()):
        assert "tag_status" not in target.get("alias", "")


@panels
def test_a_table_has_widths_and_shows_its_answer_at_1600_pixels(uid, panel):
    if panel["type"] != "table":
        return
    *shown, last = columns(panel)
    widths = [properties(panel, name)["custom.width"] for name in shown]
    assert "custom.width" not in properties(panel, last)
    assert sum(widths) <= 1600 * panel["gridPos"]["w"] / 24


@panels
def test_bars_of_sizes_and_configurations_are_in_natural_order(uid, panel):
    if panel["type"] == "barchart" and panel["options"]["xField"] in {"short", "label", "heap"}:
        (order,) = (step["options"]["sort"] for step in transformations(panel) if step["id"] == "sortBy")
        assert order == [{"field": "place", "desc": False}]


@panels
def test_an_interval_is_one_stacked_bar_whose_values_are_in_the_tooltip(uid, panel):
    if panel["type"] != "barchart" or panel["options"].get("stacking") != "normal":
        assert "low" not in (columns(panel) if panel["type"] == "barchart" else ())
        return
    assert panel["options"]["orientation"] == "horizontal"
    for name in columns(panel)[1:]:
        given = properties(panel, name)
        hidden = given["custom.hideFrom"]
        if name.split()[0] in {"low", "mean", "high", "difference"} and " to " not in name:
            assert hidden == {"legend": True, "tooltip": False, "viz": True}
        else:
            assert hidden["tooltip"]
            assert not hidden["viz"]
        if name.startswith("base"):
            assert given["custom.fillOpacity"] == 0
            assert hidden["legend"]


@panels
def test_collectors_have_the_same_colours_everywhere(uid, panel):
    if any(target.get("alias", "").strip("$") == "tag_collector" for target in panel.get("targets", ())):
        assert {each["matcher"]["options"] for each in overrides(panel)} >= {
            f"/^{name}( .*)?$/" for name in COLLECTOR_COLOURS
        }


@panels
def test_a_parameter_that_is_a_number_is_a_numeric_axis(uid, panel):
    if panel["type"] == "barchart":
        assert panel["options"]["xField"] != "heap"
    if panel["type"] != "xychart":
        return
    x = panel["options"]["dims"]["x"]
    numbers = {"MiB": '"heap_mib" AS "MiB"', "log2": 'log2("number") AS "log2"'}
    assert any(numbers[x] in target["query"] for target in panel["targets"])
    # A line goes from left to right.
    (order,) = (step["options"]["sort"] for step in transformations(panel) if step["id"] == "sortBy")
    assert order == [{"field": x, "desc": False}]
    assert transformations(panel)[-1]["options"]["indexByName"] == {x: 0}
    assert properties(panel, x)["custom.axisLabel"]
    assert panel["fieldConfig"]["defaults"]["custom"]["axisLabel"]


def test_times_over_heap_and_connections_are_lines_with_the_ends_of_their_intervals():
    drawn = [(uid, panel) for uid, panel in PANELS if panel["type"] == "xychart" and uid != "regatta-vectors"]
    assert Counter(uid for uid, _ in drawn) == {"regatta-collectors": 2, "regatta-chat": 5}
    for uid, panel in drawn:
        modes = {f"{mode} mode": shade for mode, shade in MODE_COLOURS.items()}
        colours = COLLECTOR_COLOURS if uid == "regatta-collectors" else modes
        for name, shade in colours.items():
            # Grafana leaves out the words that all names share: no name is the beginning of the others.
            assert properties(panel, name)["displayName"] == f"{name} mean"
            for end in ("low", "high"):
                given = properties(panel, f"{name} {end}")
                assert given["color"]["fixedColor"].startswith(shade)
                assert given["custom.hideFrom"]["legend"]
                assert sum(f'AS "{name} {end}"' in target["query"] for target in panel["targets"]) == 1


@panels
def test_a_p_value_is_never_shown_as_zero_and_an_open_result_as_in_reports(uid, panel):
    if panel["type"] != "table":
        return
    for name in {"p", "adj. p"} & set(columns(panel)):
        (tiny,) = properties(panel, name)["mappings"]
        assert tiny["options"]["to"] == 10 ** -properties(panel, name)["decimals"]
        assert tiny["options"]["result"]["text"] == "<0.0001"
    for name in {"practical", "drifts"} & set(columns(panel)):
        (mapping,) = properties(panel, name)["mappings"]
        assert mapping["options"]["open"]["text"] == show_significance("open")


def test_every_collector_and_status_has_a_colour():
    collectors = YAML(typ="safe").load((ROOT / "configs" / "collectors.yml").read_text())
    assert set(collectors["collectors"]) <= set(COLLECTOR_COLOURS)
    assert set(STATUSES) == set(STATUS_COLOURS)


@boards
def test_links_keep_the_data_source_and_lead_to_the_time_of_an_experiment(board):
    urls = [link["url"] for link in board["links"]]
    urls += [
        link["url"]
        for panel in panels_of(board)
        for each in overrides(panel)
        for one in each["properties"]
        if one["id"] == "links"
        for link in one["value"]
    ]
    assert all("var-datasource=${datasource:percentencode}" in url for url in urls)
    times = [url for url in urls if "from=" in url]
    assert all("&to=" in url for url in times)
    assert bool(times) == (board["uid"] in {"regatta-fleet-now", "regatta-experiment"})


@boards
def test_the_provisioned_data_source_is_the_first_choice(board):
    (provisioned,) = YAML(typ="safe").load(
        (ROOT / "dashboards" / "provisioning" / "datasources" / "regatta.yml").read_text()
    )["datasources"]
    (source,) = (one for one in board["templating"]["list"] if one["type"] == "datasource")
    assert (source["current"]["text"], source["current"]["value"]) == (
        provisioned["name"],
        provisioned["uid"],
    )


def test_the_time_fits_the_question():
    since = {uid: board["time"]["from"] for uid, board in BOARDS.items()}
    assert since["regatta-fleet-now"] == "now-3h"
    assert since["regatta-experiment"] == since["regatta-host-health"] == "now-24h"


@panels
def test_units_are_those_of_grafana(uid, panel):
    units = {one["value"] for each in overrides(panel) for one in each["properties"] if one["id"] == "unit"}
    units |= {(panel.get("fieldConfig") or {}).get("defaults", {}).get("unit", "none")}
    assert units <= {
        "none", "string", "short", "ns", "s", "bytes", "suffix:MiB", "percent", "percentunit", "ops", "MBs", "celsius", "suffix:MHz",
        "dateTimeAsIso", "dateTimeFromNow",
    }  # fmt: skip
