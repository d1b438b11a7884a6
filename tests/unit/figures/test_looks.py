"""Colors: visible on white paper and on a dark screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.colour_vision import closest, contrast
from regatta.figures import looks

CSS = (Path(looks.__file__).parent / "templates" / "report.css").read_text(encoding="utf-8")
SCHEMES = [dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block)) for block in CSS.split(":root")[1:3]]


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_every_hue_stands_out_from_the_paper(scheme: dict[str, str]) -> None:
    for slot in (*(f"c{number}" for number in range(looks.HUES)), "ink", "muted", "accent", "good", "bad"):
        assert contrast(scheme["paper"], scheme[slot]) >= (3 if slot.startswith("c") else 4.5), slot


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_readers_with_any_colour_vision_can_distinguish_all_hues(scheme: dict[str, str]) -> None:
    assert closest({slot: scheme[slot] for slot in (f"c{n}" for n in range(looks.HUES))})[0] >= 7
    assert closest({slot: scheme[slot] for slot in ("good", "bad")})[0] >= 10


def test_light_colours_are_those_of_the_style_sheet() -> None:
    assert looks.light_colours() == SCHEMES[0]
