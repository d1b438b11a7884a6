"""Predictions beside what was measured, on the thesis's vectors and an experiment that is made to miss them by what is known."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.served_experiment import PLACES, as_home, regatta, write_served_experiment
from helpers.synthetic_journal import native, record, write_experiment
from helpers.thesis_vectors import write_thesis_vectors
from regatta.models.predict.forecast import Forecast
from regatta.models.predict.measured_times import MeasuredCell, MeasuredExperiment, RequestedBenchmark
from regatta.models.predict.mixing import mixed
from regatta.models.predict.predictions import Replaced, Request, RequestedApplication, forecast_of
from regatta.models.predict.what_if import parse_change
from regatta.models.vectors.files import read_vector
from regatta.models.vectors.sources import SystemSource
from regatta.models.vectors.values import (
    ApplicationVector,
    SystemVector,
    Value,
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return as_home(write_served_experiment(tmp_path_factory.mktemp("served")))


def application(folder: Path, name: str) -> ApplicationVector:
    found = read_vector(folder / "applications" / f"{name}.yml")
    assert isinstance(found, ApplicationVector)
    return found


def systems(folder: Path) -> tuple[SystemSource, ...]:
    directory = folder / "results" / "served"
    found = [read_vector(path) for path in sorted((directory / "vectors").glob("*.yml"))]
    return tuple(SystemSource(one, directory) for one in found if isinstance(one, SystemVector))


def predicted(folder: Path, *names: str, **more: object) -> Forecast:
    asked = tuple(RequestedApplication(application(folder, name)) for name in names)
    return forecast_of(Request(asked, systems(folder), **more))  # type: ignore[arg-type]


# Measured beside predicted


def test_each_system_has_its_own_measured_times_beside_and_the_errors_that_were_planted(home: Path) -> None:
    (one,) = predicted(home, "apache-static").applications
    assert [row.system for row in one.systems] == ["alpha", "beta", "alpha-half-quota"]
    for row in one.systems:
        assert row.ratios["kernel"].value == pytest.approx(1 / PLACES[row.system][3], rel=0.01)
        assert row.ratios["kernel"].low < 1 / PLACES[row.system][3] < row.ratios["kernel"].high
        assert row.ratios["user"].value == pytest.approx(1, rel=0.02)
        assert row.explained == row.ratios["kernel"].value
        assert row.elapsed.value == pytest.approx(row.prediction.kernel.value + 80e3)
    # They are predicted to differ by 5, 42 and 35 %, and the model's own error is a factor of 1.37.
    assert [(pair.faster, pair.slower, pair.verdict) for pair in one.pairs] == [
        ("alpha", "beta", "open"),
        ("alpha", "alpha-half-quota", "right"),
        ("beta", "alpha-half-quota", "open"),
    ]
    assert one.groups == (("alpha", "beta"), ("beta", "alpha-half-quota"))
    assert not one.ranked_right


def test_an_order_that_was_measured_the_other_way_is_wrong_and_is_said(tmp_path: Path) -> None:
    folder = write_served_experiment(tmp_path, off={"alpha": 1.5})
    found = predicted(folder, "apache-static")
    (one,) = found.applications
    verdicts = {(pair.faster, pair.slower): pair.verdict for pair in one.pairs}
    assert verdicts == {
        ("alpha", "beta"): "open",
        ("alpha", "alpha-half-quota"): "wrong",
        ("beta", "alpha-half-quota"): "open",
    }
    assert any("pairs: 1 wrong, 2 open" in sentence for sentence in found.sentences)
    assert not one.ranked_right


def test_systems_that_the_prediction_cannot_tell_apart_are_open_and_a_group(tmp_path: Path) -> None:
    folder = write_served_experiment(tmp_path, spread=0.3)
    found = predicted(folder, "apache-static")
    (one,) = found.applications
    assert one.groups == (("alpha", "beta", "alpha-half-quota"),)
    assert {pair.verdict for pair in one.pairs if {pair.faster, pair.slower} == {"alpha", "beta"}} == {"open"}
    assert found.sentences[0].endswith("from beta and alpha-half-quota")


def test_a_vector_that_explains_little_is_warned_of(tmp_path: Path) -> None:
    folder = write_served_experiment(tmp_path, off=dict.fromkeys(PLACES, 2.5))
    warnings = predicted(folder, "apache-static").warnings
    assert sum("explains only 40 %" in one for one in warnings) == 3


def test_an_error_of_more_than_the_time_itself_is_a_plain_number(tmp_path: Path) -> None:
    folder = write_served_experiment(tmp_path, off=dict.fromkeys(PLACES, 0.1))
    (told,) = [one for one in predicted(folder, "apache-static").sentences if "elapsed times" in one]
    assert re.search(r"elapsed times: .*\+[1-9]\d\d %", told)
    assert "e+" not in told


def test_without_a_measured_user_time_only_the_kernel_is_compared(tmp_path: Path) -> None:
    folder = write_served_experiment(tmp_path)
    write_thesis_vectors(folder, user_us=None)
    found = predicted(folder, "apache-static")
    (one,) = found.applications
    assert all(set(row.ratios) == {"kernel"} for row in one.systems)
    assert all(row.elapsed.value == row.prediction.time.value for row in one.systems)
    (warning,) = [one for one in found.warnings if "no measured user time" in one]
    assert warning.startswith("apache-static: ")


def test_where_nothing_was_measured_the_reason_is_told(home: Path, golden: Golden) -> None:
    one = application(home, "apache-static")
    for name in ("web/nginx-static", "web/apache-static dynamic=cgi"):
        found = forecast_of(
            Request(
                (RequestedApplication(one),), systems(home)[:1], benchmark=str(RequestedBenchmark.of(name))
            )
        )
        golden(f"no benchmark {name}", found.applications[0].systems[0].unmeasured)
    (source, *_) = systems(home)
    moved = SystemVector(
        "x", "us", source.vector.primitives, 0.95, {**source.vector.provenance, "host": "gamma"}
    )
    found = forecast_of(Request((RequestedApplication(one),), (SystemSource(moved, source.experiment),)))
    assert "not on gamma" in found.applications[0].systems[0].unmeasured


@pytest.mark.parametrize(
    ("case", "more"),
    [
        ("vector without a host", {"host": ""}),
        ("vector of another machine", {"fingerprint": "cpu another one"}),
        ("", {"fingerprint": "cpu a processor"}),
        ("", {}),
    ],
)
def test_measured_times_are_those_of_the_machine_of_the_vector(
    home: Path, case: str, more: dict[str, str], golden: Golden
) -> None:
    source = next(source for source in systems(home) if source.vector.name == "alpha")
    provenance = {**source.vector.provenance, **more}
    vector = SystemVector("x", "us", source.vector.primitives, 0.95, provenance)
    found = forecast_of(Request((RequestedApplication(application(home, "apache-static")),), (SystemSource(vector, source.experiment),)))  # fmt: skip
    (row,) = found.applications[0].systems
    assert (row.measured is None) == bool(row.unmeasured) == bool(case)
    if case:
        golden(case, row.unmeasured)


def served(folder: Path, *labels: str) -> MeasuredExperiment:
    cells = [native(label, metric="elapsed_per_request") for label in labels]
    records = [
        record(one, r, [[0, "elapsed_per_request", 100.0 + r, "ns", None, None]], position=at)
        for r in range(3)
        for at, one in enumerate(cells)
    ]
    return MeasuredExperiment(write_experiment(folder, cells, records, 3, method="startup"), 0.95)


def found_label(measured: MeasuredExperiment, wanted: str) -> str:
    alpha = SystemVector("alpha", "ns", {}, 0.95, {"host": "alpha", "configuration": "native"})
    found = measured.find(RequestedBenchmark.of(wanted), alpha)
    return found.place.benchmark if isinstance(found, MeasuredCell) else found


def test_a_cell_with_other_parameters_is_not_the_plain_one_and_is_named(
    tmp_path: Path, golden: Golden
) -> None:
    crowded = "web/apache-static:default connections=64"
    alone = served(tmp_path / "alone", crowded)
    golden("cell of other parameters", found_label(alone, "web/apache-static"))
    assert found_label(alone, "web/apache-static connections=64") == crowded
    both = served(tmp_path / "both", crowded, "web/apache-static:default")
    assert found_label(both, "web/apache-static") == "web/apache-static:default"
    sizes = served(tmp_path / "sizes", "web/apache-static:default", "web/apache-static:quick")
    assert "several matches of web/apache-static:" in found_label(sizes, "web/apache-static")
    assert found_label(sizes, "web/apache-static:quick") == "web/apache-static:quick"


def test_the_time_of_an_iteration_is_only_that_of_applications_whose_unit_it_is(
    tmp_path: Path, golden: Golden
) -> None:
    cell = native("vm/jess:s1", metric="elapsed")
    records = [record(cell, r, [[0, "elapsed", 100.0 + r, "ns", None, None]]) for r in range(3)]
    measured = MeasuredExperiment(write_experiment(tmp_path, [cell], records, 3, method="startup"), 0.95)
    alpha = SystemVector("alpha", "ns", {}, 0.95, {"host": "alpha", "configuration": "native"})
    found = measured.find(RequestedBenchmark.of("vm/jess", "iteration"), alpha)
    assert isinstance(found, MeasuredCell)
    assert found.interval("elapsed").value == 101.0
    # Another unit of work names its metric.
    named = measured.find(RequestedBenchmark.of("vm/jess", "run", "elapsed"), alpha)
    assert isinstance(named, MeasuredCell)
    assert named.interval("elapsed").value == 101.0
    unknown = measured.find(RequestedBenchmark.of("vm/jess", "run", "latency"), alpha)
    assert isinstance(unknown, str)
    golden("unknown metric", unknown)
    refused = measured.find(RequestedBenchmark.of("vm/jess", "request"), alpha)
    assert isinstance(refused, str)
    golden("another unit", refused)


def test_a_mix_is_found_by_what_is_dynamic_in_its_name_or_its_parameters(tmp_path: Path) -> None:
    alpha = SystemVector("alpha", "ns", {}, 0.95, {"host": "alpha", "configuration": "native"})
    mix = RequestedBenchmark.mix([("web/apache-static", 0.7), ("web/apache-cgi", 0.3)])
    assert mix is not None
    for at, label in enumerate(
        ("web/apache-cgi-mix:default dynamic_percent=30", "web/apache:default dynamic=cgi dynamic_percent=30")
    ):
        found = served(tmp_path / str(at), label).find(mix, alpha)
        assert isinstance(found, MeasuredCell), found
        assert found.place.benchmark == label
    crowded = "web/apache-cgi-mix:default connections=64 dynamic_percent=30"
    told = served(tmp_path / "more", crowded).find(mix, alpha)
    assert isinstance(told, str)
    assert f"only with other parameters: {crowded}" in told


def test_ratios_that_stand_side_by_side_are_of_one_quantity(tmp_path: Path) -> None:
    folder = write_served_experiment(tmp_path)
    write_thesis_vectors(folder, user_us=None)
    for path in (folder / "results" / "served" / "vectors").iterdir():
        # Part of each process is spent in user mode, so that the primitives' time is not the kernel's.
        share = "0.5" if path.stem == "beta" else "0"
        lines = [
            line[:-1] + f", user_share: {share}}}" if line.startswith("  simple_process:") else line
            for line in path.read_text().splitlines()
        ]
        path.write_text("\n".join(lines) + "\n")
    (one,) = predicted(folder, "apache-cgi").applications
    kernel = {row.system: row.prediction.kernel.value for row in one.systems}
    assert len(one.pairs) == 3
    for pair in one.pairs:
        assert pair.quantity == "kernel"
        assert pair.compared.value == pytest.approx(kernel[pair.slower] / kernel[pair.faster])
    beta = next(pair for pair in one.pairs if "beta" in (pair.faster, pair.slower))
    assert beta.ratio.value != pytest.approx(beta.compared.value, rel=0.1)


def test_what_is_not_known_of_pairs_is_not_told_as_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helpers.served_experiment.ROUNDS", 1)
    found = predicted(write_served_experiment(tmp_path), "apache-static")
    assert {pair.verdict for pair in found.applications[0].pairs} == {"unknown"}
    (told,) = [sentence for sentence in found.sentences if "compared with measured" in sentence]
    assert "rank of pairs: 3 unknown;" in told


def test_a_mix_is_known_by_its_server_and_its_share_of_dynamic_requests() -> None:
    mix = RequestedBenchmark.mix([("web/apache-static", 0.7), ("web/apache-cgi", 0.3)])
    assert mix is not None
    labels = {
        "web/apache-cgi-mix:default dynamic_percent=30": True,
        "web/apache-cgi:default dynamic_percent=30": True,
        "web/apache:default dynamic=cgi dynamic_percent=30": True,
        "web/apache-cgi:default dynamic_percent=15": False,
        "web/apache-fastcgi-mix:default dynamic_percent=30": False,
        "web/nginx-cgi:default dynamic_percent=30": False,
        "web/apache-cgi:default": False,
    }
    from regatta.host.values.benchmark_label import parts_of_label

    assert {label: mix.fits(parts_of_label(label)) for label in labels} == labels
    assert RequestedBenchmark.mix([("web/apache-static", 0.7), ("web/nginx-static", 0.3)]) is None
    assert RequestedBenchmark.mix([("", 0.7), ("", 0.3)]) is None


# Changes, what pays, speed-ups


def test_what_if_changes_what_is_predicted_and_compares_nothing_with_what_was_measured(home: Path) -> None:
    change = {"tcp_connect": parse_change("0.5x")}
    found = predicted(home, "apache-static", changes=change)
    (one,) = found.applications
    before = {row.system: row for row in predicted(home, "apache-static").applications[0].systems}
    for row in one.systems:
        connect = next(c for c in before[row.system].prediction.contributions if c.primitive == "tcp_connect")
        assert before[row.system].elapsed.value - row.elapsed.value == pytest.approx(connect.time.value / 2)
        assert one.effects[row.system].saved.value == pytest.approx(connect.time.value / 2)
        assert one.effects[row.system].share == pytest.approx(
            connect.time.value / 2 / before[row.system].elapsed.value
        )
        assert row.measured is None
        assert not row.ratios


def test_a_change_of_what_the_application_does_not_use_says_so(home: Path, golden: Golden) -> None:
    found = predicted(home, "apache-static", changes={"simple_process": parse_change("12us")})
    (said,) = [one for one in found.sentences if "no effect" in one]
    golden("no effect", said)


def test_what_pays_most_is_what_takes_most(home: Path) -> None:
    found = predicted(home, "apache-cgi", optimise=True)
    (one,) = found.applications
    for row in one.systems:
        first = one.savings[row.system][0]
        assert first.primitive == "simple_process"
        dearest = max(row.prediction.contributions, key=lambda c: c.time.value)
        assert first.time.value == pytest.approx(dearest.time.value)
        assert first.share == pytest.approx(dearest.time.value / row.elapsed.value)
        assert first.best == ("" if row.system == "alpha" else "alpha")
    assert any("simple_process is the largest" in sentence for sentence in found.sentences)


def test_a_replacement_in_a_mix_has_its_speed_up_beside_the_measured_one(home: Path) -> None:
    mix = ("apache-static=0.7", "apache-cgi=0.3")
    done = regatta(
        home, "predict", *mix, "--on", "served", "--replace", "apache-cgi=apache-fastcgi", "--json"
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert [one["application"]["name"] for one in document["applications"]] == [
        "70 % apache-static + 30 % apache-cgi", "70 % apache-static + 30 % apache-fastcgi",
    ]  # fmt: skip
    for one in document["speed_ups"]:
        off = PLACES[one["system"]][3]
        before, after = {
            "alpha": (1847.0, 675.0),
            "beta": (3190.0, 759.0),
            "alpha-half-quota": (3668.0, 1027.0),
        }[one["system"]]
        assert one["replaced"] == [["apache-cgi", "apache-fastcgi"]]
        assert one["kernel"]["value"] == pytest.approx(before / after, rel=0.01)
        assert one["with_user"]["value"] == pytest.approx((before + 80) / (after + 80), rel=0.01)
        assert one["own_user"]["value"] == pytest.approx((before + 80) / (after + 80), rel=0.01)
        assert one["measured"]["value"] == pytest.approx((before * off + 80) / (after * off + 80), rel=0.01)
        assert one["user"]["value"] == pytest.approx(80e3, rel=0.02)


# Missing costs, user shares that nobody knows, counts of one trace


#: as the test's vector has it
NO_SHARE = "no user_share of simple_process was measured"


def _without_share(source: SystemSource) -> SystemSource:
    unknown = Value(math.nan, reason=NO_SHARE)
    process = replace(source.vector.primitives["simple_process"], user_share=unknown)
    return replace(
        source,
        vector=replace(source.vector, primitives={**source.vector.primitives, "simple_process": process}),
    )


def test_without_a_user_share_no_part_is_told_and_elapsed_only_by_the_user_time_of_another_system(
    home: Path,
    golden: Golden,
) -> None:
    sources = [_without_share(one) if one.vector.name == "beta" else one for one in systems(home)]
    cgi = application(home, "apache-cgi")
    (alone,) = forecast_of(Request((RequestedApplication(cgi),), tuple(sources))).applications
    beta = next(row for row in alone.systems if row.system == "beta")
    assert beta.system == alone.systems[-1].system, "it comes last"
    assert math.isfinite(beta.prediction.time.value)
    assert math.isnan(beta.elapsed.value)
    assert math.isnan(beta.explained)
    assert beta.prediction.kernel.reason == NO_SHARE
    assert "kernel" not in beta.ratios
    mix, other = ((application(home, "apache-static"), 0.7), (cgi, 0.3)), application(home, "apache-fastcgi")
    with_other = (mix[0], (other, 0.3))
    replaced = Replaced(
        RequestedApplication(mixed("m", mix), mix), RequestedApplication(mixed("o", with_other), with_other)
    )
    (said,) = forecast_of(Request((), (sources[-1],), replaced=(replaced,))).sentences
    golden("speedup without a user share", said)
    found = forecast_of(Request((RequestedApplication(cgi),), tuple(sources)))
    (warning,) = [one for one in found.warnings if "on beta: no prediction" in one]
    golden("no user share", warning)
    traced = replace(cgi, provenance={**cgi.provenance, "host": "alpha"})
    found = forecast_of(Request((RequestedApplication(traced),), tuple(sources)))
    (warning,) = [one for one in found.warnings if "kernel time undefined" in one]
    golden("kernel time without a user share", warning)
    (known,) = found.applications
    assert not any("undefined" in one for one in found.sentences)
    cheaper = forecast_of(
        Request(
            (RequestedApplication(cgi),), (sources[-1],), changes={"simple_process": parse_change("0.5x")}
        )
    )
    saved = cheaper.applications[0].effects["beta"]
    assert saved.saved.low < saved.saved.value < saved.saved.high
    assert math.isnan(saved.share)
    beta = next(row for row in known.systems if row.system == "beta")
    assert beta.elapsed.value == pytest.approx(beta.prediction.time.value + 80e3)
    assert math.isnan(beta.prediction.kernel.value)


def test_counts_of_one_trace_are_told(home: Path) -> None:
    static = application(home, "apache-static")
    once = tuple(replace(one, count=replace(one.count, n=1, reason="one trace")) for one in static.counts)
    for counts, warned in ((static.counts, False), (once, True)):
        asked = (RequestedApplication(replace(static, counts=counts)),)
        warnings = forecast_of(Request(asked, systems(home))).warnings
        assert any("apache-static: all counts" in one for one in warnings) == warned


def test_a_system_without_a_cost_comes_last_and_is_told(home: Path, golden: Golden) -> None:
    (source, *others) = systems(home)
    kept = {name: cost for name, cost in source.vector.primitives.items() if name != "fcntl"}
    lacking = SystemVector("lacking", "us", kept, 0.95, source.vector.provenance)
    asked = (RequestedApplication(application(home, "apache-static")),)
    found = forecast_of(Request(asked, (SystemSource(lacking), *others)))
    assert found.applications[0].systems[-1].system == "lacking"
    (warning,) = [one for one in found.warnings if "no prediction" in one]
    golden("no cost", warning)


def test_two_systems_of_one_name_are_told_apart(home: Path) -> None:
    one = next(source for source in systems(home) if source.vector.name == "alpha")
    found = forecast_of(Request((RequestedApplication(application(home, "apache-static")),), (one, one, one)))
    names = sorted(row.system for row in found.applications[0].systems)
    assert names == ["alpha", "made-up/alpha", "made-up/alpha (2)"]
