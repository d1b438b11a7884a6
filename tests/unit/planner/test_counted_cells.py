"""What of counters is in a cell, in its identity and in the plan."""

from __future__ import annotations

from dataclasses import replace

from helpers.specs.made_experiments import java_benchmark
from regatta.host.values.counters import Counted
from regatta.host.values.experiment import Experiment
from regatta.host.values.resolved import ResolvedHost
from regatta.planner.cells import cross

MINHEAPS = {("s/x:small", "a"): 20, ("s/x:small", "b"): 20}


def test_counters_are_part_of_the_identity_and_without_them_nothing_changes(
    experiment: Experiment, host: ResolvedHost
) -> None:
    experiment = replace(experiment, benchmarks=(java_benchmark("x"),))
    plain = cross(experiment, host, MINHEAPS).cells
    counted = cross(replace(experiment, counters=Counted(("cycles",))), host, MINHEAPS).cells
    assert all("counters" not in cell.to_json(1.0, 1) for cell in plain)
    assert not {cell.cell_id for cell in plain} & {cell.cell_id for cell in counted}
    assert counted[0].to_json(1.0, 1)["counters"] == {"names": ["cycles"], "raw": {}}
    names = ("cycles", "energy")
    one, other = (
        cross(replace(experiment, counters=Counted(order)), host, MINHEAPS).cells
        for order in (names, tuple(reversed(names)))
    )
    assert [cell.cell_id for cell in one] == [cell.cell_id for cell in other]
