"""`load_spec`: read a spec into an `Experiment`, or report every problem at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Experiment
from regatta.spec.home import find_home
from regatta.spec.include import read_with_includes
from regatta.spec.problems import check, shown
from regatta.spec.registries import read_registries
from regatta.spec.resolve import Resolver
from regatta.spec.spec_schema import Spec
from regatta.spec.yaml_lines import Document

#: stand-ins for missing or invalid required keys while the rest is checked
_STAND_INS: dict[str, Any] = {
    "name": "unnamed",
    "benchmarks": [{"suite": "none", "benchmark": "none"}],
    "invocations": {"fixed": 1},
}


def load_spec(path: Path, home: Path | None = None) -> Experiment:
    """Read a spec with its includes, registries and suites. Creates no files.

    Args:
        path: the spec.
        home: folder with `configs/`; found by `find_home` when None.

    Returns:
        the experiment, with all references resolved.

    Raises:
        SpecError: with every problem of every file.
        RegattaError: no home.
    """
    path = Path(path)
    document = read_with_includes(path)
    if not isinstance(document.value, dict):
        got = shown(document.value)
        raise SpecError([Problem(document.where(()), "a spec (a mapping)", got, "add `name: ...`")])
    problems: list[Problem] = []
    spec = check(Spec, document, problems)
    indices: dict[str, list[int]] = {}
    known = set(document.value)
    if spec is None:
        spec, indices, known = _what_is_right(document)
    home = find_home(path) if home is None else home
    registries = read_registries(home, problems)
    resolver = Resolver(document, spec, known, indices, registries, home, path, problems)
    experiment = resolver.experiment()
    if problems or experiment is None:
        raise SpecError(_in_order(problems, document))
    return experiment


def _what_is_right(document: Document) -> tuple[Spec, dict[str, list[int]], set[str]]:
    """Return the valid part of an invalid spec, so that its references are checked in the same pass.

    Returns:
        the spec, with stand-ins for required keys; for lists without their invalid entries, the original indices; and the
        keys that still hold the user's values.
    """
    raw: dict[str, Any] = dict(document.value)
    indices: dict[str, list[int]] = {}
    stood_in = {key for key in _STAND_INS if key not in raw}
    while True:
        candidate = raw | {key: _STAND_INS[key] for key in stood_in}
        try:
            return Spec.model_validate(candidate), indices, set(raw) - stood_in
        except ValidationError as error:
            bad: dict[str, set[int]] = {}
            for detail in error.errors(include_url=False, include_input=False):
                key = str(detail["loc"][0])
                index = detail["loc"][1] if len(detail["loc"]) > 1 else None
                is_entry = isinstance(raw.get(key), list) and isinstance(index, int)
                bad.setdefault(key, set()).add(index if is_entry and isinstance(index, int) else -1)
            for key, entries in bad.items():
                kept = [] if -1 in entries else [i for i in range(len(raw[key])) if i not in entries]
                if kept:
                    before = indices.get(key, list(range(len(raw[key]))))
                    indices[key] = [before[i] for i in kept]
                    raw[key] = [raw[key][i] for i in kept]
                else:
                    raw.pop(key, None)
                    if key in _STAND_INS:
                        stood_in.add(key)


def _in_order(problems: list[Problem], document: Document) -> list[Problem]:
    """Sort problems: those of the spec first, by line; then those of other files in the order found."""

    def place(problem: Problem) -> tuple[int, int]:
        rest = problem.where.removeprefix(f"{document.file}:")
        line = rest.split(":")[0]
        return (0, int(line)) if rest != problem.where and line.isdigit() else (1, 0)

    unique = list(dict.fromkeys(problems))
    return sorted(unique, key=place)
