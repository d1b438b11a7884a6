"""Cost of reducing the iterations of each invocation to one number, through the loader of the product."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
from experiments import Unfit
from rows import Row
from turns import row_beside, take_turns

from regatta.store.tables import CELLS, INVOCATIONS, UNPLANNED_CELLS

ITERATIONS, OF_AN_INVOCATION, WARMUP = 10**7, 200, 50
#: cells, five per block
MEASURED_CELLS = 1000
MIB = 1 << 20

#: Run each contender in a separate process for separate memory. Print seconds and peak KiB:
#: of this program only, unlike ru_maxrss after a fork of a large parent.
_OURS = """\
import json, sys, time
import duckdb
from regatta.answers.spine.samples import load_samples
from regatta.host.values.experiment import SteadyState
from regatta.store import database
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    connection.execute(database._LAST_ATTEMPTS)
    start = time.perf_counter()
    samples = load_samples(connection, SteadyState("fixed", 0, int(sys.argv[2])))
    elapsed = time.perf_counter() - start
assert sum(len(many[0].samples) for many in samples.series.values()) == int(sys.argv[3])
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([elapsed, int(peak)]))
"""
_PYARROW = """\
import json, sys, time
import pyarrow.compute as pc, pyarrow.parquet as pq
start = time.perf_counter()
table = pq.read_table(sys.argv[1], columns=["record", "iteration", "value"])
table = table.filter(pc.greater_equal(table["iteration"], int(sys.argv[2])))
means = table.group_by("record").aggregate([("value", "mean")])
elapsed = time.perf_counter() - start
assert means.num_rows == int(sys.argv[3])
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([elapsed, int(peak)]))
"""


def _write(place: Path, iterations: int) -> int:
    """Write an experiment's database, its rows as Parquet, and plain columns for R; return the number of invocations."""
    invocations = iterations // OF_AN_INVOCATION
    with duckdb.connect(str(place / "iterations.duckdb")) as connection:
        connection.register("no_invocations", INVOCATIONS.empty_table())
        connection.register("no_cells", CELLS.empty_table())
        connection.execute("create table invocations as from no_invocations")
        connection.execute("create table cells as from no_cells")
        connection.register("no_unplanned_cells", UNPLANNED_CELLS.empty_table())
        connection.execute("create table unplanned_cells as from no_unplanned_cells")
        connection.execute(
            f"""
            insert into cells by name
            select 'local' as host, 'local' as platform, 'plan' as plan_id, c as place, 'c' || c as cell_id, '' as twin_of,
                   '' as label, 'suite/b' || (c // 5) as benchmark, 'jdk' as runtime, 'gc' || (c % 5) as collector,
                   'none' as modifiers, 2.0 as heap_factor, 64 as heap_mib, 'elapsed' as metric, 'lower' as better,
                   {invocations // MEASURED_CELLS} as planned, 0 as discarded_rounds
            from range({MEASURED_CELLS}) t(c)
            """
        )
        connection.execute(
            f"""
            insert into invocations by name
            select r as record, 'i' || r as invocation_id, 0 as attempt, 'c' || (r % {MEASURED_CELLS}) as cell_id,
                   'local' as host, 'plan' as plan_id, 'randomized-blocks' as "order", r // {MEASURED_CELLS} as round,
                   (r % {MEASURED_CELLS}) // 5 as block, r % 5 as position, r * 1000000000 as started_utc_ns,
                   900000000 as elapsed_ns, 'ok' as status
            from range({invocations}) t(r)
            """
        )
        connection.execute(
            f"""
            create table iterations as
            select i // {OF_AN_INVOCATION} as record, i % {OF_AN_INVOCATION} as iteration, 'elapsed' as metric,
                   4e6 + hash(i) % 1000000 as value, 'ns' as unit, null::bigint as operations, null::varchar as parameters
            from range({iterations}) t(i) order by i
            """
        )
        connection.execute(f"copy iterations to '{place}/iterations.parquet' (compression zstd)")
        columns = connection.execute("select record::int, iteration::int, value from iterations").fetchnumpy()
    for name, column in zip(("record.i32", "iteration.i32", "iterations.f64"), columns.values(), strict=True):
        column.tofile(place / name)
    return invocations


def measure_reducing(
    place: Path, quick: bool, no_r: str, ask_r: Callable[[Path, str, int], list[str]]
) -> list[Row]:
    """Measure time and memory.

    Args:
        place: an empty folder on a disk.
        quick: use a tenth of the iterations.
        no_r: why R cannot be used; "" if it can.
        ask_r: runs a task of peers.R.
    """
    iterations = ITERATIONS // (10 if quick else 1)
    invocations = _write(place, iterations)
    peaks: dict[str, list[float]] = {}

    def process(name: str, program: str, file: str) -> Callable[[], float]:
        def run() -> float:
            done = subprocess.run(
                [sys.executable, "-c", program, place / file, str(WARMUP), str(invocations)],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                raise Unfit(f"{name}: exit code {done.returncode}\n{done.stderr}")
            elapsed, peak_kib = json.loads(done.stdout)
            peaks.setdefault(name, []).append(peak_kib * 1024 / MIB)
            return float(elapsed)

        return run

    def of_r() -> float:
        elapsed, peak_kib = ask_r(place, "iterations", WARMUP)
        peaks.setdefault(r, []).append(float(peak_kib) * 1024 / MIB)
        return float(elapsed)

    arrow, r = "pyarrow, means only", "R: data.table or rowsum, plain columns"
    contenders = {
        "ours": process("ours", _OURS, "iterations.duckdb"),
        arrow: process(arrow, _PYARROW, "iterations.parquet"),
    }
    if not no_r:
        contenders[r] = of_r
    found = take_turns(contenders, 1 if quick else 5)
    what = f"{iterations // 10**6} million iterations to {invocations} samples"
    return [
        row_beside(f"{what}: time", "s", found, r, 5.0, no_r),
        row_beside(f"{what}: time", "s", found, arrow, None),
        row_beside(f"{what}: memory", "MiB", peaks, r, 1e9 / MIB, no_r, ahead=False),
        row_beside(f"{what}: memory", "MiB", peaks, arrow, None),
    ]
