"""Service demands of a transaction as a closed queueing network, and the throughput if they change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regatta.host.errors import RegattaError
from regatta.stats.estimate import Floats
from regatta.stats.queueing import bottleneck_bounds, little, mean_value_analysis

if TYPE_CHECKING:
    from regatta.models.kernel_traces.measures import Measures

#: metric of a traced invocation: demand of a transaction at a station
DEMAND = "event_demand"
#: station of all CPUs of the service
CPU = "cpu"
#: share of the CPU time of the service below which a CPU does not count: a thread was there by chance
_USED_SHARE = 0.01
_SECOND_NS = 1e9


@dataclass(frozen=True)
class Demands:
    """Stations of a closed queueing network. Arrays of shape (k,).

    `names`: `cpu`, then locks and disks by name. `demands_ns`: service per transaction over all visits.
    `servers`: how many transactions a station serves at once. `shared`: stations that a transaction holds
    while it uses others, such as locks.
    """

    names: tuple[str, ...]
    demands_ns: Floats
    servers: Floats
    shared: tuple[bool, ...]


@dataclass(frozen=True)
class WhatIf:
    """Throughputs per second before and after a change: of the queueing network, and their upper bounds."""

    before: float
    after: float
    bound_before: float
    bound_after: float


def demands_of(measures: Measures) -> Demands:
    """Return the service demands of a transaction.

    Args:
        measures: of a trace with finished transactions.

    Returns:
        `cpu`: CPU time of the serving threads and of interrupts on their CPUs; a server is a CPU on which
        they spent at least 1 % of their time. Each other CPU, such as that of the clients: its busy time, by
        the utilization law. Each lock: the time that it is held. Each disk: the time in which it has
        requests. Stations of no demand are left out.

        The CPU time of a thread that holds a lock counts for both. So predicted throughputs are low where
        locks are held for a large part of the CPU time; bounds are right, because they add no demand of a
        lock to others.

    Raises:
        RegattaError: no transaction has finished, or there is no demand at all.

    Source: Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984), chapter 3, service
    demands.
    """
    n = measures.transactions
    if not n:
        raise RegattaError("demands", "finished transactions", "none", "mark where requests begin and end")
    spent = measures.service_cpus
    least = _USED_SHARE * sum(spent.values())
    used = {cpu for cpu, ns in spent.items() if ns > 0 and ns >= least}
    cpu = measures.service.cpu + sum(measures.interrupts.values())
    rows = [
        (CPU, cpu / n, max(1, len(used)), False),
        *((cpu, ns / n, 1, False) for cpu, ns in measures.cpus.items() if cpu not in used),
    ]
    taken = (CPU, *measures.cpus)
    for usage in sorted(measures.usages.values(), key=lambda usage: (usage.kind != "lock", usage.name)):
        if usage.kind in ("lock", "disk"):
            name = f"{usage.kind} {usage.name}" if usage.name in taken else usage.name
            rows.append((name, usage.busy_ns / n, 1, usage.kind == "lock"))
    rows = [row for row in rows if row[1] > 0]
    if not rows:
        raise RegattaError(
            "demands", "service times", "none in the trace", "record scheduling events, locks or disks"
        )
    names, demand, servers, shared = zip(*rows, strict=True)
    return Demands(names, np.array(demand, float), np.array(servers, float), shared)


def predict_throughput(demands: Demands, think_ns: float, customers: Sequence[int]) -> Floats:
    """Return the throughput of a closed network for numbers of clients.

    Args:
        demands: stations.
        think_ns: >= 0, time of a client from a response to its next request.
        customers: shape (c,), numbers >= 1 in any order.

    Returns:
        Shape (c,), transactions per second.

    Raises:
        RegattaError: an argument is out of its range.

    Source: Reiser and Lavenberg, Mean-value analysis of closed multichain queuing networks, Journal of the
    ACM 27 (1980).
    """
    count = np.asarray(customers)
    if count.ndim != 1 or not len(count) or np.any(count < 1) or np.any(count != np.floor(count)):
        raise RegattaError("customers", "whole numbers >= 1", str(customers), "give at least one client")
    _require_think(think_ns)
    if not np.any(demands.demands_ns > 0):
        return _SECOND_NS * count / think_ns if think_ns > 0 else np.full(len(count), np.inf)
    network = mean_value_analysis(demands.demands_ns, think_ns, int(count.max()), demands.servers)
    found: Floats = _SECOND_NS * network.throughput[count.astype(np.int64) - 1]
    return found


def throughput_bound(demands: Demands, think_ns: float, customers: int) -> float:
    """Return the largest possible throughput per second.

    Args:
        demands: stations.
        think_ns: >= 0, time of a client from a response to its next request.
        customers: N >= 1.

    Returns:
        min(min_k servers_k / D_k, N / (D + Z)). D is the sum of the demands without those of locks, or the
        demand of the busiest station per server if that is larger; infinity: no demand and no think time.

    Raises:
        RegattaError: an argument is out of its range.

    Source: Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984), section 5.2.
    """
    _require_think(think_ns)
    if customers < 1 or customers != int(customers):
        raise RegattaError("customers", "a whole number >= 1", str(customers), "give at least one client")
    busiest = float((demands.demands_ns / demands.servers).max(initial=0.0))
    own = sum(
        ns for ns, shared in zip(demands.demands_ns.tolist(), demands.shared, strict=True) if not shared
    )
    if busiest == 0:
        return _SECOND_NS * customers / think_ns if think_ns > 0 else float("inf")
    # Other stations only add a delay to the busiest one.
    bounds = bottleneck_bounds([busiest], think_ns + max(0.0, own - busiest), customers)
    return _SECOND_NS * float(bounds.throughput_high)


def concurrency(measures: Measures) -> int:
    """Return the mean number of transactions in the system, rounded to a whole number >= 1.

    Args:
        measures: of a trace with finished transactions.

    Raises:
        RegattaError: no transaction has finished.

    Source: Little, Operations Research 9 (1961).
    """
    if measures.response_ns is None:
        raise RegattaError(
            "concurrency", "finished transactions", "none", "mark where requests begin and end"
        )
    return max(1, round(float(little(measures.throughput / _SECOND_NS, measures.response_ns))))


def what_if(
    measures: Measures,
    changes: Mapping[str, float],
    customers: int | None = None,
    think_ns: float = 0.0,
    *,
    phases: Mapping[str, float] | None = None,
) -> WhatIf:
    """Return the throughput if demands were others.

    Args:
        measures: of a trace with finished transactions.
        changes: station of `demands_of` -> its new demand divided by the old one, >= 0.
        customers: clients, >= 1; None: `concurrency` of the measures.
        think_ns: >= 0, time of a client from a response to its next request.
        phases: phase of the serving threads -> its new CPU time divided by the old one, >= 0; a change of
            `cpu` applies to the rest of the CPU time as well.

    Raises:
        RegattaError: there is no such station or phase, or an argument is out of its range.
    """
    before = demands_of(measures)
    clients = concurrency(measures) if customers is None else customers
    _require("station", changes, before.names)
    _require("phase", phases or {}, measures.phases)
    demand = before.demands_ns.copy()
    if phases and CPU in before.names:
        saved = sum((1.0 - factor) * measures.phases[name].cpu for name, factor in phases.items())
        demand[before.names.index(CPU)] -= saved / measures.transactions
    for name, factor in changes.items():
        demand[before.names.index(name)] *= factor
    demand = np.maximum(demand, 0.0)
    after = Demands(before.names, demand, before.servers, before.shared)
    x, y = (float(predict_throughput(one, think_ns, [clients])[0]) for one in (before, after))
    return WhatIf(
        x, y, throughput_bound(before, think_ns, clients), throughput_bound(after, think_ns, clients)
    )


def _require(what: str, factors: Mapping[str, float], known: Collection[str]) -> None:
    for name, factor in factors.items():
        if name not in known:
            raise RegattaError(f"{what} {name}", f"one of {', '.join(known)}", name, "choose one of them")
        if not 0 <= factor < float("inf"):
            raise RegattaError(f"{what} {name}", "a factor >= 0", str(factor), "give a number such as 0.5")


def _require_think(think_ns: float) -> None:
    if not 0 <= think_ns < float("inf"):
        raise RegattaError("think_ns", "a time >= 0", str(think_ns), "give a number of ns")


def demand_metrics(measures: Measures) -> list[tuple[str, float, str, Mapping[str, str]]]:
    """Return the demands as metrics of a record, as `measures.metrics` does; none without demands.

    Args:
        measures: of a trace.
    """
    try:
        found = demands_of(measures)
    except RegattaError:
        return []
    return [
        (DEMAND, float(ns), "ns", {"station": name, "servers": f"{servers:g}", "shared": str(shared).lower()})
        for name, ns, servers, shared in zip(
            found.names, found.demands_ns, found.servers, found.shared, strict=True
        )
    ]
