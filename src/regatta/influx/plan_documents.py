"""Plan documents: everything besides the records that an answer needs, stored in the database too.

Measurement `plan` holds the experiment and the plan of each host without its cells, each as a JSON document; measurement
`cell` has one point per cell, with the JSON of the cell in `description`. Text that is too long for a field is split into
parts. The experiment names the documents of its hosts, and these name the descriptions of their cells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from regatta.host.errors import StoreError
from regatta.influx.journal import tagged
from regatta.influx.labels import cell_label, experiment_name, read_labels
from regatta.influx.lines import identifier, quoted
from regatta.influx.points import CELL, PLAN, Point, apart, make_point
from regatta.store.cells import unplanned_cells
from regatta.store.database import open_database
from regatta.store.folder import Folder, read_json
from regatta.store.receipts import LEFT_OUT, hosts_left_out

DOCUMENT_VERSION = 2
#: bytes of a part: a string field has at most 64 KiB in InfluxDB
PART_BYTES = 60_000
#: Offset of the parts of hosts from those of the experiment: a host may have the name that stands for no host.
_HOSTS_LATER_NS = 1_000_000
#: bytes of a file name
_LONGEST_NAME = 255

#: runs a query of one statement; yields one dictionary per row
Ask = Callable[[str], Iterator[dict[str, Any]]]


@dataclass(frozen=True)
class PlanDocuments:
    """The documents read from the database."""

    #: `plan/experiment.json`
    experiment: Mapping[str, Any]
    #: host -> `plan` (its `plan.json`, or null), `planned` (invocations per cell), `decisions` (or null), `unplanned`
    #: (descriptions of recorded cells that the plan no longer has)
    hosts: Mapping[str, Mapping[str, Any]]
    #: host -> `records` and `lines` of the journal at the time of writing
    counts: Mapping[str, Mapping[str, int]]


def newest_record_ns(folder: Folder) -> int | None:
    """Return when the newest record of an experiment began, UTC; None without records.

    Raises:
        StoreError: the embedded database cannot be created.
    """
    with open_database(folder.path) as connection:
        (newest,) = connection.execute("select max(started_utc_ns) from invocations").fetchone() or (None,)
    return None if newest is None else int(newest)


def plan_points(folder: Folder, as_of_ns: int) -> Iterator[Point]:
    """Yield the points of an experiment, its plans and its cells.

    Args:
        folder: folder of the experiment.
        as_of_ns: start of its newest record, UTC.

    Raises:
        StoreError: the plan cannot be read, or the embedded database cannot be created.
    """
    experiment = read_json(folder.experiment, "run `regatta run` with its spec")
    # Hosts lost later are recorded in a receipt only.
    experiment[LEFT_OUT] = hosts_left_out(folder)
    name = experiment_name(folder)
    with open_database(folder.path) as connection:
        planned = _planned(connection)
        counts = _counts(connection)
    hosts = {}
    for host in sorted({*folder.planned_hosts(), *counts}):
        plan = folder.host_header(host) if host in folder.planned_hosts() else None
        cells = [*(plan.pop("cells") if plan else ()), *unplanned_cells(folder, host)]
        texts = [_json(cell) for cell in cells]
        decisions = folder.decisions(host)
        document = _json(
            {
                "v": DOCUMENT_VERSION,
                "plan": plan,
                "planned": planned.get(host, []),
                "decisions": read_json(decisions, "run `regatta run` again") if decisions.exists() else None,
                "cells": _id("\n".join(texts)),
            }
        )
        hosts[host] = _id(document)
        yield from apart(
            _cell_points(folder, host, hosts[host], list(zip(cells, texts, strict=True)), as_of_ns)
        )
        yield from _parts(name, host, document, as_of_ns + _HOSTS_LATER_NS)
    whole = {"v": DOCUMENT_VERSION, "experiment": experiment, "hosts": hosts, "counts": counts}
    yield from _parts(name, "", _json(whole), as_of_ns)


def _cell_points(
    folder: Folder, host: str, document: str, cells: Sequence[tuple[Mapping[str, Any], str]], time_ns: int
) -> Iterator[Point]:
    """Yield one point per cell, or several for a long description, under the names that its other points have."""
    labels, experiment = read_labels(folder, host), experiment_name(folder)
    for number, (cell, text) in enumerate(cells):
        label = labels.cells.get(str(cell["cell_id"])) or cell_label(cell)
        own = {"label": label.label, "cell_id": cell["cell_id"], "document": document, "number": number}
        tags = (experiment, host, cell.get("platform"), *label.tags)
        for piece, counted in _cut(text):
            yield make_point(CELL, tags, {**own, "description": piece, **counted}, time_ns)


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


def _json(value: Any) -> str:
    """Encode as one line of ASCII: it can be cut anywhere, and one character is one byte."""
    return json.dumps(value, separators=(",", ":"))


def _id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _cut(text: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Split a text into parts that fit into a field, each with the fields that count them."""
    pieces = [text[start : start + PART_BYTES] for start in range(0, len(text), PART_BYTES)]
    for number, piece in enumerate(pieces):
        yield piece, {"part": number, "parts": len(pieces)}


