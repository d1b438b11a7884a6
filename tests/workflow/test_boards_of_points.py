"""What boards and alerts show of single points, asked of a real InfluxDB that has nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dashboards.asking import Ask, Board, Range
from dashboards.frames import frame_of, series_of
from dashboards.preview import page

from helpers.boards import ALERTS, DOCUMENTS, ROOT, rows_of_panel, told
from helpers.fleet_experiment import Fleet, write_fleet
from helpers.influx_server import READER, InfluxServer
from regatta.answers.report.answer import answer_experiment
from regatta.influx.answers import estimate_points
from regatta.influx.lines import encode
from regatta.influx.points import ESTIMATE, EVENT, HOST_STATE, INVOCATION, make_point
from regatta.models.predict.points import prediction_points
from regatta.models.predict.predictions import Request, RequestedApplication, forecast_of
from regatta.models.vectors.sources import Sources

Written = Callable[..., Ask]


@pytest.fixture
def made_of(influx_server: InfluxServer) -> Written:
    """Asks a database that has nothing but the given points."""

    def make(*points: Any) -> Ask:
        database = influx_server.new_database()
        influx_server.write(b"".join(encode(point) for point in points), database)
        return lambda text: [
            {"tags": {}, **one} for one in influx_server.query(text, database, READER, epoch="ms")
        ]

    return make


PLACE = ("nightly", "alpha", "x86", "apps/h2:small", "jdk-21", "g1", "none", "2x")
#: what variables are chosen from
RAN = make_point(INVOCATION, (*PLACE, "ok"), {"iteration_rows": 1, "round": 0, "position": 0}, time.time_ns())


def estimated(kind: str, ago_s: float, **fields: Any) -> Any:
    tags = (*PLACE, "elapsed")
    more = ("ratio", "", kind, "serial") if kind == "ratio" else ("ns", "", kind, "")
    common = {
        "level": 0.95, "theta_percent": 3.0, "better": "lower", "label": "apps/h2:small · jdk-21 g1", "setting": "none",
        "p_holm": 0.001, "significant": "",
    }  # fmt: skip
    return make_point(ESTIMATE, (*tags, *more), {**common, **fields}, time.time_ns() - int(ago_s * 1e9))


def test_a_name_with_characters_of_regular_expressions_is_chosen_alone(made_of: Written) -> None:
    programs = (("vm/compress:s10", "1.5x"), ("vm/compress:s1.", "1x5x"))
    fields = {"n": 5, "point": 1.0, "low": 0.9, "high": 1.1, "level": 0.95, "setting": "none"}
    ask = made_of(
        RAN,
        *(
            make_point(
                ESTIMATE,
                (*PLACE[:3], benchmark, *PLACE[4:7], heap, "elapsed", "ns", "", "mean", ""),
                fields,
                time.time_ns(),
            )
            for benchmark, heap in programs
        ),
    )
    for benchmark, heap in programs:
        board = Board(DOCUMENTS["history"], ask, Range(0, 2**41), {"benchmark": benchmark, "heap": heap})
        assert (board.values["benchmark"], board.values["heap"]) == ((benchmark,), (heap,))
        (answer,) = told(board, "$benchmark, $collector collector: how did it develop?")
        assert [len(one["values"]) for _, series in answer.found for one in series] == [1]


def test_a_program_without_a_collector_has_none_in_its_title(made_of: Written) -> None:
    fields = {"n": 5, "point": 1.0, "low": 0.9, "high": 1.1, "level": 0.95, "setting": "none"}
    ask = made_of(
        RAN,
        *(
            make_point(
                ESTIMATE,
                (*PLACE[:5], collector, *PLACE[6:], "elapsed", "ns", "", "mean", ""),
                fields,
                time.time_ns(),
            )
            for collector in ("none", "g1")
        ),
    )
    board = Board(DOCUMENTS["history"], ask, Range(0, 2**41))
    answers = told(board, "$benchmark, $collector collector: how did it develop?")
    assert [board.title(answer).split(",")[1].split(":")[0] for answer in answers] == [
        " g1 collector",
        " no collector",
    ]
    # What is shown is not what is asked for.
    assert [len(one["values"]) for answer in answers for _, series in answer.found for one in series] == [
        1,
        1,
    ]


def test_an_estimate_that_has_become_undefined_is_shown_so_and_alarms_nobody(made_of: Written) -> None:
    older = {"n": 5, "point": 1.2, "low": 1.1, "high": 1.3}
    newer = {"n": 6, "reason": "not steady"}
    known = made_of(RAN, *(estimated(kind, 3600, **older) for kind in ("ratio", "mean")))
    become = made_of(
        RAN,
        *(
            estimated(kind, ago, **fields)
            for kind in ("ratio", "mean")
            for ago, fields in ((3600, older), (60, newer))
        ),
    )
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-regression")
    query = rule["data"][0]["model"]["query"]
    assert known(query)
    assert become(query) == []
    for ask, n, ends in ((known, 5, {1.1, 1.2, 1.3}), (become, 6, {None})):
        board = Board(DOCUMENTS["experiment"], ask, Range(0, 2**41))
        for title in (
            "Which alternatives differ from the baseline, by how much?",
            "What was estimated, and how certain is it?",
        ):
            (answer,) = told(board, title)
            names, (row,) = frame_of(answer)
            shown_row = dict(zip(names, row, strict=True))
            assert shown_row["n"] == n
            assert shown_row["reason"] == (None if n == 5 else "not steady")
            middle = "ratio" if "ratio" in names else "mean time"
            sides = ("low", "high") if "low" in names else ("low time", "high time")
            assert {shown_row[name] for name in (middle, *sides)} == ends


def test_an_estimate_without_an_interval_is_drawn_as_such(made_of: Written) -> None:
    fields = {"n": 1, "point": 1.2, "short": "g1", "place": 0}
    ask = made_of(RAN, *(estimated(kind, 60, **fields) for kind in ("ratio", "mean")))
    board = Board(DOCUMENTS["experiment"], ask, Range(0, 2**41))
    (ratio,) = rows_of_panel(
        board, "$benchmark_ratio: how far from the baseline is each alternative on $host?"
    )
    assert ratio["without interval"] == pytest.approx(0.2)
    assert ratio["higher, certain"] is ratio["low"] is None
    assert ratio["short"] == "g1"
    (mean,) = rows_of_panel(
        board, "$benchmark_mean: what is the mean $metric of each configuration on $host?"
    )
    assert mean["without interval time"] == mean["mean time"] == 1.2
    fields = {"n": 0, "reason": "no pair", "short": "g1", "place": 0}
    undefined = made_of(RAN, *(estimated(kind, 60, **fields) for kind in ("ratio", "mean")))
    board = Board(DOCUMENTS["experiment"], undefined, Range(0, 2**41))
    (ratio,) = rows_of_panel(
        board, "$benchmark_ratio: how far from the baseline is each alternative on $host?"
    )
    assert not ratio["without interval"]


@pytest.mark.parametrize(
    ("low", "high", "significant", "solid", "faint"),
    [
        (1.1, 1.3, "yes", 0.1, 0.2),
        # Adjusted for the other comparisons, it is not significant, although its interval excludes 1.
        (1.1, 1.3, "no", 0.0, 0.3),
        (0.7, 0.9, "yes", -0.1, -0.2),
        (0.7, 0.9, "no", 0.0, -0.3),
    ],
)
def test_a_bar_is_solid_as_far_as_the_adjusted_verdict_says(
    made_of: Written, low: float, high: float, significant: str, solid: float, faint: float
) -> None:
    fields = {"n": 5, "low": low, "high": high, "point": (low + high) / 2, "short": "g1", "place": 0}
    # An older answer had the other verdict.
    other = {"yes": "no", "no": "yes"}[significant]
    ask = made_of(
        RAN,
        *(
            estimated("ratio", ago, significant=verdict, **fields)
            for ago, verdict in ((3600, other), (60, significant))
        ),
        estimated("mean", 60, **fields),
    )
    board = Board(DOCUMENTS["experiment"], ask, Range(0, 2**41))
    (row,) = rows_of_panel(board, "$benchmark_ratio: how far from the baseline is each alternative on $host?")
    side, opposite = ("higher", "lower") if low > 1 else ("lower", "higher")
    assert row[f"{side}, certain"] == pytest.approx(solid)
    assert row[f"{side}, possible"] == pytest.approx(faint)
    assert row[f"{opposite}, certain"] == row[f"{opposite}, possible"] == 0
    assert (row["low"], row["high"]) == pytest.approx((low - 1, high - 1))
    assert row["difference"] == pytest.approx((low + high) / 2 - 1)


def test_all_entries_of_a_primitive_are_shown_and_the_primitives_where_no_whole_is_known(
    made_of: Written,
) -> None:
    sources = Sources(ROOT, ROOT / "results")
    systems = tuple(sources.systems("emulated-aarch64"))
    traced = sources.application("apache-fastcgi")
    assert traced is not None
    for application, quantity in ((traced, "elapsed"), (replace(traced, user_time=None), "primitives")):
        found = forecast_of(Request((RequestedApplication(application),), systems))
        board = Board(
            DOCUMENTS["vectors"], made_of(*prediction_points(found, time.time_ns())), Range(0, 2**41)
        )
        (counts,) = told(board, "How often does $application use each primitive?")
        names, rows = frame_of(counts)
        (light,) = (row for row in rows if row[names.index("primitive")] == "null_call")
        own = [count.count.value for count in traced.counts if count.primitive == "null_call"]
        assert len(own) > 1
        assert light[names.index("count")] == pytest.approx(sum(own))
        (row,) = found.applications[0].systems
        (contributions,) = told(board, "Which primitive takes how much of $application?")
        shown_time = sum(one["values"][0][1] for _, series in contributions.found for one in series)
        assert shown_time == pytest.approx(row.prediction.time.value)
        (ranking,) = told(board, "How long will $application take on each system?")
        names, (total,) = frame_of(ranking)
        assert total[names.index("predicted")] == pytest.approx(row.elapsed.value)
        assert total[names.index("quantity")] == quantity


def test_an_alarm_takes_both_sides_from_one_point(made_of: Written) -> None:
    (rule,) = (one for one in ALERTS if one["uid"] == "regatta-regression")
    narrow, wide = {"low": 1.04, "theta_percent": 3.0}, {"low": 1.04, "theta_percent": 5.0}
    for theta, alarmed in ((narrow, True), (wide, False)):
        ask = made_of(estimated("ratio", 60, n=5, point=1.06, high=1.08, **theta))
        (series,) = ask(rule["data"][0]["model"]["query"])
        assert (series["values"][0][1] > 1) is alarmed


def test_one_disturbed_invocation_among_a_hundred_quiet_ones_is_seen(made_of: Written) -> None:
    now_ns = time.time_ns()
    fields = ("steal_percent", "psi_io_percent", "swap_pages", "throttle_events")
    points = [
        make_point(
            HOST_STATE, ("demo", "alpha", "x86"), {**dict.fromkeys(fields, 40.0 * (n == 50)), "perturbed": n == 50},
            now_ns - n * 10**9,
        )
        for n in range(100)
    ]  # fmt: skip
    day = Range(now_ns // 10**6 - 86_400_000 * 7, now_ns // 10**6)
    board = Board(DOCUMENTS["host-health"], made_of(*points), day)
    for title in (
        "Does another guest take the processor?", "Do tasks wait for a disk?", "Does it swap?", "Is it throttled?",
    ):  # fmt: skip
        (answer,) = told(board, title)
        values = [value for _, _, drawn in series_of(answer) for _, value in drawn if value is not None]
        assert max(values) == 40.0, title


def test_what_was_killed_runs_no_more_once_its_last_report_is_out_of_the_shown_time(made_of: Written) -> None:
    day_ms, now_ms = 86_400_000, time.time_ns() // 10**6
    reported = {"text": "", "planned": 10, "recorded": 5, "failed": 0, "perturbed": 0, "remaining_s": 60.0}
    ask = made_of(make_point(EVENT, ("demo", "alpha", "progress"), reported, (now_ms - 2 * day_ms) * 10**6))
    for days, rows in ((3, 1), (1, 0)):
        board = Board(DOCUMENTS["fleet-now"], ask, Range(now_ms - days * day_ms, now_ms))
        (answer,) = told(board, "What runs where, and when is it done?")
        assert answer.rows == rows


class LastDay(Range):
    """A time range as Grafana 9 sends a relative one: each statement has its own `now()`."""

    @property
    def condition(self) -> str:
        return "time >= now() - 1d"


@pytest.mark.parametrize(("perturbed", "share"), [(0, 0), (1, 0.25), (4, 1)])
def test_the_share_of_perturbed_invocations_is_known_in_a_relative_time_range(
    made_of: Written, perturbed: int, share: float
) -> None:
    began_ns = time.time_ns() - 3600 * 10**9
    points = [
        replace(RAN, tags=(*PLACE, "perturbed" if n < perturbed else "ok"), time_ns=began_ns + n)
        for n in range(4)
    ]
    asked = made_of(*points)

    def ask(text: str) -> Any:
        time.sleep(0.002)  # so that the times of two statements differ by a ms
        return asked(text)

    board = Board(DOCUMENTS["fleet-now"], ask, LastDay(0, 0))
    assert rows_of_panel(board, "What share was perturbed?") == [{"share perturbed": share}]
    (host,) = rows_of_panel(board, "Which hosts are disturbed?")
    assert host == {
        "host": "alpha", "share perturbed": share, "invocations": 4, "ok": 4 - perturbed, "perturbed": perturbed,
        "failed": 0,
    }  # fmt: skip


def test_a_preview_without_perturbed_invocations_shows_0_percent(made_of: Written) -> None:
    day = Range(time.time_ns() // 10**6 - 86_400_000, time.time_ns() // 10**6 + 60_000)
    assert ">0 %</div>" in page([Board(DOCUMENTS["fleet-now"], made_of(RAN), day)], day)


#: board -> kind of the estimates that it needs
NEEDED = {
    "experiment": "mean", "compare-runtimes": "runtime", "compare-platforms": "platform", "collectors": "overhead",
    "history": "mean",
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_a_board_opens_with_the_newest_experiment_that_has_what_it_needs(made_of: Written, name: str) -> None:
    now_ns = time.time_ns()

    def estimate(experiment: str, kind: str, age_s: int) -> Any:
        tags = (experiment, *PLACE[1:], "elapsed", "ns", "", kind, "")
        return make_point(ESTIMATE, tags, {"n": 5, "point": 1.0, "setting": "none"}, now_ns - age_s * 10**9)

    ages = {"d": 100, "b": 200, "a": 300, "c": 400}
    estimates = [estimate(one, NEEDED[name], age_s) for one, age_s in ages.items()]
    # The estimates of an older experiment were written before, and those of another kind are newer.
    ask = made_of(
        replace(RAN, tags=("running", *RAN.tags[1:])), estimate("other", "drift", 10),
        *estimates, *(replace(one, time_ns=now_ns - 10**12) for one in estimates),
    )  # fmt: skip
    board = Board(DOCUMENTS[name], ask, Range(0, 2**41))
    assert board.options["experiment"] == ["d", "b", "a", "c"]
    assert board.values["experiment"] == ("d",)
    # A link to one that still runs selects it.
    assert Board(DOCUMENTS[name], ask, Range(0, 2**41), {"experiment": "running"}).values["experiment"] == (
        "running",
    )


def test_panels_are_repeated_for_the_benchmarks_with_the_metric_and_a_known_metric_comes_first(
    made_of: Written,
) -> None:
    now_ns = time.time_ns()
    measured = {
        "compile": ("compile_time", "none"), "chat": ("delivered_rate", "3"), "again": ("delivered_rate", "3"),
        "more": ("delivered_rate", "20"),
    }  # fmt: skip

    def mean(benchmark: str) -> Any:
        metric, setting = measured[benchmark]
        tags = (*PLACE[:3], benchmark, *PLACE[4:], metric, "ns", f'{{"rate":{setting}}}', "mean", "")
        return make_point(
            ESTIMATE, tags, {"n": 5, "point": 1.0, "low": 0.9, "high": 1.1, "setting": setting}, now_ns
        )

    ran = [replace(RAN, tags=(*PLACE[:3], benchmark, *RAN.tags[4:])) for benchmark in measured]
    ask = made_of(*ran, *map(mean, measured))
    board = Board(DOCUMENTS["experiment"], ask, Range(0, 2**41), {"setting": "3"})
    assert board.options["metric"] == ["delivered_rate", "compile_time"]
    assert board.options["setting"] == ["20", "3"]
    assert board.options["parameters"] == ['{"rate":3}']
    assert board.options["benchmark"] == sorted(measured)
    means = told(board, "$benchmark_mean: what is the mean $metric of each configuration on $host?")
    assert [(one.repeated, bool(one.rows)) for one in means] == [("again", True), ("chat", True)]
    assert board.options["benchmark_ratio"] == []


def test_the_hosts_of_the_only_platform_are_shown_like_platforms(made_of: Written, tmp_path: Path) -> None:
    hosts = {"xeon": ("x86", 1.0), "ryzen": ("x86", 0.8), "epyc": ("x86", 0.5)}
    fleet = Fleet(hosts=hosts, collectors=("g1",), primitives={}, compare=("platform",), baseline={})
    answer = answer_experiment(write_fleet(tmp_path / "nightly", fleet))
    ran = replace(RAN, tags=(answer.experiment, *RAN.tags[1:]))
    board = Board(
        DOCUMENTS["compare-platforms"],
        made_of(ran, *estimate_points(answer, time.time_ns())),
        Range(0, 2**41),
    )
    assert board.options["baseline"] == ["epyc"]
    rows = rows_of_panel(board, "How far is each from the baseline, over all benchmarks?")
    assert [(row["alternative"], round(row["difference"], 1)) for row in rows] == [
        ("epyc", 0), ("ryzen", 0.6), ("xeon", 1.0),
    ]  # fmt: skip
    ranking = rows_of_panel(board, "What is the ranking, and for which benchmarks and hosts does it hold?")
    assert {(row["rank"], row["compared"]) for row in ranking} == {
        (1, "epyc"), (2, "ryzen"), (3, "xeon"),
    }  # fmt: skip
    assert {row["holds for"] for row in ranking} == {"these benchmarks and hosts", "similar benchmarks", None}
    leading = rows_of_panel(board, "Which platforms or hosts lead, over all benchmarks and on each?")
    assert [(row["rank"], row["compared"], row["leader"]) for row in leading] == [
        (1, "epyc", "yes"), (2, "ryzen", "no"), (3, "xeon", "no"),
    ] * 3  # fmt: skip
    assert len(rows_of_panel(board, "Which pairs differ?")) == 3 * 3
    each = rows_of_panel(board, "$alternative: how far from the baseline on each benchmark?")
    assert len(each) == 4
    times = rows_of_panel(board, "When was each measured, and did its values change meanwhile?")
    assert {row["measured on"] for row in times} == set(hosts)
