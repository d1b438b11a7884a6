"""What is counted in which invocation, on processors of several sizes and with several kinds of cores that a test plays."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.host.counters import counting, energy, offering, perf_events
from regatta.host.counters.counting import Counters
from regatta.host.counters.energy import Zone
from regatta.host.counters.offering import Offer, Slot, offer, open_slots
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


#: events that the kernel lists if the processor has them
LISTABLE = sorted({
    event.listed
    for counter in COUNTERS.values()
    for event in (*counter.events.values(), *TOP_DOWN_EVENTS.values())
    if event is not None and event.listed
})  # fmt: skip


def cores(devices: Path, name: str, number: int, cpus: str = "", lists: Collection[str] = LISTABLE) -> None:
    """Add a kind of cores to the event sources of a processor that a test plays. `cpus`: "" if it is the only one."""
    (devices / name / "events").mkdir(parents=True)
    (devices / name / "type").write_text(f"{number}\n")
    if cpus:
        (devices / name / "cpus").write_text(cpus + "\n")
    for event in lists:
        (devices / name / "events" / event).touch()


@pytest.fixture(scope="module")
def listing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the event sources of a processor with one kind of cores, which has all events."""
    devices = tmp_path_factory.mktemp("devices")
    cores(devices, "cpu", 4)
    return devices


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., Processor]]:
    """Puts a processor of Intel into the place of the kernel."""
    made: list[Processor] = []
    about = tmp_path / "cpuinfo"
    about.write_text("vendor_id\t: GenuineIntel\n")
    monkeypatch.setattr(offering, "_CPUINFO", about)

    def use(counters: int, fixed: bool = True, devices: Path = Path("/nowhere")) -> Processor:
        processor = Processor(counters, fixed)
        monkeypatch.setattr(perf_events, "_DEVICES", devices)
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
    listing: Path, counters: int, fixed: bool, asked: list[str], family: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        processor = Processor(counters, fixed)
        patch.setattr(perf_events, "open_event", processor.open_event)
        patch.setattr(counting.os, "close", processor.close)
        patch.setattr(perf_events, "_DEVICES", listing)
        found = offer(Counted(tuple(asked)), family)
        assert not processor.open
        for group in found.groups:
            opened: list[int] = []
            open_slots(group, opened)
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
    on: Callable[..., Processor], listing: Path
) -> None:
    # Linux 6.1 on Sapphire Rapids: slots, topdown-retiring, topdown-bad-spec, topdown-fe-bound and topdown-be-bound
    shares = {0x8000: 500, 0x8100: 100, 0x8200: 150, 0x8300: 250, 0x400: 1000}
    asked = Counted(("instructions", TOP_DOWN))
    processor = on(5, devices=listing)
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
    on: Callable[..., Processor], listing: Path, family: str, listed: bool
) -> None:
    on(5, devices=listing if listed else Path("/nowhere"))
    found = offer(Counted((TOP_DOWN,)), family)
    assert (found.groups, list(found.missing)) == ([], [TOP_DOWN])


def test_the_top_down_method_that_the_kernel_refuses_is_named_with_the_space(
    on: Callable[..., Processor], listing: Path
) -> None:
    on(4, devices=listing)
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


def test_branches_per_instruction_come_from_the_same_invocation(on: Callable[..., Processor]) -> None:
    processor = on(6)
    processor.counts = lambda event, space: Count({Event(0, 1): 4000, Event(0, 4): 800}[event], 10, 10)
    one = Counters(1, "alpha").of(Counted(("instructions", "branches")).to_json(), 0)
    one.begin()
    rows, _ = one.end()
    assert [row[2] for row in rows if row[1] == "counter_branches_per_instruction"] == [0.2] * 3


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


