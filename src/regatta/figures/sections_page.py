"""Pages that consist of sections, beside the report of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regatta.figures.fitting import fit
from regatta.figures.html import encoded, fill, number_figures, write_page
from regatta.figures.section import Section


def write_sections_page(
    title: str, question: str, sentences: Sequence[str], given: Sequence[Section], path: Path
) -> None:
    """Write sections with a headline as one self-contained HTML file, in the layout of a report.

    Args:
        title: title of the page.
        question: the question, shown below the title; may be empty.
        sentences: the answer in sentences; may be empty.
        given: the sections in order, with unique anchors.
        path: the file to write, atomically; missing folders are created.

    Raises:
        StoreError: the file cannot be written.
    """
    write_page(path, encoded(render_sections(title, question, sentences, given)))


def render_sections(title: str, question: str, sentences: Sequence[str], given: Sequence[Section]) -> str:
    """Return a page of sections as HTML text; see `write_sections_page`."""
    sections = [number_figures(section) for section in fit(given)]
    return fill("sections.html.j2", sections, title=title, question=question, sentences=tuple(sentences))
