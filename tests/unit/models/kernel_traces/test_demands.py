"""Demands of a transaction and the throughput they predict, against closed forms of queueing networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from helpers.scheduled_traces import Schedule
from regatta.host.errors import RegattaError
from regatta.models.kernel_traces.demands import (
    Demands,
    concurrency,
    demands_of,
    predict_throughput,
    throughput_bound,
    what_if,
)
from regatta.models.kernel_traces.measures import Measures, Times, Usage, measure
from regatta.models.kernel_traces.model import Kind


def stations(*demands_ns: float, servers: tuple[int, ...] = (), shared: tuple[bool, ...] = ()) -> Demands:
    count = len(demands_ns)
    return Demands(
        tuple(f"s{at}" for at in range(count)),
        np.array(demands_ns, float),
        np.array(servers or (1,) * count, float),
        shared or (False,) * count,
    )


def measures(
    phases: Mapping[str, float],
    usages: Mapping[str, tuple[str, float]],
    cpus: int = 1,
    transactions: int = 10,
    response_ns: float | None = 5e6,
) -> Measures:
    """Measures of a second with CPU time per phase, and kind and time of used objects, in ns per transaction."""
    spent = transactions * sum(phases.values())
    return Measures(
        seconds=1.0,
        transactions=transactions,
        response_ns=response_ns if transactions else None,
        responses=np.array([]),
        phases={name: Times(user=transactions * ns) for name, ns in phases.items()},
        processes={},
        cpus={},
        interrupts={},
        usages={
            name: Usage(name, kind, used_ns=transactions * ns, busy_ns=transactions * ns)
            for name, (kind, ns) in usages.items()
        },
        unneeded_wakeups=0,
        remarks=(),
        service_cpus={f"cpu{cpu}": spent / cpus for cpu in range(cpus)},
    )


def test_demands_of_a_trace_are_times_per_transaction(tmp_path: Path) -> None:
    made = Schedule(2)
    made.object("thread", "a")
    for what, name in (
        ("transaction", "transaction"),
        ("lock", "mutex"),
        ("disk", "sda"),
        ("network", "net"),
    ):
        made.object(what, name)
    made.run(0, "a", 0).serve(0, 40, "a", 1).serve(50, 100, "a", 2)
    made.add(5, Kind.INTERRUPT, "a", object="net").add(9, Kind.INTERRUPT_END, "a", object="net")
    for time, kind in ((10, Kind.REQUEST), (10, Kind.ACCEPT), (16, Kind.FINISH)):
        made.add(time, kind, "a", object="mutex", request=1)
    made.add(20, Kind.REQUEST, "a", object="sda", request=1).add(
        20, Kind.ACCEPT, "a", object="sda", request=1
    )
    made.sleep(20, "a").wake(30, "a", "net").run(30, "a", 1)
    made.events.append({"time_ns": 30, "kind": Kind.FINISH, "object": made["sda"], "request": 1})
    found = demands_of(measure(made.write(tmp_path / "trace", 100)))
    assert found.names == ("cpu", "mutex", "sda")
    # On a CPU from 0 to 20 and from 30 to 100, with 4 ns of interrupts.
    assert found.demands_ns.tolist() == [45.0, 3.0, 5.0]
    assert found.servers.tolist() == [2.0, 1.0, 1.0]
    assert found.shared == (False, True, False)


def test_a_cpu_that_is_used_by_chance_is_no_server() -> None:
    told = measures({"work": 1e6}, {}, cpus=2)
    told = Measures(**{**vars(told), "service_cpus": {"cpu0": 9.95e6, "cpu1": 0.05e6}})
    assert demands_of(told).servers.tolist() == [1.0]


def test_stations_without_demand_are_left_out() -> None:
    told = measures({"work": 1e6}, {"idle": ("disk", 0.0), "net": ("network", 5e6)})
    assert demands_of(told).names == ("cpu",)


@pytest.mark.parametrize("told", [measures({}, {}), measures({"work": 1e6}, {}, transactions=0)])
def test_measures_without_demands_are_refused(told: Measures) -> None:
    with pytest.raises(RegattaError):
        demands_of(told)


def test_one_station_serves_at_its_rate_with_any_number_of_clients() -> None:
    found = predict_throughput(stations(2e6), 0.0, [1, 7, 50])
    assert found.tolist() == pytest.approx([500.0, 500.0, 500.0])


def test_balanced_stations_follow_their_closed_form() -> None:
    customers = [50, 1, 10]
    found = predict_throughput(stations(1e6, 1e6, 1e6), 0.0, customers)
    assert found.tolist() == pytest.approx([1000 * n / (n + 2) for n in customers])


def test_one_client_sees_no_queues() -> None:
    demands = stations(1e6, 3e6, servers=(4, 1))
    assert predict_throughput(demands, 6e6, [1]).tolist() == pytest.approx([100.0])


def test_enough_servers_are_a_delay() -> None:
    found = predict_throughput(stations(4e6, servers=(8,)), 6e6, range(1, 9))
    assert found.tolist() == pytest.approx([100.0 * n for n in range(1, 9)])


def test_two_servers_without_thinking_serve_twice_as_fast() -> None:
    found = predict_throughput(stations(4e6, servers=(2,)), 0.0, [1, 2, 30])
    assert found.tolist() == pytest.approx([250.0, 500.0, 500.0])


def test_bounds_hold_for_servers_and_clients() -> None:
    demands = stations(4e6, 1e6, servers=(2, 1))
    assert throughput_bound(demands, 5e6, 1) == pytest.approx(100.0)
    assert throughput_bound(demands, 5e6, 50) == pytest.approx(500.0)
    for n, x in enumerate(predict_throughput(demands, 5e6, range(1, 31)), 1):
        assert x <= throughput_bound(demands, 5e6, n) * (1 + 1e-12)


def test_a_lock_adds_nothing_to_the_bound_unless_it_is_the_bottleneck() -> None:
    demands = stations(4e6, 3e6, servers=(2, 1), shared=(False, True))
    assert throughput_bound(demands, 0.0, 1) == pytest.approx(250.0)
    assert throughput_bound(demands, 0.0, 9) == pytest.approx(1e3 / 3)


def test_no_demand_leaves_only_the_think_time() -> None:
    assert predict_throughput(stations(0.0), 1e9, [3]).tolist() == [3.0]
    assert predict_throughput(stations(0.0), 0.0, [3]).tolist() == [float("inf")]
    assert throughput_bound(stations(0.0), 1e9, 3) == 3.0
    assert throughput_bound(stations(0.0), 0.0, 3) == float("inf")


def test_a_faster_station_moves_the_bottleneck() -> None:
    told = measures({"parse": 1e6}, {"mutex": ("lock", 4e6)})
    found = what_if(told, {"mutex": 0.125}, 100)
    assert (found.bound_before, found.bound_after) == pytest.approx((250.0, 1000.0))
    assert found.before == pytest.approx(250.0)
    assert found.after == pytest.approx(1000.0)


def test_a_change_of_a_phase_changes_the_cpu() -> None:
    told = measures({"parse": 3e6, "execute": 1e6}, {})
    found = what_if(told, {}, 5, phases={"parse": 1 / 3})
    assert [found.before, found.after] == pytest.approx([250.0, 500.0])
    assert [found.bound_before, found.bound_after] == pytest.approx([250.0, 500.0])
    assert what_if(told, {"cpu": 0.5}, 5, phases={"parse": 0.0}).after == pytest.approx(2000.0)


def test_two_stations_follow_their_closed_form_before_and_after() -> None:
    told = measures({"work": 2e6}, {"sda": ("disk", 2e6)})
    found = what_if(told, {"sda": 0.0}, 4)
    assert (found.before, found.after) == pytest.approx((500 * 4 / 5, 500.0))


def test_without_a_number_of_clients_the_law_of_little_gives_it() -> None:
    told = measures({"work": 1e6}, {}, transactions=800)
    assert concurrency(told) == 4
    assert what_if(told, {}, think_ns=1e9) == what_if(told, {}, 4, 1e9)
    assert concurrency(measures({"work": 1e6}, {}, transactions=1)) == 1


@pytest.mark.parametrize(
    ("changes", "phases", "customers", "think_ns"),
    [
        ({"other": 0.5}, {}, 1, 0.0),
        ({"cpu": -0.5}, {}, 1, 0.0),
        ({"cpu": float("nan")}, {}, 1, 0.0),
        ({}, {"other": 0.5}, 1, 0.0),
        ({}, {"work": float("inf")}, 1, 0.0),
        ({}, {}, 0, 0.0),
        ({}, {}, 1, -1.0),
    ],
)
def test_impossible_changes_are_refused(
    changes: dict[str, float], phases: dict[str, float], customers: int, think_ns: float
) -> None:
    with pytest.raises(RegattaError):
        what_if(measures({"work": 1e6}, {}), changes, customers, think_ns, phases=phases)


@pytest.mark.parametrize("customers", [[], [0], [1.5], [[1]]])
def test_impossible_numbers_of_clients_are_refused(customers: list[int]) -> None:
    with pytest.raises(RegattaError):
        predict_throughput(stations(1.0), 0.0, customers)


def test_a_bound_needs_a_client_and_a_time() -> None:
    for think_ns, customers in ((0.0, 0), (float("inf"), 1)):
        with pytest.raises(RegattaError):
            throughput_bound(stations(1.0), think_ns, customers)
    with pytest.raises(RegattaError):
        concurrency(measures({"work": 1e6}, {}, transactions=0))
