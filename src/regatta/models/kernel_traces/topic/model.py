"""Predict the throughput for other numbers of clients from the demands of a traced cell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from regatta.host.values.benchmark_label import benchmark_label, parts_of_label
from regatta.models.kernel_traces.demands import predict_throughput, throughput_bound
from regatta.models.kernel_traces.topic.result import Prediction, TracedCell
from regatta.stats.estimate import undefined

#: parameters of benchmarks that are numbers of clients in a closed loop
_CLIENTS = ("connections", "clients")


def predictions(cells: Sequence[TracedCell]) -> tuple[Prediction, ...]:
    """Return predictions for cells that differ in the number of clients only, from the one with the most clients.

    Args:
        cells: traced cells.
    """
    groups: dict[object, list[tuple[int, TracedCell]]] = defaultdict(list)
    for cell in cells:
        for name in _CLIENTS:
            text = cell.settings.get(name, "")
            if text.isdigit() and int(text) > 0:
                label = parts_of_label(cell.place.benchmark)
                others = {key: value for key, value in label.chosen.items() if key != name}
                same = benchmark_label(label.suite, label.name, label.size, others)
                groups[replace(cell.place, benchmark=same)].append((int(text), cell))
                break
    return tuple(one for group in groups.values() for one in _group(sorted(group, key=lambda one: one[0])))


def _group(cells: Sequence[tuple[int, TracedCell]]) -> Iterator[Prediction]:
    _, source = cells[-1]
    demands = source.demands
    if len(cells) < 2 or demands is None:
        return
    found = predict_throughput(demands, 0.0, [clients for clients, _ in cells])
    for (clients, cell), predicted in zip(cells, found.tolist(), strict=True):
        bound = throughput_bound(demands, 0.0, clients)
        # Other metrics are no throughputs.
        untraced = (
            cell.untraced
            if cell.metric == "throughput"
            else undefined(0, cell.rate.level, "t", "not reported")
        )
        yield Prediction(cell.name, source.name, clients, predicted, bound, cell.rate, untraced)
