"""Runtimes, heaps, benchmarks, parameters and crossings on several hosts: leaders of a platform, tests and sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.fleet_experiment import HOSTS as ALL_HOSTS
from helpers.fleet_experiment import Fleet, write_fleet
from helpers.golden import Golden
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.hosts.result import PlatformFamily
from regatta.answers.topics.hosts.topic import HOSTS
from regatta.stats.estimate import safe_exp
from regatta.stats.hosts import paired_effect, pool_pair

HEAPS = {1.5: 48, 2.0: 64, 4.0: 128}
THREADS = (1, 2, 8)
RUNTIMES = ("jdk-21", "jdk-25", "openj9-21")


def fleet(path: Path, **changes: Any) -> Answer:
    given = {
        "programs": ("apps/h2:small",),
        "collectors": ("serial", "g1"),
        "rounds": 6,
        "baseline": {},
        **changes,
    }
    return answer_experiment(write_fleet(path / "made-up", Fleet(**given)))


def leaders(answer: Answer, factor: str, platform: str = "x86") -> list[PlatformFamily]:
    return [one for one in HOSTS.of(answer).leaders if (one.factor, one.place.platform) == (factor, platform)]


def logs(answer: Answer, host: str, benchmark: str) -> list[float]:
    (series,) = [one for one in answer.cells if (one.place.host, one.place.benchmark) == (host, benchmark)]
    return [math.log(sample.value) for sample in series.samples]


def test_the_pairs_of_the_values_of_a_parameter_are_pooled_over_the_hosts(tmp_path: Path) -> None:
    answer = fleet(tmp_path, threads=THREADS, compare=("parameters.threads",))
    syscall, pipe = leaders(answer, "parameters.threads")
    assert (syscall.place.benchmark, pipe.place.benchmark) == (
        "lm/lat_syscall:default",
        "lm/lat_pipe:default",
    )
    assert (syscall.place.host, syscall.hosts) == ("", ("ryzen", "xeon"))
    assert (syscall.names, syscall.winner) == (("threads=1", "threads=2", "threads=8"), "threads=8")
    pair = next(one for one in syscall.pairs if (one.a_name, one.b_name) == ("threads=1", "threads=8"))
    effects = []
    for host in syscall.hosts:
        a, b = (logs(answer, host, f"lm/lat_syscall:default threads={n}") for n in (1, 8))
        effects.append(paired_effect([x - y for x, y in zip(a, b, strict=True)]))
    expected = pool_pair(effects, 3).contrast
    assert pair.p == expected.p
    assert pair.ratio == expected.interval.mapped(safe_exp)


def test_heaps_are_ranked_within_each_collector_and_all_combinations_are_one_test(tmp_path: Path) -> None:
    answer = fleet(tmp_path, heaps=HEAPS, compare=("heap", "collector"))
    found = leaders(answer, "heap")
    assert [(one.place.collector, one.place.heap.factor, one.winner) for one in found] == [
        ("serial", None, "4x"), ("g1", None, "4x"),
    ]  # fmt: skip
    assert [(one.place.heap.factor, one.winner) for one in leaders(answer, "collector")] == [
        (1.5, "g1"), (2.0, "g1"), (4.0, "g1"),
    ]  # fmt: skip
    (test,) = HOSTS.of(answer).families
    assert (test.place.benchmark, test.place.heap.factor, test.interaction.df_interaction) == (
        "apps/h2:small",
        None,
        5,
    )
    assert test.names[:3] == ("jdk-21 serial 1.5x", "jdk-21 g1 1.5x", "jdk-21 serial 2x")


def test_the_test_of_the_hosts_covers_the_values_of_a_parameter_at_one_place(
    tmp_path: Path, golden: Golden
) -> None:
    answer = fleet(
        tmp_path, threads=THREADS, compare=("parameters.threads",), odd={"ryzen": {"threads=8": 2.0}}
    )
    syscall, pipe = HOSTS.of(answer).families
    assert (syscall.place.benchmark, pipe.place.benchmark) == (
        "lm/lat_syscall:default",
        "lm/lat_pipe:default",
    )
    assert syscall.names == ("native threads=1", "native threads=2", "native threads=8")
    assert syscall.interaction.df_interaction == 2
    assert syscall.interaction.p < 0.001
    leader, _ = leaders(answer, "parameters.threads")
    assert leader.interaction == syscall.interaction
    golden("winner-of-each-host", leader.words)


def test_three_runtimes_are_ranked_but_two_are_not(tmp_path: Path) -> None:
    three = fleet(tmp_path / "three", runtimes=RUNTIMES)
    assert [(one.place.runtime, one.place.collector) for one in leaders(three, "runtime")] == [
        ("", "serial"), ("", "g1"),
    ]  # fmt: skip
    assert {one.winner for one in leaders(three, "runtime")} == {"jdk-25"}
    assert leaders(fleet(tmp_path / "two", runtimes=RUNTIMES[:2]), "runtime") == []


def test_a_platform_without_values_says_which_levels_it_cannot_compare(
    tmp_path: Path, golden: Golden
) -> None:
    answer = fleet(tmp_path, heaps=HEAPS, compare=("heap",), recorded={"ryzen": 0, "xeon": 0})
    serial, _ = leaders(answer, "heap")
    assert (serial.hosts, serial.pairs, serial.winner) == ((), (), "")
    golden("heaps-without-valid-invocations", serial.interaction.reason)


def test_documents_and_tables_name_the_factor(tmp_path: Path) -> None:
    answer = fleet(tmp_path, runtimes=RUNTIMES[:2], compare=("runtime*collector",))
    document = json.loads(json.dumps(document_of(answer), allow_nan=False))["over_hosts"]
    crossing = next(one for one in document["leaders"] if one["factor"] == "runtime*collector")
    assert (crossing["runtime"], crossing["collector"], crossing["heap_factor"]) == ("", "", 2.0)
    assert crossing["winner"] == "jdk-25 g1"
    assert {tuple(one["factors"]) for one in document["comparisons"]} == {("collector",), ("runtime",)}
    _, *tables = HOSTS.tables_of(View(answer))
    assert [table.columns[-2] for table in tables] == ["host × collector", "host × runtime × collector"]
    assert [len(table.rows) for table in tables] == [4, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"threads": THREADS, "compare": ("parameters.threads",)},
        {"threads": THREADS, "baseline": {"parameters.threads": "2"}},
        {"heaps": HEAPS, "compare": ("heap",)},
        {"heaps": {1.5: 48, 2.0: 64}, "compare": ("heap",)},
        {"runtimes": RUNTIMES},
        {"runtimes": RUNTIMES, "collectors": ("g1",)},
        {"runtimes": RUNTIMES[:2], "compare": ("runtime*collector",)},
        {"programs": ("apps/h2:small", "apps/ecj:small", "apps/fop:small"), "compare": ("benchmark",)},
    ],
)
def test_a_platform_of_one_host_says_what_that_host_alone_says(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    def sentences(hosts: Sequence[str]) -> list[str]:
        answer = fleet(tmp_path / str(len(hosts)), hosts={name: ALL_HOSTS[name] for name in hosts}, **changes)
        title = "arm (1 host, emulated), "
        return [
            one.removeprefix(title).replace(", graviton", "")
            for one in answer.headline
            if len(hosts) == 1 or one.startswith(title)
        ]

    assert sentences(["graviton", "xeon"]) == sentences(["graviton"])
