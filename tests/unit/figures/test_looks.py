"""Colors: visible on white paper and on a dark screen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from regatta.figures import looks

CSS = (Path(looks.__file__).parent / "templates" / "report.css").read_text(encoding="utf-8")
SCHEMES = [dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block)) for block in CSS.split(":root")[1:3]]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_every_hue_stands_out_from_the_paper(scheme: dict[str, str]) -> None:
    paper = luminance(scheme["paper"])
    for slot in (*(f"c{number}" for number in range(looks.HUES)), "ink", "muted", "accent", "good", "bad"):
        low, high = sorted((paper, luminance(scheme[slot])))
        assert (high + 0.05) / (low + 0.05) >= (3 if slot.startswith("c") else 4.5), slot


def test_light_colours_are_those_of_the_style_sheet() -> None:
    assert looks.light_colours() == SCHEMES[0]
