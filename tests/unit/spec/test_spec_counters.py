"""`counters` of a spec and of a suite, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.specs.spec_examples import JAVA, write
from regatta.host.values.counters import Counted
from regatta.host.values.experiment import Experiment, Stopping

Load = Callable[..., Experiment]
One = Callable[..., tuple[str, str, str, str]]

SUITE = """
    suite: counted
    benchmarks:
      sort: {command: [sort, /etc/passwd], counters: [page-faults, energy]}
    """
#: without invocations
COUNTED = "name: small\nbenchmarks: [{suite: toy, benchmark: gzip}]\n"
SPEC = "name: small\nbenchmarks: [{suite: counted, benchmark: sort}]\ninvocations: {fixed: 3}\n"


def test_counters_are_one_name_or_a_list_with_events_of_the_manual(load: Load) -> None:
    assert load(JAVA).counters == Counted()
    assert load(JAVA, "counters: instructions").counters == Counted(("instructions",))
    taken = "{name: calls, event: 'event=0x88,umask=0x1'}"
    found = load(JAVA, f"counters: [cycles, {taken}, energy]").counters
    assert found == Counted(("cycles", "energy"), {"calls": "event=0x88,umask=0x1"})


def test_a_benchmark_has_counters_in_addition(load: Load, home: Path) -> None:
    write(home / "configs/suites/counted.yml", SUITE)
    experiment = load(SPEC, "counters: [energy, cycles]")
    (benchmark,) = experiment.benchmarks
    assert benchmark.counters == Counted(("page-faults", "energy"))
    assert (experiment.counters | benchmark.counters).names == ("energy", "cycles", "page-faults")


def test_a_metric_of_counters_knows_which_way_is_better(load: Load) -> None:
    better = {
        metric: {
            b.better for b in load(JAVA, f"counters: [cycles, instructions]\nmetric: {metric}").benchmarks
        }
        for metric in ("counter_cycles", "counter_ipc")
    }
    assert better == {"counter_cycles": {"lower"}, "counter_ipc": {"higher"}}


@pytest.mark.parametrize(
    ("counters", "got", "fix"),
    [
        ("[instuctions]", "instuctions", "`instructions`"),
        ("[{name: own}]", "own", "event"),
        ("[{name: own, event: 'event=0xc4;reboot'}]", "event=0xc4;reboot", ""),
        ("[{name: own, event: 'event='}]", "event=", ""),
        ("[{name: cycles, event: event=1}]", "cycles", "rename"),
        ("[{name: ipc, event: event=1}]", "ipc", "rename"),
        ("[cycles, cycles]", "a list", "remove"),
        ("[{name: a-b, event: event=1}, {name: a_b, event: event=2}]", "a list", "remove"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(one: One, counters: str, got: str, fix: str) -> None:
    where, expected, found, how = one(JAVA, f"counters: {counters}")
    assert "counters" in where
    assert expected
    assert got in found
    assert fix in how


@pytest.mark.parametrize(
    ("counters", "fixed", "stopping"),
    [
        # One event at a time, for user and kernel: 6 groups of 3 counters; the kernel's own counters need none.
        ("[cycles, instructions, branches, page-faults]", 10, Stopping("counters", 10, 12, each_counter=2)),
        (
            "[cycles, top-down, {name: calls, event: event=0x88}]",
            4,
            Stopping("counters", 4, 12, each_counter=2),
        ),
        ("[cycles, instructions, branches]", 12, None),
    ],
)
def test_rounds_follow_the_counters_up_to_one_event_at_a_time(
    load: Load, counters: str, fixed: int, stopping: Stopping | None
) -> None:
    found = load(COUNTED, f"counters: {counters}\ninvocations: {{fixed: {fixed}, each_counter: 2}}")
    assert found.stopping == stopping
    assert found.invocations == (stopping.maximum if stopping else fixed)


def test_rounds_of_counters_need_counters_of_the_processor_and_an_order_with_rounds(one: One) -> None:
    rounds = "invocations: {fixed: 3, each_counter: 2}"
    where, expected, _, fix = one(COUNTED, f"counters: page-faults\n{rounds}")
    assert "each_counter" in where
    assert "counters" in expected
    assert "remove" in fix
    where, *_ = one(COUNTED, f"counters: cycles\n{rounds}\norder: back-to-back")
    assert "order" in where
    where, *_ = one(COUNTED, "counters: cycles\ninvocations: {each_counter: 2, adaptive: {}}")
    assert "each_counter" in where
