"""A chat server with more and more connections, served in several modes."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.influxql import Query, chosen, escaped, newest, tag_values, without
from dashboards.intervals import mean_bars
from dashboards.layout import Row, Section, board, experiments, hidden, many, one, variable
from dashboards.pieces import MODE_COLOURS, PanelBuilder, arranged, bars, rows_of, setting, shortened

_RUN = "`regatta run configs/experiments/chat.yml`"
_EMPTY = f"run {_RUN}, then `regatta ingest chat`"
_CELL = ("experiment", "platform", "host", "runtime", "collector", "modifiers", "benchmark", "heap")
_WHERE = f'"kind" = \'mean\' AND {chosen(*_CELL)} AND "benchmark" =~ /connections=\\d+ mode={escaped("mode")}( |$)/'
#: of `chat/chat:short connections=20 mode=virtual rate=9` the parts that differ: `20 virtual rate=9`
_LABEL, _SHORT = "^[^ ]*(.*?) connections=(\\d+) mode=(\\w+)(.*)$", "$2 $3$1$4"
_SHARES = (("50", "median"), ("90", "90 %"), ("99", "99 %"), ("99.9", "99.9 %"), ("100", "maximum"))


def chat() -> Dashboard:
    """Return the dashboard."""
    modes = tag_values(
        "benchmark", "invocation", chosen("experiment", "runtime", also='"benchmark" =~ /mode=/')
    )
    return board(
        "chat",
        "How long do users wait for a message, how many messages are delivered, and what does each cost?",
        (
            experiments(also='"benchmark" =~ /connections=.*mode=/'),
            hidden(many("platform")),
            one("host", within=("experiment", "platform")),
            one("runtime"),
            one("collector", within=("experiment", "runtime")),
            one("modifiers", within=("experiment", "runtime", "collector"), first="none"),
            hidden(many("benchmark")),
            one("heap", within=("experiment", "runtime", "collector")),
            variable("mode", modes).regex("/mode=(\\w+)/").multi(True).include_all(True).all_value("\\w+"),
        ),
        (
            Section(f"Chat server (experiments with its benchmark: {_RUN})", (
                Row(11, ((24, _latency()),)),
                Row(11, ((12, _intervals("delivered_rate", "How many messages does the server deliver?", "ops",
                                         "Messages delivered per second to all users")),
                         (12, _intervals("cpu_per_message", "How much processor time does a message cost?", "ns",
                                         "Processor time of the server per message")))),
            ), collapsed=False),
            Section("Details: threads, waits and intervals of latencies", (
                Row(11, ((12, _intervals("switches_voluntary_per_message", "How often does the server wait per message?", "short",
                                         "Voluntary switches of the server's threads per message")),
                         (12, _intervals("threads", "How many threads does the server need?", "none", "Threads of the server")))),
                Row(10, ((24, _table()),)),
            )),
        ),
    )  # fmt: skip


def _metric(metric: str, *also: str) -> str:
    return " AND ".join([_WHERE, f"\"metric\" = '{metric}'", *also])


def _latency() -> PanelBuilder:
    def asked(share: str, name: str) -> Query:
        # All parameters of a latency, so that it is of one kind; the benchmark's name holds the rest to one value.
        told = f'^\\{{"connections":\\d+,"mode":"\\w+","percentile":{share.replace(".", "[.]")},"rate":[^,}}]+\\}}$'
        # The places of percentiles differ: one of them sorts the rows.
        columns = (("point", name), *(("place",) if share == "50" else ()))
        where = _metric("latency", f'"parameters" =~ /{told}/')
        return Query(newest("estimate", columns, where, without("parameters")))

    panel = bars(
        "How long does a message take?",
        "Time from when a message was due until the last of its receivers has it: percentiles of each invocation, mean over "
        "invocations, by number of connections and mode, on a logarithmic axis. Because the time counts from the planned send, a server "
        "that stalls cannot hide it.",
        _EMPTY,
        [asked(*share) for share in _SHARES],
        "benchmark",
        "ns",
        shorten=_LABEL,
        shown=_SHORT,
        log=True,
    )
    return arranged(panel, ("benchmark", *(name for _, name in _SHARES)), order="place", merged=True)


def _intervals(metric: str, title: str, unit: str, what: str) -> PanelBuilder:
    return mean_bars(
        title,
        f"{what}, by number of connections, one colour per mode, with its interval: solid from the lower end to the mean, faint up to the "
        "upper end.",
        _EMPTY,
        _metric(metric),
        x="benchmark",
        unit=unit,
        shorten=_LABEL,
        shown=_SHORT,
        groups={
            f"{mode} mode": (f' AND "benchmark" =~ / mode={mode}( |$)/', shade)
            for mode, shade in MODE_COLOURS.items()
        },
    )


def _table() -> PanelBuilder:
    columns = (("point", "mean"), "low", "high", "n", "setting", "place", "reason")
    panel = rows_of(
        "How certain is each latency?",
        "Each percentile with its interval; `n`: number of invocations.",
        _EMPTY,
        [Query(newest("estimate", columns, _metric("latency")))],
        "ns",
        columns=("benchmark", "setting", "mean", "low", "high", "n", "reason"),
        units={"n": "none"},
        names={"setting": "percentile"},
        order="place",
    )
    return panel.override_by_name("benchmark", [setting("mappings", [shortened(_LABEL, _SHORT)])])
