"""How far predicted ratios are from the measured ones, and beside them those of a score."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.served_experiment import as_home, refused, regatta
from helpers.synthetic_journal import native, record, write_facts, write_journal, write_plan
from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.models.predict.accuracy import accuracy_of, accuracy_of_score, score_ratio
from regatta.models.predict.forecast import PairForecast, Verdict
from regatta.models.predict.model_error import OF_SYSTEM_CALLS
from regatta.models.predict.times import brings_user_time, with_own_code
from regatta.models.vectors.files import write_vector
from regatta.models.vectors.model_error import with_model_error
from regatta.models.vectors.values import TableCost, Value


def pair(
    predicted: float, measured: float, verdict: Verdict, half: float = math.nan, score: float = math.nan
) -> PairForecast:
    number = Value(predicted, predicted - half, predicted + half)
    return PairForecast(
        "a", "b", number, True, Value.exact(measured), verdict, number, "elapsed", Value(score)
    )


def times(**values: float) -> dict[str, Value]:
    return {name: Value.exact(value) for name, value in values.items()}


PAIRS = [
    pair(2.0, 2.0, "right", 0.1, 4.0),
    pair(1.5, 1.0, "same", 0.6, 1.1),
    pair(1.2, 0.8, "wrong", 0.1, 0.9),
    pair(1.1, 1.0 / 0.9, "open", math.nan, 0.9),
    pair(3.0, math.nan, ""),
]


def test_errors_and_verdicts_are_those_of_pairs_that_were_measured() -> None:
    found = accuracy_of(PAIRS)
    assert found is not None
    assert found.verdicts == {"right": 1, "same": 1, "wrong": 1, "open": 1}
    # Errors: 0, 0.5, 0.5 and 0.01.
    assert found.pairs == 4
    assert found.median_error == pytest.approx(0.255)
    assert found.high_error == pytest.approx(0.5)
    assert (found.agree, found.with_intervals) == (2, 3)


def test_a_score_orders_every_pair_that_differs() -> None:
    found = accuracy_of_score(PAIRS)
    assert found is not None
    assert found.verdicts == {"right": 2, "same": 1, "wrong": 1}
    assert found.median_error == pytest.approx((0.125 + 0.19) / 2)
    assert found.with_intervals == 0
    assert accuracy_of_score([replace(PAIRS[0], score=Value(math.nan))]) is None
    assert accuracy_of(PAIRS[4:]) is None


def test_an_interval_without_an_upper_end_contains_what_is_above_its_lower_one() -> None:
    open_ended = replace(PAIRS[0], compared=Value(2.0, 1.5, math.nan))
    found = accuracy_of([open_ended, replace(open_ended, measured=Value.exact(1.4))])
    assert found is not None
    assert (found.agree, found.with_intervals) == (1, 2)


def test_the_ratio_of_scores_is_the_geometric_mean_over_common_benchmarks() -> None:
    found = score_ratio(times(a=4.0, b=9.0, c=100.0), times(a=1.0, b=1.0, d=7.0))
    assert found.value == pytest.approx(6.0)
    assert math.isnan(found.low)
    assert "no benchmark" in score_ratio(times(a=1.0), times(b=1.0)).reason


#: host -> elapsed time of each program in s
TIMES = {"slow": {"db": 4.0, "jack": 2.0, "jess": 9.0}, "fast": {"db": 1.0, "jack": 2.0, "jess": 1.0}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hosts with three programs, of which db has vectors: 3 s on slow and 1 s on fast."""
    folder = tmp_path_factory.mktemp("scored")
    experiment = folder / "results" / "scored"
    for host, times in TIMES.items():
        cells = {program: native(f"vm/{program}:default") for program in times}
        write_plan(experiment, list(cells.values()), 5, host=host)
        lines = [
            record(
                cells[program],
                block,
                [times[program] * (1 + 0.001 * (block % 3))],
                host=host,
                position=position,
            )
            for block in range(5)
            for position, program in enumerate(times)
        ]
        write_journal(experiment, lines, host)
    write_facts(experiment, method="startup")
    (folder / "systems").mkdir()
    (folder / "applications").mkdir()
    for host, cost in (("slow", 3e9), ("fast", 1e9)):
        provenance = {"host": host, "configuration": "native"}
        made = replace(system_of(host, a=constant(cost)), provenance=provenance)
        write_vector(made, experiment / "vectors" / f"{host}.yml")
    application = replace(application_of(count_of("a", 1), name="db"), per="iteration", benchmark="vm/db")
    user = replace(application, user_time=Value.exact(0.0))
    write_vector(user, folder / "applications" / "db.yml")
    return as_home(folder)


