"""Export figures of the gallery to files: SVG and PNG through a browser, HTML without one."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

from regatta.answers.report.gallery import Picture, standalone
from regatta.figures.browser import Browser, find_browser
from regatta.figures.html import encoded, plotly_js, write_page
from regatta.figures.sections_page import render_sections
from regatta.host.errors import HostError

Format = Literal["svg", "png", "html"]
#: Pixels of a PNG per CSS pixel, for sharp print.
_PNG_SCALE = 3
#: Names inside a drawing come from random numbers; fixed ones make the file reproducible.
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
    """Write each picture to `directory/NAME.KIND` and yield its path; one browser draws all of them.

    Args:
        pictures: pictures of the gallery.
        directory: created if missing; existing files are replaced atomically.
        kind: format of the files.
        width: width of a picture in CSS pixels; its height follows from the content.
        progress: called with the number of finished pictures and the total.

    Raises:
        HostError: no browser, or it fails.
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
    """Return the bytes of a data URL."""
    head, comma, body = url.partition(",")
    if not comma or not head.startswith("data:image/"):
        raise HostError(f"picture {name}", "an image from the browser", url[:80], "draw with --format html")
    return base64.b64decode(body) if head.endswith(";base64") else unquote_to_bytes(body)


def _in_order(svg: bytes, name: str) -> bytes:
    """Return the drawing with attributes in a fixed order: a browser orders its first drawing differently."""
    try:
        return ElementTree.canonicalize(svg.decode("utf-8")).encode("utf-8")
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise HostError(
            f"picture {name}", "a drawing in XML", str(error), "draw with --format png"
        ) from error
