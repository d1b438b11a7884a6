"""What is counted in which invocation, on processors of several sizes that a test plays."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.host.counters import counting, energy, perf_events
from regatta.host.counters.counting import Counters, Offer, offer
from regatta.host.counters.energy import Zone
from regatta.host.counters.perf_events import Count
from regatta.host.values.counters import (
    AMD,
    ARM,
    COUNTERS,
    INFO,
    INTEL,
    NAMES,
    RATIOS,
    SPACES,
    TOP_DOWN,
    TOP_DOWN_EVENTS,
    Counted,
    Event,
    by_reason,
    family_of,
)

HARDWARE = [name for name, counter in COUNTERS.items() if counter.by_space]
#: cycles and instructions
FIXED = (Event(0, 0), Event(0, 1))


class Processor:
    """A processor with some counters for any event, and fixed ones for cycles and instructions, user and kernel."""

    def __init__(self, counters: int, fixed: bool = True) -> None:
        self.counters = counters
        self.fixed = fixed
        #: descriptor -> event, space, leader
        self.open: dict[int, tuple[Event, str, int]] = {}
        self.counts: Callable[[Event, str], Count | None] = lambda event, space: Count(1, 10, 10)
        self._next = itertools.count(1000)
        #: descriptors that were read before the start of the process
        self._read: set[int] = set()

    def open_event(self, event: Event, space: str, leader: int = -1, pid: int = 0) -> int:
        assert pid == 0
        group = [event, *(e for fd, (e, _, of) in self.open.items() if leader in (fd, of))]
        used = sum(e.type != 1 and not (self.fixed and e in FIXED) for e in group)
        if used > self.counters:
            raise OSError(errno.EINVAL, "Invalid argument")
        fd = next(self._next)
        self.open[fd] = (event, space, fd if leader < 0 else leader)
        return fd

    def read_event(self, fd: int) -> Count | None:
        event, space, _ = self.open[fd]
        first = fd not in self._read
        self._read.add(fd)
        return Count(0, 0, 0) if first else self.counts(event, space)

    def close(self, fd: int) -> None:
        del self.open[fd]


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Processor]]:
    """Puts a processor of Intel into the place of the kernel."""
    made: list[Processor] = []
    about = tmp_path / "cpuinfo"
    about.write_text("vendor_id\t: GenuineIntel\n")
    monkeypatch.setattr(counting, "_CPUINFO", about)

    def use(counters: int, fixed: bool = True) -> Processor:
        processor = Processor(counters, fixed)
        monkeypatch.setattr(perf_events, "open_event", processor.open_event)
        monkeypatch.setattr(perf_events, "read_event", processor.read_event)
        monkeypatch.setattr(counting.os, "close", processor.close)
        made.append(processor)
        return processor

    yield use
    assert all(not processor.open for processor in made)


def names_of(found: Offer) -> list[list[str]]:
    return [list(dict.fromkeys(slot.name for slot in group)) for group in found.groups]


@given(
    counters=st.integers(0, 8),
    fixed=st.booleans(),
    asked=st.lists(st.sampled_from(NAMES), unique=True),
    family=st.sampled_from([INTEL, AMD, ARM, ""]),
)
def test_every_counter_is_in_one_group_that_fits_and_instructions_are_in_each(
    counters: int, fixed: bool, asked: list[str], family: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        processor = Processor(counters, fixed)
        patch.setattr(perf_events, "open_event", processor.open_event)
        patch.setattr(counting.os, "close", processor.close)
        patch.setattr(perf_events, "is_listed", lambda event: True)
        found = offer(Counted(tuple(asked)), family)
        assert not processor.open
        for group in found.groups:
            opened: list[int] = []
            counting._open(group, opened)
            for fd in opened:
                processor.close(fd)
    counted = [(slot.name, slot.space) for group in found.groups for slot in group]
    others = [one for one in counted if one[0] != "instructions"]
    assert len(set(others)) == len(others)
    missing = {key.split(" ")[0] for key in found.missing}
    for name in asked:
        if COUNTERS.get(name) and COUNTERS[name].by_space:
            assert name in missing or all((name, space) in counted for space in SPACES)
    if "instructions" in asked and counters >= 4:
        assert all("instructions" in group or "slots" in group for group in names_of(found))


def test_a_processor_with_four_counters_counts_all_in_groups_that_keep_ratios_together(
    on: Callable[..., Processor],
) -> None:
    on(4)
    found = offer(Counted(tuple(HARDWARE)), INTEL)
    groups = names_of(found)
    assert groups[0][:2] == ["instructions", "cycles"]
    for ratio in RATIOS.values():
        if ratio.over in HARDWARE and ratio.over not in found.missing and ratio.under not in found.missing:
            together = any(ratio.over in group and ratio.under in group for group in groups)
            # Branches, taken and mispredicted need six counters.
            assert together or ratio.under == "branches"
    lacking = {"branches-taken", "stalled-frontend", "stalled-backend", "l2-references", "l2-misses"}
    assert set(found.missing) == lacking
    # A kernel without `slots` has no branches taken.
    reasons = {name: INTEL in why for name, why in found.missing.items()}
    assert reasons == {name: name != "branches-taken" for name in lacking}


def test_the_top_down_method_has_groups_of_its_own_led_by_the_slots(
    on: Callable[..., Processor], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Linux 6.1 on Sapphire Rapids: slots, topdown-retiring, topdown-bad-spec, topdown-fe-bound and topdown-be-bound
    shares = {0x8000: 500, 0x8100: 100, 0x8200: 150, 0x8300: 250, 0x400: 1000}
    asked = Counted(("instructions", TOP_DOWN))
    monkeypatch.setattr(perf_events, "is_listed", lambda event: True)
    processor = on(5)
    processor.counts = lambda event, space: Count(shares.get(event.config, 7), 10, 10)
    assert names_of(offer(asked, INTEL)) == [["instructions"], [*TOP_DOWN_EVENTS], [*TOP_DOWN_EVENTS]]
    counters, told = Counters(1, "alpha"), {}
    for place in range(3):
        one = counters.of(asked.to_json(), place)
        one.begin()
        assert {leader for _, _, leader in processor.open.values()} == {min(processor.open)}
        told |= {(row[1], row[5]["space"]): row[2] for row in one.end()[0]}
    for space in SPACES:
        assert told["counter_retiring_share", space] == 0.5
        assert told["counter_bad_speculation_share", space] == 0.1
        assert told["counter_frontend_bound_share", space] == 0.15
        assert told["counter_backend_bound_share", space] == 0.25
    # Both together are in no invocation.
    assert ("counter_slots", "all") not in told


@pytest.mark.parametrize(("family", "listed"), [(AMD, True), (ARM, True), ("", True), (INTEL, False)])
def test_the_top_down_method_is_missing_where_the_kernel_does_not_list_its_slots(
    on: Callable[..., Processor], monkeypatch: pytest.MonkeyPatch, family: str, listed: bool
) -> None:
    on(5)
    monkeypatch.setattr(perf_events, "is_listed", lambda event: listed)
    found = offer(Counted((TOP_DOWN,)), family)
    assert (found.groups, list(found.missing)) == ([], [TOP_DOWN])


def test_the_top_down_method_that_the_kernel_refuses_is_named_with_the_space(
    on: Callable[..., Processor], monkeypatch: pytest.MonkeyPatch
) -> None:
    on(4)
    monkeypatch.setattr(perf_events, "is_listed", lambda event: True)
    found = offer(Counted((TOP_DOWN,)), INTEL)
    assert (found.groups, list(found.missing)) == ([], ["top-down user", "top-down kernel"])


def test_each_group_is_counted_equally_often_and_alternatives_of_a_round_have_the_same(
    on: Callable[..., Processor],
) -> None:
    on(2)
    counters = Counters(7, "alpha")
    asked = Counted(("instructions", "branches", "l1d-loads", "l1i-misses")).to_json()
    order = []
    for place in range(9):
        pair = [counters.of(asked, place) for _ in range(2)]
        told = []
        for one in pair:
            one.begin()
            rows, info = one.end()
            assert {row[1] for row in rows} >= {"counter_instructions"}
            assert info[INFO]["groups"] == 3
            told.append((info[INFO]["group"], sorted({row[1] for row in rows})))
        assert told[0] == told[1]
        order.append(told[0][0])
    assert sorted(order[:3]) == [0, 1, 2]
    assert order[3:6] == order[:3] == order[6:]
    seeds = {tuple(_order(Counters(seed, "alpha"), asked)) for seed in range(20)}
    assert len(seeds) > 1


def _order(counters: Counters, asked: dict[str, object]) -> list[int]:
    found = []
    for place in range(3):
        one = counters.of(asked, place)
        one.begin()
        found.append(one.end()[1][INFO]["group"])
    return found


def test_values_follow_from_counts_of_the_same_invocation(on: Callable[..., Processor]) -> None:
    counts = {
        (Event(0, 0), "user"): 2000, (Event(0, 0), "kernel"): 4000, (Event(0, 1), "user"): 4000,
        (Event(0, 1), "kernel"): 1000, (Event(0, 5), "user"): 8, (Event(0, 5), "kernel"): 7,
    }  # fmt: skip
    processor = on(6)
    processor.counts = lambda event, space: Count(counts[event, space], 10, 10)
    one = Counters(1, "alpha").of(Counted(("cycles", "instructions", "branch-misses")).to_json(), 0)
    one.begin()
    rows, _ = one.end()
    values = {(row[1], row[5]["space"]): row[2] for row in rows}
    assert values["counter_instructions", "all"] == 5000
    assert values["counter_ipc", "user"] == 2.0
    assert values["counter_ipc", "kernel"] == 0.25
    assert values["counter_ipc", "all"] == 5000 / 6000
    assert values["counter_branch_misses_per_1000_instructions", "user"] == 2.0
    assert values["counter_branch_misses_per_1000_instructions", "all"] == 3.0
    assert ("counter_branch_miss_ratio", "all") not in values


@pytest.mark.parametrize(
    ("count", "share"), [(Count(5, 100, 40), "40 %"), (None, "0 %"), (Count(0, 0, 0), "0 %")]
)
def test_a_count_of_a_part_of_the_time_is_no_value(
    on: Callable[..., Processor], count: Count | None, share: str
) -> None:
    processor = on(6)
    processor.counts = lambda event, space: count if space == "kernel" else Count(9, 10, 10)
    one = Counters(1, "alpha").of(Counted(("cycles",)).to_json(), 0)
    one.begin()
    rows, info = one.end()
    assert [(row[1], row[2], row[5]) for row in rows] == [("counter_cycles", 9, {"space": "user"})]
    assert list(info[INFO]["missing"]) == ["cycles kernel"]
    assert share in info[INFO]["missing"]["cycles kernel"]


def test_a_user_who_may_not_count_the_kernel_has_the_counts_of_programs(
    on: Callable[..., Processor], monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = on(4)

    def restricted(event: Event, space: str, leader: int = -1, pid: int = 0) -> int:
        if space != "user":
            raise OSError(errno.EACCES, "Permission denied")
        return processor.open_event(event, space, leader, pid)

    monkeypatch.setattr(perf_events, "open_event", restricted)
    found = offer(Counted(("context-switches", "cycles", "instructions")), INTEL)
    assert [(slot.name, slot.space) for slot in found.groups[0]] == [
        ("instructions", "user"), ("cycles", "user"),
    ]  # fmt: skip
    assert set(found.missing) == {"context-switches", "cycles kernel", "instructions kernel"}
    assert all("perf_event_paranoid" in why for why in found.missing.values())


def test_reasons_name_a_counter_without_both_spaces_once() -> None:
    missing = {"cycles user": "x", "cycles kernel": "x", "branches kernel": "x", "energy": "y"}
    assert by_reason(missing) == {"x": ["cycles", "branches kernel"], "y": ["energy"]}


@pytest.mark.parametrize(
    ("line", "family"),
    [
        ("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85", INTEL),
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 49", AMD),
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1", AMD),
        # Zen, whose events may differ, as those of its copies do
        ("vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel\t\t: 1", ""),
        ("vendor_id\t: HygonGenuine\ncpu family\t: 24\nmodel\t\t: 0", ""),
        ("CPU implementer\t: 0x41", ARM), ("vendor_id\t: IBM/S390", ""), ("", ""),
    ],
)  # fmt: skip
def test_the_family_of_a_processor_is_known_by_its_maker(line: str, family: str) -> None:
    assert family_of(f"processor\t: 0\n{line}\nflags\t: fpu\n") == family


def zone(
    folder: Path, name: str, energy_uj: int, range_uj: int = 1_000_000_000, kind: str = "package-0"
) -> None:
    made = folder / name
    made.mkdir(parents=True, exist_ok=True)
    (made / "name").write_text(kind + "\n")
    (made / "energy_uj").write_text(f"{energy_uj}\n")
    (made / "max_energy_range_uj").write_text(f"{range_uj}\n")


def test_energy_is_the_sum_of_the_packages_without_their_parts(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", 5_000_000)
    zone(tmp_path, "intel-rapl:0:0", 4_000_000, kind="core")
    zone(tmp_path, "intel-rapl:1", 7_000_000, kind="package-1")
    zone(tmp_path, "intel-rapl:2", 9_000_000, kind="psys")
    before, why = energy.read_zones(tmp_path)
    assert (set(before), why) == ({"intel-rapl:0", "intel-rapl:1"}, "")
    zone(tmp_path, "intel-rapl:0", 6_500_000)
    zone(tmp_path, "intel-rapl:1", 7_250_000, kind="package-1")
    after, _ = energy.read_zones(tmp_path)
    assert energy.joules(before, after, 0.1) == (1.75, "")


def test_a_counter_of_energy_that_starts_again_is_followed_once() -> None:
    before, after = {"a": Zone(999_000_000, 999_999_999)}, {"a": Zone(500_000, 999_999_999)}
    assert energy.joules(before, after, 0.1) == (1.5, "")
    none, why = energy.joules(before, after, 3600)
    assert none is None
    assert "more than once" in why


def test_energy_is_not_a_part_of_itself(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", 1)
    zone(tmp_path, "intel-rapl:1", 1, kind="package-1")
    (tmp_path / "intel-rapl:1" / "energy_uj").write_text("unknown\n")
    found, why = energy.read_zones(tmp_path)
    assert found == {}
    assert "intel-rapl:1" in why
    assert energy.read_zones(tmp_path / "nowhere")[0] == {}
    # Counters that cannot be read at one time, or at both, are no energy of 0.
    for before, after in (({"a": Zone(0, 10**12)}, {}), ({}, {})):
        none, why = energy.joules(before, after, 1)
        assert none is None
        assert why
