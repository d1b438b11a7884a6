"""Whether hosts are fit to be measured on."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import repeated
from dashboards.influxql import SERIES, TIMES, Query, chosen, grouped, newest
from dashboards.pieces import (
    GREEN,
    RED,
    PanelBuilder,
    Row,
    board,
    gauges,
    many,
    one,
    over_time,
    rows_of,
    setting,
)

_WHERE = chosen("experiment", "platform", "host", also=TIMES)
_EMPTY = "choose a longer time, or run `regatta ingest EXPERIMENT`"
_PAIRS = "\"kind\" = 'drift' AND \"metric\" != 'false_alarms'"
#: what tells the A/A tests of a host apart
_PAIR = ("benchmark", "runtime", "collector", "modifiers", "heap", "metric")
_FIRST = {"modifiers": "none", "metric": "elapsed"}
_NO_AA = "run an A/A test: `regatta check-host`, or a spec with `aa: true`, then `regatta ingest EXPERIMENT`"


def host_health() -> Dashboard:
    """The board."""
    return board(
        "host-health",
        "Can the numbers of this host be believed?",
        (
            many("experiment", "host_state", within=()),
            many("platform", "host_state"),
            many("host", "host_state"),
            *(
                one(tag, "estimate", within=("experiment", *_PAIR[:place]), also=_PAIRS, first=_FIRST.get(tag, ""))
                for place, tag in enumerate(_PAIR)
            ),
        ),
        (
            Row(8, ((16, _gates()), (8, _endings()))),
            Row(8, ((24, repeated(_drift(), "host")),)),
            Row(8, ((12, _line("steal_percent", "Does another guest take the processor away?", "percent",
                     "Stolen time: a virtual machine wanted to run and another one did. It makes invocations `perturbed` past the spec's limit.")),
                    (12, _psi()))),
            Row(8, ((12, _line("busy_percent", "How busy are the processors?", "percent",
                     "All that runs, the measured process included. What a single-threaded benchmark leaves idle should stay idle.")),
                    (12, _line("load1", "Is the host loaded?", "short",
                     "Load over one minute, at the start of each invocation: tasks that run or wait")))),
            Row(8, ((12, _line("frequency_mhz", "Does the clock change?", "rotmhz",
                     "Clock frequency of the processors, the lowest in each step of the axis: one that falls is throttling or boost, which the roles of `regatta quiesce` switch off",
                     "this host tells no frequency (virtual machines do not)", least=None, worst="min")),
                    (12, _line("temperature_c", "Does it get hot?", "celsius", "Warmest sensor of the processors",
                     "this host tells no temperature (virtual machines do not)", least=None)))),
            Row(8, ((12, _line("swap_pages", "Does it swap?", "none", "Pages swapped in or out during an invocation: should be 0")),
                    (12, _line("throttle_events", "Is it throttled?", "none", "Times that a processor slowed down for heat: should be 0",
                     "this host tells no throttling (virtual machines do not)")))),
        ),
        since="now-7d",
    )  # fmt: skip


def _gates() -> PanelBuilder:
    where = f"\"kind\" = 'drift' AND {chosen('experiment', 'platform', 'host')}"
    columns = ("low", ("point", "ratio"), "high", "p", "practical", "label", "reason")
    panel = rows_of(
        "Does the host find a difference where there is none?",
        "A/A tests: the same configuration measured twice under two names. Each `ratio` should be 1 within its interval; "
        "`false_alarms` is the share of intervals that leave out 1, which should be no more than the level allows. Where there is no "
        "ratio, `reason` says why.",
        _NO_AA,
        [Query(newest("estimate", columns, where, ("experiment", *SERIES)))],
        "none",
        columns=("host", "experiment", "metric", "benchmark", "runtime", "collector", "modifiers", "heap", "low", "ratio", "high",
                 "p", "practical", "label", "reason", "Time"),
        hidden=("platform", "unit", "parameters", "baseline"),
        names={"practical": "drifts", "label": "in words"},
        show_time=True,
    )  # fmt: skip
    mapping = {
        "type": "value",
        "options": {"yes": {"color": RED, "index": 0}, "no": {"color": GREEN, "index": 1}},
    }
    panel.override_by_name(
        "drifts", [setting("mappings", [mapping]), setting("custom.displayMode", "color-text")]
    )
    return panel


def _endings() -> PanelBuilder:
    query = f'SELECT count("iteration_rows") FROM "invocation" WHERE {_WHERE}{grouped(("host", "status"))}'
    return gauges(
        "How many invocations were disturbed?",
        "Invocations by host and status in the chosen time. A host where many are `perturbed` takes longer and is not quiet.",
        _EMPTY,
        [Query(query, "time_series", "$tag_host $tag_status")],
        "none",
        ((None, GREEN),),
    )


def _drift() -> PanelBuilder:
    columns = ", ".join(f'"{name}"' for name in ("low", "point", "high"))
    query = f'SELECT {columns} FROM "estimate" WHERE {_PAIRS} AND {chosen(*_PAIR)} AND {_WHERE}'
    return over_time(
        "Do two equal things stay equal on $host?",
        "The ratio of the A/A pair in $benchmark ($metric, $runtime, $collector, modifiers $modifiers, heap $heap) over time, in all chosen "
        "experiments, with its interval as a band. It should lie on 1; where the band leaves 1, this "
        "host found a difference that is not there.",
        _NO_AA,
        [Query(query, "time_series", "$col")],
        "none",
        band=True,
        least=None,
    )


def _line(
    field: str,
    title: str,
    unit: str,
    how: str,
    empty: str = _EMPTY,
    least: float | None = 0,
    worst: str = "max",
) -> PanelBuilder:
    """A host's worst invocation in each step: a mean would hide it among quiet ones."""
    how = how if worst == "min" else f"{how.removesuffix('.')}. Shown is the largest of each step of the axis"
    query = f'SELECT {worst}("{field}") FROM "host_state" WHERE {_WHERE}{grouped(("host",), True)}'
    return over_time(
        title, f"{how}.".replace("..", "."), empty, [Query(query, "time_series", "$tag_host")], unit,
        least=least,
    )  # fmt: skip


def _psi() -> PanelBuilder:
    names = ("psi_cpu_percent", "psi_memory_percent", "psi_io_percent")
    fields = ", ".join(f'max("{name}") AS "{name[4:-8]}"' for name in names)
    query = f'SELECT {fields} FROM "host_state" WHERE {_WHERE}{grouped(("host",), True)}'
    return over_time(
        "Do tasks wait for something?",
        "Pressure stall information: share of time in which some task waited for a processor, for memory, for a disk. The "
        "measured process counts too: one with more threads than processors waits for them by itself. Shown is the largest of each step of the axis.",
        _EMPTY,
        [Query(query, "time_series", "$tag_host $col")],
        "percent",
    )