def _parts(experiment: str, host: str, document: str, time_ns: int) -> Iterator[Point]:
    for piece, counted in _cut(document):
        fields = {"text": piece, "document": _id(document), **counted}
        yield make_point(PLAN, (experiment, host), fields, time_ns + counted["part"])


def read_plan(ask: Ask, experiment: str) -> PlanDocuments:
    """Read the newest complete documents of an experiment.

    Args:
        ask: runs a query.
        experiment: its name.

    Raises:
        StoreError: there are no documents, or a part is missing or differs.
    """
    told = tagged(experiment=experiment, host="")
    for newest in _newest_first(ask(f"SELECT document, part, parts FROM {identifier(PLAN)} WHERE {told}")):
        whole = _read(ask, experiment, "", newest[0])
        # A host may have the name that stands for no host: then its own documents are here, too.
        if "hosts" in whole:
            break
    else:
        raise StoreError(
            f"experiment {experiment!r} in the database", "its complete plan", "none",
            "run `regatta ingest` on the machine with its results",
        )  # fmt: skip
    _check(experiment, whole)
    hosts = {host: _read_host(ask, experiment, host, one, newest[1]) for host, one in whole["hosts"].items()}
    return PlanDocuments(whole["experiment"], hosts, whole["counts"])


def _read_host(ask: Ask, experiment: str, host: str, document: str, as_of_ns: int) -> dict[str, Any]:
    """Return the document of a host with its cells in place, as last written."""
    own = _read(ask, experiment, host, document)
    place = _place(experiment, host)
    if not {"plan", "planned", "decisions", "cells"} <= own.keys():
        raise StoreError(place, "the plan of a host", f"{sorted(own)}")
    if not isinstance(own["planned"], list) or not isinstance(own["plan"], dict | None):
        raise StoreError(place, "the plan of a host and the number of planned invocations", f"{sorted(own)}")
    told = (
        f"{tagged(experiment=experiment, host=host)} AND document = {quoted(document)} AND time >= {as_of_ns}"
    )
    query = f"SELECT number, part, description FROM {identifier(CELL)} WHERE {told}"
    parts = {(row["number"], row["part"]): row["description"] for row in ask(query)}
    if not all((type(n), type(p), type(text)) == (int, int, str) for (n, p), text in parts.items()):
        raise StoreError(place, "numbered descriptions of cells", "others", "run `regatta ingest` again")
    texts: dict[int, str] = {}
    for number, part in sorted(parts):
        texts[number] = texts.get(number, "") + parts[number, part]
    if _id("\n".join(texts.values())) != own["cells"]:
        raise StoreError(place, "a description of each cell", "others", "run `regatta ingest` again")
    cells = [_object(place, text) for text in texts.values()]
    planned = len(own["planned"])
    plan = None if own["plan"] is None else {**own["plan"], "cells": cells[:planned]}
    return {**own, "plan": plan, "unplanned": cells[planned:]}


def _newest_first(rows: Iterator[dict[str, Any]]) -> list[tuple[str, int]]:
    """Return the complete documents, each with the time (ns, UTC) from which it and its cells were written."""
    parts: dict[str, set[int]] = {}
    whole: dict[str, int] = {}
    for row in rows:
        own = parts.setdefault(row["document"], set())
        own.add(row["part"])
        if len(own) == row["parts"]:
            # The time of a part is that of the first part plus its number in ns.
            since = row["time"] - row["part"]
            whole[row["document"]] = max(since, whole.get(row["document"], since))
    return sorted(whole.items(), key=lambda one: one[1], reverse=True)


def _read(ask: Ask, experiment: str, host: str, document: str) -> dict[str, Any]:
    told = f"{tagged(experiment=experiment, host=host)} AND document = {quoted(document)}"
    parts = {
        row["part"]: row["text"] for row in ask(f"SELECT part, text FROM {identifier(PLAN)} WHERE {told}")
    }
    text = "".join(parts[number] for number in sorted(parts))
    place = _place(experiment, host)
    if _id(text) != document:
        raise StoreError(place, f"document {document}", "other contents", "run `regatta ingest` again")
    value = _object(place, text)
    if value.get("v") != DOCUMENT_VERSION:
        raise StoreError(
            place,
            f"version {DOCUMENT_VERSION}",
            str(value.get("v")),
            "use the version of Regatta that wrote it",
        )
    return value


def _object(place: str, text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(place, "a document that Regatta wrote", str(error)) from error


def _check(experiment: str, whole: Mapping[str, Any]) -> None:
    """Validate a document: any account with write access may have written it, and hosts become folders."""
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
            raise StoreError(place, "host names that are valid folder names", repr(host[:_LONGEST_NAME]))
    for host, one in whole["hosts"].items():
        if not isinstance(one, str):
            raise StoreError(place, f"the document of {host}", repr(one)[:_LONGEST_NAME])
    for host, counts in whole["counts"].items():
        if not isinstance(counts, dict) or not all(
            type(counts.get(one)) is int for one in ("records", "lines")
        ):
            raise StoreError(
                place, f"the numbers of records and lines of {host}", repr(counts)[:_LONGEST_NAME]
            )


def _place(experiment: str, host: str) -> str:
    return f"the plan of {host or experiment} in the database"
