"""The form of every rule that raises an alert."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest
from dashboards.asking import panels_of
from dashboards.boards import documents
from dashboards.influxql import FAILED

from helpers.boards import ALERTS
from helpers.golden import Golden
from regatta.host.journal.record_shape import STATUSES
from regatta.influx.points import ESTIMATE, TAGS
from regatta.store.events import FAILED as FAILURES_OF_EVENTS

BOARDS = {board["uid"]: board for board in documents()}
rules = pytest.mark.parametrize("rule", ALERTS, ids=[rule["uid"] for rule in ALERTS])


@rules
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


@rules
def test_a_rule_looks_back_for_a_day_as_points_may_come_hours_after_they_were_measured(rule):
    for step in rule["data"]:
        if step["datasourceUid"] != "__expr__":
            (days,) = re.findall(r"time > now\(\) - (\d+)d", step["model"]["query"])
            assert step["relativeTimeRange"]["from"] == int(days) * 86400


@rules
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
        used = re.findall(r"\$labels\.(\w+) \}\}", text)
        assert text.count("$") == len(used)
        assert set(used) <= labels


#: As Grafana expands the texts of alerts, by the library that it uses; its functions are those that the rules have.
EXPAND = """
package main

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"text/template"
)

func main() {
	var given struct {
		Texts  []string
		Labels map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	functions := template.FuncMap{
		"reReplaceAll": func(pattern, by, text string) string { return regexp.MustCompile(pattern).ReplaceAllString(text, by) },
		"externalURL":  func() string { return "http://localhost:3000/" },
		"urlquery":     url.QueryEscape,
	}
	expanded := []string{}
	for _, text := range given.Texts {
		var into strings.Builder
		parsed := template.Must(template.New("").Funcs(functions).Parse("{{- $labels := .Labels -}}" + text))
		if err := parsed.Execute(&into, given); err != nil {
			panic(err)
		}
		expanded = append(expanded, into.String())
	}
	if err := json.NewEncoder(os.Stdout).Encode(expanded); err != nil {
		panic(err)
	}
}
"""


@pytest.fixture(scope="module")
def expander(tmp_path_factory):
    if not (go := shutil.which("go")):
        pytest.skip("NOT TESTED HERE: no go to expand the texts of alerts")
    folder = tmp_path_factory.mktemp("expander")
    (folder / "main.go").write_text(EXPAND)
    environment = {**os.environ, "GO111MODULE": "off", "GOFLAGS": ""}
    subprocess.run([go, "build", "-o", "expand", "main.go"], cwd=folder, env=environment, check=True)

    def expand(texts, labels):
        given = json.dumps({"Texts": texts, "Labels": labels})
        done = subprocess.run([folder / "expand"], input=given, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return expand


@rules
def test_the_texts_of_an_alert_are_filled_in_and_empty_for_a_rule_without_points(rule, expander):
    texts = [text for text in rule["annotations"].values() if "{{" in text]
    assert set(expander(texts, {})) == {""}
    labels = dict.fromkeys(TAGS[ESTIMATE], "a b")
    filled = expander(texts, {**labels, "parameters": '{"percentile":99}'})
    assert all(filled)
    assert "<no value>" not in "".join(filled)
    if "parameters" in rule["annotations"]["summary"]:
        assert "parameters percentile:99)" in filled[0]
    assert filled[-1].startswith(f"http://localhost:3000/d/{rule['annotations']['__dashboardUid__']}?")
    assert "var-host=a+b" in filled[-1] or "var-experiment=a+b" in filled[-1]


#: rule -> a part of the title of its panel
LINKED = {
    "regatta-drift": "A/A test",
    "regatta-failures": "excluded",
    "regatta-perturbed": "perturbed",
    "regatta-regression": "differ from the baseline",
    "regatta-regression-rate": "differ from the baseline",
    "regatta-shift": "changed",
}


@rules
def test_a_rule_links_to_a_panel_that_exists(rule, golden: Golden):
    uid, number = rule["annotations"]["__dashboardUid__"], rule["annotations"]["__panelId__"]
    titles = {panel["id"]: panel["title"] for panel in panels_of(BOARDS[uid])}
    golden(rule["uid"], titles[int(number)])
    # A golden file that is written anew must not take any other panel.
    assert LINKED[rule["uid"]] in titles[int(number)]


@rules
def test_the_link_of_a_rule_selects_what_the_alert_is_about_in_the_time_of_the_rule(rule):
    text = rule["annotations"]["dashboard"].removeprefix("{{ if $labels.host }}").removesuffix("{{ end }}")
    start, _, url = text.partition("/d/")
    # With a slash at its end, and without.
    assert start == r'{{ reReplaceAll "/*\\z" "" externalURL }}'
    uid, _, query = url.partition("?")
    assert uid == rule["annotations"]["__dashboardUid__"]
    given = dict(part.split("=", 1) for part in query.split("&"))
    (days,) = {
        step["relativeTimeRange"]["from"] // 86400
        for step in rule["data"]
        if step["datasourceUid"] != "__expr__"
    }
    assert (given.pop("from"), given.pop("to")) == (f"now-{days}d", "now")
    assert given.pop("var-datasource") == "regatta-influxdb"
    names = {one["name"] for one in BOARDS[uid]["templating"]["list"] if one["type"] == "query"}
    assert given
    for name, value in given.items():
        assert name.removeprefix("var-") in names
        assert value == f"{{{{ urlquery $labels.{name.removeprefix('var-')} }}}}"


def test_a_disturbed_host_has_one_alert_however_many_experiments_it_ran():
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-perturbed")
    for step in rule["data"]:
        if "query" in step["model"]:
            assert step["model"]["query"].endswith(' GROUP BY "host"')


@pytest.mark.parametrize("uid", ["regatta-regression", "regatta-regression-rate"])
@pytest.mark.parametrize(("p_holm", "alarmed"), [(0.01, True), (0.05, True), (0.06, False)])
def test_a_regression_fires_only_if_the_adjusted_p_value_is_significant(uid, p_holm, alarmed):
    (rule,) = (one for one in ALERTS if one["uid"] == uid)
    steps = {step["refId"]: step["model"] for step in rule["data"]}
    text = steps[rule["condition"]]["expression"].replace("$", "").replace("&&", "and")
    worse = 1.1 if uid == "regatta-regression" else 0.9
    assert bool(eval(text, {"C": worse, "D": p_holm + 0.95})) is alarmed
    for name in ("metric", "benchmark", "modifiers", "heap", "parameters", "host", "baseline"):
        assert f"$labels.{name} " in rule["annotations"]["summary"]


def test_a_shift_names_what_shifted_and_links_to_it():
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-shift")
    for name in ("metric", "benchmark", "runtime", "collector", "modifiers", "heap", "host"):
        assert f"$labels.{name} " in rule["annotations"]["summary"]
        assert f"var-{name}=" in rule["annotations"]["dashboard"]
    assert "$labels.parameters " in rule["annotations"]["summary"]