def test_a_score_is_a_rival_that_leaves_the_applications_own_benchmark_out(
    home: Path, golden: Golden
) -> None:
    run = regatta(home, "predict", "db", "--on", "scored", "--score", "vm")
    assert run.exit_code == 0, run.output
    # Measured: 4. Vectors: 3. The geometric mean of jack and jess: 3 as well, and with db it would be more.
    text = " ".join(run.stdout.split())
    assert "pairs: 1 right; ratios: error 25 %" in text
    (rival,) = re.findall(r"db, by the geometric mean.*?error \d+ %", text)
    golden("a score in place of the prediction", rival)
    assert "ratio by score" in text
    without = regatta(home, "predict", "db", "--on", "scored")
    assert "geometric mean" not in without.stdout
    unknown = regatta(home, "predict", "db", "--on", "scored", "--score", "vmm")
    (problem,) = refused(unknown)
    golden("unknown score", problem)


def test_own_code_can_be_scaled_by_other_programs(home: Path, golden: Golden) -> None:
    told = {"host": "fast", "configuration": "native"}
    made = application_of(count_of("a", 1), name="own", user=Value.exact(4e9))
    write_vector(
        replace(made, per="iteration", benchmark="vm/db", provenance=told),
        home / "configs/applications/own.yml",
    )
    arguments = ("predict", "own", "--on", "scored", "--own-code", "vm")
    run = regatta(home, *arguments, "--json")
    assert run.exit_code == 0, run.output
    found = {row["system"]: row["elapsed"] for row in json.loads(run.stdout)["applications"][0]["systems"]}
    # Jack takes as long on both and jess 9 times as long: the mean of their ratios is 5.
    assert found["fast"]["value"] == pytest.approx(5e9)
    assert found["slow"]["value"] == pytest.approx(23e9, rel=0.001)
    # Two kinds: the standard deviation of a uniform mixture of 1 and 9 is 8 / sqrt(12). Then the model's own error.
    of_kinds = Value(23e9, 0.0, 23e9 + 1.96 * 4e9 * 8 / 12**0.5)
    whole = with_model_error(of_kinds, OF_SYSTEM_CALLS.times, 0.95, math.log(23 / 5))
    assert found["slow"]["high"] == pytest.approx(whole.high, rel=0.005)
    (problem,) = refused(regatta(home, *arguments[:-1], "none"))
    golden("unknown suite of own code", problem)
    (problem,) = refused(regatta(home, *arguments, "--replace", "own=db"))
    golden("own code of a replacement", problem)


def test_a_system_without_the_times_of_the_programs_has_no_cost_of_own_code() -> None:
    systems = {name: system_of(name, user_work=constant(1)) for name in ("a", "b", "c")}
    found = with_own_code(systems, {"a": times(x=1, y=2), "b": times(y=4, z=1), "c": {}})
    assert brings_user_time(found["a"], found["b"])
    assert not brings_user_time(found["a"], found["c"])
    cost = found["a"].primitives["user_work"].cost
    assert isinstance(cost, TableCost)
    assert [point.cost.value for point in cost.points] == [2]
