"""Closed queueing networks: published examples, closed forms, the Markov chain itself, and the operational laws."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regatta.stats.estimate import Floats
from regatta.stats.queueing import bottleneck_bounds, little, mean_value_analysis, utilization_law

INF = math.inf


def test_the_time_sharing_system_of_jain() -> None:
    # Jain, The Art of Computer Systems Performance Analysis (1991), example 34.2: CPU 2 s, disks 3 s and 1 s, thinking 4 s.
    found = mean_value_analysis([2, 3, 1], 4, 20)
    assert found.customers.tolist() == list(range(1, 21))
    assert found.response[:5].tolist() == pytest.approx([6, 7.4, 9.088, 11.051, 13.256], abs=6e-4)
    assert found.throughput[:5].tolist() == pytest.approx([0.1, 0.175, 0.229, 0.266, 0.290], abs=6e-4)
    assert found.queue[0].tolist() == pytest.approx([0.2, 0.3, 0.1])
    assert found.queue[1].tolist() == pytest.approx([0.421, 0.684, 0.193], abs=6e-4)


def test_the_interactive_system_of_lazowska() -> None:
    # Quantitative System Performance, section 6.4: CPU 0.605 s, disks 2.1 s and 1.35 s, thinking 15 s; three customers.
    found = mean_value_analysis([0.605, 2.1, 1.35], 15, 3)
    assert found.throughput.tolist() == pytest.approx([0.0525, 0.1031, 0.1515], abs=6e-5)
    assert found.queue[2].tolist() == pytest.approx([0.0976, 0.3947, 0.2350], abs=6e-5)
    assert found.response[2] == pytest.approx(0.644 + 2.605 + 1.551, abs=1e-3)


def test_the_bounds_of_jain() -> None:
    # Jain, chapter 33: CPU 5 s, disks 4 s and 3 s, thinking 18 s: X <= min(1/5, N/30), R >= max(12, 5 N - 18).
    found = bottleneck_bounds([5, 4, 3], 18, [1, 6, 20])
    assert found.throughput_high.tolist() == pytest.approx([1 / 30, 1 / 5, 1 / 5])
    assert found.throughput_low.tolist() == pytest.approx([1 / 30, 6 / 90, 20 / 258])
    assert found.response_low.tolist() == pytest.approx([12, 12, 82])
    assert found.response_high.tolist() == pytest.approx([12, 72, 240])


def test_the_laws_of_jain() -> None:
    # Jain, chapter 33: disk A serves 15.7 per s in 0.05 s each, in 80 visits of each request.
    assert utilization_law(15.70, 0.05) == pytest.approx(0.785)
    assert utilization_law(15.70 / 80, [5.0, 4.0]).tolist() == pytest.approx([0.98125, 0.785])
    assert utilization_law(2, 1.5, [3, 4, INF]).tolist() == [1, 0.75, 0]
    assert little([0.5, 2], 4).tolist() == [2, 8]


@pytest.mark.parametrize("servers", [1, 2, 3, 7])
def test_a_single_station_is_the_repair_of_machines(servers: int) -> None:
    # M/M/m//N: p(j) ~ N! / (N - j)! (D / Z)^j / prod_i min(i, m). Kleinrock (1975), section 3.10.
    demand, think, machines = 3.0, 10.0, 6
    weights = [1.0]
    for j in range(1, machines + 1):
        weights.append(weights[-1] * (machines - j + 1) * demand / think / min(j, servers))
    p = np.array(weights) / sum(weights)
    busy = float(np.minimum(np.arange(machines + 1), servers) @ p)
    found = mean_value_analysis([demand], think, machines, [servers])
    assert found.throughput[-1] == pytest.approx(busy / demand)
    assert found.queue[-1, 0] == pytest.approx(float(np.arange(machines + 1) @ p))
    assert found.utilization[-1, 0] == pytest.approx(busy / servers)
    assert found.response[-1] == pytest.approx(machines * demand / busy - think)


def test_two_equal_stations_have_equally_probable_states() -> None:
    # Two equal stations without thinking: N + 1 equally probable states, X = N / (N + 1) / D.
    found = mean_value_analysis([2, 2], 0, 50)
    n = found.customers
    assert found.throughput.tolist() == pytest.approx((n / (n + 1) / 2).tolist())
    assert found.queue.tolist() == pytest.approx(np.stack([n / 2, n / 2], axis=1))


def chain(demands: list[float], think: float, customers: int, servers: list[float]) -> tuple[float, Floats]:
    """Throughput and mean queues by the balance equations of the Markov chain.

    Customers think, then visit station 0, 1, ... in turn, once each. Without thinking they go from the last to the first.
    """
    places = ([think] if think else []) + demands
    limits = ([INF] if think else []) + servers
    states = [s for s in product(range(customers + 1), repeat=len(places)) if sum(s) == customers]
    index = {state: i for i, state in enumerate(states)}
    generator = np.zeros((len(states), len(states)))
    for state, i in index.items():
        for place, count in enumerate(state):
            if count:
                after = list(state)
                after[place] -= 1
                after[(place + 1) % len(places)] += 1
                rate = min(count, limits[place]) / places[place]
                generator[i, index[tuple(after)]] += rate
                generator[i, i] -= rate
    balance = np.vstack([generator.T, np.ones(len(states))])
    p = np.linalg.lstsq(balance, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    throughput = sum(q * min(state[-1], limits[-1]) / places[-1] for q, state in zip(p, states, strict=True))
    return float(throughput), (p @ np.array(states, dtype=float))[-len(demands) :]


@pytest.mark.parametrize(
    ("demands", "think", "customers", "servers"),
    [
        ([2.0, 3.0], 4.0, 5, [2, 1]),
        ([2.0, 3.0], 4.0, 6, [2, 3]),
        ([8.0, 1.0, 2.0], 0.0, 7, [4, 1, 1]),
        ([8.0, 5.0], 0.0, 7, [4, 2]),
        ([3.0, 2.0, 4.0], 1.5, 6, [2, 3, 4]),
        ([3.0, 2.0, 4.0], 0.0, 6, [2, INF, 1]),
        ([1.0, 6.0], 2.0, 3, [1, 8]),
    ],
)
def test_several_servers_agree_with_the_markov_chain(
    demands: list[float], think: float, customers: int, servers: list[float]
) -> None:
    found = mean_value_analysis(demands, think, customers, servers)
    for row in range(customers):
        throughput, queue = chain(demands, think, row + 1, servers)
        assert found.throughput[row] == pytest.approx(throughput, rel=1e-8)
        assert found.queue[row].tolist() == pytest.approx(queue.tolist(), rel=1e-7)


def test_many_customers_saturate_a_station_of_several_servers_without_loss_of_digits() -> None:
    found = mean_value_analysis([8.0, 0.5, 100.0], 50.0, 1000, [4, 2, INF])
    assert found.throughput[-1] == pytest.approx(0.5, rel=1e-12)
    assert found.utilization[-1].tolist() == pytest.approx([1, 0.125, 0], rel=1e-12)
    # The second station is M/M/2 with load 0.25 per server in the limit, when the first one never idles.
    assert found.queue[-1, 1] == pytest.approx(2 * 0.125 / (1 - 0.125**2), rel=1e-9)


def test_a_delay_station_is_time_to_think() -> None:
    inside = mean_value_analysis([2, 5, 3], 1, 9, [1, INF, 2])
    outside = mean_value_analysis([2, 3], 6, 9, [1, 2])
    assert inside.throughput.tolist() == pytest.approx(outside.throughput.tolist())
    assert (inside.response - 5).tolist() == pytest.approx(outside.response.tolist())


networks = st.integers(1, 4).flatmap(
    lambda k: st.fixed_dictionaries(
        {
            "demands": st.lists(st.floats(0.01, 100), min_size=k, max_size=k),
            "servers": st.lists(st.sampled_from([1, 1, 2, 3, 8, INF]), min_size=k, max_size=k),
            "think_time": st.sampled_from([0.0, 0.5, 20.0, 1000.0]),
            "customers": st.integers(1, 30),
        }
    )
)


@given(network=networks)
def test_the_operational_laws_hold(network: dict[str, Any]) -> None:
    found = mean_value_analysis(**network)
    demand, servers = np.array(network["demands"]), np.array(network["servers"], dtype=float)
    n, think = found.customers, network["think_time"]
    assert little(found.throughput, found.response + think).tolist() == pytest.approx(n.tolist())
    assert (found.queue.sum(axis=1) + found.throughput * think).tolist() == pytest.approx(n.tolist())
    assert np.all(found.utilization <= 1 + 1e-9)
    assert np.all(np.diff(found.throughput) >= -1e-9 * found.throughput[:-1])
    assert np.all(np.diff(found.response) >= -1e-9 * found.response[:-1])
    assert found.response[0] == pytest.approx(demand.sum())
    expected = utilization_law(found.throughput[:, None], demand, servers)
    assert found.utilization.tolist() == pytest.approx(expected)


@given(network=networks)
def test_throughput_and_response_lie_within_the_bounds(network: dict[str, Any]) -> None:
    network["servers"] = None
    found = mean_value_analysis(**network)
    bounds = bottleneck_bounds(network["demands"], network["think_time"], found.customers)
    for low, value, high in (
        (bounds.throughput_low, found.throughput, bounds.throughput_high),
        (bounds.response_low, found.response, bounds.response_high),
    ):
        assert np.all(low <= value * (1 + 1e-9))
        assert np.all(value <= high * (1 + 1e-9))


@given(network=networks)
def test_more_servers_never_slow_a_network(network: dict[str, Any]) -> None:
    slow = mean_value_analysis(**{**network, "servers": None})
    fast = mean_value_analysis(**network)
    assert np.all(fast.throughput >= slow.throughput * (1 - 1e-9))


def test_a_station_without_demand_changes_nothing() -> None:
    alone = mean_value_analysis([3], 5, 8, [2])
    found = mean_value_analysis([3, 0, 0], 5, 8, [2, 1, 2])
    assert found.throughput.tolist() == pytest.approx(alone.throughput.tolist())
    assert found.queue[:, 1:].tolist() == [[0, 0]] * 8


@pytest.mark.parametrize(
    "arguments",
    [
        ([], 1, 2),
        ([0, 0], 1, 2),
        ([1, -1], 1, 2),
        ([1, math.nan], 1, 2),
        ([INF], 1, 2),
        ([[1]], 1, 2),
        ([1], -1, 2),
        ([1], math.nan, 2),
        ([1], 1, 0),
        ([1], 1, 1.5),
        ([1], 1, 2, [0]),
        ([1], 1, 2, [1.5]),
        ([1], 1, 2, [math.nan]),
        ([1], 1, 2, [1, 1]),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="expected"):
        mean_value_analysis(*arguments)
    if len(arguments) == 3:
        with pytest.raises(ValueError, match="expected"):
            bottleneck_bounds(*arguments)


def test_laws_refuse_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="expected"):
        little(-1, 1)
    with pytest.raises(ValueError, match="expected"):
        little(1, math.nan)
    with pytest.raises(ValueError, match="expected"):
        utilization_law(1, 1, 0)
