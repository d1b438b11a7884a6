"""The dashboard of vectors: costs of primitives, counts of applications, and predictions."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard, VariableOption

from dashboards.changes import gauged, pivot, repeated, spread
from dashboards.influxql import COSTS, Query, chosen, grouped, newest, one_of, tag_values, without
from dashboards.layout import Row, Section, board, every, experiments, hidden, many, one, variable
from dashboards.pieces import PanelBuilder, arranged, bars, curve, rows_of

_RUN = "`regatta run configs/experiments/system-vector.yml`"
_EMPTY = f"run {_RUN} on each host, then `regatta ingest system-vector`"
_SYSTEM = "\"kind\" = 'system'"
_WHERE = chosen("experiment", "platform", "runtime", "host", also=_SYSTEM)
#: primitives selected at first; each has a panel
_FIRST = ("lat_ctx", "lat_mem_rd", "lat_ops", "lat_proc", "lat_sync", "lat_syscall")
_WITHIN = ("experiment", "platform")
#: primitives whose only parameter that differs is a number
_CURVES = (
    'SELECT "primitive" FROM (SELECT last("number") AS "number" FROM "vector"'
    f' WHERE {_WHERE} AND "unit" = \'ns\' GROUP BY "primitive")'
)
#: One experiment and runtime are selected, a host has one platform, and each query has one unit.
_ROWS = without("platform", "runtime", "unit", of=COSTS)

#: predictions of the selected application: of one experiment, kind and unit
_PREDICTED = chosen("experiment", "application", also="\"kind\" = 'prediction'")
_OF_SYSTEM = ("host", "platform", "runtime", "system")
_OF_ENTRY = (*_OF_SYSTEM, "primitive", "parameters")
_PREDICT = "`regatta predict APP... --on SYSTEM... --ingest`"
_UNPREDICTED = (
    f"set `predict` in the spec or run {_PREDICT}, and choose the experiment that measured the systems"
)


def vectors() -> Dashboard:
    """Return the dashboard."""
    return board(
        "vectors",
        "What does each primitive cost on each system, and how long will an application take there?",
        (
            experiments("vector"),
            hidden(many("platform", "vector")),
            one("runtime", "vector", within=_WITHIN, also=_SYSTEM),
            many("host", "vector", within=_WITHIN),
            every(variable("primitive", tag_values("primitive", "vector", f"{_WHERE} AND \"unit\" = 'ns'")))
            .current(VariableOption(selected=True, text=list(_FIRST), value=list(_FIRST))),
            one("application", "vector", also="\"kind\" = 'prediction'"),
            every(variable("curve", _CURVES)).label("primitive with a numeric parameter"),
        ),
        (
            Section(f"Costs of primitives (experiments that measure the suites lm or micro: {_RUN})", (
                Row(10, ((24, _costs()),)),
                Row(10, ((24, repeated(_curve(), "curve")),)),
            ), collapsed=False),
            Section(f"Predictions (from `predict` in a spec, or {_PREDICT})", (
                Row(8, ((24, _ranking()),)),
                Row(10, ((12, _contributions()), (12, _kernel()))),
            ), collapsed=False),
            Section("Details: all parameters of each primitive", (
                Row(11, ((24, repeated(_primitive(), "primitive")),)),
            )),
            Section("Details: counts and parts of predictions", (
                Row(10, ((24, _entries()),)),
                Row(10, ((24, _counts()),)),
            )),
        ),
    )  # fmt: skip


def _costs() -> PanelBuilder:
    queries = [
        Query(newest("vector", (("value", name), ("low", f"{name} low"), ("high", f"{name} high"), "n", "label", "place", "reason"),
                     f"{_WHERE} AND \"unit\" = '{unit}'", _ROWS))
        for name, unit in (("latency", "ns"), ("bandwidth", "MB/s"))
    ]  # fmt: skip
    times, rates = (
        tuple(f"{name}{end}" for end in ("", " low", " high")) for name in ("latency", "bandwidth")
    )
    return rows_of(
        "What does each primitive cost on each host?",
        "Latency of one operation, or bandwidth, with its interval. One row per primitive, parameters and host. Only parameters that "
        "differ are shown. `n`: number of invocations. If there is no value, `reason` says why.",
        _EMPTY,
        queries,
        "ns",
        columns=("primitive", "label", "host", *times, *rates, "n", "reason"),
        units={"n": "none", **dict.fromkeys(rates, "MBs")},
        names={"label": "parameters"},
        order="place",
    )


def _curve() -> PanelBuilder:
    where = f"{_WHERE} AND {one_of('primitive', 'curve')} AND \"unit\" = 'ns'"
    tags = without("primitive", of=_ROWS)
    panel = curve(
        "$curve: how does the time depend on the size?",
        "Time of one operation in ns over its only parameter that differs, such as a size in bytes, one line per host. The axis of the "
        "parameter is logarithmic: 10 is 1 Ki, 20 is 1 Mi, 30 is 1 Gi. A step of the latency of memory is the end of a cache.",
        _EMPTY,
        pivot("vector", "value", where, "host", tags, (('log2("number")', "log2"),)),
        "log2",
        "log2 of the size (10: 1 Ki, 20: 1 Mi, 30: 1 Gi)",
        "ns",
    )
    return spread(panel, "host", tags, "log2", order="log2")


def _primitive() -> PanelBuilder:
    where = f"{_WHERE} AND {chosen('primitive')} AND \"unit\" = 'ns'"
    tags = without("primitive", of=_ROWS)
    panel = bars(
        "$primitive: how does the time depend on its parameters?",
        "Time of one operation, one bar per host, on a logarithmic axis. Parameters are in the order of their size.",
        "this primitive has no times: see the table for bandwidths",
        pivot("vector", "value", where, "host", tags, ("label",)),
        "label",
        "ns",
        log=True,
    )
    return spread(panel, "host", tags, "label")


def _ranking() -> PanelBuilder:
    fields = (
        ("value", "predicted"), "low", "high", "measured", ("measured_low", "measured low"), ("measured_high", "measured high"),
        "error", "rank", ("label", "quantity"), "reason",
    )  # fmt: skip
    return rows_of(
        "How long will $application take on each system?",
        "Predicted time of one unit of work with its interval, the fastest system first, and the measured time, which the prediction does "
        "not use. `error`: predicted / measured - 1. `regatta predict` compares systems by the ratios of their times, which are more precise than the times. `quantity`: "
        "`elapsed`, or `primitives` (the primitives alone) if the vector of the application has no `user_time`.",
        _UNPREDICTED,
        [Query(newest("vector", fields, _total("elapsed", "primitives"), (*_OF_SYSTEM, "parameters")))],
        "ns",
        columns=("rank", "system", "predicted", "low", "high", "measured", "error", "measured low", "measured high", "quantity", "reason"),
        units={"rank": "none", "error": "percentunit"},
        sort="rank",
    )  # fmt: skip


def _kernel() -> PanelBuilder:
    query = newest("vector", (("value", "predicted"), "measured"), _total("kernel"), _OF_SYSTEM)
    panel = bars(
        "Is the time in the kernel predicted correctly?",
        "Kernel time of one unit of work: predicted from counts and costs, and measured.",
        _UNPREDICTED,
        [Query(query)],
        "system",
        "ns",
        wide=True,
    )
    return arranged(panel, ("system", "predicted", "measured"), order="predicted")


def _contributions() -> PanelBuilder:
    each = newest("vector", ("value",), _entry(), _OF_ENTRY)
    query = f'SELECT sum("value") AS "value" FROM ({each}){grouped(("system", "primitive"))}'
    panel = bars(
        "Which primitive takes how much of $application?",
        "Predicted time of each primitive in one unit of work, one bar per system; entries with different arguments are added.",
        _UNPREDICTED,
        [Query(query, "time_series", "$tag_system")],
        "primitive",
        "ns",
        wide=True,
    )
    return spread(panel, "system", ("system", "primitive"), "primitive", order="")


def _counts() -> PanelBuilder:
    where = chosen("experiment", "application", also="\"kind\" = 'application'")
    return rows_of(
        "How often does $application use each primitive?",
        "Counts in one unit of work with their intervals. Entries with the same arguments are added; of the others, `parameters` has the "
        "number of different arguments. `rule`: how an entry that was not counted itself was derived.",
        _UNPREDICTED,
        [Query(newest("vector", (("value", "count"), "low", "high", "n", "label", "rule"), where, ("primitive", "parameters")))],
        "short",
        columns=("primitive", "label", "count", "low", "high", "n", "rule"),
        units={"n": "none"},
        names={"label": "parameters"},
        sort="count",
        descending=True,
    )  # fmt: skip


def _entries() -> PanelBuilder:
    fields = (("value", "predicted"), "low", "high", "share", "cost", "count", "label", "rule")
    shown = ("share", "predicted", "low", "high", "cost", "count")
    panel = rows_of(
        "What makes up each prediction?",
        "Cost of one operation × count = predicted time, as in tables 6-2 to 6-5 of Zhang's thesis; `share` of the whole.",
        _UNPREDICTED,
        [Query(newest("vector", fields, _entry(), _OF_ENTRY))],
        "ns",
        columns=("system", "primitive", "label", *shown, "rule"),
        units={"count": "short"},
        names={"label": "parameters"},
        sort="share",
        descending=True,
    )
    return gauged(panel, "share")


def _total(*times: str) -> str:
    return f'{_PREDICTED} AND "primitive" = \'none\' AND "parameters" =~ /^\\{{"time":"({"|".join(times)})"\\}}$/'


def _entry() -> str:
    return f"{_PREDICTED} AND \"primitive\" <> 'none'"
