"""Run the queries of the dashboards on a database, with variables interpolated as Grafana does for InfluxQL."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: a statement of InfluxQL -> its series: `name`, `tags`, `columns`, `values`; times in ms
Ask = Callable[[str], list[Mapping[str, Any]]]

_VARIABLE = re.compile(r"\$\{(\w+)(?::(\w+))?\}|\$(\w+)")
#: characters that Grafana escapes in a regular expression
_SPECIAL = re.compile(r"[\\^$*+?.()|\[\]{}/]")
#: steps of a time axis in Grafana, in s
_STEPS = (0.01, 0.1, 1, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600)
_PIXELS = 1000

ALL = ("$__all",)


@dataclass(frozen=True)
class Range:
    """The time range of a dashboard, in ms since 1970."""

    since_ms: int
    until_ms: int

    @property
    def condition(self) -> str:
        """`$timeFilter`."""
        return f"time >= {self.since_ms}ms and time <= {self.until_ms}ms"

    @property
    def step(self) -> str:
        """`$__interval`."""
        wanted = (self.until_ms - self.since_ms) / 1000 / _PIXELS
        return f"{int(1000 * next((step for step in _STEPS if step >= wanted), _STEPS[-1]))}ms"


@dataclass
class Answer:
    """Results of the queries of a panel."""

    board: str
    panel: dict[str, Any]
    #: value of the variable that repeats the panel; "" without one
    repeated: str
    #: (query, its series)
    found: list[tuple[dict[str, Any], list[Mapping[str, Any]]]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Number of rows of all queries."""
        return sum(len(one["values"]) for _, series in self.found for one in series)


def interpolated(
    text: str, values: Mapping[str, tuple[str, ...]], when: Range, all_values: Mapping[str, str]
) -> str:
    """Return a query as Grafana 9 sends it: only `${variable:regex}` is escaped.

    Args:
        text: with `$variable`, `${variable:regex}`, `$timeFilter`, `$__interval`.
        values: variable -> selected values, or `ALL`.
        when: the time range of the dashboard.
        all_values: variable -> the text for `ALL`.
    """

    def put(found: re.Match[str]) -> str:
        name = found[1] or found[3]
        if name == "timeFilter":
            return when.condition
        if name in ("__interval", "interval"):
            return when.step
        if name not in values:
            return found[0]
        if values[name] == ALL:
            return all_values[name]
        put_in = list(values[name])
        if found[2] == "regex":
            put_in = [_SPECIAL.sub(r"\\\g<0>", value) for value in put_in]
        return put_in[0] if len(put_in) == 1 else f"({'|'.join(put_in)})"

    return _VARIABLE.sub(put, text)


