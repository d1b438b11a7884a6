"""HTML: sections with numbered figures, in one self-contained file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from regatta.figures.axes import Figure, Group
from regatta.figures.section import Section
from regatta.host.errors import StoreError
from regatta.host.files import write_whole

_TEMPLATES = Path(__file__).parent / "templates"
#: In a section with more figures, only the first group is open, so that a phone draws the others on demand.
_OPEN_FIGURES = 12


@dataclass(frozen=True)
class NumberedFigure:
    """A figure and its key for the script of the page."""

    key: str
    figure: Figure
    #: description of the figure for readers who cannot see it
    description: str


@dataclass(frozen=True)
class Part:
    """A collapsible group of a section, with numbered figures."""

    group: Group
    figures: tuple[NumberedFigure, ...]
    open: bool


@dataclass(frozen=True)
class NumberedSection:
    """A section of the page with numbered figures."""

    section: Section
    parts: tuple[Part, ...]


def number_figures(section: Section) -> NumberedSection:
    """Give every figure of a section its key: the anchor of the section, the number of the group, the number of the figure."""
    few = sum(len(group.figures) for group in section.groups) <= _OPEN_FIGURES
    parts = tuple(
        Part(
            group,
            tuple(
                NumberedFigure(f"{section.anchor}-{g}-{f}", figure, _description(section, group, figure))
                for f, figure in enumerate(group.figures)
            ),
            few or g == 0,
        )
        for g, group in enumerate(section.groups)
    )
    return NumberedSection(section, parts)


def _description(section: Section, group: Group, figure: Figure) -> str:
    """Return `Heap size, vm/compress:s10, temurin-21: elapsed (ms) over heap (multiple of minheap)`."""
    titles = [figure.layout[key].get("title", {}).get("text", "") for key in ("yaxis", "xaxis")]
    axes = " over ".join(html.unescape(title) for title in titles if title)
    name = ", ".join(part for part in (section.title, group.title, figure.title) if part)
    return f"Figure: {name}: {axes}" if axes else f"Figure: {name}"


def fill(template: str, sections: Sequence[NumberedSection], **values: Any) -> str:
    """Fill a template that extends `base.html.j2`. All `values` and `sections` are escaped."""
    scripts = {"plotly": plotly_js(), "report": _text("report.js")}
    figures = {
        numbered.key: {"data": numbered.figure.traces, "layout": numbered.figure.layout}
        for section in sections
        for part in section.parts
        for numbered in part.figures
    }
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = _prose
    return environment.get_template(template).render(
        sections=sections,
        style=Markup(_text("report.css")),
        scripts={name: Markup(text) for name, text in scripts.items()},
        policy=_policy(scripts if figures else {"report": scripts["report"]}),
        figures=Markup(json_in_html(figures)) if figures else "",
        **values,
    )


def _prose(text: str) -> Markup:
    """Escape a text. Parts in backticks, such as commands, become code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def encoded(page: str) -> bytes:
    """Encode a page. Names decoded from invalid UTF-8 contain surrogates, which become question marks."""
    return page.encode("utf-8", "replace")


def write_page(path: Path, content: bytes) -> None:
    """Write a file atomically: under a temporary name in the folder of `path`, then renamed.

    Args:
        path: the file; its folder is created if missing.
        content: the entire content.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        write_whole(path, content)
    except OSError as error:
        raise StoreError(
            str(path),
            "a place where the file can be written",
            str(error),
            "free space or choose another folder",
        ) from error


def json_in_html(value: object) -> str:
    """Return JSON that is safe inside `<script type="application/json">`: it cannot end the element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def plotly_js() -> str:
    """Return the plotting library for use inside `<script>`. The plotly package contains only the full bundle."""
    # Imported here, because only pages need it.
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("</script", "<\\/script").replace("\r\n", "\n")


def _policy(scripts: dict[str, str]) -> str:
    """Return the content security policy: the page runs only its own scripts, identified by digest, and loads nothing."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts.values())
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