class TwoKinds(Processor):
    """A processor with two kinds of cores: each counts only while the program runs there, for `shares` of the time."""

    def __init__(self, refuses: Callable[[int, Event], bool] = lambda kind, event: False) -> None:
        super().__init__(8)
        #: number of the kind -> count, and share of the time for which it counted
        self.ran = {4: (700, 0.7), 10: (300, 0.3)}
        self._refuses = refuses

    def kind_of(self, event: Event) -> int:
        return event.config >> 32 if event.type in (0, 3) else event.type

    def open_event(self, event: Event, space: str, leader: int = -1, pid: int = 0) -> int:
        kind = self.kind_of(event)
        assert event.type == 1 or kind in self.ran, "an event of no kind of cores"
        if self._refuses(kind, event):
            raise OSError(errno.ENOENT, "No such file or directory")
        if leader >= 0:
            # The kernel has no groups over several kinds.
            assert self.kind_of(self.open[leader][0]) == kind
        return super().open_event(event, space, leader, pid)

    def read_event(self, fd: int) -> Count | None:
        event = self.open[fd][0]
        if event.type != 1:
            value, share = self.ran[self.kind_of(event)]
            self.counts = lambda event, space: Count(value, 1_000_000, round(1_000_000 * share))
        return super().read_event(fd)


@pytest.fixture
def on_two_kinds(
    on: Callable[..., Processor], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., TwoKinds]:
    """Puts a processor with two kinds of cores into the place of the kernel."""
    devices = tmp_path / "devices"
    cores(devices, "cpu_core", 4, "0-3")
    cores(devices, "cpu_atom", 10, "4-7", lists=())
    # An event source of another part of the processor has CPUs that read it, but is no kind of cores.
    (devices / "uncore_imc_0").mkdir()
    (devices / "uncore_imc_0" / "cpumask").write_text("0\n")

    def use(**options: Any) -> TwoKinds:
        on(4, devices=devices)
        processor = TwoKinds(**options)
        monkeypatch.setattr(perf_events, "open_event", processor.open_event)
        monkeypatch.setattr(perf_events, "read_event", processor.read_event)
        monkeypatch.setattr(counting.os, "close", processor.close)
        return processor

    return use


def counted_once(*names: str, cpus: Collection[int] | None = None) -> tuple[dict[str, float], dict[str, str]]:
    """Return the values of an invocation, user and kernel together, and the reasons for missing ones."""
    one = Counters(1, "alpha").of(Counted(names).to_json(), 0, cpus)
    one.begin()
    rows, told = one.end()
    return {row[1]: row[2] for row in rows if (row[5] or {}).get("space", "all") == "all"}, told[INFO][
        "missing"
    ]


def test_a_counter_is_the_sum_over_the_kinds_of_cores(on_two_kinds: Callable[..., TwoKinds]) -> None:
    processor = on_two_kinds()
    values, missing = counted_once("instructions", "cycles", "l1i-misses")
    assert missing == {}
    assert (values["counter_instructions"], values["counter_cycles"], values["counter_l1i_misses"]) == (
        2000,
    ) * 3
    assert values["counter_ipc"] == 1.0
    assert not processor.open


def test_generic_events_name_the_kind_of_cores_and_others_have_its_type(
    on_two_kinds: Callable[..., TwoKinds],
) -> None:
    on_two_kinds()
    slots = [slot for group in offer(Counted(("cycles", "l1i-misses")), AMD).groups for slot in group]
    events = {(slot.name, slot.cores): slot.event for slot in slots}
    assert events["cycles", "cpu_core"] == Event(0, 4 << 32)
    assert events["cycles", "cpu_atom"] == Event(0, 10 << 32)
    assert [events["l1i-misses", kind] for kind in ("cpu_core", "cpu_atom")] == [
        Event(4, 0x1060),
        Event(10, 0x1060),
    ]
    (software,) = offer(Counted(("page-faults",)), INTEL).always
    assert (software.event, software.cores) == (Event(1, 2), "")


@pytest.mark.parametrize(
    ("ran", "reason"),
    [
        ({4: (700, 0.5), 10: (300, 0.3)}, "80 %"),
        ({4: (0, 0.0), 10: (0, 0.0)}, "0 %"),
        # Both kinds count on the same cores: the sum would have everything twice.
        ({4: (700, 1.0), 10: (700, 1.0)}, "200 %"),
    ],
)
def test_kinds_of_cores_whose_times_do_not_add_up_to_the_time_have_no_value(
    on_two_kinds: Callable[..., TwoKinds], ran: dict[int, tuple[int, float]], reason: str
) -> None:
    on_two_kinds().ran = ran
    values, missing = counted_once("cycles")
    assert values == {}
    assert list(missing) == ["cycles user", "cycles kernel"]
    assert all(reason in why for why in missing.values())


