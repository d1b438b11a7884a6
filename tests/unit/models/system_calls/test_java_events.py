"""Files of the events agent and of the flight recorder become provenance; wrong files are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from regatta.host.errors import HostError, RegattaError
from regatta.models.system_calls.java_events import (
    Events,
    counted_of,
    intervals_ns,
    parallelism_of,
    read_events,
    with_events,
    with_work_of_jvm,
    words_of,
)
from regatta.models.system_calls.java_samples import Sample, read_samples, share_words, with_recording
from regatta.models.vectors.calls import Seen, Tally

WRITTEN: dict[str, Any] = {
    "events": 1,
    "java": "OpenJDK 64-Bit Server VM 21",
    "windows": ["startup", "iteration 0", "before 1", "iteration 1", "before 2", "iteration 2", "rest"],
    "ended_ns": [100, 200, 210, 300, 310, 400, 500],
    "counts": {"classes_loaded": [900, 80, 1, 3, 0, 0, 2], "contended_ns": [0, 0, 0, 10_000_000_000_000, 0, 1, 0]},
    "threads": {"main": {"exceptions": 3, "contended_monitors": 0, "contended_ns": 0}},
    "missing": ["can_generate_exception_events"],
}  # fmt: skip


def events_of(folder: Path, **changed: Any) -> Events:
    path = folder / "events.json"
    path.write_text(json.dumps(WRITTEN | changed), encoding="utf-8")
    return read_events(path)


def test_events_are_means_over_the_iterations_after_warmup(tmp_path: Path) -> None:
    events = events_of(tmp_path)
    told = words_of(events, counted_of(events, 1, harness=True), 2)
    assert told == {
        "events": "classes_loaded 1.5, contended_ns 5e+12",
        "events_startup": "classes_loaded 900, contended_ns 0",
        "events_missing": "can_generate_exception_events",
    }


def test_without_the_harness_the_whole_run_counts(tmp_path: Path) -> None:
    events = events_of(tmp_path, windows=["rest"], ended_ns=[9], counts={"exceptions": [7]}, missing=[])
    counted = counted_of(events, 1, harness=False)
    assert words_of(events, counted, 1) == {"events": "exceptions 7", "events_missing": ""}
    assert intervals_ns(events, counted) == [(0, 9)]


def test_a_program_with_iterations_that_the_jvm_did_not_report_is_refused(tmp_path: Path) -> None:
    events = events_of(tmp_path, windows=["rest"], ended_ns=[9], counts={}, missing=["can_get_bytecodes"])
    with pytest.raises(RegattaError, match="windows · got can_get_bytecodes"):
        counted_of(events, 1, harness=True)


def test_intervals_are_those_of_the_counted_iterations(tmp_path: Path) -> None:
    events = events_of(tmp_path)
    assert intervals_ns(events, counted_of(events, 1, harness=True)) == [(210, 300), (310, 400)]
    with pytest.raises(RegattaError, match=r"--warmup: expected fewer .*got 3"):
        counted_of(events, 3, harness=True)


def test_a_startup_is_one_unit_of_work_with_the_work_of_the_jvm(tmp_path: Path) -> None:
    counts = {"bytes_compiled": [50, 30, 5, 9, 0, 0, 1], "application_classes": [7, 2, 0, 1, 0, 0, 0]}
    events = events_of(tmp_path, counts=counts)
    counted = counted_of(events, 1, harness=True, startup=True)
    assert intervals_ns(events, counted) == [(0, 100), (100, 200), (200, 210)]
    assert words_of(events, counted, 1)["events"] == "bytes_compiled 85, application_classes 9"
    calls = {Seen("a.B.c"): (3, 0)}
    tally = with_work_of_jvm(Tally(calls), events, counted)
    assert tally.seen == calls | {Seen("application_classes"): (9, 0), Seen("bytes_compiled"): (85, 0)}
    # Classes and bytes are no calls.
    assert tally.calls == 3


def test_a_program_without_iterations_has_no_startup(tmp_path: Path) -> None:
    events = events_of(tmp_path, windows=["rest"], ended_ns=[9], counts={"exceptions": [7]}, missing=[])
    with pytest.raises(RegattaError, match=r"--startup: .* got no iterations"):
        counted_of(events, 1, harness=False, startup=True)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"events": 2}, "version 1, .* got version 2"),
        ({"ended_ns": [1]}, "value for each window"),
        ({"counts": {"exceptions": [1]}}, "value for each window"),
        ({"counts": {"exceptions": ["1"]}}, r"events.counts.exceptions\[0\]: expected int"),
        ({"missing": 7}, "events.missing: expected a list"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(RegattaError, match=message):
        events_of(tmp_path, **changed)


def test_without_a_file_the_error_says_what_writes_it(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(RegattaError) as caught:
        read_events(tmp_path / "events.json")
    golden("no file", str(caught.value))


def test_the_agents_are_the_first_options_of_the_jvm(tmp_path: Path) -> None:
    java, agent, file = ["java", "-jar", "a.jar"], Path("/a.so"), Path("/t/e.json")
    assert with_events(java, agent, file) == ["java", "-agentpath:/a.so=/t/e.json", "-jar", "a.jar"]
    assert with_events(java, agent, file, windows_only=True)[1] == "-agentpath:/a.so=windows,/t/e.json"
    command, recording = with_recording(java, tmp_path)
    assert command[1].startswith(f"-XX:StartFlightRecording:filename={recording},")
    assert "10 ms" in (tmp_path / "samples.jfc").read_text()


@pytest.mark.parametrize(
    ("cpu", "threads"),
    [([9, 9, 9, 150, 9, 210, 9], 2.0), ([0, 0, 0, 88, 0, 92, 0], 1.0), ([0, 0, 0, 40, 0, 40, 0], 1.0)],
)
def test_threads_at_work_are_their_processor_time_without_pauses(
    tmp_path: Path, cpu: list[int], threads: float
) -> None:
    """The last is one thread that waits, such as for a connection."""
    events = events_of(tmp_path, counts={"thread_cpu_ns": cpu})
    counted = counted_of(events, 1, harness=True)
    assert parallelism_of(events, counted, 100.0, 10.0) == threads
    assert parallelism_of(events_of(tmp_path), counted, 100.0, 10.0) is None


# ---- samples ----

BOOT = {"type": None, "name": "bootstrap"}
PLATFORM = {"type": {"name": "jdk/internal/loader/ClassLoaders$PlatformClassLoader"}, "name": "platform"}
APPLICATION = {"type": {"name": "jdk/internal/loader/ClassLoaders$AppClassLoader"}, "name": "app"}
#: a loader of the application may have any name
NAMED = {"type": {"name": "a/Loader"}, "name": "bootstrap"}


def recorded(loader: Any, second: int, zone: str = "Z") -> dict[str, Any]:
    frames = {"frames": [{"method": {"type": {"classLoader": loader}}}]}
    return {"values": {"startTime": f"1970-01-01T00:00:{second:02}.123456789{zone}", "stackTrace": frames}}


def as_jfr_reads(folder: Path, events: object, code: str = "") -> tuple[Path, str]:
    """A recording, and a `java` with a `jfr` beside it that prints these events."""
    recording, java, jfr = folder / "r.jfr", folder / "java", folder / "jfr"
    (folder / "printed.json").write_text(json.dumps({"recording": {"events": events}}))
    jfr.write_text(f"#!/bin/sh\n{code}\ncat {folder}/printed.json\n")
    java.write_text("#!/bin/sh\n")
    for program in (jfr, java):
        program.chmod(0o755)
    recording.touch()
    return recording, str(java)


def test_the_loader_of_the_top_method_decides(tmp_path: Path) -> None:
    events = [recorded(loader, at) for at, loader in enumerate((BOOT, PLATFORM, APPLICATION, NAMED, None))]
    events.append({"values": {"startTime": "1970-01-01T00:00:09Z", "stackTrace": None}})
    events.append(recorded(BOOT, 7, "+00:00"))
    samples = read_samples(*as_jfr_reads(tmp_path, events))
    assert [one.of_system for one in samples] == [True, True, False, False, True]
    assert [one.at_ns // 10**9 for one in samples] == [0, 1, 2, 3, 7]


def test_only_samples_within_the_iterations_count(golden: Golden) -> None:
    samples = [Sample(at, of_system=at % 4 == 0) for at in range(100)]
    # 6 of 20, by Clopper and Pearson.
    share = "30.0 % [11.9, 54.3] (95 % CI, 20 samples)"
    assert share_words(samples, [(0, 9), (40, 49)], 0.95) == (share, "")
    with pytest.raises(RegattaError) as caught:
        share_words(samples, [(200, 300)], 0.95)
    golden("no samples", str(caught.value))


def test_threads_that_wait_are_no_part_of_the_share(golden: Golden) -> None:
    """Of 40 samples, 20 are of the thread that accepts connections, which ran Java code once."""
    works = [Sample(at, at < 5, "main", native=at < 3) for at in range(20)]
    waits = [Sample(at, True, "acceptor", native=at > 0) for at in range(20)]
    found, _ = share_words([*works, *waits], [(0, 99)], 0.95)
    assert found.startswith("25.0 % [8.7, 49.1] (95 % CI, 20 samples")
    golden("threads that wait", found)
    # Without Java code, no thread is known to work.
    waiting, _ = share_words([Sample(at, True, "acceptor", True) for at in range(20)], [(0, 99)], 0.95)
    assert "20 samples of acceptor" in waiting


def test_the_kinds_of_code_are_those_of_the_counted_samples(tmp_path: Path) -> None:
    kinds = ["Interpreted", "JIT compiled", "JIT compiled", "Inlined", None]
    events = [recorded(BOOT, at) for at in range(len(kinds))]
    for event, kind in zip(events, kinds, strict=True):
        event["values"]["stackTrace"]["frames"][0]["type"] = kind
    samples = read_samples(*as_jfr_reads(tmp_path, events))
    assert [one.code for one in samples] == ["Interpreted", "JIT compiled", "JIT compiled", "Inlined", ""]
    _, code = share_words(samples, [(10**9, 5 * 10**9)], 0.95)
    assert code == "JIT compiled 50.0 %, Inlined 25.0 %"


def test_a_sample_has_its_thread_and_its_kind(tmp_path: Path) -> None:
    event = recorded(BOOT, 1) | {"type": "jdk.NativeMethodSample"}
    event["values"]["sampledThread"] = {"javaName": "main"}
    (sample,) = read_samples(*as_jfr_reads(tmp_path, [event]))
    assert (sample.thread, sample.native, sample.code) == ("main", True, "")


@pytest.mark.parametrize(
    "code", ["exit 1", "echo no JSON; exit", "echo '{}'; exit", "echo 'broken file' >&2; exit 1"]
)
def test_a_recording_that_cannot_be_read_is_refused(tmp_path: Path, code: str) -> None:
    with pytest.raises(RegattaError, match="recording: expected samples"):
        read_samples(*as_jfr_reads(tmp_path, [], code))


def test_a_missing_recording_or_tool_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    recording, java = as_jfr_reads(tmp_path, [])
    with pytest.raises(RegattaError) as caught:
        read_samples(tmp_path / "none.jfr", java)
    golden("no recording", str(caught.value))
    (tmp_path / "jfr").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError) as caught:
        read_samples(recording, java)
    golden("no jfr", str(caught.value))
