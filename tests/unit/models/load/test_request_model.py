"""The model of a log: known parameters are recovered, its file is read back, and it gives no one away."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from helpers.request_logs import AGENT, Known, as_combined, as_json_lines, divided, line, synthetic
from regatta.host.errors import RegattaError, SpecError
from regatta.models.load.fitting import LISTED, fit_model, fit_zipf
from regatta.models.load.model import RequestModel, model_text, read_model, write_model
from regatta.models.load.tables import part_table
from regatta.models.load.visits import Pauses

KNOWN = Known()
SHARES = np.array([0.1, 0.5, 0.9])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> RequestModel:
    text = as_json_lines(synthetic(KNOWN, np.random.default_rng(1)))
    return fit_model(divided(tmp_path_factory.mktemp("known"), text), Pauses())


def small(folder: Path, text: str, names: bool = False) -> RequestModel:
    return fit_model(divided(folder, text, names=names), Pauses(), names)


# --- fitting ---------------------------------------------------------------------------------------------


def test_sessions_and_views_are_recovered(fitted: RequestModel) -> None:
    sessions = fitted.sessions
    assert fitted.source.sessions == fitted.source.clients == KNOWN.sessions
    assert (sessions.views.distribution, sessions.requests.distribution) == ("geometric", "geometric")
    assert sessions.views.mean == pytest.approx(KNOWN.views, rel=0.08)
    assert sessions.requests.mean == pytest.approx(KNOWN.requests, rel=0.05)
    assert sessions.views.n == KNOWN.sessions
    assert sessions.requests.n == pytest.approx(KNOWN.sessions * sessions.views.mean, rel=1e-3)
    assert (sessions.idle_s, sessions.think_s) == (1800, 1)


def test_thinking_and_gaps_are_recovered(fitted: RequestModel) -> None:
    thinking, gaps = fitted.sessions.thinking, fitted.sessions.gaps
    assert thinking is not None
    assert gaps is not None
    random = np.random.default_rng(2)
    known = 1.001 + np.exp(random.normal(KNOWN.think_mu, KNOWN.think_sigma, 200_000))
    assert thinking.quantile(SHARES) == pytest.approx(np.quantile(known, SHARES), rel=0.08)
    assert gaps.quantile(SHARES) == pytest.approx(0.01 + 0.19 * SHARES, rel=0.1)


def test_arrivals_are_recovered(fitted: RequestModel) -> None:
    assert fitted.arrivals.sessions_per_s == pytest.approx(KNOWN.sessions_per_s, rel=0.1)
    # Of n minutes, the deviation is the root of 2 / n.
    minutes = KNOWN.sessions / KNOWN.sessions_per_s / 60
    assert fitted.arrivals.dispersion == pytest.approx(1.0, abs=4 * (2 / minutes) ** 0.5)


def test_objects_are_recovered(fitted: RequestModel) -> None:
    objects = fitted.objects
    assert objects.zipf == pytest.approx(KNOWN.zipf, abs=0.06)
    assert objects.zipf_distance < 0.03
    assert len(objects.popular) == LISTED
    shares = np.arange(1, KNOWN.objects + 1) ** -KNOWN.zipf
    assert objects.popular[0].share == pytest.approx(shares[0] / shares.sum(), rel=0.1)
    assert sum(one.objects for one in objects.strata) + LISTED == pytest.approx(KNOWN.objects, abs=3)
    sizes = objects.strata[0].bytes
    assert np.log(sizes.quantile(np.array([0.5]))) == pytest.approx(KNOWN.size_mu, abs=0.3)


def test_kinds_methods_and_source_are_those_of_the_log(fitted: RequestModel) -> None:
    assert fitted.kinds["missing"] == pytest.approx(KNOWN.missing, abs=0.005)
    assert fitted.kinds["unmodified"] == pytest.approx(KNOWN.unmodified, abs=0.006)
    assert fitted.methods == {"GET": 1.0}
    assert fitted.queries == 0
    assert fitted.answer_times is None
    assert fitted.source.lines == fitted.source.requests
    assert fitted.source.time_resolution_s == 1e-6


def test_times_of_whole_seconds_change_no_view(fitted: RequestModel, tmp_path: Path) -> None:
    coarse = small(tmp_path, as_combined(synthetic(KNOWN, np.random.default_rng(1))))
    assert coarse.source.time_resolution_s == 1
    assert coarse.source.sessions == fitted.source.sessions
    assert coarse.sessions.views.mean == pytest.approx(fitted.sessions.views.mean, rel=0.08)
    assert coarse.objects == fitted.objects


def test_hours_of_the_day_are_those_of_utc(tmp_path: Path) -> None:
    # Three sessions in each minute of the first hour, one in each of the second.
    text = "".join(
        line(60 * minute + 10 * at + 5, f"192.0.{minute}.{at}", hours=-8)
        for minute in range(120)
        for at in range(3 if minute < 60 else 1)
    )
    arrivals = small(tmp_path, line() + text + line(7202)).arrivals
    known = {hour: rate for hour, rate in enumerate(arrivals.by_hour) if rate is not None}
    assert set(known) == {10, 11, 12}
    assert known[10] / known[11] == pytest.approx(3, rel=0.05)
    # Always as many: no variance within an hour.
    assert arrivals.dispersion == pytest.approx(0, abs=0.01)


def test_a_month_is_fitted_by_hours(tmp_path: Path) -> None:
    days = 30
    text = "".join(line(3600 * hour, f"192.0.2.{hour % 250}") for hour in range(24 * days))
    arrivals = small(tmp_path, text).arrivals
    assert arrivals.sessions_per_s == pytest.approx(1 / 3600, rel=0.01)
    assert None not in arrivals.by_hour


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_log_of_few_requests_has_a_model(count: int, tmp_path: Path) -> None:
    found = small(tmp_path, "".join(line(size=7) for _ in range(count)))
    assert (found.source.requests, found.source.sessions) == (count, 1)
    assert found.arrivals.dispersion is None
    assert [(one.share, one.bytes) for one in found.objects.popular] == [(1.0, 7)]
    assert found.sessions.thinking is None
    assert (found.sessions.gaps is None) == (count == 1)


def test_the_size_of_an_object_is_the_median_of_its_whole_answers(tmp_path: Path) -> None:
    text = "".join(line(at, path="/a", size=size) for at, size in enumerate([100, 300, 200]))
    text += line(9, path="/a", status=206, size=1) + line(10, path="/a", status=304, size=0)
    (only,) = small(tmp_path, text).objects.popular
    assert (only.bytes, only.share) == (200, 1)


def test_an_object_without_a_whole_answer_is_none(tmp_path: Path) -> None:
    text = line(path="/a") + line(1, path="/b", status=304) + line(2, path="/c", status=404)
    found = small(tmp_path, text)
    assert len(found.objects.popular) == 1
    assert found.kinds == pytest.approx({"ok": 1 / 3, "unmodified": 1 / 3, "missing": 1 / 3}, abs=1e-5)


def test_a_log_without_a_whole_answer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegattaError) as refused:
        small(tmp_path, line(status=404) + line(1, status=304))
    assert refused.value.exit_code == 3


def test_broken_lines_of_a_reason_are_added_up(tmp_path: Path) -> None:
    cut = gzip.compress(line().encode() * 50)[:-4]
    found = fit_model(divided(tmp_path, cut, cut, "broken\n" + line()), Pauses())
    assert sorted(found.source.broken.values()) == [1, 2]


@pytest.mark.parametrize("exponent", [0.0, 0.6, 0.9, 1.5])
def test_the_exponent_of_zipfs_law_is_recovered(exponent: float) -> None:
    law = np.arange(1, 2001, dtype=np.float64) ** -exponent
    found, distance = fit_zipf(law * 1e6)
    assert found == pytest.approx(exponent, abs=1e-3)
    assert distance < 1e-3
    assert fit_zipf(np.array([5.0])) == (0.0, 0.0)


# --- the file --------------------------------------------------------------------------------------------


def test_a_file_is_read_back_as_it_was_written(fitted: RequestModel, tmp_path: Path) -> None:
    write_model(fitted, tmp_path / "m.yml")
    assert read_model(tmp_path / "m.yml") == fitted
    assert model_text(read_model(tmp_path / "m.yml")) == (tmp_path / "m.yml").read_text(encoding="utf-8")


def test_no_address_path_or_program_is_in_a_file(fitted: RequestModel) -> None:
    text = model_text(fitted)
    assert not any(word in text for word in ("secret", "object-", "gone", "Mozilla", AGENT, "HTTP", "path"))
    assert re.search(r"\b10\.\d+\.\d+\.\d+\b", text) is None


def test_paths_are_in_a_file_when_asked_for(tmp_path: Path) -> None:
    text = line(path="/a?user=carol") + line(1, path="/a") + line(2, path="/b", client="198.51.100.9")
    found = small(tmp_path, text, names=True)
    assert [one.path for one in found.objects.popular] == ["/a", "/b"]
    written = model_text(found)
    assert not any(word in written for word in ("carol", "198.51", "Mozilla"))


def test_hostile_paths_are_read_back_from_a_file(tmp_path: Path) -> None:
    paths = ["/{a: b}", "/- x", "/'; drop", '/\\"', "/\x1b[2J", "/☃\u202e", "/#", "/: ", "/%s{0}", "/!!python/x", "/\x00", "/&a *b", "/" + "n" * 5000]  # fmt: skip
    text = "".join(line(at, path=path) for at, path in enumerate(paths))
    found = small(tmp_path, text, names=True)
    write_model(found, tmp_path / "m.yml")
    assert read_model(tmp_path / "m.yml") == found
    assert len(found.objects.popular) == len(paths)
    assert "\x1b" not in (tmp_path / "m.yml").read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_is_named(fitted: RequestModel, tmp_path: Path) -> None:
    (tmp_path / "m.yml").mkdir()
    with pytest.raises(RegattaError) as refused:
        write_model(fitted, tmp_path / "m.yml")
    assert refused.value.problems[0].where == str(tmp_path / "m.yml")


def test_a_table_has_a_row_per_distribution(fitted: RequestModel) -> None:
    table = part_table(fitted)
    assert len(table.rows) == 6 + len(fitted.objects.strata)
    assert {len(row) for row in table.rows} == {5}


def _with(old: str, new: str) -> Callable[[str], str]:
    def changed(text: str) -> str:
        assert re.search(old, text, re.M), old
        return re.sub(old, new, text, count=1, flags=re.M)

    return changed


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (_with("^kind: requests", "kind: answers"), "kind"),
        (_with("^kind: requests", "colour: red\nkind: requests"), "colour"),
        (_with("^kinds: .*", "kinds: {ok: 0.5}"), "kinds"),
        (_with("^kinds: .*", "kinds: {ok: 0.5, odd: 0.5}"), "kinds"),
        (_with("^kinds: .*", "kinds: {ok: -1, missing: 2}"), "kinds"),
        (_with("^  zipf: .*", "  zipf: -1"), "objects.zipf"),
        (_with("^  zipf: .*", "  zipf: .nan"), "objects.zipf"),
        (_with(r"^    - \{share: [\d.]+", "    - {share: 0.9"), "objects"),
        (_with(r"^    - \{share: [\d.]+, bytes: \d+", "    - {share: 0.01, bytes: -4"), "objects.popular"),
        (_with("^  by_hour: .*", "  by_hour: [1, 2]"), "arrivals.by_hour"),
        (_with("^  views: .*", "  views: {distribution: geometric, n: 1, mean: 1, distance: 0}"), "sessions.views"),
        (_with("^  views: .*", "  views: {distribution: odd, n: 1, mean: 1, distance: 0}"), "sessions.views"),
        (_with("^  views: .*", "  views: {distribution: empirical, points: [[2, 0.5], [1, 1]], n: 1, mean: 1, distance: 0}"), "sessions.views"),
        (_with("^  views: .*", "  views: {distribution: exponential, parameters: {mean: -1}, n: 1, mean: 1, distance: 0}"), "sessions.views"),
        (_with("^  views: .*", "  views: 3"), "sessions.views"),
        (_with("^  views: .*\n", ""), "sessions"),
        (_with("^queries: .*", "queries: 2"), "queries"),
        (_with("^  requests: .*", "  requests: '5'"), "requests"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_the_place(
    change: Callable[[str], str], place: str, fitted: RequestModel, tmp_path: Path
) -> None:
    (tmp_path / "m.yml").write_text(change(model_text(fitted)))
    with pytest.raises(SpecError) as refused:
        read_model(tmp_path / "m.yml")
    assert refused.value.exit_code == 2
    assert any(place in problem.where for problem in refused.value.problems)


@pytest.mark.parametrize("content", ["", "[]", "kind: [", "\x00", "a: &a [*a]", "kind: requests"])
def test_a_file_that_is_no_model_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "m.yml").write_text(content)
    with pytest.raises(SpecError) as refused:
        read_model(tmp_path / "m.yml")
    assert "m.yml" in refused.value.problems[0].where
