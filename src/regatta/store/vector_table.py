"""The table `vectors` of the embedded database: rows of the files in `vectors/` of an experiment's folder.

The files are only checked for their form; `regatta vector check` validates their contents.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from regatta.host.errors import SpecError, StoreError
from regatta.store.columns import canonical_json

FOLDER = "vectors"

_TEXT, _FLOAT = pa.string(), pa.float64()

#: One row per number of a vector. `part`: the part of the cost (`cost`, `fixed`, `per`), `count` or `user_time`. `arguments`:
#: where it applies, canonical JSON, null if everywhere. `share`: of the count, if it has a distribution. `low`, `high`: null if
#: exact.
VECTORS = pa.schema(
    [
        ("file", _TEXT),
        ("kind", _TEXT),
        ("name", _TEXT),
        ("per", _TEXT),
        ("place", pa.int32()),
        ("primitive", _TEXT),
        ("form", _TEXT),
        ("part", _TEXT),
        ("arguments", _TEXT),
        ("unit", _TEXT),
        ("time_unit", _TEXT),
        ("value", _FLOAT),
        ("low", _FLOAT),
        ("high", _FLOAT),
        ("n", pa.int64()),
        ("share", _FLOAT),
        ("user_share", _FLOAT),
        ("stands_for", _TEXT),
        ("rule", _TEXT),
        ("level", _FLOAT),
    ]
)

_Row = dict[str, Any]


def vector_files(experiment_dir: Path) -> list[Path]:
    """Return the vectors of an experiment, sorted by name."""
    return sorted((experiment_dir / FOLDER).glob("*.yml"))


def vectors_fingerprint(experiment_dir: Path) -> str:
    """Return a hash of the contents of the files.

    Raises:
        StoreError: a file cannot be read, or is not a regular file.
    """
    digest = hashlib.sha256(b"vectors 1\n")
    for path in vector_files(experiment_dir):
        digest.update(os.fsencode(path.name) + f" {hashlib.sha256(_read(path)).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def vector_rows(experiment_dir: Path) -> pa.Table:
    """Return rows of `VECTORS` for all files.

    Raises:
        StoreError: a file is not a vector.
    """
    from regatta.spec.yaml_lines import parse_yaml

    tables = [VECTORS.empty_table()]
    for path in vector_files(experiment_dir):
        try:
            rows = list(_rows_of(path.name, parse_yaml(_read(path), path.name).value))
            tables.append(pa.Table.from_pylist(rows, schema=VECTORS))
        except (
            SpecError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError, pa.ArrowException,
        ) as error:  # fmt: skip
            raise _no_vector(path, error) from error
    return pa.concat_tables(tables)


def _read(path: Path) -> bytes:
    # Imported here, because most experiments have no vectors.
    from regatta.spec.yaml_lines import read_bounded

    try:
        return read_bounded(path)
    except OSError as error:
        raise _no_vector(path, error) from error


def _no_vector(path: Path, error: Exception) -> StoreError:
    got = " ".join(f"{type(error).__name__}: {error}".split())
    fix = f"run `regatta vector check {path}`"
    return StoreError(str(path), "a system vector or an application vector", got, fix)


def _rows_of(file: str, document: Mapping[str, Any]) -> Iterator[_Row]:
    kind = document["kind"]
    shared = {
        "file": file, "kind": kind, "name": str(document["name"]), "per": document.get("per"),
        "time_unit": document.get("time_unit", "ns"), "level": float(document.get("level", 0.95)),
    }  # fmt: skip
    if kind == "system":
        rows = _costs(document["primitives"])
    elif kind == "application":
        rows = _counts(document)
    else:
        raise ValueError(f"kind: expected system or application · got {kind}")
    for place, row in enumerate(rows):
        yield {**shared, "place": place, **row}


def _costs(primitives: Mapping[str, Mapping[str, Any]]) -> Iterator[_Row]:
    for name, primitive in primitives.items():
        share = primitive.get("user_share", 0.0)
        shared = {
            "primitive": str(name),
            "unit": primitive["unit"],
            "user_share": _interval(share).get("value"),
        }
        for form, part, arguments, number in _parts(primitive["cost"]):
            yield {**shared, "form": form, "part": part, "arguments": _json(arguments), **_interval(number)}


def _parts(cost: Any) -> Iterator[tuple[str, str, Mapping[str, Any], Any]]:
    """Yield form, part, scope and number."""
    if not isinstance(cost, Mapping) or "value" in cost:
        yield "constant", "cost", {}, cost
        return
    ((form, body),) = cost.items()
    if form == "linear":
        yield from ((form, part, {"argument": body["argument"]}, body[part]) for part in ("fixed", "per"))
    elif form == "table":
        for point in body["points"]:
            at = point["at"] if isinstance(point["at"], list) else [point["at"]]
            yield form, "cost", dict(zip(body["arguments"], at, strict=True)), point["cost"]
    elif form == "piecewise":
        ends = [None, *body["breaks"], None]
        for number, piece in enumerate(body["pieces"]):
            where = {"argument": body["argument"], "from": ends[number], "below": ends[number + 1]}
            held = {key: value for key, value in where.items() if value is not None}
            yield from ((form, part, held, piece[part]) for part in ("fixed", "per"))
    else:
        raise ValueError(f"cost: expected a number, linear, table or piecewise · got {form}")


def _counts(document: Mapping[str, Any]) -> Iterator[_Row]:
    for one in document["counts"]:
        shared = {
            "primitive": str(one["primitive"]), "form": "constant", "part": "count", **_interval(one["count"]),
            "stands_for": _json(one.get("stands_for")), "rule": one.get("rule") or None,
        }  # fmt: skip
        for share in one.get("distribution") or [{"arguments": one.get("arguments") or {}, "share": 1.0}]:
            yield {**shared, "arguments": _json(share["arguments"]), "share": float(share["share"])}
    if document.get("user_time") is not None:
        yield {"primitive": "", "form": "constant", "part": "user_time", **_interval(document["user_time"])}


def _interval(number: Any) -> _Row:
    row = number if isinstance(number, Mapping) else {"value": float(number)}
    found: _Row = {key: float(row[key]) for key in ("value", "low", "high") if row.get(key) is not None}
    # The ends can be infinite. An integer larger than any float is infinite too.
    if math.isinf(found.get("value", 0.0)):
        raise ValueError("expected a finite value")
    return {**found, "n": row["n"]} if row.get("n") else found


def _json(value: Any) -> str | None:
    return canonical_json(value) if value else None
