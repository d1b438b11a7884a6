"""The dashboard of the chat server: latency, throughput and cost over the number of connections, by mode."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.curves import over_number
from dashboards.influxql import Query, chosen, escaped, newest, tag_values
from dashboards.intervals import percentile_bars
from dashboards.layout import Row, Section, board, experiments, hidden, many, one, variable
from dashboards.pieces import MODE_COLOURS, PanelBuilder, rows_of, setting, shortened

_RUN = "`regatta run configs/experiments/chat.yml`"
_EMPTY = f"run {_RUN}, whose estimates come at the end of the run, or `regatta ingest chat`"
_CELL = ("experiment", "platform", "host", "runtime", "collector", "modifiers", "heap")
_LABELLED = (
    f'"benchmark" =~ /^{escaped("program")} connections=\\d+ mode={escaped("mode")}{escaped("choices")}$/'
)
_WHERE = f"\"kind\" = 'mean' AND {chosen(*_CELL)} AND {_LABELLED}"
#: the percentile of the curve of latencies
_LATE = 99
_CURVE = (
    "over the number of connections on a logarithmic axis, one line per mode. Faint lines: the ends of its interval. The interval is "
    "absent with fewer than 2 invocations."
)
#: of `chat/chat:short connections=20 mode=virtual rate=9` the parts that differ: `20 virtual rate=9`
_LABEL, _SHORT = "^[^ ]*(.*?) connections=(\\d+) mode=(\\w+)(.*)$", "$2 $3$1$4"
#: name of a line -> conditions and colour; `platform` is also a tag
_MODES = {
    f"{mode} mode": (f' AND "benchmark" =~ / mode={mode}( |$)/', shade)
    for mode, shade in MODE_COLOURS.items()
}
_SHARES = (("50", "median"), ("90", "90 %"), ("99", "99 %"), ("99.9", "99.9 %"), ("100", "maximum"))


def chat() -> Dashboard:
    """Return the dashboard."""
    labels = tag_values(
        "benchmark", "invocation", chosen("experiment", "runtime", also='"benchmark" =~ /mode=/')
    )
    return board(
        "chat",
        "How long do users wait for a message, how many messages are delivered, and what does each cost?",
        (
            experiments("estimate", '"kind" = \'mean\' AND "benchmark" =~ /connections=.*mode=/'),
            hidden(many("platform")),
            one("host", within=("experiment", "platform")),
            one("runtime"),
            one("collector", within=("experiment", "runtime")),
            one("modifiers", within=("experiment", "runtime", "collector"), first="none"),
            hidden(variable("program", labels).regex("/^(.*?) connections=/")),
            one("heap", within=("experiment", "runtime", "collector")),
            variable("choices", labels).label("further choices").regex("/ mode=\\w+(.*)$/"),
            variable("mode", labels).regex("/mode=(\\w+)/").multi(True).include_all(True).all_value("\\w+"),
        ),
        (
            Section(f"Chat server (experiments with its benchmark: {_RUN})", (
                Row(11, ((12, _late()),
                         (12, _curve("delivered_rate", "How many messages does the server deliver?", "messages per second",
                                     "Messages delivered per second to all users")))),
                Row(11, ((12, _curve("cpu_per_message", "How much processor time does a message cost?", "ms",
                                     "Processor time of the server per message", "ms")),
                         (12, _curve("threads", "How many threads does the server need?", "threads", "Threads of the server")))),
            ), collapsed=False),
            Section("Details: percentiles of latencies, and waits", (
                Row(11, ((24, _latency()),)),
                Row(11, ((24, _curve("switches_voluntary_per_message", "How often does the server wait per message?", "switches",
                                     "Voluntary switches of the server's threads per message")),)),
                Row(10, ((24, _table()),)),
            )),
        ),
    )  # fmt: skip


def _metric(metric: str, *also: str) -> str:
    return " AND ".join([_WHERE, f"\"metric\" = '{metric}'", *also])


def _latency() -> PanelBuilder:
    return percentile_bars(
        "How long does a message take?",
        "Time from when a message was due until the last of its receivers has it: percentiles of each invocation, mean over "
        "invocations, by number of connections and mode, on a logarithmic axis. Because the time counts from the planned send, a server "
        "that stalls cannot hide it.",
        _EMPTY,
        {name: _metric("latency", _of_percentile(share)) for share, name in _SHARES},
        "benchmark",
        shorten=_LABEL,
        shown=_SHORT,
    )


def _late() -> PanelBuilder:
    return over_number(
        "How long does a message take, at the 99th percentile?",
        "Time from when a message was due until the last of its receivers has it: 99th percentile of each invocation, mean over "
        f"invocations, {_CURVE} The axis of the time is logarithmic too. Because the time counts from the planned send, a server that stalls "
        "cannot hide it.",
        _EMPTY,
        _metric("latency", _of_percentile(str(_LATE))),
        "log10 of ms (0: 1 ms, 1: 10 ms, 2: 100 ms)",
        _MODES,
        "log ms",
    )


def _curve(metric: str, title: str, y_label: str, what: str, value: str = "") -> PanelBuilder:
    return over_number(title, f"{what}, {_CURVE}", _EMPTY, _metric(metric), y_label, _MODES, value)


def _of_percentile(share: str) -> str:
    """Return the condition: all parameters of a latency, so that it is of one kind; the label of the benchmark has the rest."""
    told = (
        f'^\\{{"connections":\\d+,"mode":"\\w+","percentile":{share.replace(".", "[.]")},"rate":[^,}}]+\\}}$'
    )
    return f'"parameters" =~ /{told}/'


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
