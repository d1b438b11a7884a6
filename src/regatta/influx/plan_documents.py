"""What an answer needs beside the records, in the database too: the plans, what was decided on the hosts, and how much there is.

Each document is one JSON object, compressed and cut into parts that a field of a point can hold. That of the experiment
names those of its hosts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from regatta.errors import StoreError
from regatta.influx.labels import experiment_name
from regatta.influx.lines import clean_bytes, identifier, quoted, tag_text
from regatta.influx.points import EVENT, Point, make_point
from regatta.store.database import open_database
from regatta.store.folder import Folder, read_json
from regatta.store.left_out import LEFT_OUT, hosts_left_out

PLAN = "plan"
DOCUMENT_VERSION = 1
#: bytes of a part: a string field has at most 64 KiB in InfluxDB
PART_BYTES = 60_000
#: Parts of the hosts come so much later than those of the experiment: a host may be called as no host is.
_HOSTS_LATER_NS = 1_000_000

#: asks a query of one statement; gives a dictionary a row
Ask = Callable[[str], Iterator[dict[str, Any]]]


@dataclass(frozen=True)
class PlanDocuments:
    """What was read back."""

    #: `plan/experiment.json`
    experiment: Mapping[str, Any]
    #: host -> `plan` (its `plan.json`), `planned` (invocations of each cell), `decisions` (or null)
    hosts: Mapping[str, Mapping[str, Any]]
    #: host -> `records` and `lines` that the journal had when this was written
    counts: Mapping[str, Mapping[str, int]]


def newest_record_ns(folder: Folder) -> int | None:
    """When the newest record of an experiment began, UTC; None where there is none.

    Raises:
        StoreError: the embedded database cannot be made.
    """
    with open_database(folder.path) as connection:
        (newest,) = connection.execute("select max(started_utc_ns) from invocations").fetchone() or (None,)
    return None if newest is None else int(newest)


def plan_points(folder: Folder, as_of_ns: int) -> Iterator[Point]:
    """The points of an experiment's documents.

    Args:
        folder: of the experiment.
        as_of_ns: when its newest record began, UTC.

    Raises:
        StoreError: the plan cannot be read, or the embedded database cannot be made.
    """
    experiment = read_json(folder.experiment, "run `regatta run` with its spec")
    # That a host was lost later is in a receipt.
    experiment[LEFT_OUT] = hosts_left_out(folder)
    name = experiment_name(folder)
    with open_database(folder.path) as connection:
        planned = _planned(connection)
        counts = _counts(connection)
    hosts = {}
    for host in folder.planned_hosts():
        document = _compressed(_host_document(folder, host, planned.get(host, [])))
        hosts[host] = _id(document)
        yield from _parts(name, host, document, as_of_ns + _HOSTS_LATER_NS)
    whole = {"v": DOCUMENT_VERSION, "experiment": experiment, "hosts": hosts, "counts": counts}
    yield from _parts(name, "", _compressed(whole), as_of_ns)


def _host_document(folder: Folder, host: str, planned: list[int]) -> dict[str, Any]:
    decisions = folder.decisions(host)
    return {
        "v": DOCUMENT_VERSION,
        "plan": folder.host_header(host),
        "planned": planned,
        "decisions": read_json(decisions, "run `regatta run` again") if decisions.exists() else None,
    }


def _planned(connection: duckdb.DuckDBPyConnection) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for host, planned in connection.execute(
        "select host, planned from cells order by host, place"
    ).fetchall():
        found.setdefault(host, []).append(planned)
    return found


def _counts(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, int]]:
    rows = connection.execute(
        "select host, count(*), sum(iteration_rows) from invocations group by host order by host"
    ).fetchall()
    return {str(host): {"records": int(records), "lines": int(lines or 0)} for host, records, lines in rows}


def _compressed(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(zlib.compress(clean_bytes(text), 6)).decode("ascii")


def _id(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()[:16]


def _parts(experiment: str, host: str, document: str, time_ns: int) -> Iterator[Point]:
    pieces = [document[start : start + PART_BYTES] for start in range(0, len(document), PART_BYTES)]
    for number, piece in enumerate(pieces):
        fields = {"text": piece, "document": _id(document), "part": number, "parts": len(pieces)}
        yield make_point(EVENT, (experiment, host, PLAN), fields, time_ns + number)


def read_plan(ask: Ask, experiment: str) -> PlanDocuments:
    """Read the newest documents of an experiment that are whole.

    Args:
        ask: runs a query.
        experiment: its name.

    Raises:
        StoreError: there are none, or a part is missing or is another one.
    """
    told = _where(experiment, "")
    document = _newest_whole(ask(f"SELECT document, part, parts FROM {identifier(EVENT)} WHERE {told}"))
    if document is None:
        raise StoreError(
            f"experiment {experiment!r} in the database", "its plan, whole", "none",
            "run `regatta ingest` where its results are",
        )  # fmt: skip
    whole = _read(ask, experiment, "", document)
    hosts = {host: _read(ask, experiment, host, one) for host, one in whole["hosts"].items()}
    return PlanDocuments(whole["experiment"], hosts, whole["counts"])


def _newest_whole(rows: Iterator[dict[str, Any]]) -> str | None:
    parts: dict[str, set[int]] = {}
    newest: tuple[int, str] | None = None
    for row in rows:
        own = parts.setdefault(row["document"], set())
        own.add(row["part"])
        if len(own) == row["parts"] and (newest is None or row["time"] > newest[0]):
            newest = row["time"], row["document"]
    return newest and newest[1]


def _read(ask: Ask, experiment: str, host: str, document: str) -> dict[str, Any]:
    told = f"{_where(experiment, host)} AND document = {quoted(document)}"
    parts = {
        row["part"]: row["text"] for row in ask(f"SELECT part, text FROM {identifier(EVENT)} WHERE {told}")
    }
    text = "".join(parts[number] for number in sorted(parts))
    place = f"the plan of {host or experiment} in the database"
    if _id(text) != document:
        raise StoreError(place, f"document {document}", "other contents", "run `regatta ingest` again")
    value = json.loads(zlib.decompress(base64.b64decode(text)))
    if value.get("v") != DOCUMENT_VERSION:
        raise StoreError(
            place, f"version {DOCUMENT_VERSION}", str(value.get("v")), "take the Regatta that wrote it"
        )
    return dict(value)


def _where(experiment: str, host: str) -> str:
    tags = {"experiment": experiment, "host": host, "kind": PLAN}
    return " AND ".join(f"{identifier(name)} = {quoted(tag_text(value))}" for name, value in tags.items())
