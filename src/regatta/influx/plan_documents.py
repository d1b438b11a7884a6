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

from regatta.host.errors import StoreError
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

#: bytes of a document's text: the plan of 10,000 cells has some 30 MB
_LONGEST_DOCUMENT = 64 << 20
#: bytes of a file's name
_LONGEST_NAME = 255

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
    for document in _newest_first(ask(f"SELECT document, part, parts FROM {identifier(EVENT)} WHERE {told}")):
        whole = _read(ask, experiment, "", document)
        # A host may be called as no host is: then its own documents are here, too.
        if "hosts" in whole:
            break
    else:
        raise StoreError(
            f"experiment {experiment!r} in the database", "its plan, whole", "none",
            "run `regatta ingest` where its results are",
        )  # fmt: skip
    _check(experiment, whole)
    hosts = {host: _read(ask, experiment, host, one) for host, one in whole["hosts"].items()}
    for host, own in hosts.items():
        if not {"plan", "planned", "decisions"} <= own.keys():
            raise StoreError(_place(experiment, host), "the plan of a host", f"{sorted(own)}")
    return PlanDocuments(whole["experiment"], hosts, whole["counts"])


def _newest_first(rows: Iterator[dict[str, Any]]) -> list[str]:
    """The documents of which all parts are there."""
    parts: dict[str, set[int]] = {}
    whole: dict[str, int] = {}
    for row in rows:
        own = parts.setdefault(row["document"], set())
        own.add(row["part"])
        if len(own) == row["parts"]:
            whole[row["document"]] = max(row["time"], whole.get(row["document"], row["time"]))
    return sorted(whole, key=lambda one: whole[one], reverse=True)


def _read(ask: Ask, experiment: str, host: str, document: str) -> dict[str, Any]:
    told = f"{_where(experiment, host)} AND document = {quoted(document)}"
    parts = {
        row["part"]: row["text"] for row in ask(f"SELECT part, text FROM {identifier(EVENT)} WHERE {told}")
    }
    text = "".join(parts[number] for number in sorted(parts))
    place = _place(experiment, host)
    if _id(text) != document:
        raise StoreError(place, f"document {document}", "other contents", "run `regatta ingest` again")
    try:
        value = dict(json.loads(_decompressed(base64.b64decode(text))))
    except (ValueError, TypeError, RecursionError, zlib.error) as error:
        raise StoreError(place, "a document that Regatta wrote", str(error)) from error
    if value.get("v") != DOCUMENT_VERSION:
        raise StoreError(
            place, f"version {DOCUMENT_VERSION}", str(value.get("v")), "take the Regatta that wrote it"
        )
    return value


def _decompressed(data: bytes) -> bytes:
    """The text of a document. Raises ValueError where it is longer than `_LONGEST_DOCUMENT`: 1 MB of zlib can hold 1 GB."""
    stream = zlib.decompressobj()
    text = stream.decompress(data, _LONGEST_DOCUMENT)
    if stream.unconsumed_tail or not stream.eof:
        raise ValueError(f"a document that is cut off, or longer than {_LONGEST_DOCUMENT >> 20} MiB")
    return text


def _check(experiment: str, whole: Mapping[str, Any]) -> None:
    """What the database holds anybody may have written who may write there, and hosts become folders."""
    place = _place(experiment, "")
    parts = [whole.get(name) for name in ("experiment", "hosts", "counts")]
    if not all(isinstance(part, dict) for part in parts):
        raise StoreError(place, "`experiment`, `hosts` and `counts`", f"{sorted(whole)}")
    for host in {*whole["hosts"], *whole["counts"]}:
        if (
            host in ("", ".", "..")
            or set(host) & {"/", "\0"}
            or len(host.encode(errors="replace")) > _LONGEST_NAME
        ):
            raise StoreError(place, "hosts with names that folders can have", repr(host[:_LONGEST_NAME]))
    for host, one in whole["hosts"].items():
        if not isinstance(one, str):
            raise StoreError(place, f"the document of {host}", repr(one)[:_LONGEST_NAME])
    for host, counts in whole["counts"].items():
        if not isinstance(counts, dict) or not all(
            type(counts.get(one)) is int for one in ("records", "lines")
        ):
            raise StoreError(place, f"how many records and lines {host} has", repr(counts)[:_LONGEST_NAME])


def _place(experiment: str, host: str) -> str:
    return f"the plan of {host or experiment} in the database"


def _where(experiment: str, host: str) -> str:
    tags = {"experiment": experiment, "host": host, "kind": PLAN}
    return " AND ".join(f"{identifier(name)} = {quoted(tag_text(value))}" for name, value in tags.items())