def panels_of(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all panels of a dashboard, including those of collapsed rows, without the headings of rows."""
    for panel in document["panels"]:
        if panel["type"] == "row":
            yield from panel["panels"]
        else:
            yield panel


class Board:
    """A dashboard with its variables at their first values, except the given ones."""

    def __init__(
        self,
        document: dict[str, Any],
        ask: Ask,
        when: Range,
        given: Mapping[str, str | Sequence[str]] | None = None,
    ) -> None:
        """Query the values of the variables, in their order."""
        self.document, self.name = document, document["uid"].removeprefix("regatta-")
        self._ask, self._when = ask, when
        #: variables that Grafana does not show
        self.hidden = {one["name"] for one in document["templating"]["list"] if one.get("hide") == 2}
        self.labels = {one["name"]: one.get("label") or one["name"] for one in document["templating"]["list"]}
        self.options: dict[str, list[str]] = {}
        self.values: dict[str, tuple[str, ...]] = {}
        self._all: dict[str, str] = {}
        #: (variable, value) -> what Grafana shows, if a named group of the regular expression selects it
        self._texts: dict[tuple[str, str], str] = {}
        self.seconds = 0.0
        for variable in document["templating"]["list"]:
            if variable["type"] == "query":
                self._choose(variable, (given or {}).get(variable["name"]))

    def _choose(self, variable: dict[str, Any], given: str | Sequence[str] | None) -> None:
        name = variable["name"]
        if variable.get("allValue"):
            self._all[name] = variable["allValue"]
        series = self.answer(variable["query"])
        # The only column beside the time, or the values beside the key of a tag.
        found = [str(row[-1]) for one in series for row in one["values"]]
        if pattern := variable.get("regex"):
            named = re.compile(
                pattern.strip("/").replace("(?<value>", "(?P<value>").replace("(?<text>", "(?P<text>")
            )
            matches = [match for value in found if (match := named.search(value))]
            found = [match[1] for match in matches]
            self._texts.update(
                {(name, match[1]): match["text"] for match in matches if "text" in named.groupindex}
            )
        # 0: in the order of the query.
        self.options[name] = options = list(dict.fromkeys(found if variable["sort"] == 0 else sorted(found)))
        first = (variable.get("current") or {}).get("value")
        wanted = (given,) if isinstance(given, str) else tuple(given or ())
        if chosen := wanted[: None if variable["multi"] else 1]:
            # Also without data, as the address of a dashboard sets it.
            self.values[name] = chosen
        elif isinstance(first, list) and (known := tuple(value for value in first if value in options)):
            self.values[name] = known
        elif variable.get("includeAll"):
            self.values[name] = ALL
        else:
            self.values[name] = (str(first) if first in options else next(iter(options), ""),)

    def answer(self, text: str, **values: tuple[str, ...]) -> list[Mapping[str, Any]]:
        """Return the result of a query of the dashboard."""
        began = time.perf_counter()
        found = self._ask(interpolated(text, {**self.values, **values}, self._when, self._all))
        self.seconds += time.perf_counter() - began
        return found

    def panels(self) -> Iterator[Answer]:
        """Yield each panel with the results of its queries; a repeated panel once per value, or once without values, as in Grafana."""
        for panel in panels_of(self.document):
            variable = str(panel.get("repeat", ""))
            chosen = self.values.get(variable, ())
            values = self.options[variable] if chosen == ALL else chosen
            if not values:
                yield self._panel(panel, {}, "")
            for value in values:
                yield self._panel(panel, {variable: (value,)}, value)

    def _panel(self, panel: dict[str, Any], values: dict[str, tuple[str, ...]], repeated: str) -> Answer:
        found = [(target, self.answer(target["query"], **values)) for target in panel.get("targets", ())]
        return Answer(self.name, panel, repeated, found)

    def title(self, answer: Answer) -> str:
        """Return the title of the panel with its variables."""
        values = {**self.values, **({answer.panel["repeat"]: (answer.repeated,)} if answer.repeated else {})}
        text = {
            name: "All" if value == ALL else ", ".join(self._texts.get((name, one), one) for one in value)
            for name, value in values.items()
        }
        return _VARIABLE.sub(lambda found: text.get(found[1] or found[3], found[0]), answer.panel["title"])

    def annotations(self) -> list[Mapping[str, Any]]:
        """Return the annotations of the dashboard."""
        return [
            one
            for each in self.document["annotations"].get("list", ())
            for one in self.answer(each["target"]["query"])
        ]


def full_range(ask: Ask) -> Range:
    """Return the range from the first to the newest invocation or event, with a margin; without any, the last day."""
    ends = [
        row[0]
        for field, measurement in (("iteration_rows", "invocation"), ("text", "event"))
        for order in ("ASC", "DESC")
        for one in ask(f'SELECT "{field}" FROM "{measurement}" ORDER BY time {order} LIMIT 1')
        for row in one["values"]
    ]
    if len(ends) < 2:
        now = int(time.time() * 1000)
        return Range(now - 24 * 3600 * 1000, now)
    room = max(60_000, (max(ends) - min(ends)) // 50)
    return Range(min(ends) - room, max(ends) + room)
