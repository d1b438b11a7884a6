"""Programs that mark their iterations: in C with the header, in Java with the harness, in Python by hand."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.counting import skip_without_counters
from helpers.runner_plans import Runner, cell, python
from helpers.workloads.java_runs import Programs, jvm
from regatta.host.values.counters import INFO

PROBES = Path(__file__).parents[2] / "benchmarks" / "probes"
ASKED = {"names": ["page-faults", "context-switches", "task-clock"], "raw": {}}
REGATTA = {"name": "regatta", "options": {}}
#: reports an iteration of 1,000 operations, which touch 1,000 pages, and touches as many pages before and after each
PROGRAM = r"""
#define _DEFAULT_SOURCE
#include "regatta_counters.h"
#include <sys/mman.h>

static void touch(void) {
    char *pages = mmap(NULL, 1000 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(pages, 1000 * 4096, MADV_NOHUGEPAGE);
    for (int i = 0; i < 1000; i++)
        pages[i * 4096] = 1;
    munmap(pages, 1000 * 4096);
}

int main(void) {
    FILE *results = fopen(getenv("REGATTA_RESULTS"), "w");
    for (int i = 0; i < 3; i++) {
        touch();
        if (regatta_border("begin", i) != 0)
            return 2;
        touch();
        if (regatta_border("end", i) != 0)
            return 3;
        touch();
        fprintf(results,
                "{\"iteration\": %d, \"metric\": \"elapsed\", \"value\": 1, \"unit\": \"ns\", \"operations\": 1000}\n",
                i);
    }
    return fclose(results);
}
"""
BY_HAND = """
import os
path = os.environ["REGATTA_COUNTERS"]
ask, answer = open(path + ".ask", "w", buffering=1), open(path + ".answer", "rb", buffering=0)
def border(request):
    ask.write(request + "\\n")
    answer.read(1)
"""


@pytest.fixture(autouse=True)
def _counting() -> None:
    skip_without_counters()


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path / "hand")
    yield runner
    runner.assert_nothing_left()


def values(record: Any, metric: str) -> list[float]:
    assert record["status"] == "ok", record["reason"]
    return [row[2] for row in record["iterations"] if row[1] == metric]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="NOT TESTED: no gcc")
def test_each_iteration_of_a_program_in_c_has_its_counts_and_those_of_an_operation(
    runner: Runner, tmp_path: Path
) -> None:
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    command = [
        "gcc",
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{PROBES}",
        "-o",
        str(program),
        str(source),
    ]
    subprocess.run(command, check=True)
    counted, plain = runner.measure(
        cell("counted", [str(program)], counters=ASKED, adapter=REGATTA),
        cell("plain", [str(program)], adapter=REGATTA),
    )
    assert values(plain, "elapsed") == [1, 1, 1]
    faults = values(counted, "counter_iteration_page_faults")
    assert len(faults) == 3
    assert all(1000 <= found <= 1010 for found in faults)
    assert values(counted, "counter_operation_page_faults") == [found / 1000 for found in faults]
    assert 9000 <= values(counted, "counter_page_faults")[0] < 10_000
    assert {row[0] for row in counted["iterations"] if "iteration_" in row[1]} == {0, 1, 2}
    assert counted["info"][INFO]["missing"] == {}


def test_each_iteration_of_the_java_harness_has_its_counts(runner: Runner, programs: Programs) -> None:
    command = programs.command("vm/compress", "command", size=2, iterations=4, data_seed=1)
    argv = [jvm("21"), *command]
    argv[0] = shutil.which(argv[0]) or argv[0]
    record = runner.one(cell("java", argv, counters=ASKED, adapter=REGATTA))
    clocks = values(record, "counter_iteration_task_clock")
    processor = values(record, "cpu")
    assert len(clocks) == len(processor) == 4
    # Of the whole process, as the harness has it from the JVM, which reads it in ticks of 10 ms.
    for clock, cpu in zip(clocks, processor, strict=True):
        assert abs(clock - cpu) <= 0.5 * cpu + 20e6
    assert sum(clocks) < values(record, "counter_task_clock")[0]


def test_a_request_that_is_none_is_told_and_the_program_goes_on(runner: Runner) -> None:
    asks = (
        BY_HAND
        + "border('begin 0')\nborder('end 0')\nborder('end 7')\nborder('rm -rf /')\nborder('begin 1')\n"
    )
    record = runner.one(python("asks", asks, counters=ASKED))
    assert len(values(record, "counter_iteration_page_faults")) == 1
    missing = record["info"][INFO]["missing"]
    assert list(missing) == ["iterations"]
    assert "end 7" in missing["iterations"]


def test_a_program_that_floods_the_runner_with_requests_ends_as_it_would(runner: Runner) -> None:
    flood = (
        BY_HAND + "for i in range(30_000): ask.write(f'begin {i}\\nend {i}\\n')\nask.write('x' * 100_000)\n"
    )
    record = runner.one(python("flood", flood, counters=ASKED))
    assert record["status"] == "ok", record["reason"]
    assert len(values(record, "counter_page_faults")) == 1
