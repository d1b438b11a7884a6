"""What runs where, how far it is, and what went wrong."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import gauged, linked, shaded
from dashboards.influxql import FAILED, PERTURBED, TIMES, Query, chosen, grouped, newest
from dashboards.pieces import (
    GREEN,
    ORANGE,
    RED,
    PanelBuilder,
    Row,
    board,
    gauges,
    many,
    number,
    over_time,
    rows_of,
)

_WHERE = chosen("experiment", "host")
_RUN = "choose a longer time, or start one with `regatta run SPEC`; with InfluxDB configured its points come by themselves"
_SEGMENTS = '"kind" =~ /^(provisioned|waiting|waiting_ended|segment_started|segment_ended|job_failed|experiment_started|experiment_ended)$/'


def fleet_now() -> Dashboard:
    """The board."""
    return board(
        "fleet-now",
        "What runs on which host, how far is it, and does anything go wrong?",
        (many("experiment", within=()), many("host")),
        (
            Row(8, ((24, _progress()),)),
            Row(8, ((16, _measured()), (8, _endings()))),
            Row(4, ((6, _count("Did invocations fail?", FAILED, RED, "Invocations that failed, crashed or took too long, but not `oom`,")), (6, _count("Were any disturbed?", PERTURBED, ORANGE)),
                    (6, _count("How many were recorded?", "", GREEN)), (6, _jobs()))),
            Row(8, ((12, _hosts()), (12, _pace()))),
            Row(8, ((12, _state()), (12, _failures()))),
        ),
        since="now-24h",
        refresh="10s",
    )  # fmt: skip


def _progress() -> PanelBuilder:
    done = ('"recorded" / "planned"', "done")
    columns = (done, "recorded", "planned", "failed", "perturbed", "remaining_s")
    where = f"\"kind\" = 'progress' AND {_WHERE} AND {TIMES}"
    query = newest("event", columns, where, ("experiment", "host"), "recorded")
    panel = rows_of(
        "What runs where, and when is it done?",
        "One row for each experiment on each host that reported progress in the chosen time, from its newest report. `failed` are failed, "
        "crashed and timed-out invocations. `time left` is what the planned "
        "invocations that are not recorded yet will take at the pace so far. A click on an experiment leads to its results.",
        _RUN,
        [Query(query)],
        "none",
        columns=(
            "experiment",
            "host",
            "done",
            "recorded",
            "planned",
            "failed",
            "perturbed",
            "remaining_s",
            "Time",
        ),
        units={"remaining_s": "s"},
        show_time=True,
        names={"remaining_s": "time left", "Time": "reported"},
        sort="reported",
        descending=True,
    )
    shaded(panel, "failed", ((None, "transparent"), (1, RED)))
    linked(panel, "experiment", "experiment", "Results of this experiment")
    return gauged(panel, "done")


def _measured() -> PanelBuilder:
    first, last = (f'{end}("started_utc_ns")' for end in ("first", "last"))
    # Whole ms, as links have times.
    begun, ended = (f"({end} - {end} % 1000000) / 1000000" for end in (first, last))
    query = (
        f'SELECT {begun} AS "begun", {ended} AS "newest", count("iteration_rows") AS "invocations"'
        f' FROM "invocation" WHERE {_WHERE} AND {TIMES}{grouped(("experiment", "host"))}'
    )
    panel = rows_of(
        "What was measured, and when?",
        "Experiments with an invocation in the chosen time: when the first and the newest of these began, and how many they are. A click on an "
        "experiment leads to its results, in the time in which it was measured.",
        "choose a longer time, or run `regatta run SPEC`",
        [Query(query)],
        "none",
        columns=("experiment", "host", "begun", "newest", "invocations"),
        units={"begun": "dateTimeAsIso", "newest": "dateTimeAsIso"},
        sort="newest",
        descending=True,
    )
    time = "from=${__data.fields.begun.numeric}&to=${__data.fields.newest.numeric}"
    return linked(panel, "experiment", "experiment", "Results of this experiment", time)


def _endings() -> PanelBuilder:
    query = (
        f'SELECT count("iteration_rows") FROM "invocation" WHERE {_WHERE} AND {TIMES}{grouped(("status",))}'
    )
    return gauges(
        "How did invocations end?",
        "Invocations by status in the chosen time. `perturbed` ones were measured while something else used the host; they "
        "are run again and are in no estimate. `oom` at a small heap is a result, not an error.",
        _RUN,
        [Query(query, "time_series", "$tag_status")],
        "none",
        ((None, GREEN),),
    )


def _count(title: str, condition: str, colour: str, what: str = "Invocations") -> PanelBuilder:
    also = (condition, TIMES) if condition else (TIMES,)
    query = (
        f'SELECT count("iteration_rows") FROM "invocation" WHERE {chosen("experiment", "host", also=also)}'
    )
    return number(
        title,
        f"{what} in the chosen time. `verify` names each one that failed: `regatta verify EXPERIMENT`.",
        "none" if condition else "none yet: `regatta run SPEC`",
        [Query(query, "time_series", "invocations")],
        "none",
        ((None, GREEN), (1, colour)),
    )


def _jobs() -> PanelBuilder:
    query = f'SELECT count("text") FROM "event" WHERE {chosen("experiment", also=TIMES)} AND "kind" = \'job_failed\''
    return number(
        "Did steps of workflows fail?",
        "Jobs of Snakemake that ended with an error in the chosen time; the table below says which.",
        "none",
        [Query(query, "time_series", "steps")],
        "none",
        ((None, GREEN), (1, RED)),
    )


def _hosts() -> PanelBuilder:
    query = newest(
        "event",
        ("text", "kind", "segment"),
        f"{_SEGMENTS} AND {_WHERE} AND {TIMES}",
        ("host", "experiment"),
        "text",
    )
    return rows_of(
        "What happened last on each host?",
        "The newest event in the chosen time of each experiment on each host: made ready (`provisioned`), measuring (`segment_started`, "
        "`waiting_ended`), waiting for another run on the same host (`waiting`), between two segments (`segment_ended`), failed. Host `none`: of the experiment as a whole.",
        _RUN,
        [Query(query)],
        "none",
        columns=("Time", "host", "experiment", "kind", "segment", "text"),
        show_time=True,
        sort="Time",
        descending=True,
    )


def _pace() -> PanelBuilder:
    query = f'SELECT count("iteration_rows") FROM "invocation" WHERE {_WHERE} AND {TIMES}{grouped(("host",), True)}'
    return over_time(
        "Does every host keep measuring?",
        "Invocations recorded in each step of time, by host. A gap is a host that waits: for its next segment, for a quiet "
        "machine, or for somebody.",
        _RUN,
        [Query(query, "time_series", "$tag_host")],
        "none",
        bars=True,
    )


def _state() -> PanelBuilder:
    shown = (("busy_percent", "busy"), ("steal_percent", "stolen"), ("psi_cpu_percent", "waiting"))
    parts = ", ".join(f'max("{name}") AS "{word}"' for name, word in shown)
    query = f'SELECT {parts} FROM "host_state" WHERE {_WHERE} AND {TIMES}{grouped(("host",), True)}'
    return over_time(
        "Are the hosts quiet enough?",
        "Share of time, over each invocation, the largest of each step of the axis: processors busy, stolen by other guests of the same machine, and tasks "
        "waiting for a processor (PSI). Stolen time and waiting make invocations `perturbed`.",
        _RUN,
        [Query(query, "time_series", "$tag_host $col")],
        "percent",
    )


def _failures() -> PanelBuilder:
    failed = f'SELECT "kind", "experiment", "host", "text" FROM "event" WHERE {chosen("experiment", also=TIMES)} AND "kind" = \'job_failed\' ORDER BY time DESC LIMIT 50'
    return rows_of(
        "Which steps failed, and why?",
        "The newest 50 failed steps. Single invocations that failed are on the board of their experiment.",
        "no step has failed in the chosen time",
        [Query(failed)],
        "none",
        columns=("Time", "experiment", "host", "text"),
        hidden=("kind",),
        show_time=True,
    )
