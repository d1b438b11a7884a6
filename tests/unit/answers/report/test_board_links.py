"""Links from a report to the boards in Grafana."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from helpers.boards import ROOT, SOURCE_UID
from helpers.fleet_experiment import Fleet, write_fleet
from helpers.rich_experiment import write_rich_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.page import board_links, render


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    return answer_experiment(write_rich_experiment(tmp_path_factory.mktemp("rich"), rounds=2))


def test_a_link_leads_to_a_board_that_is_there_with_the_experiment_in_its_time(answer):
    started = [s.started_utc_ns // 10**6 for c in answer.cells for s in c.samples]
    links = board_links(answer, "https://grafana.example/sub/")
    assert links
    for link in links:
        parts = urlsplit(link.url)
        name = parts.path.removeprefix("/sub/d/regatta-")
        assert (ROOT / "dashboards" / "json" / f"{name}.json").is_file()
        asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
        assert asked["var-experiment"] == answer.experiment
        assert asked["var-datasource"] == SOURCE_UID
        assert int(asked["from"]) < min(started)
        assert int(asked["to"]) > max(started)


def test_a_report_links_to_grafana_only_where_its_address_is_known(answer):
    assert "In Grafana" not in render(answer)
    assert "https://grafana.example/d/regatta-experiment?" in render(answer, "https://grafana.example")


@pytest.mark.parametrize(("compare", "linked"), [((), False), (("platform",), True)])
def test_a_report_links_to_the_comparison_of_platforms_only_where_there_is_one(tmp_path, compare, linked):
    fleet = Fleet(rounds=2, collectors=("g1",), compare=compare, baseline={})
    links = board_links(answer_experiment(write_fleet(tmp_path, fleet)), "https://grafana.example")
    assert ("platforms" in [link.title for link in links]) is linked
