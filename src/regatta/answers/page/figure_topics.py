"""The topics that are figures of the cells and nothing else."""

from __future__ import annotations

from regatta.answers.page.forest import forest_groups
from regatta.answers.page.heap_curves import heap_groups
from regatta.answers.page.looks import Looks
from regatta.answers.page.order_plot import order_groups
from regatta.answers.page.panels import Panel
from regatta.answers.page.ratio_rows import band_words
from regatta.answers.page.series import series_groups
from regatta.answers.page.violins import has_perturbed, violin_groups
from regatta.answers.result import Answer
from regatta.figures.quantities import show_percent
from regatta.figures.topic import Topic


def ratios_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """Forest plots of the ratios to the baseline."""
    return _if_any(
        Topic(
            "ratios",
            "Ratios",
            "Ratio to the baseline",
            f"Each point is an alternative's mean over that of the baseline, the bar its {show_percent(answer.level)} "
            "interval. A bar that crosses the dashed line at 1 leaves open which is better."
            f"{band_words(answer.theta_percent)}",
            groups=forest_groups(answer, panels, looks),
        )
    )


def heap_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """The metric against the size of the heap."""
    return _if_any(
        Topic(
            "heap",
            "Heap",
            "Against heap size",
            f"Mean of each collector as the heap grows; bars or bands are {show_percent(answer.level)} intervals. "
            "Axes do not start at 0.",
            groups=heap_groups(panels, looks),
        )
    )


def curves_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """The metric over a numeric parameter."""
    return _if_any(
        Topic(
            "series",
            "Curves",
            "Over a parameter",
            f"The metric over one numeric parameter; bars or bands are {show_percent(answer.level)} intervals.",
            groups=series_groups(answer, panels, looks),
        )
    )


def spread_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """Violins with every invocation as a point."""
    return _if_any(
        Topic(
            "spread",
            "Spread",
            "Spread of the invocations",
            f"Each point is one invocation, the shape their density, the stroke their mean.{_hollow(panels)}",
            groups=violin_groups(panels, looks),
        )
    )


def order_topic(answer: Answer, panels: list[Panel], looks: Looks) -> Topic | None:
    """Every invocation in its place in time."""
    return _if_any(
        Topic(
            "order",
            "Order",
            "Order and drift",
            "Each invocation against the time at which it ran, divided by the mean of its cell. The line is the "
            f"running median: where it leaves 1, the machine drifted.{_hollow(panels)}",
            groups=order_groups(panels, looks),
        )
    )


def _if_any(topic: Topic) -> Topic | None:
    return topic if topic.groups else None


def _hollow(panels: list[Panel]) -> str:
    return " Hollow points are perturbed invocations." if has_perturbed(panels) else ""
