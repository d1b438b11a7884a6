"""How different two colours look, also to readers with a colour vision deficiency.

Sources: simulation of complete protanopia, deuteranopia and tritanopia: Machado, Oliveira, Fernandes: A Physiologically-based Model for
Simulation of Color Vision Deficiency (IEEE TVCG 15(6), 2009), matrices of severity 1.0. Difference: CIEDE2000, by Sharma, Wu,
Dalal: The CIEDE2000 Color-Difference Formula (Color Research and Application 30(1), 2005). Contrast: WCAG 2.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

#: vision -> matrix for linear RGB
VISIONS: dict[str, Matrix] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
#: sRGB to CIE XYZ, and the white point D65
_XYZ: Matrix = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
_WHITE: Triple = (0.95047, 1.0, 1.08883)


def closest(colours: Mapping[str, str]) -> tuple[float, str, str, str]:
    """Return the least difference of two colours over all kinds of vision, the vision, and the names of both colours."""
    return min(
        (difference(seen(colours[a], vision), seen(colours[b], vision)), vision, a, b)
        for vision in VISIONS
        for a, b in combinations(colours, 2)
    )


def seen(colour: str, vision: str) -> Triple:
    """Return `#rrggbb` in CIELAB as a reader with this vision sees it."""
    rgb = [min(max(value, 0.0), 1.0) for value in _times(VISIONS[vision], _linear(colour))]
    x, y, z = (_curve(value / white) for value, white in zip(_times(_XYZ, rgb), _WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21."""
    light, dark = sorted((_times(_XYZ, _linear(colour))[1] for colour in (a, b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def difference(one: Triple, other: Triple) -> float:
    """Return the difference CIEDE2000 of two colours in CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    chroma = (hypot(a1, b1) + hypot(a2, b2)) / 2
    more = 1.5 - 0.5 * sqrt(chroma**7 / (chroma**7 + 25**7))
    a1, a2 = a1 * more, a2 * more
    c1, c2 = hypot(a1, b1), hypot(a2, b2)
    h1, h2 = degrees(atan2(b1, a1)) % 360, degrees(atan2(b2, a2)) % 360
    grey = c1 * c2 == 0
    turn = 0.0 if grey else (h2 - h1 + 180) % 360 - 180
    hue = h1 + h2 if grey else (h1 + h2) / 2
    if not grey and abs(h1 - h2) > 180:
        hue += 180 if h1 + h2 < 360 else -180
    lightness, c = (l1 + l2) / 2, (c1 + c2) / 2
    t = (
        1
        - 0.17 * cos(radians(hue - 30))
        + 0.24 * cos(radians(2 * hue))
        + 0.32 * cos(radians(3 * hue + 6))
        - 0.20 * cos(radians(4 * hue - 63))
    )
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / sqrt(20 + (lightness - 50) ** 2)
    d_l, d_c = (l2 - l1) / s_l, (c2 - c1) / (1 + 0.045 * c)
    d_h = 2 * sqrt(c1 * c2) * sin(radians(turn / 2)) / (1 + 0.015 * c * t)
    rotation = 2 * sqrt(c**7 / (c**7 + 25**7)) * sin(radians(60 * exp(-(((hue - 275) / 25) ** 2))))
    return sqrt(d_l**2 + d_c**2 + d_h**2 - rotation * d_c * d_h)


def _linear(colour: str) -> Triple:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return _decoded(red), _decoded(green), _decoded(blue)


def _decoded(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def _curve(value: float) -> float:
    return float(value ** (1 / 3)) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116


def _times(matrix: Matrix, vector: Iterable[float]) -> Triple:
    r, g, b = vector
    x, y, z = (row[0] * r + row[1] * g + row[2] * b for row in matrix)
    return x, y, z
