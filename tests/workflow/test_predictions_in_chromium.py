"""The page of predictions as a browser shows it: every plot is drawn and no script fails."""

from __future__ import annotations

from pathlib import Path

from test_report_in_chromium import facts

from helpers.opened_pages import drawn_page, needs_browser
from helpers.served_experiment import as_home, write_served_experiment
from regatta.models.predict.page import write_predictions
from regatta.models.predict.predictions import Replaced, Request, RequestedApplication, forecast_of
from regatta.models.vectors.sources import Sources

pytestmark = needs_browser


def test_every_figure_of_predictions_is_drawn(tmp_path: Path) -> None:
    home = as_home(write_served_experiment(tmp_path))
    sources = Sources(home, home / "results")
    applications = [sources.application(name) for name in ("apache-static", "apache-cgi", "apache-fastcgi")]
    static, cgi, fastcgi = (RequestedApplication(one) for one in applications if one is not None)
    request = Request(
        (static, cgi, fastcgi),
        tuple(sources.systems("served")),
        replaced=(Replaced(cgi, fastcgi),),
        optimise=True,
    )
    page = tmp_path / "page.html"
    write_predictions(forecast_of(request), page)
    dom = drawn_page(page)
    told = facts(dom)
    assert told["errors"] == "0"
    # ranking and contributions of three applications, speed-ups, predicted against measured
    assert told["drawn"] == told["figures"] == "8"
    for text in (
        "time per request (",
        "predicted time per request (",
        "speedup",
        "measured elapsed time (",
    ):
        assert text in dom
