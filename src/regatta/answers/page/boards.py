"""Link a report to the Grafana dashboards of the same experiment."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from regatta.answers.result import Answer
from regatta.answers.topics import registry

#: UID -> title of the link; the dashboards are defined in `dashboards/`
_BOARDS = {
    "regatta-experiment": "experiment",
    "regatta-compare-runtimes": "runtimes",
    "regatta-compare-platforms": "platforms",
    "regatta-collectors": "collectors",
    "regatta-host-health": "host health",
    "regatta-history": "history",
}
#: UID of the data source in `dashboards/provisioning/`
_SOURCE = "regatta-influxdb"
_ROOM_MS = 60_000


@dataclass(frozen=True)
class BoardLink:
    """A dashboard with this experiment selected, in the time range of its measurements."""

    title: str
    url: str


def board_links(answer: Answer, grafana_url: str | None) -> tuple[BoardLink, ...]:
    """Return the dashboards with data of this experiment; empty if the Grafana URL is unknown."""
    if not grafana_url:
        return ()
    query = {"var-datasource": _SOURCE, "var-experiment": answer.experiment}
    times = [
        sample.started_utc_ns // 10**6 for cell in answer.cells for sample in (*cell.samples, *cell.perturbed)
    ]
    if times:
        query |= {"from": str(min(times) - _ROOM_MS), "to": str(max(times) + _ROOM_MS)}
    base = grafana_url.rstrip("/")
    empty = {
        **{topic.board: topic.of(answer) == topic.empty for topic in registry.TOPICS if topic.board},
        "regatta-compare-runtimes": len(answer.runtimes) < 2,
    }
    return tuple(
        BoardLink(title, f"{base}/d/{uid}?{urlencode(query)}")
        for uid, title in _BOARDS.items()
        if not empty.get(uid)
    )
