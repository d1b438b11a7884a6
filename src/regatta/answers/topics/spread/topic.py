"""The topic of spread: violins with every invocation of a cell drawn over the density."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from regatta.answers.kit.looks import Looks
from regatta.answers.kit.panels import (
    TEXTS_AT_MOST,
    Panel,
    cell_hover,
    hollow_words,
    invocation_marks,
    place_of,
)
from regatta.answers.kit.topic import Topic
from regatta.answers.kit.view import View
from regatta.answers.spine.parts import Sample
from regatta.answers.spine.result import CellAnswer
from regatta.answers.topics.spread.violins import (
    DENSITY_FROM,
    CellIterations,
    collect_iterations,
    density,
    relative_groups,
)
from regatta.figures.axes import Figure, Group, Trace, layout, row_label, value_axis
from regatta.figures.curves import segment
from regatta.figures.looks import Look
from regatta.figures.section import Section
from regatta.figures.text import Scale, finite, shorten, tidy

_ROW_PX = 58
_FRAME_PX = 78
#: Half the height of the point cloud, in rows.
_SPREAD = 0.16
_GOLDEN = 0.6180339887498949


def spread_section(iterations: Sequence[CellIterations], view: View) -> Section | None:
    """Return violins with every invocation as a point, then those relative to the mean."""
    groups = [*_groups(view.panels, view.looks), *relative_groups(iterations, view)]
    if not groups:
        return None
    return Section(
        "spread",
        words=f"Each point is one invocation. The shape is their density, the vertical line their mean.{hollow_words(view.panels)}",
        groups=groups,
    )


def _groups(panels: Sequence[Panel], looks: Looks) -> list[Group]:
    """Return one group per panel, one figure per heap. The topic `series` shows curves over a parameter."""
    groups = []
    for panel in panels:
        if panel.series_parameter:
            continue
        heaps = panel.by_heap()
        figures = [
            _figure(f"heap {label}" if label else "", cells, panel, looks)
            for label, cells in heaps
            if any(cell.samples or cell.perturbed for cell in cells)
        ]
        if figures:
            groups.append(Group(panel.title, figures, looks.legend(panel.cells)))
    return groups


def _figure(title: str, cells: list[CellAnswer], panel: Panel, looks: Looks) -> Figure:
    traces: list[Trace] = []
    labels = []
    samples = [s for c in cells for s in (*c.samples, *c.perturbed)]
    values = finite(s.value * panel.scale.factor for s in samples)
    for number, cell in enumerate(cells):
        y = -float(number)
        look = looks.of(cell)
        good = finite(s.value for s in cell.samples)
        if len(good) >= DENSITY_FROM and max(good) > min(good):
            traces.append(density([panel.scale.tidy(v) for v in good], y, look))
        traces += _points(cell, y, look, panel.scale, len(samples) <= TEXTS_AT_MOST)
        if good:
            mean = fmean(good) * panel.scale.factor
            traces.append(segment([mean, mean], [y - 0.26, y + 0.26], width=2))
        labels.append(row_label(y + 0.29, shorten(panel.name(cell))))
        labels.append(row_label(y + 0.29, _reading(good, panel.scale), side="right"))
    y_axis: dict[str, Any] = {"range": [-len(cells) + 0.6, 0.62], "visible": False, "automargin": False}
    height = int(_FRAME_PX + _ROW_PX * len(cells))
    return Figure(title, height, traces, layout(value_axis(panel.axis, values), y_axis, annotations=labels))


def _reading(values: list[float], scale: Scale) -> str:
    return f"n = {len(values):,}, mean {scale.with_unit(fmean(values))}" if values else "no value"


def _points(cell: CellAnswer, y: float, look: Look, scale: Scale, told: bool) -> list[Trace]:
    quiet = [s for s in cell.samples if not s.perturbed]
    disturbed = [*(s for s in cell.samples if s.perturbed), *cell.perturbed]
    return [
        _scatter(cell, samples, y, look, scale, hollow, told)
        for samples, hollow in ((quiet, False), (disturbed, True))
        if samples
    ]


def _scatter(
    cell: CellAnswer, samples: Sequence[Sample], y: float, look: Look, scale: Scale, hollow: bool, told: bool
) -> Trace:
    texts = [cell_hover(cell, scale.with_unit(s.value), place_of(s)) for s in samples] if told else ()
    values = [scale.tidy(s.value) for s in samples]
    heights = [tidy(y + _jitter(s)) for s in samples]
    return invocation_marks(values, heights, look, hollow, 0.8, texts)


def _jitter(sample: Sample) -> float:
    """Spread by the golden ratio over the round: the same in every report, without overlap of neighbours."""
    return _SPREAD * (2 * ((sample.round + 1) * _GOLDEN % 1) - 1)


SPREAD: Topic[tuple[CellIterations, ...]] = Topic(
    "spread", title="Distribution", empty=(), compute=collect_iterations, section=spread_section
)
