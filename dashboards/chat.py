"""A chat server with more and more connections, in several ways to serve them."""

from __future__ import annotations

from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards.changes import joined, repeated
from dashboards.influxql import Query, chosen, escaped, newest, tag_values, without
from dashboards.pieces import PanelBuilder, Row, bars, board, interval_bars, many, one, rows_of, variable

_EMPTY = "run `regatta run configs/experiments/chat.yml`, then `regatta ingest chat`"
_WHERE = chosen(
    "experiment",
    "platform",
    "host",
    "runtime",
    "collector",
    "modifiers",
    "benchmark",
    "heap",
    also="\"kind\" = 'mean'",
)
#: Texts are sorted as texts: asked by the number of digits, connections come in order of their number.
_DIGITS = ("{1}", "{2}", "{3}", "{4}", "{5,}")
#: of `chat/chat:short connections=20 mode=virtual rate=9` what differs, in the order in which it is shown: `20 virtual rate=9`
_LABEL = "^[^ ]* (.*?)connections=(\\d+) mode=(\\w+)(.*)$"
_SHORT, _CONNECTIONS = "$2 $3 $1$4", "$2 $1$4"


def chat() -> Dashboard:
    """The board."""
    modes = tag_values(
        "benchmark", "invocation", chosen("experiment", "runtime", also='"benchmark" =~ /mode=/')
    )
    return board(
        "chat",
        "How long do users wait for a message, how many messages are delivered, and what does each cost?",
        (
            one("experiment", also='"benchmark" =~ /connections=.*mode=/', within=()),
            many("platform"),
            one("host", within=("experiment", "platform")),
            one("runtime"),
            one("collector", within=("experiment", "runtime")),
            one("modifiers", within=("experiment", "runtime", "collector"), first="none"),
            many("benchmark"),
            one("heap", within=("experiment", "runtime", "collector")),
            variable("mode", modes).regex("/mode=(\\w+)/").multi(True).include_all(True).all_value("\\w+"),
        ),
        (
            Row(9, ((24, repeated(_latency(), "mode")),)),
            Row(9, ((12, _intervals("delivered_rate", "How many messages does the server deliver?", "ops/s",
                                    "Messages delivered in a second, to all users")),
                    (12, _intervals("cpu_per_message", "How much processor time does a message cost?", "ns",
                                    "Processor time of the server, a message")))),
            Row(9, ((12, _intervals("switches_voluntary_per_message", "How often does the server wait, a message?", "short",
                                    "Voluntary switches of the server's threads, a message")),
                    (12, _intervals("threads", "How many threads does the server need?", "none", "Threads of the server")))),
            Row(10, ((24, _table()),)),
        ),
    )  # fmt: skip


def _of(connections: str) -> str:
    """Benchmarks with so many digits in their number of connections, in the chosen ways to serve them."""
    return f'"benchmark" =~ /connections=\\d{connections} mode={escaped("mode")}( |$)/'


def _metric(metric: str, *also: str) -> str:
    return " AND ".join([_WHERE, f"\"metric\" = '{metric}'", *also])


def _latency() -> PanelBuilder:
    def asked(share: str, connections: str) -> Query:
        # All that the server tells of a latency, so that it is of one kind; the benchmark's name holds the rest to one value.
        told = f'^\\{{"connections":\\d+,"mode":"\\w+","percentile":{share.replace(".", "[.]")},"rate":[^,}}]+\\}}$'
        where = _metric("latency", f'"parameters" =~ /{told}/', _of(connections))
        return Query(newest("estimate", (("point", f"{share} %"),), where, without("parameters")))

    queries = [asked("50", digits) for digits in _DIGITS]
    queries += [asked(share, "+") for share in ("90", "99", "99.9", "100")]
    panel = bars(
        "How long does a message take with $mode threads?",
        "Time from when a message was due to when the last of its receivers has it: percentiles of each invocation, mean over invocations, by "
        "number of connections, on a logarithmic axis. `100 %`: the slowest message. Counted from the planned send, so that a server "
        "which stalls cannot hide it.",
        _EMPTY,
        queries,
        "benchmark",
        "ns",
        shorten=_LABEL,
        shown=_CONNECTIONS,
        log=True,
    )
    return joined(panel)


def _intervals(metric: str, title: str, unit: str, what: str) -> PanelBuilder:
    columns = ("low", ("point", "mean"), "high")
    panel = interval_bars(
        title,
        f"{what}, by connections and way to serve them: lower end of the interval, mean, upper end.",
        _EMPTY,
        [Query(newest("estimate", columns, _metric(metric, _of(digits)))) for digits in _DIGITS],
        "benchmark",
        unit,
        shorten=_LABEL,
        shown=_SHORT,
    )
    return joined(panel)


def _table() -> PanelBuilder:
    where = _metric("latency", _of("+"))
    return rows_of(
        "How sure is each latency?",
        "Each percentile with the ends of its interval; `n` invocations.",
        _EMPTY,
        [
            Query(
                newest(
                    "estimate",
                    ("low", ("point", "mean"), "high", "n", "reason"),
                    where,
                )
            )
        ],
        "ns",
        columns=("benchmark", "parameters", "low", "mean", "high", "n", "reason"),
        hidden=(
            "host",
            "platform",
            "runtime",
            "collector",
            "modifiers",
            "heap",
            "metric",
            "unit",
            "baseline",
        ),
        units={"n": "none"},
    )
