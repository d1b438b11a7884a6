"""The answer on one screen, whatever was measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from helpers.golden import Golden
from helpers.rich_experiment import write_rich_experiment
from regatta.answers.report.answer import answer_experiment
from regatta.answers.spine.result import Answer, Failure
from regatta.answers.spine.short import short_comparisons
from regatta.answers.spine.verdicts import Verdict
from regatta.cli.first_screen import LINES, first_screen, notes_of
from regatta.cli.tables import WIDTH_OF_SCREEN


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer_experiment(write_rich_experiment(tmp_path_factory.mktemp("rich") / "rich"))


def fits(answer: Answer, width: int = WIDTH_OF_SCREEN) -> list[str]:
    lines = first_screen(answer, "results/rich/report.html", width=width)
    notes = notes_of(answer, width)
    assert len(lines) + len(notes) <= LINES
    assert max(map(len, [*lines, *notes])) <= width
    return lines


@pytest.mark.parametrize("width", [60, 80, 132, 200])
def test_it_fits_every_terminal_with_all_ratios_and_intervals(rich: Answer, width: int) -> None:
    lines = fits(rich, width)
    at = next(at for at, line in enumerate(lines) if line.startswith("Comparisons ("))
    header, row = lines[at + 1], lines[at + 2]
    assert re.search(r"ratio +95 % CI .*practical$", header)
    assert re.search(r" \d\.\d+ +\[\d\.\d+, \d\.\d+\] ", row)
    assert ("adj. p" in header) == (width > 60)


def test_a_large_answer_fits_and_says_what_it_leaves_out(rich: Answer, golden: Golden) -> None:
    assert len(rich.comparisons) > 20
    lines = fits(rich)
    assert lines[0] == f"{rich.experiment}: {rich.question}"
    assert f"{rich.recorded} of {rich.planned} planned invocations recorded: " in lines[1]
    at = next(at for at, line in enumerate(lines) if line.startswith("Comparisons ("))
    assert lines[at + 1].split()[-7:] == ["ratio", "95", "%", "CI", "adj.", "p", "practical"]
    shown = (
        lines.index(next(line for line in lines if line.startswith("  and ") and line.endswith(" more")))
        - at
        - 2
    )
    assert lines[at + 2 + shown] == f"  and {len(rich.comparisons) - shown} more"
    assert rich.families
    golden("comparisons", "\n".join((lines[at], *lines[at + 3 + shown : at + 5 + shown])))
    assert lines[-2].endswith(f": regatta analyze {rich.experiment} --all")
    assert lines[-1] == "report: results/rich/report.html"


def test_impossible_cells_are_named_first_among_the_failures(rich: Answer) -> None:
    refused = ("compress · jdk-21 g1", "Unrecognized VM option 'MaxGCPauseMilli=5'")
    lines = fits(replace(rich, impossible=(refused,)))
    (line,) = (line for line in lines if refused[1] in line)
    assert refused[0] in line
    failures = [at for at, line in enumerate(lines) if line.startswith(("failed: ", "oom: "))]
    assert lines.index(line) < min(failures, default=len(lines))


def test_what_is_long_is_cut_and_the_numbers_are_not(rich: Answer) -> None:
    one = rich.comparisons[0]
    place = replace(one.place, benchmark="suite/" + "long" * 40)
    failure = Failure("c", "cell" * 40, "alpha", "crashed", "\x1b[31mreason " * 40, 3, ("i",))
    answer = replace(
        rich,
        question="why " * 200,
        headline=("x" * 50 + " y" * 300,) * 20,
        comparisons=(replace(one, place=place), one) * 30,
        failures=(failure,) * 9,
        warnings=("note " * 90,) * 9,
    )
    lines = fits(answer)
    assert not any("\x1b" in line for line in lines)
    row = next(line for line in lines if "long" in line and "…" in line)
    assert row.split()[-1] == one.verdict.practical
    assert any(line.endswith("more conclusions") for line in lines)
    assert any(line.endswith("more kinds of failures") for line in lines)
    assert notes_of(answer)[-1].endswith("more notes")


def test_the_table_shows_the_practical_significance_of_the_verdict(rich: Answer) -> None:
    one = rich.comparisons[0]
    for practical, shown in (("yes", "yes"), ("open", "inconclusive"), ("no", "no"), ("", "")):
        table = short_comparisons(
            [replace(one, verdict=Verdict("yes", practical), p_holm=0.9)], 0.95, judged=True
        )
        assert table.rows[0][-1] == shown


def test_where_nothing_was_measured_the_screen_says_so(rich: Answer) -> None:
    lines = fits(
        replace(rich, headline=(), comparisons=(), failures=(), warnings=(), statuses={}, recorded=0)
    )
    assert "• No measurements yet." in lines


def test_intervals_too_wide_for_the_screen_make_a_long_line_and_no_failure(rich: Answer) -> None:
    ratio = replace(rich.comparisons[0].ratio, low=1.234e-123, high=9.876e123)
    wide = [
        replace(one, ratio=ratio, place=replace(one.place, benchmark="x" * 60)) for one in rich.comparisons
    ]
    assert first_screen(replace(rich, comparisons=tuple(wide)))
