"""Predict the applications that a spec names, from the primitives that its experiment measured."""

from __future__ import annotations

from pathlib import Path

from regatta.host.errors import Problem, RegattaError, SpecError
from regatta.host.values.experiment import Predicted
from regatta.models.predict.forecast import Forecast
from regatta.models.predict.predictions import Request, RequestedApplication, forecast_of
from regatta.models.predict.topic.result import Predictions
from regatta.models.vectors.files import parse_vector
from regatta.models.vectors.measured import system_vectors
from regatta.models.vectors.primitives import PrimitiveTable, parse_primitives
from regatta.models.vectors.sources import Sources, SystemSource, no_primitive
from regatta.models.vectors.values import ApplicationVector
from regatta.spec.home import known_home


def vectors_of(predicted: Predicted) -> tuple[list[ApplicationVector], PrimitiveTable]:
    """Read the applications and the table of primitives that a spec names.

    Raises:
        SpecError: every problem of their texts; or two vectors have one name.
    """
    problems: list[Problem] = []
    found: dict[str, ApplicationVector] = {}
    for file, text in predicted.applications.items():
        try:
            vector = parse_vector(text, file)
        except SpecError as error:
            problems += error.problems
            continue
        if not isinstance(vector, ApplicationVector):
            problems.append(Problem(file, "an application vector", "a system vector", "name applications"))
        elif vector.name in found:
            expected = "a vector with a unique name"
            problems.append(Problem(file, expected, f"name: {vector.name}", "change `name` in one of them"))
        else:
            found[vector.name] = vector
    try:
        table = parse_primitives(predicted.primitives[1], predicted.primitives[0])
    except SpecError as error:
        problems += error.problems
    if problems:
        raise SpecError(problems)
    return list(found.values()), table


def predict_experiment(predicted: Predicted, folder: Path) -> Predictions:
    """Predict on every system of an experiment, and compare with its measured times.

    Args:
        predicted: what its spec asks for.
        folder: `results/<experiment>`.
    """
    try:
        return Predictions(_forecast(predicted, folder))
    except RegattaError as error:
        return Predictions(problem=str(error))


def _forecast(predicted: Predicted, folder: Path) -> Forecast:
    applications, table = vectors_of(predicted)
    systems, _ = system_vectors(folder, table)
    if not systems:
        raise SpecError([no_primitive(folder, table)])
    known = Sources(known_home(), folder.parent).registered_systems()
    return forecast_of(
        Request(
            tuple(map(RequestedApplication, applications)),
            tuple(SystemSource(vector, folder) for vector in systems),
            known=tuple(known),
        )
    )
