"""The dashboard of hosts: disturbances, load, and A/A tests."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import host_table, repeated
from dashboards.influxql import SERIES, TIMES, Query, chosen, grouped, newest, one_of
from dashboards.layout import Row, Section, board, every, experiments, hidden, many, one, with_estimates
from dashboards.pieces import (
    GREEN,
    GREY,
    ORANGE,
    RED,
    PanelBuilder,
    Steps,
    banded,
    coloured,
    over_time,
    p_value,
    rows_of,
    setting,
)

_CHOSEN = ("experiment", "platform", "host")
_WHERE = chosen(*_CHOSEN, also=TIMES)
_EMPTY = "choose a longer time, or run `regatta ingest EXPERIMENT`"
_PAIRS = "\"kind\" = 'drift' AND \"metric\" != 'false_alarms'"
#: tags that distinguish the A/A tests of a host
_PAIR = ("benchmark", "runtime", "collector", "modifiers", "heap", "metric")
_FIRST = {"modifiers": "none"}
_AA = "`regatta check-host`, or a spec with `aa: true`"
_NO_AA = f"run an A/A test ({_AA}), then `regatta ingest EXPERIMENT`"
_VIRTUAL = "this host reports none (virtual machines do not)"
#: shares of stolen time, in %
_STOLEN: Steps = ((2, ORANGE), (10, RED))


def host_health() -> Dashboard:
    """Return the dashboard."""
    return board(
        "host-health",
        "Are the results of this host reliable?",
        (
            every(experiments()),
            hidden(many("platform", "host_state")),
            many("host", "host_state"),
            *(
                one(tag, "estimate", within=("experiment", *_PAIR[:place]), also=_PAIRS, first=_FIRST.get(tag, ""))
                for place, tag in enumerate(_PAIR)
            ),
            with_estimates("host_drift", "host", (*_CHOSEN, *_PAIR), _PAIRS),
        ),
        (
            Row(8, ((12, _hosts()),
                    (12, _line("steal_percent", "Does another guest take the processor?", "percent",
                     "Stolen time: the virtual machine had work, and another guest ran. Dashed: 2 % and 10 %", most=100, limits=_STOLEN)))),
            Section(f"A/A tests ({_AA})", (
                Row(8, ((24, _gates()),)),
                Row(8, ((24, repeated(_drift(), "host_drift")),)),
            ), collapsed=False),
            Section("Details: load, pressure and swapping", (
                Row(8, ((12, _line("busy_percent", "How busy are the processors?", "percent",
                         "All processes, including the measured one. A single-threaded benchmark should leave the rest idle", most=100)),
                        (12, _line("load1", "Is the host loaded?", "short", "Load over one minute at the start of each invocation")))),
                Row(8, (*((8, _line(f"psi_{name}_percent", f"Do tasks wait for {what}?", "percent",
                           f"Pressure stall information: share of time in which some task waited for {what}. The measured process "
                           "counts too: with more threads than processors, it waits for itself", most=100))
                          for name, what in (("cpu", "a processor"), ("memory", "memory"), ("io", "a disk"))),)),
                Row(7, ((24, _line("swap_pages", "Does it swap?", "none", "Pages swapped in or out during an invocation: should be 0")),)),
            )),
            Section("Details: clock and heat (bare metal only: virtual machines report none)", (
                Row(8, ((8, _line("frequency_mhz", "Does the clock change?", "suffix:MHz",
                         "Lowest clock frequency of the processors. A falling clock is throttling or boost, which `regatta quiesce` disables",
                         _VIRTUAL, least=None, worst="min")),
                        (8, _line("temperature_c", "Does it get hot?", "celsius", "Warmest sensor of the processors", _VIRTUAL, least=None)),
                        (8, _line("throttle_events", "Is it throttled?", "none",
                         "Number of times that a processor slowed down because of heat: should be 0", _VIRTUAL)))),
            )),
        ),
        since="now-24h",
    )  # fmt: skip


def _hosts() -> PanelBuilder:
    return host_table(
        "How many invocations were perturbed?",
        "Invocations of each host in the selected time. A host with a large share of perturbed invocations takes longer and is not "
        "quiet. Amber from 5 %, red from 20 %.",
        _EMPTY,
        _CHOSEN,
        TIMES,
    )


def _gates() -> PanelBuilder:
    where = f"\"kind\" = 'drift' AND {chosen(*_CHOSEN)}"
    columns = (("point", "ratio"), "low", "high", "p", "practical", "short", "place", "reason")
    panel = rows_of(
        "Does an A/A test find a difference between identical configurations?",
        "A/A tests: the same configuration measured twice. The interval of each `ratio` should contain 1. Metric `false_alarms`: share of "
        "intervals without 1, which should not exceed 1 - level; `drifts` is red if it does. If there is no ratio, `reason` says why.",
        _NO_AA,
        [Query(newest("estimate", columns, where, ("experiment", *SERIES)))],
        "none",
        columns=("host", "practical", "metric", "ratio", "low", "high", "p", "benchmark", "short", "experiment", "Time", "reason"),
        names={"practical": "drifts", "short": "configuration"},
        sort="drifts",
        descending=True,
    )  # fmt: skip
    for name in ("ratio", "low", "high"):
        panel.override_by_name(name, [setting("decimals", 4)])
    panel.override_by_name("p", p_value())
    return panel.override_by_name("drifts", coloured({"yes": RED, "no": GREEN, "open": GREY}))


def _drift() -> PanelBuilder:
    columns = ", ".join(f'"{name}"' for name in ("low", "point", "high"))
    where = f"{chosen('experiment', 'platform', *_PAIR)} AND {one_of('host', 'host_drift')} AND {TIMES}"
    query = f'SELECT {columns} FROM "estimate" WHERE {_PAIRS} AND {where}'
    panel = over_time(
        "Do identical configurations stay equal on $host_drift?",
        "The ratio of the A/A pair in $benchmark ($metric, $runtime, $collector, modifiers $modifiers, heap $heap) in all selected "
        "experiments, with its interval as a band. Dashed: 1. A band without 1 is a false difference.",
        _NO_AA,
        [Query(query, "time_series", "$col")],
        "none",
        least=None,
        limits=((1, GREY),),
    )
    return banded(panel, {"": "none"}, "ratio")


def _line(
    field: str,
    title: str,
    unit: str,
    how: str,
    empty: str = _EMPTY,
    *,
    least: float | None = 0,
    most: float | None = None,
    limits: Steps = (),
    worst: str = "max",
) -> PanelBuilder:
    """Return the worst invocation of each host in each step: a mean would hide it among quiet ones."""
    query = f'SELECT {worst}("{field}") FROM "host_state" WHERE {_WHERE}{grouped(("host",), True)}'
    return over_time(
        title,
        f"{how}. Each point is the worst invocation of a step of the time axis.",
        empty,
        [Query(query, "time_series", "$tag_host")],
        unit,
        least=least,
        most=most,
        limits=limits,
    )
