"""What happens is written down whole, in order, each event once, whoever writes and whatever was left half."""

from __future__ import annotations

import fcntl
import itertools
import multiprocessing
import resource
import signal
from pathlib import Path

import pytest

from regatta.host.errors import StoreError
from regatta.store import events
from regatta.store.events import append_event, events_path, read_events


def test_an_event_is_read_as_it_was_written(tmp_path: Path) -> None:
    when = append_event(tmp_path, "segment_ended", "arm 1\n«ü»", segment=3, remaining_s=2, text='a "b"\n\tc')
    (event,) = read_events(events_path(tmp_path))
    assert (event.utc_ns, event.kind, event.host) == (when, "segment_ended", "arm 1\n«ü»")
    assert event.fields == {"segment": 3, "remaining_s": 2.0, "text": 'a "b"\n\tc'}
    assert isinstance(event.fields["remaining_s"], float)
    assert (event.offset, event.end) == (0, events_path(tmp_path).stat().st_size)


def test_reading_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = events_path(tmp_path)
    assert list(read_events(path)) == []
    append_event(tmp_path, "experiment_started")
    (first,) = read_events(path)
    assert list(read_events(path, first.end)) == []
    append_event(tmp_path, "stage", text="build")
    (second,) = read_events(path, first.end)
    assert second.offset == first.end
    assert [e.kind for e in read_events(path)] == ["experiment_started", "stage"]


def _write_many(folder: str, host: str, count: int) -> None:
    for number in range(count):
        append_event(Path(folder), "progress", host, recorded=number)


def test_many_writers_at_once_lose_and_double_nothing_and_times_rise(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(tmp_path), f"h{n}", 60)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    found = list(read_events(events_path(tmp_path)))
    assert [e.offset for e in found[1:]] == [e.end for e in found[:-1]]
    assert all(a.utc_ns < b.utc_ns for a, b in itertools.pairwise(found))
    for n in range(3):
        assert [e.fields["recorded"] for e in found if e.host == f"h{n}"] == list(range(60))


def test_a_clock_that_was_set_back_gives_no_earlier_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events.time, "time_ns", lambda: 5_000)
    assert append_event(tmp_path, "experiment_started") == 5_000
    monkeypatch.setattr(events.time, "time_ns", lambda: 4_000)
    assert append_event(tmp_path, "experiment_ended") == 5_001
    assert append_event(tmp_path, "experiment_started") == 5_002


def test_a_torn_line_is_no_event_and_is_cut_off_by_the_next(tmp_path: Path) -> None:
    path = events_path(tmp_path)
    append_event(tmp_path, "experiment_started")
    whole = path.read_bytes()
    for cut in (1, 20, len(whole) - 1):
        path.write_bytes(whole + whole[:cut])
        assert len(list(read_events(path))) == 1
        append_event(tmp_path, "experiment_ended")
        assert [e.kind for e in read_events(path)] == ["experiment_started", "experiment_ended"]


def test_a_damaged_line_is_passed_over_and_stays(tmp_path: Path) -> None:
    path = events_path(tmp_path)
    for text in ("build", "plan", "measure"):
        append_event(tmp_path, "stage", text=text)
    damaged = path.read_bytes().replace(b'"plan"', b'"plam"')
    path.write_bytes(damaged)
    last = append_event(tmp_path, "stage", text="verify")
    assert [e.fields["text"] for e in read_events(path)] == ["build", "measure", "verify"]
    assert path.read_bytes().startswith(damaged)
    assert last > max(e.utc_ns for e in list(read_events(path))[:-1])


def test_a_long_text_is_cut_so_that_every_line_can_be_found_from_the_end(tmp_path: Path) -> None:
    for _ in range(3):
        append_event(tmp_path, "job_failed", text="\x00\udcff€" * 200_000, cell="\x01" * 200_000)
    found = list(read_events(events_path(tmp_path)))
    assert len(found) == 3
    assert all(len(e.fields["text"]) == events.MAXIMUM_TEXT for e in found)
    assert all(a.utc_ns < b.utc_ns for a, b in itertools.pairwise(found))


def test_a_full_disk_is_told_and_leaves_the_events_before_it(tmp_path: Path) -> None:
    append_event(tmp_path, "experiment_started")
    size = events_path(tmp_path).stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
        with pytest.raises(StoreError, match="free space for"):
            append_event(tmp_path, "experiment_ended")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert events_path(tmp_path).stat().st_size == size
    append_event(tmp_path, "experiment_ended")
    assert [e.kind for e in read_events(events_path(tmp_path))] == ["experiment_started", "experiment_ended"]


def test_a_writer_that_is_halted_holds_nobody_up_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_event(tmp_path, "experiment_started")
    monkeypatch.setattr(events, "_LOCK_PATIENCE_S", 0.02)
    with events_path(tmp_path).open("rb") as halted:
        fcntl.flock(halted, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="another process holds"):
            append_event(tmp_path, "experiment_ended")
    append_event(tmp_path, "experiment_ended")
    assert len(list(read_events(events_path(tmp_path)))) == 2


@pytest.mark.parametrize(
    ("kind", "fields"),
    [("holiday", {}), ("stage", {"colour": "red"}), ("stage", {"text": 3}), ("progress", {"failed": True})],
)
def test_what_no_reader_knows_is_not_written(tmp_path: Path, kind: str, fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="event"):
        append_event(tmp_path, kind, **fields)  # type: ignore[arg-type]
    assert not events_path(tmp_path).exists()