def border(*times: tuple[int, int, int]) -> dict[Slot, Count | None]:
    """Return (value, enabled, running) of each kind of cores at a border."""
    return {Slot("cycles", "user", Event(0, 0), f"kind {i}"): Count(*one) for i, one in enumerate(times)}


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        # The program ran for 5 ns between both reads at the beginning, on the second kind, and for 2 ns at the end.
        (border((0, 1000, 400), (0, 1005, 605)), border((70, 11_000, 5400), (90, 11_002, 5602)), 160),
        # 100 ns are missing, and both reads account for 7 ns at most.
        (border((0, 1000, 400), (0, 1005, 605)), border((70, 11_000, 5300), (90, 11_002, 5602)), None),
        # The time between both reads is too long for the iteration.
        (border((0, 1000, 400), (0, 1500, 1100)), border((70, 11_000, 5400), (90, 11_000, 5600)), None),
        (border((0, 1000, 400), (0, 1000, 600)), border((0, 1000, 400), (0, 1000, 600)), 0),
    ],
)
def test_time_that_passes_between_the_reads_of_two_kinds_is_allowed_for(
    first: dict[Slot, Count | None], last: dict[Slot, Count | None], expected: int | None
) -> None:
    assert counting.Counting(Offer(), None)._difference(list(first), first, last) == expected


def test_a_counter_that_one_kind_of_cores_lacks_has_a_reason_and_no_value(
    on_two_kinds: Callable[..., TwoKinds],
) -> None:
    on_two_kinds(refuses=lambda kind, event: kind == 10 and event.config & 0xFF == 5)
    values, missing = counted_once("instructions", "branch-misses", "branches-taken", TOP_DOWN)
    assert set(values) == {"counter_instructions"}
    assert set(missing) == {"branch-misses user", "branch-misses kernel", "branches-taken", TOP_DOWN}
    assert all("cpu_atom" in why for why in missing.values())


def test_a_program_with_cores_of_one_kind_is_counted_on_these(on_two_kinds: Callable[..., TwoKinds]) -> None:
    processor = on_two_kinds()
    processor.ran = {4: (700, 1.0)}
    values, missing = counted_once("instructions", cpus={0, 1})
    assert (values, missing) == ({"counter_instructions": 1400}, {})
    assert names_of(offer(Counted((TOP_DOWN,)), INTEL, cpus={1, 2})) == [[*TOP_DOWN_EVENTS]] * 2


def test_an_event_of_the_manual_is_encoded_for_each_kind_of_cores(
    on_two_kinds: Callable[..., TwoKinds], tmp_path: Path
) -> None:
    on_two_kinds()
    for kind, bits in (("cpu_core", "config:0-7"), ("cpu_atom", "config:8-15")):
        (tmp_path / "devices" / kind / "format").mkdir()
        (tmp_path / "devices" / kind / "format" / "event").write_text(bits)
    found = offer(Counted((), {"own": "event=0xc4"}), INTEL)
    assert {slot.event for group in found.groups for slot in group} == {Event(4, 0xC4), Event(10, 0xC400)}
    (tmp_path / "devices" / "cpu_atom" / "format" / "event").unlink()
    found = offer(Counted((), {"own": "event=0xc4"}), INTEL)
    assert (found.groups, list(found.missing)) == ([], ["own"])
    assert "cpu_atom" in found.missing["own"]


def test_two_kinds_of_cores_of_arm_are_known_by_their_cpus(tmp_path: Path) -> None:
    cores(tmp_path, "armv8_cortex_a53", 8, "0-3")
    cores(tmp_path, "armv9_cortex_a710", 9, "4,6-7")
    assert [kind.name for kind in perf_events.kinds_of_cores(devices=tmp_path)] == [
        "armv8_cortex_a53", "armv9_cortex_a710",
    ]  # fmt: skip
    (big,) = perf_events.kinds_of_cores({6}, tmp_path)
    assert perf_events.event_on(Event(4, 0x21, "br_retired"), big) == Event(9, 0x21, "br_retired")


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
