"""Pictures: figures of the gallery as files, SVG and PNG drawn by a browser, HTML without one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

from regatta.answers.page.gallery import Picture, standalone
from regatta.answers.page.page import render_sections
from regatta.figures.browser import Browser, find_browser
from regatta.figures.html import encoded, plotly_js, write_page
from regatta.host.errors import HostError

Format = Literal["svg", "png", "html"]
#: A picture of points has so many for every CSS pixel, so that it is sharp on paper.
_PNG_SCALE = 3
#: Names inside a drawing come from random numbers; from these the same figure is the same file every time.
_SAME_EVERY_TIME = (
    "(() => { let state = 1; Math.random = () => (state = (state * 48271) % 2147483647) / 2147483647; })()"
)


def write_pictures(
    pictures: Sequence[Picture],
    directory: Path,
    kind: Format,
    width: int,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Path]:
    """Write each picture as `directory/NAME.KIND` and give its path; one browser draws all of them.

    Args:
        pictures: of the gallery.
        directory: made when it is missing; files of the same names are replaced, each whole.
        kind: of the files.
        width: of a picture in CSS pixels; its height follows from what it shows.
        progress: told how many are done, and how many there are.

    Raises:
        HostError: there is no browser, or it fails.
        StoreError: a file cannot be written.
    """
    drawn = _pages(pictures) if kind == "html" else _drawings(pictures, kind, width)
    for number, (picture, content) in enumerate(zip(pictures, drawn, strict=True), start=1):
        path = directory / f"{picture.name}.{kind}"
        write_page(path, content)
        if progress is not None:
            progress(number, len(pictures))
        yield path


def _pages(pictures: Sequence[Picture]) -> Iterator[bytes]:
    for picture in pictures:
        group = replace(picture.group, figures=[picture.figure])
        section = replace(picture.section, sentences=(), tables=[], groups=[group])
        yield encoded(render_sections(picture.title, "", (), [section]))


def _drawings(pictures: Sequence[Picture], kind: Format, width: int) -> Iterator[bytes]:
    with Browser(find_browser()) as browser:
        browser.evaluate(f"{plotly_js()}\n;0")
        for picture in pictures:
            figure = standalone(picture, width)
            options = {"format": kind, "width": width, "height": figure["layout"]["height"]}
            if kind == "png":
                options["scale"] = _PNG_SCALE
            browser.evaluate(_SAME_EVERY_TIME)
            url = browser.evaluate(f"Plotly.toImage({json.dumps(figure)}, {json.dumps(options)})")
            content = _content(str(url), picture.name)
            yield _in_order(content, picture.name) if kind == "svg" else content


def _content(url: str, name: str) -> bytes:
    """The bytes that a data URL carries."""
    head, comma, body = url.partition(",")
    if not comma or not head.startswith("data:image/"):
        raise HostError(f"picture {name}", "an image from the browser", url[:80], "draw with --format html")
    return base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)


def _in_order(svg: bytes, name: str) -> bytes:
    """The same drawing with attributes in a fixed order: a browser's first drawing has another than its second."""
    try:
        return ElementTree.canonicalize(svg.decode("utf-8")).encode("utf-8")
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise HostError(
            f"picture {name}", "a drawing in XML", str(error), "draw with --format png"
        ) from error
