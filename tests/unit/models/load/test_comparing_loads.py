"""Two loads are compared: equal ones, a log with its model, and changed ones."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from helpers.request_logs import Known, as_json_lines, divided, line, synthetic
from regatta.models.load.comparing import SMALL, Comparison, Load, compare_loads, of_drawn, of_log, of_model
from regatta.models.load.drawing import Uniform, draw
from regatta.models.load.fitting import fit_model
from regatta.models.load.model import RequestModel
from regatta.models.load.page import write_comparison
from regatta.models.load.tables import comparison_tables
from regatta.models.load.visits import Pauses

KNOWN = Known(sessions=450)
IDLE_S = 1800.0
Logged = tuple[Load, RequestModel]


@pytest.fixture(autouse=True)
def few_divisions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer divisions show the same."""
    monkeypatch.setattr("regatta.stats.two_samples._PERMUTATIONS", 199)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Logged]:
    """The load of a synthetic log, and its model."""

    @functools.cache
    def made(seed: int, **changes: float) -> Logged:
        known = dataclasses.replace(KNOWN, **changes)  # type: ignore[arg-type]
        text = as_json_lines(synthetic(known, np.random.default_rng(seed)))
        read = divided(tmp_path_factory.mktemp("log"), text, pauses=Pauses(IDLE_S))
        model = fit_model(read, Pauses(IDLE_S))
        return of_log(f"log {seed}", read, model), model

    return made


@pytest.fixture(scope="module")
def first(logged: Callable[..., Logged]) -> Logged:
    return logged(1)


def compared(one: Load, other: Load, seed: int = 1) -> Comparison:
    return compare_loads(one, other, IDLE_S, np.random.default_rng(seed))


def distances(comparison: Comparison) -> dict[str, float]:
    return {one.part.title: one.distance.distance for one in comparison.parts if one.distance is not None}


def shown(comparison: Comparison) -> set[str]:
    return {one.part.title for one in comparison.parts if one.distance is not None and one.distance.shown}


def test_a_log_against_itself_shows_no_difference(first: Logged) -> None:
    found = compared(first[0], first[0])
    assert distances(found) == dict.fromkeys(distances(found), 0.0)
    assert len(distances(found)) == 5
    assert shown(found) == set()
    assert (found.popularity_distance, found.kinds_distance) == (0, 0)


def test_two_logs_of_one_load_differ_little(first: Logged, logged: Callable[..., Logged]) -> None:
    found = compared(first[0], logged(2)[0])
    # Sizes belong to the objects of a site, which are others.
    others = {title for title in distances(found) if not title.startswith("Size")}
    assert len(shown(found) & others) <= 1
    assert max(distances(found)[title] for title in others) < SMALL
    assert found.kinds_distance < 0.02


def test_a_log_is_like_its_model(first: Logged) -> None:
    load, model = first
    found = compared(load, of_model("model", model, 3000, np.random.default_rng(3)))
    others = {title: distance for title, distance in distances(found).items() if not title.startswith("Size")}
    assert max(others.values()) < SMALL
    assert found.popularity_distance < SMALL
    assert found.kinds_distance < 0.02
    assert found.names == ("log 1", "model")


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({"size_mu": KNOWN.size_mu + 0.7}, "Size of answers"),
        ({"requests": 5.0}, "Requests per view"),
        ({"views": 8.0}, "Views per session"),
        ({"think_mu": 3.2}, "Time between views"),
    ],
)
def test_a_changed_part_is_shown_as_different(
    changes: dict[str, float], title: str, first: Logged, logged: Callable[..., Logged]
) -> None:
    found = compared(first[0], logged(4, **changes)[0])
    assert title in shown(found)
    assert distances(found)[title] > 2 * SMALL


def test_double_sizes_of_a_model_are_shown(first: Logged) -> None:
    drawn = [draw(first[1], 1000, Uniform(5), factor) for factor in (1.0, 2.0)]
    found = compared(of_drawn("one", drawn[0]), of_drawn("double", drawn[1]))
    assert shown(found) == {"Size of answers"}
    assert found.popularity_distance == 0


def test_another_popularity_and_other_kinds_are_different(
    first: Logged, logged: Callable[..., Logged]
) -> None:
    found = compared(first[0], logged(6, zipf=1.4, missing=0.2)[0])
    assert found.popularity_distance > 2 * SMALL
    assert found.kinds_distance == pytest.approx(0.17, abs=0.02)
    assert found.kinds["missing"] == pytest.approx((KNOWN.missing, 0.2), abs=0.02)


def test_popularity_does_not_depend_on_the_number_of_requests(
    first: Logged, logged: Callable[..., Logged]
) -> None:
    found = compared(first[0], logged(7, sessions=120)[0])
    assert found.popularity_distance < SMALL


def test_parts_of_sessions_are_not_compared_if_a_log_is_short(tmp_path: Path, first: Logged) -> None:
    text = "".join(line(at, f"192.0.2.{at % 3}", f"/{at % 5}") for at in range(0, 3000, 5))
    read = divided(tmp_path, text)
    short = of_log("short", read, fit_model(read, Pauses()))
    for pair in ((short, first[0]), (first[0], short)):
        reasons = {one.part.title: one.reason for one in compared(*pair).parts if one.distance is None}
        assert {"Views per session", "Time between views"} <= set(reasons)
        assert all(reasons.values())


def test_a_part_without_values_is_not_compared(tmp_path: Path) -> None:
    loads = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        read = divided(folder, "".join(line(5000 * at) for at in range(3)))
        loads.append(of_log(str(number), read, fit_model(read, Pauses())))
    found = compared(loads[0], loads[1])
    assert set(distances(found)) == {"Size of answers", "Requests per view", "Views per session"}
    assert len(comparison_tables(found)[0].rows) == 7


def test_the_order_of_two_loads_changes_no_distance(first: Logged, logged: Callable[..., Logged]) -> None:
    other = logged(2)[0]
    one, back = compared(first[0], other), compared(other, first[0])
    assert distances(one) == pytest.approx(distances(back))
    assert one.kinds_distance == back.kinds_distance


def test_a_seed_determines_a_comparison(first: Logged, logged: Callable[..., Logged]) -> None:
    other = logged(2)[0]
    one, again = compared(first[0], other, 9), compared(first[0], other, 9)
    assert [part.distance for part in one.parts] == [part.distance for part in again.parts]
    assert one.popularity_distance == again.popularity_distance


def test_a_page_is_written_with_escaped_names(first: Logged, tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    found = compared(dataclasses.replace(first[0], name=hostile), first[0])
    write_comparison(found, f"{hostile} and log", tmp_path / "deep" / "page.html")
    page = (tmp_path / "deep" / "page.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert hostile not in page
    assert "onerror=alert(1)>" not in page
