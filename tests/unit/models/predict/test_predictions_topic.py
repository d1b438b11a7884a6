"""Predictions in the answer of an experiment whose spec asks for them: computed by hand, and beside measured times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from helpers.influx_server import InfluxServer
from helpers.synthetic_journal import native, record, write_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.report.page import write_report
from regatta.cli.ingest import ingest
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Predicted
from regatta.models.predict.topic.compute import vectors_of
from regatta.models.predict.topic.result import Predictions
from regatta.models.predict.topic.topic import PREDICTIONS

ROUNDS = 5
TABLE = """
primitives:
  stat: {series: {suite: lm, benchmark: syscall, parameters: {call: stat}}, cost: constant}
  user_work: {series: {suite: lm, benchmark: rand, parameters: {function: drand48}}, cost: constant}
"""
VECTOR = """
kind: application
name: files
per: request
benchmark: web/files
user_time: 1000
counts: [{primitive: stat, count: 3}]
provenance: {host: alpha, configuration: native}
"""
#: modifiers -> cost of stat and of user_work in ns, and measured time of a request
SYSTEMS = {"none": (100.0, 10.0, 1310.0), "slow": (400.0, 20.0, 3250.0)}


def experiment(folder: Path, predicted: dict[str, Any] | None) -> Path:
    benchmarks = ("lm/syscall:default", "lm/rand:default", "web/files:default")
    metrics = ("latency", "latency", "elapsed_per_request")
    parameters = ({"call": "stat"}, {"function": "drand48"}, None)
    cells, records = [], []
    for modifiers, times in SYSTEMS.items():
        for benchmark, metric, chosen, ns in zip(benchmarks, metrics, parameters, times, strict=True):
            one = native(benchmark, modifiers=modifiers, metric=metric)
            cells.append(one)
            for r in range(ROUNDS):
                rows = [[0, metric, ns * (1.0 + 0.001 * (r - 2)), "ns", 10, chosen]]
                records.append(record(one, r, rows, block=len(cells)))
    return write_experiment(folder, cells, records, ROUNDS, method="fixed", predicted=predicted)


def asked(*texts: str, table: str = TABLE) -> dict[str, Any]:
    return {"applications": {f"{n}.yml": text for n, text in enumerate(texts)}, "primitives": ["own", table]}


def test_the_answer_has_predicted_beside_measured_times(tmp_path: Path, golden: Golden) -> None:
    answer = answer_experiment(experiment(tmp_path, asked(VECTOR)))
    found = PREDICTIONS.of(answer)
    assert found.forecast is not None
    (one,) = found.forecast.applications
    # 3 calls, and 1000 ns of its own code, which takes twice the time on the slow system
    expected = {"alpha": 3 * 100.0 + 1000.0, "alpha-slow": 3 * 400.0 + 2 * 1000.0}
    assert {row.system: row.elapsed.value for row in one.systems} == pytest.approx(expected)
    measured = {row.system: row.measured.elapsed.value for row in one.systems if row.measured}
    assert measured == pytest.approx({"alpha": 1310.0, "alpha-slow": 3250.0})
    assert one.traced_on == "alpha"
    golden("sentences", "\n".join(answer.findings["predictions"]))
    document = json.loads(json.dumps(document_of(answer), allow_nan=False))["predictions"]
    assert document["applications"][0]["application"]["name"] == "files"
    write_report(answer, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert 'id="predictions"' in page
    assert "Pairs of systems" in page
    replaced = PREDICTIONS.points(found, 7) if PREDICTIONS.points else None
    assert replaced is not None
    assert {point.time_ns for point in replaced.points} == {7}
    assert "files" in "".join(replaced.conditions)
    assert len(replaced.points) > len(one.systems)


def test_the_summary_of_several_applications_comes_first(tmp_path: Path) -> None:
    other = VECTOR.replace("files", "others").replace("count: 3", "count: 5")
    answer = answer_experiment(experiment(tmp_path, asked(VECTOR, other)))
    first, *rest = answer.findings["predictions"]
    assert first.startswith("all 2 applications")
    assert rest[0].startswith("files")


@pytest.mark.parametrize(
    ("name", "texts", "table"),
    [
        ("nothing measured", [VECTOR], TABLE.replace("suite: lm", "suite: micro")),
        # as if the file had been changed by hand
        ("damaged", ["kind: application\n"], TABLE),
    ],
)
def test_what_cannot_be_predicted_is_a_sentence_and_the_answer_stays(
    tmp_path: Path, name: str, texts: list[str], table: str, golden: Golden
) -> None:
    folder = experiment(tmp_path, asked(*texts, table=table))
    answer = answer_experiment(folder)
    assert len(answer.cells) == 6
    (sentence,) = answer.findings["predictions"]
    golden(name, sentence.replace(str(folder), "FOLDER"))
    assert document_of(answer)["predictions"]["problem"]


def test_without_a_cost_the_report_says_what_is_missing(tmp_path: Path, golden: Golden) -> None:
    unmeasured = VECTOR.replace("primitive: stat", "primitive: mmap")
    answer = answer_experiment(experiment(tmp_path, asked(unmeasured)))
    golden("without a cost", "\n".join(answer.findings["predictions"]))
    write_report(answer, tmp_path / "report.html")
    assert "no cost of mmap" in (tmp_path / "report.html").read_text()


def test_without_the_key_nothing_is_predicted(tmp_path: Path) -> None:
    answer = answer_experiment(experiment(tmp_path, None))
    assert PREDICTIONS.of(answer) == Predictions()
    assert "predictions" not in answer.findings
    assert document_of(answer)["predictions"] is None
    assert PREDICTIONS.points is not None
    assert PREDICTIONS.points(Predictions(), 7) is None


def test_every_problem_of_the_files_is_found(golden: Golden) -> None:
    system = "kind: system\nname: s\ntime_unit: ns\nprimitives: {stat: {unit: operation, cost: 1}}\n"
    texts = {"a.yml": VECTOR, "b.yml": VECTOR, "c.yml": system, "d.yml": "kind: application\n"}
    with pytest.raises(SpecError) as caught:
        vectors_of(Predicted(texts, ("own", "primitives: {}\n")))
    golden("problems", str(caught.value))
    assert len(caught.value.problems) >= 5


def test_the_database_has_the_predictions_once_and_verifies_them(
    tmp_path: Path, influx_server: InfluxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = influx_server.new_database()
    monkeypatch.setenv("REGATTA_INFLUX", str(influx_server.write_settings(tmp_path, database)))
    folder = experiment(tmp_path / "made-up", asked(VECTOR))

    def ingested(*options: str) -> int:
        done = CliRunner().invoke(ingest, [str(folder), *options], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        (counted,) = influx_server.query(
            "SELECT count(value) FROM vector WHERE kind = 'prediction'", database
        )
        return int(counted["values"][0][1])

    # on each of two systems: one primitive, and the elapsed, kernel and user time
    assert ingested() == 2 * (1 + 3)
    assert ingested("--verify") == 2 * (1 + 3)
    # A changed vector replaces the predictions of the old one.
    document = json.loads((folder / "plan" / "experiment.json").read_text())
    text = VECTOR.replace("{primitive: stat", "{primitive: user_work, count: 1}, {primitive: stat")
    document["experiment"]["predicted"]["applications"] = {"0.yml": text}
    (folder / "plan" / "experiment.json").write_text(json.dumps(document))
    assert ingested() == 2 * (2 + 3)
    assert ingested("--verify") == 2 * (2 + 3)
