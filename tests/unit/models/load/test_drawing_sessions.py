"""Sessions for the web driver: drawn from a model, or those of a log as they are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

from helpers.request_logs import Known, as_combined, as_json_lines, divided, line, synthetic
from regatta.host.errors import RegattaError
from regatta.models.load.drawing import Drawn, Uniform, draw, joined, replayed, write_sessions
from regatta.models.load.fitting import fit_model
from regatta.models.load.model import RequestModel, read_model
from regatta.models.load.visits import KINDS, Pauses

KNOWN = Known()
SESSIONS = 4000
HOME = Path(__file__).resolve().parents[4]


@dataclass(frozen=True)
class Parsed:
    """A file of sessions: sizes of objects, and per session its begin and (gap, object, kind, whether a view begins)."""

    sizes: list[int]
    sessions: list[tuple[int, list[tuple[int, int, int, bool]]]]


def parsed(path: Path) -> Parsed:
    """Read a file of sessions by its description alone."""
    text = path.read_text(encoding="ascii")
    assert text.endswith("\n")
    lines = iter(text[:-1].split("\n"))
    assert next(lines) == "regatta-sessions 1"
    word, count = next(lines).split(" ")
    assert word == "objects"
    sizes = [int(next(lines)) for _ in range(int(count))]
    word, count = next(lines).split(" ")
    assert word == "sessions"
    sessions = []
    for _ in range(int(count)):
        begin, length = map(int, next(lines).split(" "))
        requests = []
        for _ in range(length):
            gap, number, kind = map(int, next(lines).split(" "))
            requests.append((gap, number, kind & 7, kind >= 8))
        sessions.append((begin, requests))
    assert next(lines, None) is None
    return Parsed(sizes, sessions)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> RequestModel:
    text = as_json_lines(synthetic(KNOWN, np.random.default_rng(1)))
    return fit_model(divided(tmp_path_factory.mktemp("known"), text), Pauses())


@pytest.fixture(scope="module")
def drawn(model: RequestModel) -> Drawn:
    return draw(model, SESSIONS, Uniform(2))


def same(first: Drawn, second: Drawn) -> bool:
    return all(np.array_equal(getattr(first, one.name), getattr(second, one.name)) for one in fields(Drawn))


# --- drawn -----------------------------------------------------------------------------------------------


def test_a_seed_determines_all_that_is_drawn(model: RequestModel, drawn: Drawn) -> None:
    assert same(draw(model, SESSIONS, Uniform(2)), drawn)
    assert not same(draw(model, SESSIONS, Uniform(3)), drawn)


def test_the_sessions_of_the_example_shop_are_the_same_everywhere(tmp_path: Path) -> None:
    """They identify cells: if this changes, so do all cells of the suite `web` that have sessions."""
    write_sessions(
        draw(read_model(HOME / "configs/loads/shop.yml"), 1000, Uniform(1)), tmp_path / "web.sessions"
    )
    assert (
        hashlib.sha256((tmp_path / "web.sessions").read_bytes()).hexdigest()
        == "6b50c2f73a496b3eff9092057f9edcb02587540ef9aaf398566f9d05fe120ad7"
    )


def test_uniform_numbers_are_those_of_the_documented_generator() -> None:
    found = Uniform(1).random(3)
    assert found.tolist() == [0.13436424411240122, 0.8474337369372327, 0.763774618976614]


def test_sessions_have_the_lengths_of_the_model(model: RequestModel, drawn: Drawn) -> None:
    count = int(drawn.lengths.sum())
    assert len(drawn.lengths) == len(drawn.begins_us) == SESSIONS
    assert {len(one) for one in (drawn.gaps_us, drawn.objects, drawn.kinds, drawn.views)} == {count}
    assert drawn.lengths.min() >= 1
    assert drawn.views.sum() / SESSIONS == pytest.approx(model.sessions.views.mean, rel=0.06)
    assert count / drawn.views.sum() == pytest.approx(model.sessions.requests.mean, rel=0.04)
    assert (drawn.begins_us == -1).all()


def test_pauses_are_those_of_the_model_and_end_nothing(model: RequestModel, drawn: Drawn) -> None:
    firsts = np.cumsum(drawn.lengths) - drawn.lengths
    assert (drawn.gaps_us[firsts] == 0).all()
    assert drawn.views[firsts].all()
    later = np.ones(len(drawn.gaps_us), dtype=bool)
    later[firsts] = False
    thinking = drawn.gaps_us[later & drawn.views] / 1e6
    gaps = drawn.gaps_us[~drawn.views] / 1e6
    assert model.sessions.thinking is not None
    assert model.sessions.gaps is not None
    assert thinking.mean() == pytest.approx(model.sessions.thinking.mean, rel=0.04)
    assert gaps.mean() == pytest.approx(model.sessions.gaps.mean, rel=0.04)
    assert gaps.max() <= model.sessions.think_s
    assert thinking.max() <= model.sessions.idle_s


def test_objects_and_kinds_have_their_shares(model: RequestModel, drawn: Drawn) -> None:
    count = len(drawn.objects)
    for rank in (0, 1, 10):
        share = model.objects.popular[rank].share
        assert (drawn.objects == rank).mean() == pytest.approx(share, abs=5 * (share / count) ** 0.5)
        assert drawn.sizes[rank] == model.objects.popular[rank].bytes
    listed = len(model.objects.popular)
    assert (drawn.objects >= listed).mean() == pytest.approx(
        sum(one.share for one in model.objects.strata), abs=0.01
    )
    assert len(drawn.sizes) == listed + sum(one.objects for one in model.objects.strata)
    for name, share in model.kinds.items():
        assert (drawn.kinds == KINDS.index(name)).mean() == pytest.approx(share, abs=0.006)


def test_only_whole_answers_send_bytes(drawn: Drawn) -> None:
    whole = drawn.kinds == KINDS.index("ok")
    assert (drawn.sent_bytes[~whole] == 0).all()
    assert np.array_equal(drawn.sent_bytes[whole], drawn.sizes[drawn.objects[whole]])


@pytest.mark.parametrize("factor", [0.001, 0.5, 2.0, 1000.0])
def test_sizes_are_multiplied_and_nothing_else(factor: float, model: RequestModel, drawn: Drawn) -> None:
    other = draw(model, SESSIONS, Uniform(2), size_factor=factor)
    assert np.array_equal(other.objects, drawn.objects)
    assert np.array_equal(other.gaps_us, drawn.gaps_us)
    expected = np.clip(drawn.sizes * factor, 1, 2**30)
    assert np.abs(other.sizes - expected).max() <= 0.5 + 0.5 * factor
    assert other.sizes.min() >= 1
    assert other.sizes.max() <= 2**30


def test_one_session_can_be_drawn(model: RequestModel) -> None:
    one = draw(model, 1, Uniform(4))
    assert one.lengths.tolist() == [len(one.gaps_us)]


def test_joined_parts_keep_their_objects(model: RequestModel) -> None:
    parts = [draw(model, count, Uniform(count)) for count in (3, 5, 2)]
    whole = joined(parts)
    assert len(whole.lengths) == 10
    at = 0
    for number, part in enumerate(parts):
        until = at + len(part.objects)
        assert np.array_equal(whole.sizes[whole.objects[at:until]], part.sizes[part.objects])
        offset = sum(len(one.sizes) for one in parts[:number])
        assert np.array_equal(whole.objects[at:until] - offset, part.objects)
        at = until
    assert at == len(whole.objects)
    assert same(joined([parts[0]]), parts[0])


# --- the file --------------------------------------------------------------------------------------------


def test_the_file_has_what_was_drawn(drawn: Drawn, tmp_path: Path) -> None:
    write_sessions(drawn, tmp_path / "s")
    found = parsed(tmp_path / "s")
    assert found.sizes == drawn.sizes.tolist()
    assert [begin for begin, _ in found.sessions] == drawn.begins_us.tolist()
    assert [len(requests) for _, requests in found.sessions] == drawn.lengths.tolist()
    columns = list(zip(*(one for _, requests in found.sessions for one in requests), strict=True))
    for column, known in zip(columns, (drawn.gaps_us, drawn.objects, drawn.kinds, drawn.views), strict=True):
        assert list(column) == known.tolist()


def test_the_file_of_two_sessions_is_as_documented(tmp_path: Path) -> None:
    made = Drawn(
        begins_us=np.array([0, 1500]),
        lengths=np.array([3, 1]),
        gaps_us=np.array([0, 20, 2_000_000, 0]),
        objects=np.array([1, 0, 1, 0]),
        kinds=np.array([KINDS.index(kind) for kind in ("ok", "head", "unmodified", "missing")]),
        views=np.array([True, False, True, True]),
        sizes=np.array([100, 2000]),
        private=np.array([True, False]),
        latencies_us=np.array([500, 7000]),
    )
    write_sessions(made, tmp_path / "s")
    assert (tmp_path / "s").read_text().split("\n") == [
        "regatta-sessions 1",
        "objects 2",
        "100",
        "2000",
        "sessions 2",
        "0 3",
        "0 1 8",
        "20 0 1",
        "2000000 1 10",
        "1500 1",
        "0 0 11",
        "private 1",
        "0",
        "latencies 2",
        "500",
        "7000",
        "",
    ]


def test_a_file_that_cannot_be_written_is_named(drawn: Drawn, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    with pytest.raises(RegattaError) as refused:
        write_sessions(drawn, tmp_path / "s")
    assert str(tmp_path / "s") in refused.value.problems[0].where


# --- replayed --------------------------------------------------------------------------------------------


def test_a_replay_has_each_request_once_at_its_time(tmp_path: Path) -> None:
    requests = synthetic(Known(sessions=150, objects=20), np.random.default_rng(5))
    answered = {one["path"] for one in requests if one["status"] == 200}
    kept = [one for one in requests if one["status"] == 404 or one["path"] in answered]
    write_sessions(replayed(divided(tmp_path, as_json_lines(requests))), tmp_path / "s")
    found = parsed(tmp_path / "s")
    begins = [begin for begin, _ in found.sessions]
    assert begins == sorted(begins)
    assert begins[0] == 0
    times = []
    for begin, session in found.sessions:
        assert session[0][0] == 0
        assert session[0][3]
        at = begin
        for gap, number, kind, _ in session:
            at += gap
            times.append((at, kind, found.sizes[number] if kind == 0 else 0))
    zero = requests[0]["ts"]
    expected = [
        (
            round(one["ts"] * 1e6) - round(zero * 1e6),
            {200: 0, 304: 2, 404: 3}[one["status"]],
            one["size"] if one["status"] == 200 else 0,
        )
        for one in kept
    ]
    assert sorted(times) == sorted(expected)
    assert sum(view for _, session in found.sessions for *_, view in session) > 150


def test_a_replay_of_whole_seconds_stays_within_them(tmp_path: Path) -> None:
    requests = synthetic(Known(sessions=100, missing=0, unmodified=0), np.random.default_rng(6))
    found = replayed(divided(tmp_path, as_combined(requests)))
    assert len(found.gaps_us) == len(requests)
    starts = np.repeat(found.begins_us, found.lengths)
    firsts = np.repeat(np.cumsum(found.lengths) - found.lengths, found.lengths)
    within = np.cumsum(found.gaps_us)
    at = starts + within - within[firsts]
    expected = np.array(sorted(int(one["ts"]) for one in requests))
    # The first request is somewhere in its second.
    assert np.abs(np.sort(at) / 1e6 - (expected - expected[0])).max() < 1
    assert (found.gaps_us >= 0).all()


def test_a_replay_leaves_out_what_has_no_size(tmp_path: Path) -> None:
    text = line(path="/a", size=5) + line(10, path="/b", status=304) + line(20, path="/a", status=304)
    found = replayed(divided(tmp_path, text))
    assert found.sizes.tolist() == [5]
    assert [KINDS[kind] for kind in found.kinds] == ["ok", "unmodified"]
    assert found.gaps_us[1] / 1e6 == pytest.approx(20, abs=1)


def test_a_replay_without_any_whole_answer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegattaError):
        replayed(divided(tmp_path, line(status=404)))
