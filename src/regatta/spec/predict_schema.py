"""Applications in a spec whose times are predicted from the primitives that the experiment measures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Predicted
from regatta.spec.fields import MAX_PARAMETERS, Line, Strict, listed
from regatta.spec.yaml_lines import MAX_BYTES

APPLICATIONS, TABLES = Path("configs") / "applications", Path("configs") / "primitives"
_SUFFIX = ".yml"


class PredictSpec(Strict):
    """Applications whose times are predicted on each measured system."""

    applications: Annotated[list[Line], BeforeValidator(listed)] = Field(
        description="Application vectors: files, or names in `configs/applications`.",
        min_length=1,
        max_length=MAX_PARAMETERS,
        examples=[["apache-static", "apache-cgi"]],
    )
    primitives: Line = Field(
        "os",
        description="Table of the primitives that the experiment measures: a file, or a name in `configs/primitives`.",
        examples=["java"],
    )


def read_predicted(
    spec: PredictSpec,
    home: Path,
    folder: Path,
    where: Callable[[tuple[str | int, ...]], str],
    problems: list[Problem],
) -> Predicted | None:
    """Read the files that a spec names for predictions, whose texts become a part of the experiment.

    Args:
        spec: the value of `predict`.
        home: the result of `find_home`.
        folder: from which relative paths start.
        where: place of a key below `predict`.
        problems: every problem found is appended.
    """
    texts: dict[str, str] = {}
    for index, name in enumerate(spec.applications):
        text = _text(name, home / APPLICATIONS, folder, where(("applications", index)), problems)
        if name in texts:
            problems.append(Problem(where(("applications", index)), "each once", repr(name), "remove one"))
        if text is not None:
            texts[name] = text
    table = _text(spec.primitives, home / TABLES, folder, where(("primitives",)), problems)
    if table is None or len(texts) < len(spec.applications):
        return None
    found = Predicted(texts, (spec.primitives, table))
    # The models must not be imported here.
    read: Callable[[Predicted], Any] = resolve_name("regatta.models.predict.topic.compute:vectors_of")
    try:
        read(found)
    except SpecError as error:
        problems += error.problems
        return None
    return found


def _text(name: str, registry: Path, folder: Path, where: str, problems: list[Problem]) -> str | None:
    """Return the text of a file, or of a name in a registry; None with a problem."""
    shown = registry.relative_to(registry.parents[1])
    try:
        path = folder / name
        if not path.is_file():
            path = registry / f"{name.removesuffix(_SUFFIX)}{_SUFFIX}"
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            problems.append(Problem(where, f"a file of at most {MAX_BYTES:,} bytes", "more", "name another"))
            return None
        return data.decode()
    except (OSError, ValueError):
        known = ", ".join(sorted(one.stem for one in registry.glob(f"*{_SUFFIX}"))) or "none"
        expected = f"a file, or a name in {shown}"
        problems.append(Problem(where, expected, repr(name), f"choose one of {known}"))
        return None
