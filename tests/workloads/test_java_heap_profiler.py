"""The agent's profile of the heap: as many objects as a program allocates and keeps, on every collector."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.shared_locks import made_once
from helpers.workloads.java_runs import Programs, Run, jvm
from helpers.workloads.sanitized_agent import check_sanitized, sanitized_agent
from regatta.models.gc.heap_profile import (
    Checkpoint,
    HeapProfile,
    rates_per_iteration,
    read_heap_profile,
    survival,
)
from regatta.models.system_calls.java_events import events_agent

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COLLECTORS = ("Serial", "Parallel", "G1", "Z", "Shenandoah")
#: sizes of the objects of Heap.java
KEPT, DROPPED, OF_THREAD, WEAK, SOFT = 216, 224, 232, 240, 248
LARGE = 1 << 20
NEVER = 1 << 40


@dataclass
class Profiled:
    """The compiled program and the agent."""

    programs: Programs
    agent: Path
    classes: Path

    def run(
        self, mode: str, count: int, option: str, *flags: str, program: str, **environment: str
    ) -> tuple[Run, HeapProfile]:
        """A run of `Heap MODE COUNT` with a 64 MiB heap, and its profile."""
        run = self.started(mode, count, option, *flags, program=program, **environment)
        assert run.code == 0, run.stderr
        profile = read_heap_profile(run.directory / "heap.json")
        assert profile.missing == []
        return run, profile

    def started(
        self, mode: str, count: int, option: str, *flags: str, program: str, **environment: str
    ) -> Run:
        return self.programs.java(
            f"-agentpath:{self.agent}={option}", "-Xmx64m", *flags, "-cp", str(self.classes), "Heap", mode, str(count),
            program=program, **environment,
        )  # fmt: skip


def compile_program(folder: Path) -> None:
    folder.mkdir()
    sources = [HERE / "heap" / "Heap.java", HERE / "heap" / "org" / "regatta" / "bench" / "Meters.java"]
    subprocess.run(["javac", "--release", "11", "-Xlint:all", "-Werror", "-d", folder, *sources], check=True)


@pytest.fixture(scope="session")
def profiled(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Profiled:
    if missing := [program for program in ("make", "cc") if shutil.which(program) is None]:
        pytest.skip(f"THE HEAP PROFILER IS NOT TESTED: {', '.join(missing)} not on PATH")
    return Profiled(programs, events_agent(), made_once(tmp_path_factory, "heap", compile_program))


def bin_of(profile: HeapProfile, size: int) -> int:
    return profile.sizes.index(size)


def allocated(profile: HeapProfile, window: str, size: int) -> float:
    """Objects of a bin that were allocated in a window."""
    of_window = profile.of_window(profile.windows.index(window))
    wanted = bin_of(profile, size)
    return sum(objects for at in of_window for key, objects, _ in at.allocated if key == wanted)


def end_of(profile: HeapProfile, window: str) -> tuple[int, Checkpoint]:
    found = [
        (index, at)
        for index, at in enumerate(profile.checkpoints)
        if at.ends_window and profile.windows[at.window] == window
    ]
    assert len(found) == 1
    return found[0]


def live(profile: HeapProfile, window: str, size: int) -> int:
    """Reachable objects of a bin at the end of a window."""
    wanted = bin_of(profile, size)
    return sum(objects for key, objects, _ in end_of(profile, window)[1].live if key == wanted)


def check_known(profile: HeapProfile, count: int) -> None:
    """Compare with the numbers of `Heap known COUNT`."""
    assert profile.windows == ["startup", "iteration 0", "before 1", "iteration 1", "rest"]
    expected = {KEPT: count, DROPPED: 3 * count, LARGE: 5, WEAK: 16, SOFT: 16}
    assert {size: allocated(profile, "iteration 0", size) for size in expected} == expected
    assert {size: allocated(profile, "iteration 1", size) for size in expected} == dict.fromkeys(expected, 0)
    before = {size: live(profile, "startup", size) for size in expected}
    after = {size: live(profile, "iteration 0", size) - before[size] for size in expected}
    # The collector may have cleared soft references, but never keeps weak ones.
    assert after == {KEPT: count, DROPPED: 0, LARGE: 0, WEAK: 0, SOFT: after[SOFT]}
    assert 0 <= after[SOFT] <= 16
    assert live(profile, "iteration 1", KEPT) - before[KEPT] == count // 2
    start, (born, first), (_, last) = (
        end_of(profile, "startup")[1], end_of(profile, "iteration 0"), end_of(profile, "iteration 1")
    )  # fmt: skip
    cohorts = [{key: objects for key, objects, *_ in at.cohorts} for at in (first, last)]
    few = 200
    assert count <= cohorts[0][born] <= count + few
    assert count // 2 <= cohorts[1][born] <= count // 2 + few
    # Each kept object has one reference, from the array.
    assert first.references - start.references == pytest.approx(count, abs=few)
    assert dict(first.fan_in)[1] - dict(start.fan_in)[1] == pytest.approx(count, abs=few)
    assert sum(objects for _, objects in first.fan_in) == sum(objects for _, objects in first.fan_out)
    assert sum(objects for _, objects in first.fan_in) == first.live_objects
    assert max(bound for bound, _ in first.fan_out) >= 1024 > max(bound for bound, _ in first.fan_in) / 4
    assert first.loaded_classes > 300


@pytest.mark.parametrize("collector", COLLECTORS)
@pytest.mark.parametrize("name", ["17", "21", "25"])
def test_counts_are_those_of_the_program(profiled: Profiled, name: str, collector: str) -> None:
    count = 10_000
    flags = (f"-XX:+Use{collector}GC",)
    run, profile = profiled.run(
        "known", count, f"heap,interval=0,every={NEVER},heap.json", *flags, program=jvm(name)
    )
    assert list(run.directory.glob("*.unfinished")) == []
    check_known(profile, count)


@pytest.mark.smoke
def test_counts_are_those_of_the_program_on_one_collector(profiled: Profiled) -> None:
    option = f"heap,interval=0,every={NEVER},heap.json"
    _, profile = profiled.run("known", 2000, option, "-XX:+UseSerialGC", program=jvm("21"))
    check_known(profile, 2000)


@pytest.mark.parametrize("flag", ["-XX:-UseCompressedOops", "-XX:ObjectAlignmentInBytes=16", "-Xint"])
def test_the_layout_of_objects_is_found(profiled: Profiled, flag: str) -> None:
    _, profile = profiled.run("known", 2000, f"heap,every={NEVER},heap.json", flag, program=jvm("21"))
    assert profile.compressed_references == (flag != "-XX:-UseCompressedOops")
    assert profile.object_alignment == (16 if "Alignment" in flag else 8)


@pytest.mark.parametrize("collector", COLLECTORS)
def test_threads_lose_no_object(profiled: Profiled, collector: str) -> None:
    option = "heap,interval=0,every=8388608,heap.json"
    _, profile = profiled.run("threads", 50_000, option, f"-XX:+Use{collector}GC", program=jvm("25"))
    assert allocated(profile, "iteration 0", OF_THREAD) == 200_000
    assert len(profile.of_window(1)) > 3


def test_checkpoints_are_regular_and_know_ages(profiled: Profiled) -> None:
    """An object of `ages` lives for 4 MiB."""
    mib = 1 << 20
    option = f"heap,interval=0,every={mib},heap.json"
    _, profile = profiled.run("ages", 32 * 1024, option, "-XX:+UseParallelGC", program=jvm("21"))
    assert rates_per_iteration(profile, 0)["bytes"].point == pytest.approx(32 * mib, rel=0.01)
    regular = [at.clock_bytes for at in profile.checkpoints[1:] if not at.ends_window]
    assert len(regular) > 60
    assert max(clock % mib for clock in regular) < 32 * 1024
    assert [clock // mib for clock in regular] == list(range(1, len(regular) + 1))
    assert survival(profile, 2 * mib).point == pytest.approx(1, abs=0.02)
    assert survival(profile, 4 * mib).point == pytest.approx(0.5, abs=0.2)
    assert survival(profile, 6 * mib).point < 0.01


def test_references_in_another_order_than_births_are_far(profiled: Profiled) -> None:
    """16 MiB of objects between 16 checkpoints: two of them are neighbors with a probability of less than 3/16."""
    count = 16 * (1 << 20) // KEPT
    _, profile = profiled.run("order", count, f"heap,interval=0,every={1 << 20},heap.json", program=jvm("21"))
    far = {}
    for window in ("startup", "iteration 0", "iteration 1"):
        far[window] = sum(far for *_, far in end_of(profile, window)[1].cohorts)
    ordered, shuffled = far["iteration 0"] - far["startup"], far["iteration 1"] - far["startup"]
    assert ordered < 100
    assert 0.55 * count < shuffled < count


@pytest.mark.parametrize("collector", ["Serial", "Parallel", "G1"])
def test_jumps_lead_over_dead_objects(profiled: Profiled, collector: str) -> None:
    flags = (f"-XX:+Use{collector}GC", "-Xmn40m")
    _, profile = profiled.run("jumps", 10_000, f"heap,every={NEVER},heap.json", *flags, program=jvm("21"))
    # The third checkpoint is the first that looks.
    found = end_of(profile, "iteration 0")[1]
    assert found.unmoved_objects == pytest.approx(10_000, rel=0.02)
    assert found.jumps == pytest.approx(5_000, rel=0.02)


@pytest.mark.parametrize("collector", ["Z", "Shenandoah"])
def test_collectors_that_hide_the_order_of_objects_are_recognised(profiled: Profiled, collector: str) -> None:
    # In a small heap, Z can start a cycle of its own, which moves the new objects before the look.
    flags = (f"-XX:+Use{collector}GC", "-Xmx512m")
    _, profile = profiled.run("jumps", 10_000, f"heap,every={NEVER},heap.json", *flags, program=jvm("21"))
    assert profile.hides_order


def test_walks_begin_after_warm_up(profiled: Profiled) -> None:
    option = f"heap,interval=0,every={1 << 20},warmup=1,heap.json"
    _, profile = profiled.run("ages", 8 * 1024, option, program=jvm("21"))
    regular = [profile.windows[at.window] for at in profile.checkpoints if not at.ends_window]
    assert regular.count("iteration 0") == 0
    assert regular.count("iteration 1") >= 7


def test_machine_code_is_counted_at_the_end_of_a_window(profiled: Profiled) -> None:
    code = {}
    for name, flag in (("compiled", "-XX:TieredStopAtLevel=1"), ("interpreted", "-Xint")):
        _, profile = profiled.run(
            "order", 100_000, f"heap,every={1 << 20},heap.json", flag, program=jvm("21")
        )
        last = end_of(profile, "iteration 1")[1]
        code[name] = (last.compiled_methods, last.code_bytes)
    assert code["interpreted"] == (0, 0)
    assert code["compiled"][0] > 10
    assert code["compiled"][1] > 50 * code["compiled"][0]


def test_samples_estimate_all_objects(profiled: Profiled) -> None:
    """Some 1000 samples per iteration, so one standard deviation is 3 %."""
    option = f"heap,interval=65536,every={NEVER},heap.json"
    _, profile = profiled.run("ages", 64 * 1024, option, program=jvm("21"))
    (window,) = profile.of_window(1)
    assert 800 < window.samples < 1200
    assert allocated(profile, "iteration 0", 1024) == pytest.approx(64 * 1024, rel=0.15)
    assert rates_per_iteration(profile, 0)["bytes"].point == pytest.approx(64 << 20, rel=0.15)
    assert live(profile, "iteration 0", 1024) >= 4096


@pytest.mark.parametrize("collector", ["Serial", "Parallel"])
def test_collections_are_those_of_the_log(profiled: Profiled, collector: str) -> None:
    flags = (f"-XX:+Use{collector}GC", "-Xlog:gc:file=gc.log:tags")
    run, profile = profiled.run("collections", 7, f"heap,every={NEVER},heap.json", *flags, program=jvm("17"))
    log = (run.directory / "gc.log").read_text(encoding="utf-8")
    # The agent itself collects once, before the program.
    assert len(profile.collections_at) == len(re.findall(r"Pause Full \(System\.gc\(\)\)", log)) == 7
    assert min(profile.collections_at) > 0


def test_without_checkpoints_only_allocated_objects_count(profiled: Profiled) -> None:
    _, profile = profiled.run("known", 2000, "heap,every=0,heap.json", program=jvm("25"))
    assert allocated(profile, "iteration 0", DROPPED) == 6000
    assert [at.live_objects for at in profile.checkpoints] == [0] * len(profile.checkpoints)
    assert math.isnan(survival(profile, 1).point)


# ---- options and errors ----


@pytest.mark.parametrize(
    "option",
    ["heap,", "heap,interval=x,f", "heap,interval=-1,f", "heap,interval=3000000000,f", "heap,every=-1,f", "heap,every=1", "heap,warmup=x,f"],
)  # fmt: skip
def test_a_wrong_option_starts_nothing(profiled: Profiled, option: str) -> None:
    run = profiled.started("collections", 0, option, program=jvm("21"))
    assert (run.code, run.stdout.count("Heap")) == (1, 0)
    assert "=heap,interval=BYTES,every=BYTES,warmup=NUMBER,FILE: " in run.stderr


def test_a_file_that_cannot_be_written_changes_nothing_else(profiled: Profiled) -> None:
    run = profiled.started("collections", 0, "heap,missing/heap.json", program=jvm("21"))
    assert (run.code, run.stdout) == (0, "")
    assert "error: regatta events: missing/heap.json: " in run.stderr


@pytest.mark.parametrize("name", ["17", "25"])
def test_the_address_sanitizer_finds_nothing(
    profiled: Profiled, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    agent, checked = sanitized_agent(tmp_path_factory)
    sanitized = Profiled(profiled.programs, agent, profiled.classes)
    for mode, count, interval in (("known", 2000, 0), ("threads", 5000, 0), ("ages", 16_384, 4096)):
        option = f"heap,interval={interval},every=262144,heap.json"
        run, profile = sanitized.run(mode, count, option, program=jvm(name), **checked)
        check_sanitized(run)
        assert len(profile.checkpoints) > 5
