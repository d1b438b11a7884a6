"""Facts about a recording, in a JSON file beside its data, all checked: they come from other machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from regatta.host.cache import bytes_sha256
from regatta.host.errors import RegattaError
from regatta.host.files import parse_object, write_output
from regatta.host.foreign import foreign
from regatta.host.values.from_json import value_from_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    T = TypeVar("T", bound=DataclassInstance)

#: name of a fact -> its least and largest value; for a list or an object: of each member
Ranges = Mapping[str, tuple[int, int]]
#: no time and no size is larger: 146 years in ns; XFS has a limit of 8 EiB
MOST = 1 << 62
#: CPUs of the largest Linux kernel, and its largest number of a process
MOST_CPUS, MOST_PIDS = 8192, 1 << 22
_DIGESTS = "sha256"
#: of `trace.json` and `events.json`; the tasks of a large host are some MiB
_MOST_BYTES = 64 << 20


def write_facts(path: Path, facts: DataclassInstance, files: Sequence[str]) -> None:
    """Write the facts last, with the digests of the files beside them: a folder with facts is complete.

    Args:
        path: of the facts.
        facts: a dataclass.
        files: names of the complete files in the same folder.
    """
    digests = {name: bytes_sha256(path.with_name(name)) for name in files}
    write_output(path, json.dumps({**asdict(facts), _DIGESTS: digests}) + "\n")


def read_facts(kind: type[T], path: Path, what: str, ranges: Ranges, fix: str) -> T:
    """Read facts, and check their types, their ranges and the digests of the files beside them.

    Args:
        kind: dataclass of the facts; its field `version` has the supported version as default.
        path: of the facts.
        what: the kind of recording in words, such as "a trace of file operations".
        ranges: of the numbers among the facts.
        fix: how to get a valid recording.

    Raises:
        RegattaError: a file is missing, damaged, or of another version.
    """
    try:
        told = parse_object(path, _MOST_BYTES)
    except OSError as error:
        got = error.strerror or str(error)
        raise RegattaError(str(path.parent), f"the folder of {what}", got, fix) from error
    except ValueError as error:
        raise RegattaError(str(path), f"facts of {what}", str(error), fix) from error
    with foreign(path, f"facts of {what}", fix):
        digests = told.pop(_DIGESTS, {})
        version = kind.__dataclass_fields__["version"].default
        if told.get("version") != version or type(told["version"]) is not int:
            raise RegattaError(str(path), f"version {version}", str(told.get("version"))[:100], fix)
        facts = _of_type(kind, told, path, fix)
        check_ranges(path, told, ranges, fix)
        _check_digests(path, digests, fix)
    return facts


def check_ranges(path: Path, told: Mapping[str, Any], ranges: Ranges, fix: str) -> None:
    """Check the numbers of facts; None is no number.

    Raises:
        RegattaError: one is out of its range.
    """
    for name, (least, most) in ranges.items():
        value = told.get(name)
        each = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
        for one in each:
            if one is not None and not (type(one) is int and least <= one <= most):
                got = repr(one)[:100]
                raise RegattaError(f"{path}: {name}", f"whole numbers from {least} to {most}", got, fix)


def _of_type(kind: type[T], told: dict[str, Any], path: Path, fix: str) -> T:
    try:
        return value_from_json(kind, {**_defaults(kind), **told}, str(path))
    except RegattaError as error:
        (problem,) = error.problems
        raise RegattaError(problem.where, problem.expected, problem.got, fix) from error


def _defaults(kind: type[T]) -> dict[str, Any]:
    """Return the facts that older recordings lack, as JSON."""
    given = {one.name: one.default for one in fields(kind) if one.default is not MISSING}
    made = {one.name: one.default_factory() for one in fields(kind) if one.default_factory is not MISSING}
    return dict(json.loads(json.dumps({**given, **made})))


def _check_digests(path: Path, digests: object, fix: str) -> None:
    # Folders of older versions, and of other programs, have none.
    if not isinstance(digests, dict):
        raise RegattaError(f"{path}: {_DIGESTS}", "an object", type(digests).__name__, fix)
    for name, digest in digests.items():
        if Path(name).name != name:
            raise RegattaError(f"{path}: {_DIGESTS}", "names of files of the folder", name[:100], fix)
        file = path.with_name(name)
        with foreign(file, f"a file of the recording {path.parent}", fix):
            if bytes_sha256(file) != digest:
                raise RegattaError(
                    str(file), f"the digest in {path.name}", "another one: damaged or changed", fix
                )
