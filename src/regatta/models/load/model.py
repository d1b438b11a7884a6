"""The model of the requests to a server: a small YAML file without addresses and, unless asked for, without paths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from regatta.host.errors import Problem, SpecError
from regatta.host.files import write_output
from regatta.models.load.distributions import Distribution, NotNegative
from regatta.spec.fields import Line, Strict, refusal
from regatta.spec.flow import flow_yaml
from regatta.spec.problems import check, shown_path
from regatta.spec.yaml_lines import read_yaml

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0, le=2**53)]
HOURS = 24


class Source(Strict):
    """The log of the model."""

    requests: Count = Field(description="Number of requests.", examples=[120000])
    lines: Count = Field(description="Number of lines with text.", examples=[120003])
    broken: dict[Line, Count] = Field({}, description="Lines that are no requests, by reason.", examples=[{}])
    begin: Line = Field(description="Time of the first request, in UTC.", examples=["2026-11-24T10:00:00"])
    seconds: NotNegative = Field(description="Time from the first to the last request, s.", examples=[86400])
    sessions: Count = Field(description="Number of sessions.", examples=[9000])
    clients: Count = Field(description="Number of addresses with different programs.", examples=[5000])
    time_resolution_s: NotNegative = Field(description="Resolution of times, s.", examples=[1])


class Arrivals(Strict):
    """Begins of sessions."""

    sessions_per_s: NotNegative = Field(description="Mean number of sessions per second.", examples=[0.1])
    by_hour: list[NotNegative | None] = Field(
        description="Rate in each hour of the day (UTC), relative to the mean. null: not in the log.",
        min_length=HOURS,
        max_length=HOURS,
        examples=[[1.0] * HOURS],
    )
    dispersion: NotNegative | None = Field(
        description="Variance of the number of sessions per minute, divided by its mean, within hours. 1: independent "
        "arrivals (Poisson). null: less than an hour of log.",
        examples=[1.05],
    )


class Sessions(Strict):
    """Sessions of one client, and their views: pages with what they embed."""

    idle_s: NotNegative = Field(description="A longer pause ends a session, s.", examples=[1800])
    think_s: NotNegative = Field(description="A longer pause ends a view, s.", examples=[1])
    views: Distribution = Field(description="Views per session.")
    requests: Distribution = Field(description="Requests per view.")
    gaps: Distribution | None = Field(None, description="Times between the requests of a view, s.")
    thinking: Distribution | None = Field(
        None, description="Times between the last request of a view and the next view, s."
    )


class Popular(Strict):
    """An object that is requested often."""

    share: Share = Field(description="Share of the requests for objects.", examples=[0.02])
    bytes: Count = Field(description="Size of its answer (median).", examples=[4096])
    path: str = Field("", description="Its path, if asked for.", max_length=4096, examples=["/index.html"])


class Stratum(Strict):
    """Objects of similar popularity."""

    objects: Count = Field(description="Number of objects.", examples=[900])
    share: Share = Field(description="Share of the requests for objects.", examples=[0.3])
    bytes: Distribution = Field(description="Sizes of the objects.")


class Objects(Strict):
    """What is requested, from the most to the least popular."""

    zipf: NotNegative = Field(description="Exponent of Zipf's law for all objects.", examples=[0.9])
    zipf_distance: Share = Field(
        description="Largest difference between the cumulative shares of that law and of the log.",
        examples=[0.05],
    )
    popular: list[Popular] = Field(description="The most popular ones.", max_length=1000, examples=[[]])
    strata: list[Stratum] = Field([], description="All others.", max_length=20, examples=[[]])

    @model_validator(mode="after")
    def _whole(self) -> Self:
        total = sum(one.share for one in self.popular) + sum(one.share for one in self.strata)
        if not 0.999 < total < 1.001 or not self.popular:
            raise refusal(f"shares of objects with the sum 1, got {total:.4g}")
        return self


class Proxy(Strict):
    """A caching proxy, of those requests whose line says what its cache did."""

    requests: Count = Field(description="Number of these requests.", examples=[120000])
    hit_ratio: Share = Field(description="Share that the cache answered.", examples=[0.7])
    byte_hit_ratio: Share = Field(description="Share of the bytes that the cache sent.", examples=[0.6])
    uncacheable: Share = Field(
        0.0, description="Share that the proxy did not look for in its cache.", examples=[0.05]
    )
    origin_latency: Distribution | None = Field(
        None, description="Times that the server behind the proxy took to answer the others, s."
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.hit_ratio + self.uncacheable > 1.001:
            raise refusal(
                f"hit_ratio and uncacheable with a sum up to 1, got {self.hit_ratio + self.uncacheable:.4g}"
            )
        return self


class RequestModel(Strict):
    """A model of the requests to a server."""

    kind: Literal["requests"] = Field(description="Kind of the file.", examples=["requests"])
    source: Source
    arrivals: Arrivals
    sessions: Sessions
    objects: Objects
    kinds: dict[Literal["ok", "head", "unmodified", "missing"], Share] = Field(
        description="Shares of requests: answered with the object, for its head only, for an object that the client has "
        "(304), and for one that does not exist.",
        examples=[{"ok": 0.97, "missing": 0.03}],
    )
    methods: dict[Line, Share] = Field(description="Shares of methods.", examples=[{"GET": 1}])
    queries: Share = Field(description="Share of requests whose URL has a query.", examples=[0.1])
    answer_times: Distribution | None = Field(None, description="Times that the server took, s.")
    proxy: Proxy | None = Field(None, description="The server is a caching proxy, if the log says so.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        total = sum(self.kinds.values())
        if not 0.999 < total < 1.001:
            raise refusal(f"kinds with the sum 1, got {total:.4g}", key="kinds")
        return self


def read_model(path: Path) -> RequestModel:
    """Read a model.

    Raises:
        SpecError: it cannot be read or is wrong, with every problem of it.
    """
    problems: list[Problem] = []
    found = check(RequestModel, read_yaml(path, shown_path(path)), problems)
    if problems or found is None:
        raise SpecError(problems)
    return found


def model_text(model: RequestModel) -> str:
    """Return the YAML text of a model."""
    lines: list[str] = []
    for name in RequestModel.model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel) and not isinstance(value, Distribution):
            lines.append(f"{name}:")
            for inner in type(value).model_fields:
                lines += _lines(inner, getattr(value, inner), "  ")
        elif value is not None:
            lines += _lines(name, value, "")
    return "\n".join(lines) + "\n"


def _lines(name: str, value: Any, indent: str) -> list[str]:
    if value is None:
        # A key of a model may have no default.
        return [f"{indent}{name}: null"] if name == "dispersion" else []
    if isinstance(value, list) and value and isinstance(value[0], BaseModel):
        return [f"{indent}{name}:", *(f"{indent}  - {flow_yaml(_plain(one))}" for one in value)]
    return [f"{indent}{name}: {flow_yaml(_plain(value))}"]


def _plain(value: Any) -> Any:
    """Return plain data without keys that have their default."""
    return (
        value.model_dump(exclude_defaults=True)
        if isinstance(value, BaseModel)
        else dict(value)
        if isinstance(value, Mapping)
        else value
    )


def write_model(model: RequestModel, path: Path) -> None:
    """Write a model, atomically.

    Raises:
        RegattaError: the file cannot be written.
    """
    write_output(path, model_text(model))
