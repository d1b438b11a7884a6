"""Colours of the dashboards: distinguishable with any colour vision, and visible on a light and on a dark page."""

from __future__ import annotations

import pytest
from dashboards.pieces import BLUE, COLLECTOR_COLOURS, GREEN, GREY, MODE_COLOURS, ORANGE, RED, STATUS_COLOURS

from helpers.colour_vision import closest, contrast, difference

#: backgrounds of Grafana's panels
PAGES = ("#ffffff", "#181b1f")
_EQUAL = {"timeout", "crashed"}


@pytest.mark.parametrize(
    "colours",
    [
        {status: shade for status, shade in STATUS_COLOURS.items() if status not in _EQUAL},
        COLLECTOR_COLOURS,
        MODE_COLOURS,
        {"higher": ORANGE, "lower": BLUE, "without interval": GREY},
    ],
    ids=["statuses", "collectors", "modes", "differences"],
)
def test_readers_with_any_colour_vision_can_distinguish_all_colours(colours: dict[str, str]) -> None:
    assert closest(colours)[0] >= 10


@pytest.mark.parametrize("page", PAGES)
def test_a_status_stands_out_from_the_page(page: str) -> None:
    for shade in (GREEN, ORANGE, RED, BLUE):
        assert contrast(shade, page) >= 3


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0009), 7.1792),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((90.8027, -2.0831, 1.441), (91.1528, -1.6435, 0.0447), 1.4441),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_differences_are_those_of_the_published_test_data(
    one: tuple[float, float, float], other: tuple[float, float, float], expected: float
) -> None:
    """Source: Sharma, Wu, Dalal (2005), table 1."""
    assert difference(one, other) == pytest.approx(expected, abs=1e-4)
