"""Report, audit and predictions as a stranger sees them: with eyes, a keyboard, or a screen reader."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from helpers.audited_experiment import experiment
from helpers.opened_pages import (
    BROWSER,
    HEIGHT,
    WIDTH,
    boxes,
    go_to,
    needs_browser,
    open_page,
    overlaps,
    press,
    serious_findings,
    show,
    wait_for_layout,
    wait_until,
)
from helpers.past_experiments import write_week
from helpers.rich_experiment import write_rich_experiment
from helpers.runtime_forecasts import six_runtimes
from helpers.served_experiment import as_home, write_served_experiment
from regatta.answers.audit.compute import audit_experiment
from regatta.answers.audit.page import write_audit
from regatta.answers.history.compute import history_of
from regatta.answers.history.page import write_history
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.page import write_report
from regatta.figures.browser import Browser
from regatta.models.predict.page import write_predictions
from regatta.models.predict.predictions import Request, RequestedApplication, forecast_of
from regatta.models.vectors.sources import Sources

pytestmark = needs_browser
PAGES = ("report", "audit", "predictions", "runtimes", "history")
#: elements of the summary that show text and contain none of the others
PIECES = "header :is(h1, h2, p, li, caption, th, td), nav a"
#: the same of the whole page, and the texts of figures
EVERYTHING = "main :is(h2, h3, p, li, dt, dd, summary, figcaption, th, td), .plot svg text"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in PAGES}
    answer = answer_experiment(write_rich_experiment(folder / "made-up", rounds=4))
    write_report(answer, found["report"], "https://grafana.example")
    write_audit(audit_experiment(experiment(folder / "audited", ("serial", "g1", "z"))), found["audit"])
    home = as_home(write_served_experiment(folder))
    sources = Sources(home, home / "results")
    applications = [sources.application(name) for name in ("apache-static", "apache-cgi")]
    asked = tuple(RequestedApplication(one) for one in applications if one is not None)
    forecast = forecast_of(Request(asked, tuple(sources.systems("served")), optimise=True))
    write_predictions(forecast, found["predictions"])
    write_predictions(six_runtimes("jess", "db"), found["runtimes"])
    write_history(history_of(write_week(folder / "week")), found["history"])
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(BROWSER) as one:
        one.call("Page.enable")
        yield one


@pytest.fixture(scope="module", params=PAGES)
def shown(request: pytest.FixtureRequest, browser: Browser, pages: dict[str, Path]) -> Browser:
    """The browser with one of the pages, in the light scheme."""
    open_page(browser, pages[request.param])
    return browser


def test_axe_finds_nothing_serious_in_both_schemes(shown: Browser) -> None:
    for scheme in ("dark", "light"):
        show(shown, scheme)
        assert serious_findings(shown, only_colors=scheme == "dark") == [], scheme


def test_the_bar_of_sections_covers_no_heading_that_it_leads_to(shown: Browser) -> None:
    for width in (WIDTH, 800):
        show(shown, width=width)
        # Figures that are drawn again for the new width would move what was scrolled to.
        wait_for_layout(shown)
        (bar,) = boxes(shown, "nav")
        room = bar["bottom"] - bar["top"]
        for anchor in shown.evaluate("[...document.querySelectorAll('main section[id]')].map(one => one.id)"):
            go_to(shown, anchor)
            (heading,) = boxes(shown, f"#{anchor} > h2")
            assert heading["top"] >= room, (anchor, width)
    show(shown)
    shown.evaluate("location.hash = ''; scrollTo(0, 0)")


def test_nothing_overlaps_in_the_first_screen(shown: Browser) -> None:
    for width in (1920, WIDTH):
        show(shown, width=width)
        wait_for_layout(shown)
        pieces = [one for one in boxes(shown, PIECES) if one["top"] < HEIGHT]
        assert len(pieces) >= 10
        assert all(0 <= one["left"] <= one["right"] <= width for one in pieces)
        for a, b in combinations(pieces, 2):
            across = min(a["right"], b["right"]) - max(a["left"], b["left"])
            down = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
            assert across <= 1 or down <= 1, (a, b)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_the_window_and_nothing_overlaps_below_the_first_screen_in_both_schemes(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    open_page(browser, pages[name], "#everything")
    for scheme in ("light", "dark"):
        show(browser, scheme)
        wait_for_layout(browser)
        assert browser.evaluate("document.documentElement.scrollWidth") == WIDTH
        assert overlaps(browser, EVERYTHING) == [], scheme


def test_every_figure_and_table_says_what_it_is(shown: Browser) -> None:
    figures = shown.evaluate("[...document.querySelectorAll('.plot')].map(one => [one.role, one.ariaLabel])")
    assert figures
    assert {role for role, _ in figures} == {"img"}
    assert len({label for _, label in figures}) == len(figures)
    tables_say_it = shown.evaluate(
        "[...document.querySelectorAll('table')].every(one => one.caption.textContent.trim() && "
        "[...one.querySelectorAll('th')].every(cell => cell.scope === 'col'))"
    )
    assert tables_say_it
    assert shown.evaluate("document.documentElement.lang") == "en"
    levels = shown.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(one => +one.tagName[1])")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_the_first_screen_has_the_conclusions_and_a_table_of_comparisons(
    browser: Browser, pages: dict[str, Path]
) -> None:
    open_page(browser, pages["report"])
    conclusions = boxes(browser, ".headline li")
    rows = boxes(browser, "header tbody tr")
    assert conclusions
    assert len(rows) == 8
    assert max(one["bottom"] for one in (*conclusions, *rows)) < HEIGHT
    assert {"ratio", "95 % CI", "adj. p", "practical"} <= {one["text"] for one in boxes(browser, "header th")}


def test_the_keyboard_reaches_the_results_first_and_shows_where_it_is(
    browser: Browser, pages: dict[str, Path]
) -> None:
    open_page(browser, pages["report"])
    press(browser, "Tab")
    wait_until(browser, "document.activeElement.className === 'skip'")
    assert boxes(browser, ".skip")[0]["left"] >= 0
    press(browser, "Enter")
    wait_until(browser, "document.activeElement.id === 'results'")
    kinds = set()
    for _ in range(8):
        press(browser, "Tab")
        outline, kind = browser.evaluate(
            "[getComputedStyle(document.activeElement).outlineStyle, document.activeElement.tagName]"
        )
        assert outline == "solid"
        kinds.add(kind)
    assert kinds == {"SUMMARY", "DIV"}
