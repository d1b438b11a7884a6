"""Targets in a spec whose highest load is wanted."""

from __future__ import annotations

from pydantic import Field, model_validator

from regatta.host.units import UNITS
from regatta.spec.fields import MAX_PARAMETERS, Name, ParameterName, ScalarValue, Strict, UnitName, refusal


class CapacitySpec(Strict):
    """The highest load at which a metric meets a target. The load is a parameter of which `benchmarks` sets several values."""

    parameter: ParameterName = Field(
        description="The load: a parameter that `benchmarks` sets to two or more positive numbers.",
        examples=["rate"],
    )
    metric: Name = Field(description="The metric that must meet the target.", examples=["latency"])
    parameters: dict[ParameterName, ScalarValue] = Field(
        {},
        description="Parameters of the metric, if a benchmark reports it with several sets of parameters.",
        max_length=MAX_PARAMETERS,
        examples=[{"percentile": 99}],
    )
    at_most: float = Field(
        description="Largest value of the metric that meets the target, in `unit`.", gt=0, examples=[10]
    )
    unit: UnitName = Field(
        description=f"Unit of `at_most`: {', '.join(f'`{unit}`' for unit in UNITS)}. The metric can be "
        "reported in another unit of the same dimension.",
        examples=["ms"],
    )

    @model_validator(mode="after")
    def _own_parameters(self) -> CapacitySpec:
        if self.parameter in self.parameters:
            raise refusal(
                f"parameters of the metric without the load `{self.parameter}`", "remove it", "parameters"
            )
        return self
