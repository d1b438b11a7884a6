"""`order: duet`: ratios of pairs are answers, values of single alternatives are none, in every export."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from helpers.synthetic_journal import START_NS, cell, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of, rows_of
from regatta.answers.report.page import write_report
from regatta.answers.spine.result import Answer
from regatta.answers.topics.duet.topic import DUETS
from regatta.cli.first_screen import first_screen, notes_of
from regatta.host.duet.trial import TRIALS
from regatta.host.errors import RegattaError
from regatta.influx.answers import estimate_points

A, B = cell("g1"), cell("serial")
ROUNDS = 12
#: of each round: what slows both, and the times of both without it
COMMON = [1.0, 3.0, 2.0, 1.5, 4.0, 1.2, 2.5, 1.1, 1.7, 2.2, 1.3, 3.1]
NOISE = [0.01, -0.02, 0.015, 0.0, -0.01, 0.02, -0.005, 0.0, 0.01, -0.01, 0.005, -0.015]
TRIAL = {
    "label": "h2",
    "slower": [4.0, 1.0, 7.0],
    "apart": [0.1, -0.4, 0.6],
    "halves": [2.0, 1.0, 3.0],
    "refused": "",
    "alone": [1.0],
    "beside": [[1.0, 1.0]],
}


#: an alternative without a test
OTHER = json.dumps({"v": 1, "halves": {"0 | 1": {A["cell_id"]: {}}}})


def made(
    statuses: dict[int, str] | None = None, attempts: dict[int, int] | None = None
) -> list[dict[str, Any]]:
    """Records of pairs; `statuses` and `attempts`: of the second alternative, by round."""
    found = []
    for r in range(ROUNDS):
        for place, (one, ns) in enumerate(((A, 2e9 * math.exp(NOISE[r])), (B, 1e9))):
            other = place == 1
            found.append(
                record(
                    one, r, [ns * COMMON[r]], position=(place + r) % 2, order="duet",
                    status=(statuses or {}).get(r, "ok") if other else "ok",
                    attempt=(attempts or {}).get(r, 0) if other else 0,
                )
            )  # fmt: skip
    return found


def answered(path: Path, records: list[dict[str, Any]], **options: Any) -> Answer:
    folder = write_experiment(path, [B, A], records, ROUNDS, order="duet", baseline={"collector": "serial"})
    trials = {A["cell_id"]: TRIAL, B["cell_id"]: {**TRIAL, "slower": [-1.0, -2.0, 0.0]}}
    (folder / "journal/alpha" / TRIALS).write_text(json.dumps({"v": 1, "halves": {"0 | 1": trials}}))
    return answer_experiment(folder, **options)


def test_the_ratio_is_that_of_the_pairs(tmp_path: Path) -> None:
    (one,) = answered(tmp_path, made()).comparisons
    logs = np.array([math.log(2.0) + noise for noise in NOISE])
    design = np.stack([np.ones(ROUNDS), np.where(np.arange(ROUNDS) % 2, -1.0, 1.0)], axis=1)
    fit, residuals, _, _ = np.linalg.lstsq(design, logs, rcond=None)
    error = math.sqrt(residuals[0] / (ROUNDS - 2) / ROUNDS)
    low, high = stats.t.interval(0.95, ROUNDS - 2, fit[0], error)
    assert one.ratio.n == ROUNDS
    assert one.ratio.point == pytest.approx(math.exp(fit[0]))
    # Slightly wider than the fit with its own degrees of freedom.
    assert math.log(one.ratio.low) <= low
    assert math.log(one.ratio.high / one.ratio.low) == pytest.approx(high - low, rel=0.05)
    assert one.verdict.significant == "yes"


def test_a_faster_half_widens_no_interval(tmp_path: Path) -> None:
    def interval(path: Path, faster: float) -> float:
        records = made()
        for one in records:
            one["iterations"][0][2] *= faster if one["position"] else 1.0
        (found,) = answered(path, records).comparisons
        return math.log(found.ratio.high / found.ratio.low)

    assert interval(tmp_path / "a", 1.3) == pytest.approx(interval(tmp_path / "b", 1.0))


def test_blocks_of_an_earlier_plan_keep_no_half_in_the_ratio(tmp_path: Path) -> None:
    records = made()
    for one in records:
        one["iterations"][0][2] *= 1.3 if one["position"] else 1.0
    # The first alternative ran with another partner before: earlier, in rounds that no longer are planned.
    earlier = [
        record(
            A,
            ROUNDS + r,
            [5e9],
            position=r % 2,
            order="duet",
            plan_id="plan-0",
            started=START_NS - 10**9 * (9 - r),
        )
        for r in range(3)
    ]
    (plain,), (found,) = (
        answered(tmp_path / name, rows).comparisons
        for name, rows in (("a", made()), ("b", [*earlier, *records]))
    )
    assert found.ratio.n == ROUNDS
    assert found.ratio.point == pytest.approx(plain.ratio.point)
    assert found.ratio.high == pytest.approx(plain.ratio.high)


def test_alternatives_have_no_values_of_their_own_anywhere(tmp_path: Path) -> None:
    answer = answered(tmp_path, made())
    assert len(answer.cells) == 2
    for one in answer.cells:
        assert math.isnan(one.estimate.point)
        assert math.isnan(one.estimate.low)
        assert (one.samples, one.perturbed) == ((), ())
        assert "order: duet" in one.estimate.reason
        assert math.isnan(one.dispersion.minimum)
    assert not answer.families or all(one.reason for one in answer.families)
    assert [(one["mean"], one["minimum"]) for one in document_of(answer)["cells"]] == [(None, None)] * 2
    rows = [row for row in rows_of(answer) if row["kind"] == "cell"]
    assert [row["value"] for row in rows] == [None, None]
    means = [point for point in estimate_points(answer, 1) if "mean" in point.tags]
    assert means
    assert all("point" not in point.fields for point in means)


def test_screen_and_page_show_them(tmp_path: Path) -> None:
    answer = answered(tmp_path, made())
    screen = "\n".join([*first_screen(answer), *notes_of(answer)])
    assert "2.0" in screen
    assert "without a value" not in screen
    write_report(answer, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "+4.0 %" in text


def test_pairs_without_a_partner_are_left_out(tmp_path: Path) -> None:
    records = made({2: "failed", 3: "perturbed"}, {5: 1})
    (one,) = answered(tmp_path, records).comparisons
    assert one.ratio.n == ROUNDS - 3


def test_too_few_pairs_give_no_ratio_instead_of_an_unpaired_one(tmp_path: Path) -> None:
    answer = answered(tmp_path, made(dict.fromkeys(range(1, ROUNDS), "failed")))
    (one,) = answer.comparisons
    assert math.isnan(one.ratio.low)
    assert "pairs" in one.ratio.reason


def test_the_papers_method_has_no_means_to_compare(tmp_path: Path) -> None:
    (one,) = answered(tmp_path, made(), method="georges2007").comparisons
    assert math.isnan(one.ratio.point)
    assert "order: duet" in one.ratio.reason


def test_the_topic_has_tests_and_ratios(tmp_path: Path) -> None:
    answer = answered(tmp_path, made())
    found = DUETS.of(answer)
    assert [test.trial.slower for test in found.tests] == [(4.0, 1.0, 7.0), (-1.0, -2.0, 0.0)]
    (one,) = found.comparisons
    assert one.rounds == tuple(range(ROUNDS))
    assert one.ratios == pytest.approx([2.0 * math.exp(noise) for noise in NOISE], rel=0.01)
    # (1.1 - 1) / 1.04 of the time: see docs/methodology.md.
    assert any("9.6 %" in sentence for sentence in answer.findings["duet"])
    section = DUETS.section_of(View(answer))
    assert section is not None
    assert len(section.groups[0].figures) == 1


def test_other_orders_have_no_such_topic(tmp_path: Path) -> None:
    folder = write_experiment(tmp_path, [B, A], made(), ROUNDS)
    answer = answer_experiment(folder)
    assert DUETS.of(answer) == DUETS.empty
    assert DUETS.section_of(View(answer)) is None


@pytest.mark.parametrize("text", ["{", "[]", '{"v": 1, "halves": []}', '{"v": 1, "halves": {"x": 1}}', OTHER])
def test_a_file_of_another_shape_has_no_tests(tmp_path: Path, text: str) -> None:
    folder = write_experiment(tmp_path, [B, A], made(), ROUNDS, order="duet")
    (folder / "journal/alpha" / TRIALS).write_text(text)
    try:
        assert DUETS.of(answer_experiment(folder)).tests == ()
    except RegattaError:
        pytest.fail("a file with other content ends the analysis")
