"""Closed queueing networks with one class of customers: operational laws, bounds, and exact mean value analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regatta.stats.estimate import Floats


@dataclass(frozen=True)
class Bounds:
    """Bounds of a closed network.

    Each of the shape of `customers`. `throughput_low`, `throughput_high`: customers per unit of time. `response_low`,
    `response_high`: in the unit of the demands.
    """

    throughput_low: Floats
    throughput_high: Floats
    response_low: Floats
    response_high: Floats


@dataclass(frozen=True)
class ClosedNetwork:
    """Means of a closed network with 1 to N customers and k stations. Row i is for `customers[i]` = i + 1.

    `throughput`: shape (N,), customers per unit of time. `response`: shape (N,), time from the end of thinking to its next
    begin, in the unit of the demands. `queue`: shape (N, k), customers that wait or are served. `utilization`: shape (N, k),
    busy servers divided by servers, 0 to 1; 0 at delay stations, which have no limit of servers.
    """

    customers: NDArray[np.int64]
    throughput: Floats
    response: Floats
    queue: Floats
    utilization: Floats


def little(throughput: ArrayLike, response: ArrayLike) -> Floats:
    """Return the mean number of customers in a system: throughput times response time.

    Args:
        throughput: any shape, >= 0, customers per unit of time.
        response: a shape that broadcasts with it, >= 0, in that unit of time.

    Raises:
        ValueError: an argument is negative, infinite or NaN.

    Source: Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984), section 3.3; Little, Operations
    Research 9 (1961).
    """
    return _nonnegative("throughput", throughput) * _nonnegative("response", response)


def utilization_law(throughput: ArrayLike, demands: ArrayLike, servers: ArrayLike = 1.0) -> Floats:
    """Return the mean utilization of each server: throughput times demand, divided by the servers.

    Args:
        throughput: any shape, >= 0, customers per unit of time.
        demands: a shape that broadcasts with it, >= 0: service per customer over all visits, in that unit of time.
        servers: a shape that broadcasts with both: whole numbers >= 1, or infinity.

    Returns:
        Busy servers divided by servers. More than 1 is impossible: the throughput or the demand is wrong.

    Raises:
        ValueError: an argument is out of its range.

    Source: Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984), sections 3.2 and 3.4.
    """
    busy = _nonnegative("throughput", throughput) * _nonnegative("demands", demands)
    utilization: Floats = busy / _servers(servers)
    return utilization


def bottleneck_bounds(demands: ArrayLike, think_time: float, customers: ArrayLike) -> Bounds:
    """Return bounds of throughput and response time that need no assumption about distributions.

    Args:
        demands: shape (k,), >= 0, one > 0: service per customer over all visits to each station of one server.
        think_time: Z >= 0, mean delay between a response and the next request, in the unit of the demands.
        customers: N, any shape, whole numbers >= 1.

    Returns:
        With D the sum and Dmax the largest of the demands: N / (N D + Z) <= throughput <= min(1 / Dmax, N / (D + Z)), and
        max(D, N Dmax - Z) <= response <= N D.

    Raises:
        ValueError: an argument is out of its range.

    Source: Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984), section 5.2.
    """
    demand, think = _demands(demands), _think_time(think_time)
    n = np.asarray(customers, dtype=np.float64)
    if not np.all((n >= 1) & (n == np.floor(n)) & np.isfinite(n)):
        raise ValueError(f"customers: expected whole numbers >= 1 · got {customers!r}")
    total, largest = float(demand.sum()), float(demand.max())
    return Bounds(
        n / (n * total + think),
        np.minimum(1.0 / largest, n / (total + think)),
        np.maximum(total, n * largest - think),
        n * total,
    )


def mean_value_analysis(
    demands: ArrayLike, think_time: float, customers: int, servers: ArrayLike | None = None
) -> ClosedNetwork:
    """Return the exact means of a closed product-form network with 1 to N customers.

    Args:
        demands: shape (k,), >= 0, one > 0: service per customer over all visits to each station. A visit to a station
            of m servers occupies one of them.
        think_time: Z >= 0, mean delay between a response and the next request, in the unit of the demands.
        customers: N, >= 1.
        servers: shape (k,), whole numbers >= 1; infinity: a delay station, without queue. None: one server each.

    Returns:
        Exact if the network has a product form: service in order of arrival with exponential times of one mean per
        station, or processor sharing, or a delay. The response time of a station of m servers with n customers is
        D / m (1 + Q(n-1) + Σ_{j<m-1} (m-1-j) p(j, n-1)), Q the mean and p the distribution of its queue; D (1 + Q(n-1))
        if m = 1. The probability p(0, n) that it is empty is the ratio of the normalization constants without and with it,
        summed as logs: the usual difference 1 - Σ p(j, n) loses all digits near saturation. Time is O(N k), plus O(N²)
        per station of several servers.

    Raises:
        ValueError: an argument is out of its range.

    Source: Reiser and Lavenberg, Mean-value analysis of closed multichain queuing networks, Journal of the ACM 27 (1980);
    Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984), section 6.4; Buzen, Computational
    algorithms for closed queueing networks with exponential servers, Communications of the ACM 16 (1973), for the
    constants.
    """
    demand, think = _demands(demands), _think_time(think_time)
    if customers < 1 or customers != int(customers):
        raise ValueError(f"customers: expected a whole number >= 1 · got {customers!r}")
    n = int(customers)
    given = np.ones(demand.shape) if servers is None else _servers(servers)
    if given.shape != demand.shape:
        raise ValueError(f"servers: expected shape {demand.shape} · got {given.shape}")
    # With a server for each customer, nobody waits.
    needed = np.where((given >= n) & (given > 1), np.inf, given)
    several = (needed > 1) & np.isfinite(needed)
    residence, cycle = _recursion(demand, think, n, needed, _empty(demand, think, n, needed, several))
    count = np.arange(1, n + 1)
    throughput = count / cycle
    return ClosedNetwork(
        count,
        throughput,
        residence.sum(axis=1),
        throughput[:, None] * residence,
        throughput[:, None] * demand / given,
    )


def _recursion(demand: Floats, think: float, n: int, servers: Floats, empty: Floats) -> tuple[Floats, Floats]:
    """Return residence times, shape (n, k), and cycle times, shape (n,), for 1 to n customers.

    `empty`: shape (n + 1, stations of several servers), the probability that the station is empty with 0 to n customers.
    """
    several = np.flatnonzero((servers > 1) & np.isfinite(servers))
    waits = np.isfinite(servers).astype(np.float64)
    scale = demand / np.where(waits > 0, servers, 1.0)
    queue = np.zeros(len(demand))
    residence, cycle = np.empty((n, len(demand))), np.empty(n)
    # Per station of m servers: the probabilities of 0 to m - 2 customers, and how many servers these leave idle but one.
    left = [np.arange(servers[k] - 1, 0, -1) for k in several]
    below = [np.zeros(len(idle)) for idle in left]
    for probabilities in below:
        probabilities[0] = 1.0
    for row in range(n):
        spare = np.zeros(len(demand))
        for k, idle, probabilities in zip(several, left, below, strict=True):
            spare[k] = idle @ probabilities
        residence[row] = scale * (1.0 + waits * queue + spare)
        cycle[row] = think + residence[row].sum()
        throughput = (row + 1) / cycle[row]
        queue = throughput * residence[row]
        for column, (k, probabilities) in enumerate(zip(several, below, strict=True)):
            size = len(probabilities)
            probabilities[1:] = throughput * demand[k] / np.arange(1, size) * probabilities[:-1]
            probabilities[0] = empty[row + 1, column]
    return residence, cycle


def _empty(demand: Floats, think: float, n: int, servers: Floats, several: NDArray[np.bool_]) -> Floats:
    """Return the probability that each station of several servers is empty, for 0 to n customers."""
    chosen = np.flatnonzero(several)
    if not len(chosen):
        return np.empty((n + 1, 0))
    # Normalization constants of the rest: the products of its cycle times divided by 1 to n.
    rest = np.full(n + 1, -np.inf)
    rest[0] = 0.0
    if think + demand[~several].sum() > 0:
        _, cycle = _recursion(demand[~several], think, n, servers[~several], np.empty((n + 1, 0)))
        rest[1:] = np.cumsum(np.log(cycle / np.arange(1, n + 1)))
    with np.errstate(divide="ignore"):
        rates = [np.log(demand[k]) - np.log(np.minimum(np.arange(1, n + 1), servers[k])) for k in chosen]
    factors = [np.concatenate([[0.0], np.cumsum(rate)]) for rate in rates]
    before, after = [rest], [np.concatenate([[0.0], np.full(n, -np.inf)])]
    for factor in factors[:-1]:
        before.append(_convolved(before[-1], factor))
    for factor in factors[:0:-1]:
        after.append(_convolved(after[-1], factor))
    without = [_convolved(x, y) for x, y in zip(before, reversed(after), strict=True)]
    whole = _convolved(before[-1], factors[-1])
    return np.stack([np.exp(np.minimum(one - whole, 0.0)) for one in without], axis=1)


def _convolved(x: Floats, y: Floats) -> Floats:
    """Return the log of the convolution of exp(x) and exp(y), of the same length."""
    result = np.empty(len(x))
    for n in range(len(x)):
        terms = x[: n + 1] + y[n::-1]
        largest = terms.max()
        result[n] = largest + np.log(np.exp(terms - largest).sum()) if largest > -np.inf else -np.inf
    return result


def _nonnegative(name: str, values: ArrayLike) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if not np.all((x >= 0) & np.isfinite(x)):
        raise ValueError(f"{name}: expected finite values >= 0 · got {values!r}")
    return x


def _demands(values: ArrayLike) -> Floats:
    x = _nonnegative("demands", values)
    if x.ndim != 1 or not x.any():
        raise ValueError(f"demands: expected a vector with a value > 0 · got {values!r}")
    return x


def _think_time(value: float) -> float:
    return float(_nonnegative("think_time", float(value)))


def _servers(values: ArrayLike) -> Floats:
    x = np.asarray(values, dtype=np.float64)
    if not np.all((x >= 1) & (x == np.floor(x))):
        raise ValueError(f"servers: expected whole numbers >= 1, or infinity · got {values!r}")
    return x
