"""Hosts that decide together: by their mean difference, the same for all, whoever was killed when."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.synthetic_journal import cell, record, write_journal, write_plan
from regatta.fleet.deciding import decide_together, mean_pair
from regatta.host.journal.decisions import read_decisions
from regatta.host.journal.stopping import Pair
from regatta.planner.stopping import t_quantiles
from regatta.store.folder import Folder

BASE = 1e6
LOOKS = [3, 6, 9, 12]
STEADY = {"method": "fixed", "iterations": 1, "warmup": 0, "window": 10, "threshold": 0.02}
#: of one host in per cent; the other one has the opposite
NOISE = [3.0, -2.0, 4.0, -4.0, 1.0, 2.0, -3.0, 3.0, -1.0, 2.0, -4.0, 4.0]

#: host -> collector -> value of each round
Values = Mapping[str, Mapping[str, Sequence[float]]]


def noisy(sign: float, shift: float = 0.0, rounds: int = 12) -> list[float]:
    return [BASE * math.exp((shift + sign * noise) / 100) for noise in NOISE[:rounds]]


def folder_of(path: Path, values: Values, platforms: Mapping[str, str] | None = None, **rule: Any) -> Folder:
    """Plans of several hosts, in which each collector is compared with the first, and records of some rounds."""
    for host, own in values.items():
        platform = (platforms or {}).get(host, "local")
        cells = [cell(collector, platform=platform) for collector in own]
        pairs = [[i, 0] for i in range(1, len(cells))] or [[0, None]]
        stopping = {
            "rule": "decide", "pilot": 3, "maximum": 12, "target_percent": 2.0, "level": 0.95,
            "compared": max(len(cells) - 1, math.comb(len(cells), 2), 1), "t": t_quantiles(0.99, 11),
            "steady": STEADY, "looks": LOOKS,
            "groups": [{"key": "the-group", "cells": list(range(len(cells))), "pairs": pairs}], **rule,
        }  # fmt: skip
        write_plan(path, cells, 12, host=host, stopping=stopping)
        records = [
            record(one, round_, [value], host=host, position=position)
            for position, (one, rounds) in enumerate(zip(cells, own.values(), strict=True))
            for round_, value in enumerate(rounds)
        ]
        write_journal(path, sorted(records, key=lambda one: (one["round"], one["position"])), host)
    return Folder(path)


def unclear(base: float) -> list[float]:
    """Values that are neither different nor equal to a base after few rounds."""
    return [base * (1.02 + noise / 100) for noise in NOISE]


def entry(folder: Folder, host: str) -> dict[str, Any]:
    (found,) = read_decisions(folder.decisions(host)).values()
    return found


def two(rounds: int = 12, shift: float = 0.0) -> dict[str, dict[str, list[float]]]:
    """Two hosts whose noise cancels but for a thousandth."""
    own = [value * (1 + 0.001 * (i % 3)) for i, value in enumerate(noisy(1, shift, rounds))]
    return {
        "one": {"serial": [BASE] * rounds, "g1": own},
        "two": {"serial": [2 * BASE] * rounds, "g1": [2 * value for value in noisy(-1, shift, rounds)]},
    }


def test_the_mean_over_hosts_decides_what_no_host_could(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "both", two(3))
    assert decide_together(folder, 0) == {host: {"the-group": 3} for host in ("one", "two")}
    for host in ("one", "two"):
        (pair,) = entry(folder, host)["pairs"]
        assert (pair["outcome"], pair["n"], pair["needed"]) == ("equivalent", 3, 3)
    for host, own in two(3).items():
        alone = folder_of(tmp_path / host, {host: own})
        assert decide_together(alone, 0) == {host: {"the-group": None}}
        assert entry(alone, host)["pairs"][0]["outcome"] is None


def test_each_host_counts_alike_however_much_it_varies(tmp_path: Path) -> None:
    values = two()
    values["two"]["g1"] = [BASE * 2 * 1.2 * math.exp(noise / 1000) for noise in NOISE]
    folder = folder_of(tmp_path, values)
    decide_together(folder, 3)
    (pair,) = entry(folder, "one")["pairs"]
    # Half of 18.2 % on logarithms: the mean of a host without a difference and of this one.
    assert pair["outcome"] == "greater"
    assert pair["half_width_percent"] < 15


@pytest.mark.parametrize("lost", ["one", "two"])
def test_a_kill_between_the_hosts_changes_no_answer(tmp_path: Path, lost: str) -> None:
    folder = folder_of(tmp_path, two(3))
    decide_together(folder, 0)
    made = {host: entry(folder, host) for host in ("one", "two")}
    folder.decisions(lost).unlink()
    # Rounds that say something else came later; the answer stays.
    folder_of(tmp_path, two(6, shift=40.0))
    for segment in (0, 1):
        assert decide_together(folder, segment) == {host: {"the-group": 3} for host in ("one", "two")}
    assert {host: entry(folder, host) for host in ("one", "two")} == made


def test_nothing_is_decided_before_all_hosts_have_the_rounds(tmp_path: Path) -> None:
    values = two(3)
    values["two"]["g1"].pop()
    folder = folder_of(tmp_path, values)
    assert decide_together(folder, 0) == {host: {"the-group": None} for host in ("one", "two")}
    assert not folder.decisions("one").exists()


def test_lost_decisions_are_made_again_in_their_order(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, two(12))
    assert decide_together(folder, 3)["one"] == {"the-group": 3}


@pytest.mark.parametrize("lacking", ["one", "two"])
def test_an_alternative_that_one_host_lacks_is_decided_by_the_others(tmp_path: Path, lacking: str) -> None:
    has = {"one": "two", "two": "one"}[lacking]
    factor = {"one": 1.0, "two": 2.0}
    values = {
        host: {"serial": own["serial"], "g1": unclear(BASE * factor[host])} for host, own in two().items()
    }
    values[has]["z"] = [BASE * factor[has] * 1.5 * math.exp(noise / 1000) for noise in NOISE[:3]]
    folder = folder_of(tmp_path, values)
    for segment in range(3):
        decide_together(folder, segment)
        assert [len(entry(folder, host)["pairs"]) for host in (lacking, has)] == [1, 2]
        # It has left where it was, and is told to nobody else.
        assert 3 in entry(folder, has)["cells"].values()
        assert 3 not in entry(folder, lacking)["cells"].values()
    (z,) = (pair for pair in entry(folder, has)["pairs"] if pair["needed"] == 3)
    assert (z["outcome"], z["n"]) == ("greater", 3)
    # Two comparisons share the error on the platform, also where a host has one.
    (g1,) = entry(folder, lacking)["pairs"]
    same = [pair for pair in entry(folder, has)["pairs"] if pair != z]
    assert [pair["half_width_percent"] for pair in same] == [g1["half_width_percent"]]


def test_an_alternative_that_is_alone_is_compared_with_nothing(tmp_path: Path) -> None:
    values = {host: {"g1": noisy(1)} for host in ("one", "two")}
    folder = folder_of(tmp_path, values)
    assert decide_together(folder, 3) == {host: {"the-group": 10} for host in values}


def test_a_host_that_was_left_out_counts_no_more(tmp_path: Path) -> None:
    values = two(6)
    values["three"] = {name: own[:1] for name, own in values["one"].items()}
    folder = folder_of(tmp_path, values)
    assert decide_together(folder, 0)["one"] == {"the-group": None}
    folder.experiment.write_text(json.dumps({"left_out": {"three": "no route"}}))
    assert decide_together(folder, 0) == {host: {"the-group": 3} for host in ("one", "two")}
    assert not folder.decisions("three").exists()


def test_groups_are_joined_in_any_order_of_the_hosts(tmp_path: Path) -> None:
    close, base = unclear(BASE), [BASE] * 12
    values = {
        "one": {"serial": base, "g1": close},
        "two": {"parallel": base, "z": close},
        "three": {"serial": base, "g1": close, "parallel": base, "z": close},
    }
    folder = folder_of(tmp_path, values)
    decide_together(folder, 0)
    assert {entry(folder, host)["seen"] for host in values} == {3}
    assert len(entry(folder, "three")["pairs"]) == 3


def test_platforms_are_never_pooled(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, two(3), {"two": "another"})
    assert decide_together(folder, 0) == {host: {"the-group": None} for host in ("one", "two")}


def test_a_loser_leaves_on_all_hosts_and_the_others_go_on(tmp_path: Path) -> None:
    values = two(6)
    for host, factor in (("one", 1.0), ("two", 2.0)):
        own = [BASE * factor * 1.5 * math.exp(noise / 1000) for noise in NOISE[:3]]
        values[host] = {
            "serial": values[host]["serial"],
            "z": own,
            "g1": unclear(BASE * factor)[:6],
        }
    folder = folder_of(tmp_path, values)
    for segment in (0, 1):
        assert decide_together(folder, segment)["one"] == {"the-group": None}
    for host in values:
        left = entry(folder, host)["cells"]
        assert list(left.values()) == [3]
        assert set(left) <= set(entry(folder, host)["cell_ids"])


def test_the_budget_is_that_of_the_slowest_host(tmp_path: Path) -> None:
    values = {
        host: {"serial": own["serial"], "g1": unclear(own["serial"][0])[:6]} for host, own in two(6).items()
    }
    # A record says that it took a millisecond, and a thousandth of one before it.
    assert decide_together(folder_of(tmp_path / "long", values, budget_s=60.0), 1)["one"] == {
        "the-group": None
    }
    assert decide_together(folder_of(tmp_path / "short", values, budget_s=0.01), 1)["one"] == {"the-group": 3}


def test_a_mean_comparison_has_the_rounds_of_all_hosts() -> None:
    one = Pair("a", "b", "", [1.0, 2.0, 3.0], "", [0, 1, 3], counted=True)
    two = Pair("a", "b", "", [5.0, 6.0, 7.0], "", [1, 2, 3])
    found = mean_pair([one, two])
    assert (found.rounds, found.differences, found.counted) == ([1, 3], [3.5, 5.0], False)
    excluded = replace(two, differences=[], rounds=[], problem="no valid invocation")
    assert mean_pair([excluded, one]).differences == one.differences
    assert mean_pair([excluded, excluded]).problem == excluded.problem
