"""The dashboard of running experiments: progress, failures and disturbances of each host."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import (
    PERTURBED_STEPS,
    counts,
    gauged,
    host_table,
    linked,
    shaded,
    with_share_perturbed,
)
from dashboards.influxql import FAILED, TIMES, Query, chosen, grouped, newest
from dashboards.layout import Row, Section, board, every, experiments, many
from dashboards.pieces import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    PanelBuilder,
    alerts,
    arranged,
    number,
    rows_of,
    states,
)

_CHOSEN = ("experiment", "host")
_WHERE = chosen(*_CHOSEN)
_RUN = "choose a longer time, or start one with `regatta run SPEC`: with InfluxDB configured, its points are sent while it runs"
_SEGMENTS = '"kind" =~ /^(provisioned|waiting|waiting_ended|segment_started|segment_ended|job_failed|experiment_started|experiment_ended)$/'
_JOB_FAILED = f"{chosen('experiment', also=TIMES)} AND \"kind\" = 'job_failed'"
_OWN_TIME = "from=${__data.fields.begun.numeric}&to=${__data.fields.newest.numeric}"


def fleet_now() -> Dashboard:
    """Return the dashboard."""
    return board(
        "fleet-now",
        "What runs on each host, how far is it, and is anything wrong?",
        (every(experiments()), many("host")),
        (
            Row(4, ((8, _failed()), (8, _perturbed()), (8, _jobs()))),
            Row(8, ((24, _progress()),)),
            Row(8, ((15, _hosts()), (9, _alerts()))),
            Row(7, ((24, _stolen()),)),
            Section("Details: events and failed steps", (
                Row(7, ((24, _pace()),)),
                Row(8, ((24, _events()),)),
                Row(8, ((24, _failures()),)),
            )),
        ),
        since="now-3h",
        refresh="10s",
    )  # fmt: skip


def _progress() -> PanelBuilder:
    # A perturbed invocation is repeated: its record does not count as done.
    done = ('("recorded" - "perturbed") / "planned"', "done")
    progress = newest(
        "event",
        (done, "remaining_s", "planned", "perturbed", "failed"),
        f"\"kind\" = 'progress' AND {_WHERE} AND {TIMES}",
        ("experiment", "host"),
        "recorded",
    )
    # Whole ms, as in links.
    begun, ended = (f'floor({end}("started_utc_ns") / 1000000)' for end in ("first", "last"))
    measured = (
        f'SELECT {begun} AS "begun", {ended} AS "newest", count("iteration_rows") AS "invocations"'
        f' FROM "invocation" WHERE {_WHERE} AND {TIMES}{grouped(("experiment", "host"))}'
    )
    panel = rows_of(
        "What runs where, and when is it done?",
        "One row per experiment and host with points in the selected time. `done`: unperturbed invocations over planned ones; a "
        "perturbed invocation is repeated. `time left`: estimate for the remaining invocations at the pace so far. `failed`: failed, "
        "crashed and timed-out invocations. `begun`, `newest`: start of the first and the newest invocation. Click an experiment to "
        "see its results in this time range. Without a workflow (`regatta run`), there is no progress.",
        _RUN,
        [Query(progress), Query(measured)],
        "none",
        columns=("experiment", "host", "done", "remaining_s", "failed", "perturbed", "invocations", "planned", "begun", "newest"),
        units={"time left": "s", "begun": "dateTimeAsIso", "newest": "dateTimeAsIso"},
        names={"remaining_s": "time left"},
        sort="newest",
        descending=True,
    )  # fmt: skip
    shaded(panel, "failed", ((None, "transparent"), (1, RED)))
    linked(panel, "experiment", "experiment", "Results of this experiment", _OWN_TIME)
    return gauged(panel, "done")


def _hosts() -> PanelBuilder:
    return host_table(
        "Which hosts are disturbed?",
        "Invocations of each host in the selected time. `share perturbed`: share of invocations during which other work used the host; "
        "amber from 5 %, red from 20 %. `failed`: failed, crashed and timed-out invocations.",
        _RUN,
        _CHOSEN,
        TIMES,
    )


def _alerts() -> PanelBuilder:
    return alerts(
        "Which alerts fire?",
        "Firing and pending alerts of Regatta. Each links to the panel that shows its cause.",
    )


def _count(title: str, how: str, query: str, what: str) -> PanelBuilder:
    queries = [Query(query, "time_series", what)]
    return number(title, how, "none failed", queries, "none", ((None, GREEN), (1, RED)))


def _failed() -> PanelBuilder:
    return _count(
        "Did invocations fail?",
        "Number of invocations that failed, crashed or timed out in the selected time. `oom` is a result and does not count. "
        "`regatta verify EXPERIMENT` lists them.",
        f'SELECT count("iteration_rows") FROM "invocation" WHERE {chosen(*_CHOSEN, also=(FAILED, TIMES))}',
        "invocations",
    )


def _perturbed() -> PanelBuilder:
    panel = number(
        "What share was perturbed?",
        "Share of invocations in the selected time during which other work used the host. They are excluded and repeated. Amber "
        "from 5 %, red from 20 %.",
        "no invocation in the selected time",
        counts(_CHOSEN, (TIMES,)),
        "percentunit",
        PERTURBED_STEPS,
    )
    arranged(panel, ("share perturbed",), merged=True)
    return with_share_perturbed(panel).decimals(0)


def _jobs() -> PanelBuilder:
    return _count(
        "Did steps of workflows fail?",
        "Number of Snakemake jobs that ended with an error in the selected time. The details below list them.",
        f'SELECT count("text") FROM "event" WHERE {_JOB_FAILED}',
        "steps",
    )


def _stolen() -> PanelBuilder:
    query = (
        f'SELECT max("steal_percent") FROM "host_state" WHERE {_WHERE} AND {TIMES}{grouped(("host",), True)}'
    )
    return states(
        "Are the hosts quiet enough?",
        "Processor time that other guests of the same machine took, one row per host: the worst invocation of each step of the time "
        "axis. Green below 2 %, amber below 10 %, red above. In a gap, the host did not measure.",
        _RUN,
        [Query(query, "time_series", "$tag_host")],
        "percent",
        ((None, GREEN), (2, ORANGE), (10, RED)),
    )


def _pace() -> PanelBuilder:
    query = f'SELECT count("iteration_rows") FROM "invocation" WHERE {_WHERE} AND {TIMES}{grouped(("host",), True)}'
    return states(
        "Does every host keep measuring?",
        "Invocations recorded in each step of the time axis, one row per host. In a gap, the host waits for its next "
        "segment or for a quiet machine, or it has stopped.",
        _RUN,
        [Query(query, "time_series", "$tag_host")],
        "none",
        ((None, GREY), (1, BLUE)),
    )


def _events() -> PanelBuilder:
    query = newest(
        "event",
        ("kind", "segment", "text"),
        f"{_SEGMENTS} AND {_WHERE} AND {TIMES}",
        ("host", "experiment"),
        "text",
    )
    return rows_of(
        "What happened last on each host?",
        "The newest event of each experiment on each host in the selected time: prepared (`provisioned`), measuring "
        "(`segment_started`, `waiting_ended`), waiting for another run on the same host (`waiting`), between two segments "
        "(`segment_ended`), failed. Host `none`: the experiment as a whole.",
        _RUN,
        [Query(query)],
        "none",
        columns=("host", "kind", "Time", "experiment", "segment", "text"),
        units={"Time": "dateTimeFromNow"},
        sort="Time",
        descending=True,
    )


def _failures() -> PanelBuilder:
    failed = (
        f'SELECT "experiment", "host", "text" FROM "event" WHERE {_JOB_FAILED} ORDER BY time DESC LIMIT 50'
    )
    return rows_of(
        "Which steps failed, and why?",
        "The newest 50 failed steps. The dashboard of an experiment lists its failed invocations.",
        "no step failed in the selected time",
        [Query(failed)],
        "none",
        columns=("Time", "experiment", "host", "text"),
        units={"Time": "dateTimeFromNow"},
    )
