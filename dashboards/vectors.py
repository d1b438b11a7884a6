"""System vectors: what each primitive costs on each host."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard, VariableOption

from dashboards.changes import repeated, spread
from dashboards.influxql import COSTS, Query, chosen, newest, tag_values, without
from dashboards.pieces import PanelBuilder, Row, bars, board, many, one, rows_of, variable, words

_EMPTY = "run `regatta run configs/experiments/system-vector.yml` on each host, then `regatta ingest system-vector`"
_WHERE = chosen("experiment", "platform", "runtime", "host", also="\"kind\" = 'system'")
#: what a board begins with: a panel for each
_FIRST = ("lat_ctx", "lat_mem_rd", "lat_ops", "lat_proc", "lat_sync", "lat_syscall")
#: of `{"kind":"exec","parallel":1}` what is no bracket, and not that there is one process
_PARAMETERS = '^\\{(.*?)(?:,?"parallel":1)?((?:,".*)?)\\}$'
_WITHIN = ("experiment", "platform")
#: one experiment and runtime are chosen, a host has one platform, and each query asks for one unit
_ROWS = without("platform", "runtime", "unit", of=COSTS)

_LATER = """A system vector is one half of a prediction. The other half, how often an application uses each primitive
(*application vector*), and the time *predicted* from both beside the time *measured*, are not computed by this version of
Regatta: panels for them are left out rather than left empty."""


def vectors() -> Dashboard:
    """The board."""
    return board(
        "vectors",
        "What does each primitive cost on each system?",
        (
            one("experiment", "vector", within=()),
            many("platform", "vector"),
            one("runtime", "vector", within=_WITHIN),
            many("host", "vector", within=_WITHIN),
            variable("primitive", tag_values("primitive", "vector", chosen(*_WITHIN, also="\"unit\" = 'ns'")))
            .multi(True)
            .include_all(True)
            .all_value(".*")
            .current(VariableOption(selected=True, text=list(_FIRST), value=list(_FIRST))),
        ),
        (
            Row(12, ((12, _side_by_side("ns", "What does each primitive cost on each host?", "ns", "Time of one operation")),
                     (12, _side_by_side("MB/s", "How many bytes a second does each host move?", "MBs", "Bandwidth")))),
            Row(11, ((24, repeated(_primitive(), "primitive")),)),
            Row(10, ((16, _table()), (8, words("Where are contributions and predictions?", _LATER)))),
        ),
    )  # fmt: skip


def _side_by_side(unit: str, title: str, shown: str, what: str) -> PanelBuilder:
    query = newest(
        "vector",
        ("value",),
        f"{_WHERE} AND \"unit\" = '{unit}'",
        _ROWS,
    )
    panel = rows_of(
        title,
        f"{what}: one row for each primitive and its parameters, one column for each host. Rows with the same parameters can be compared "
        "across hosts; where a column is empty that host did not measure it.",
        _EMPTY,
        [Query(query, "time_series", "$tag_host")],
        shown,
    )
    panel._internal.transformations = []
    return spread(panel, "host", ("primitive", "parameters"))


def _primitive() -> PanelBuilder:
    query = newest(
        "vector",
        ("value",),
        f"{_WHERE} AND {chosen('primitive')} AND \"unit\" = 'ns'",
        without("primitive", of=_ROWS),
    )
    panel = bars(
        "How does $primitive depend on its parameters?",
        "Time of one operation with each set of parameters, one bar a host, on a logarithmic axis. Empty for primitives that are "
        "bandwidths.",
        "no time is measured of this primitive: see the table of bandwidths",
        [Query(query, "time_series", "$tag_host")],
        "parameters",
        "ns",
        shorten=_PARAMETERS,
        shown="$1$2",
        log=True,
        wide=True,
    )
    return spread(panel, "host")


def _table() -> PanelBuilder:
    return rows_of(
        "How sure is each cost?",
        "Each primitive with the ends of its interval, in its own unit; `n` invocations.",
        _EMPTY,
        [Query(newest("vector", ("low", "value", "high", "n", "reason"), _WHERE, COSTS))],
        "none",
        columns=(
            "primitive",
            "parameters",
            "low",
            "value",
            "high",
            "unit",
            "n",
            "reason",
            "host",
            "platform",
            "runtime",
        ),
        units={"n": "none"},
    )
