"""Vectors: what each primitive costs on each host, how often applications use it, and what is predicted from both."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard, VariableOption

from dashboards.changes import gauged, repeated, spread
from dashboards.influxql import COSTS, Query, chosen, grouped, newest, tag_values, without
from dashboards.pieces import PanelBuilder, Row, bars, board, many, one, rows_of, setting, shortened, variable

_EMPTY = "run `regatta run configs/experiments/system-vector.yml` on each host, then `regatta ingest system-vector`"
_SYSTEM = "\"kind\" = 'system'"
_WHERE = chosen("experiment", "platform", "runtime", "host", also=_SYSTEM)
#: what a board begins with: a panel for each
_FIRST = ("lat_ctx", "lat_mem_rd", "lat_ops", "lat_proc", "lat_sync", "lat_syscall")
#: of `{"kind":"exec","parallel":1}` what is no bracket, and not that there is one process
_PARAMETERS = '^\\{(.*?)(?:,?"parallel":1)?((?:,".*)?)\\}$'
_WITHIN = ("experiment", "platform")
#: one experiment and runtime are chosen, a host has one platform, and each query asks for one unit
_ROWS = without("platform", "runtime", "unit", of=COSTS)

#: what was predicted of the chosen application: one experiment, kind and unit, so that these are told apart by the rest
_PREDICTED = chosen("experiment", "application", also="\"kind\" = 'prediction'")
_OF_SYSTEM = ("host", "platform", "runtime", "system")
_OF_ENTRY = (*_OF_SYSTEM, "primitive", "parameters")
_UNPREDICTED = "run `regatta predict APP... --on SYSTEM... --ingest`, and choose the experiment that the systems were measured in"


def vectors() -> Dashboard:
    """The board."""
    return board(
        "vectors",
        "What does each primitive cost on each system, and how long will an application take there?",
        (
            one("experiment", "vector", within=()),
            many("platform", "vector"),
            one("runtime", "vector", within=_WITHIN, also=_SYSTEM),
            many("host", "vector", within=_WITHIN),
            variable("primitive", tag_values("primitive", "vector", chosen(*_WITHIN, also=("\"unit\" = 'ns'", _SYSTEM))))
            .multi(True)
            .include_all(True)
            .all_value(".*")
            .current(VariableOption(selected=True, text=list(_FIRST), value=list(_FIRST))),
            one("application", "vector", also="\"kind\" = 'prediction'"),
        ),
        (
            Row(12, ((12, _side_by_side("ns", "What does each primitive cost on each host?", "ns", "Time of one operation")),
                     (12, _side_by_side("MB/s", "How many bytes a second does each host move?", "MBs", "Bandwidth")))),
            Row(11, ((24, repeated(_primitive(), "primitive")),)),
            Row(10, ((24, _table()),)),
            Row(9, ((14, _ranking()), (10, _beside()))),
            Row(10, ((12, _contributions()), (12, _counts()))),
            Row(10, ((24, _entries()),)),
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


def _ranking() -> PanelBuilder:
    fields = (
        "rank",
        "low",
        "value",
        "high",
        "measured_low",
        "measured",
        "measured_high",
        "error",
        "n",
        "reason",
    )
    panel = rows_of(
        "How long will $application take on each system?",
        "The predicted time of one unit of work, the fastest system first, with its interval, and beside it what was measured there and is not "
        "used by the prediction. `error`: predicted / measured - 1. Systems whose intervals overlap may not be told apart: `regatta predict` says which. "
        "`quantity` is `elapsed`, or `primitives` where the application's vector has no `user_time`: what its primitives take alone, which is not the "
        "whole time, so that nothing measured stands beside it.",
        _UNPREDICTED,
        [Query(newest("vector", fields, _total("elapsed", "primitives"), (*_OF_SYSTEM, "parameters")))],
        "ns",
        columns=("rank", "system", "parameters", *fields[1:]),
        hidden=("host", "platform", "runtime"),
        units={"rank": "none", "n": "none", "error": "percentunit"},
        names={"value": "predicted", "parameters": "quantity"},
        sort="rank",
    )
    panel.override_by_name("quantity", [setting("mappings", [shortened('^\\{"time":"(.*)"\\}$')])])
    return panel


def _beside() -> PanelBuilder:
    query = newest("vector", (("value", "predicted"), "measured"), _total("kernel"), _OF_SYSTEM)
    return bars(
        "Is the time in the kernel predicted rightly?",
        "The kernel's time of one unit of work, predicted by counts and costs alone, beside what was measured.",
        _UNPREDICTED,
        [Query(query)],
        "system",
        "ns",
        wide=True,
    )


def _contributions() -> PanelBuilder:
    each = newest("vector", ("value",), _entry(), _OF_ENTRY)
    query = f'SELECT sum("value") AS "value" FROM ({each}){grouped(("system", "primitive"))}'
    panel = bars(
        "Which primitive takes how much of $application?",
        "Predicted time of each primitive in one unit of work, one bar a system; entries with different arguments are added up.",
        _UNPREDICTED,
        [Query(query, "time_series", "$tag_system")],
        "primitive",
        "ns",
        wide=True,
    )
    return spread(panel, "system")


def _counts() -> PanelBuilder:
    where = chosen("experiment", "application", also="\"kind\" = 'application'")
    return rows_of(
        "How often does $application use each primitive?",
        "Counts in one unit of work, with the ends of their intervals; those with the same arguments are added up, and `arguments` says of how many "
        "different ones the others are means. `rule`: which calls stand behind an entry that was not counted itself, and why.",
        _UNPREDICTED,
        [Query(newest("vector", ("low", "value", "high", "n", "rule"), where, ("primitive", "parameters")))],
        "short",
        columns=("primitive", "parameters", "low", "value", "high", "n", "rule"),
        units={"n": "none"},
        names={"value": "count"},
    )


def _entries() -> PanelBuilder:
    fields = ("cost", "count", "low", "value", "high", "n", "share", "rule")
    panel = rows_of(
        "What makes up each prediction?",
        "Cost of one operation or unit × count = time, as in tables 6-2 to 6-5 of Zhang's thesis; `share` of the whole.",
        _UNPREDICTED,
        [Query(newest("vector", fields, _entry(), _OF_ENTRY))],
        "ns",
        columns=(
            "system",
            "primitive",
            "parameters",
            "cost",
            "count",
            "low",
            "value",
            "high",
            "share",
            "n",
            "rule",
        ),
        hidden=("host", "platform", "runtime"),
        units={"count": "short", "n": "none"},
        names={"value": "time"},
        sort="share",
        descending=True,
    )
    return gauged(panel, "share")


def _total(*times: str) -> str:
    return f'{_PREDICTED} AND "primitive" = \'none\' AND "parameters" =~ /^\\{{"time":"({"|".join(times)})"\\}}$/'


def _entry() -> str:
    return f"{_PREDICTED} AND \"primitive\" <> 'none'"
