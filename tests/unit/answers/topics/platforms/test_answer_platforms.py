"""Hosts of two platforms: comparisons inside a host, together over the hosts of one platform, and never further."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from helpers.fleet_experiment import HOSTS as ALL_HOSTS
from helpers.fleet_experiment import Fleet, write_fleet
from helpers.golden import Golden
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import COLUMNS, document_of, rows_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.effects.topic import EFFECTS
from regatta.answers.topics.hosts.topic import HOSTS

SMALL = {"programs": ("apps/h2:small",), "collectors": ("serial", "g1", "z"), "rounds": 8}


def told(answer: Answer, beginning: str) -> list[str]:
    return [sentence for sentence in answer.headline if sentence.startswith(beginning)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return answer_experiment(write_fleet(tmp_path_factory.mktemp("fleet") / "made-up", Fleet(**SMALL)))


def test_each_platform_is_answered_by_itself_and_emulated_ones_are_named(
    whole: Answer, golden: Golden
) -> None:
    arm, x86 = told(whole, "arm (1 host, emulated), "), told(whole, "x86 (2 hosts), ")
    assert len(arm) + len(x86) == len(whole.headline)
    golden("one-host-of-a-platform", arm[0])
    golden("two-hosts-of-a-platform", x86[0])
    assert arm[1].startswith("arm (1 host, emulated), lat_syscall: ")
    assert x86[1].startswith("x86 (2 hosts), lat_syscall: elapsed 64")
    assert "(ryzen) to 80" in x86[1]
    words = whole.findings["hosts"]
    assert words[0].startswith("2 platforms, analyzed separately")
    assert any(one.startswith("graviton: emulated; ") for one in words)
    assert any(one.startswith("ryzen: virtual machine; ") for one in words)


def test_no_number_rests_on_hosts_of_two_platforms(whole: Answer) -> None:
    over = HOSTS.of(whole)
    platforms = {host: platform for host, (platform, _) in ALL_HOSTS.items()}
    made = [(one.place.platform, one.hosts) for one in over.comparisons]
    for platform, hosts in [*made, *((one.place.platform, one.hosts) for one in over.leaders)]:
        assert {platforms[host] for host in hosts} == {platform}
    # On arm no second factor varies.
    assert {one.platform for one in EFFECTS.of(whole).tables} == {"x86"}
    assert dict(EFFECTS.of(whole).tables[0].factors)["host"] == ("ryzen", "xeon")
    assert all(words.startswith("x86, ") for table in EFFECTS.of(whole).tables for words in table.words)
    assert all(one.words.startswith(("x86 (2 hosts), ", "arm (1 host")) for one in over.comparisons)


def test_what_one_host_of_a_platform_says_is_said_of_the_platform_unchanged(whole: Answer) -> None:
    alone = next(one for one in HOSTS.of(whole).comparisons if one.place.platform == "arm")
    own = next(one for one in whole.comparisons if one.place.host == "graviton")
    assert (alone.ratio, alone.p) == (own.ratio, own.p)
    leader = next(one for one in HOSTS.of(whole).leaders if one.place.platform == "arm")
    assert leader.pairs == next(one for one in whole.families if one.place.host == "graviton").pairs
    assert leader.winner == "g1"


def test_documents_and_rows_name_the_platform(whole: Answer) -> None:
    document = json.loads(json.dumps(document_of(whole), allow_nan=False))
    assert [one["name"] for one in document["over_hosts"]["platforms"]] == ["arm", "x86"]
    rows = list(rows_of(whole))
    assert {row["platform"] for row in rows if row["kind"] == "hosts"} == {"arm", "x86"}
    assert all(set(row) <= set(COLUMNS) for row in rows)


def test_the_host_that_differs_from_its_platform_is_named(tmp_path: Path, golden: Golden) -> None:
    fleet = Fleet(**SMALL, hosts={**ALL_HOSTS, "epyc": ("x86", 0.9)}, odd={"ryzen": {"g1": 1.12}})
    answer = answer_experiment(write_fleet(tmp_path / "made-up", fleet))
    g1 = next(one for one in HOSTS.of(answer).comparisons if one.place.platform == "x86")
    assert g1.differing == ("ryzen",)
    assert g1.verdict.practical == "open"
    golden("host-that-differs", g1.words)
    (leader,) = [one for one in answer.headline if "x86" in one and "h2" in one]
    assert leader.endswith(" on ryzen") or " on ryzen, " in leader


def test_two_hosts_that_disagree_are_both_told(tmp_path: Path, golden: Golden) -> None:
    fleet = Fleet(**SMALL, odd={"ryzen": {"g1": 1.12}})
    answer = answer_experiment(write_fleet(tmp_path / "made-up", fleet))
    g1 = next(one for one in HOSTS.of(answer).comparisons if one.place.platform == "x86")
    assert g1.differing == ()
    golden("hosts-that-disagree", g1.words)
    leader = next(one for one in HOSTS.of(answer).leaders if one.place.platform == "x86")
    golden("winners-of-hosts-that-disagree", leader.words)


def test_a_host_without_records_and_one_with_fewer_rounds_are_told_and_the_rest_is_answered(
    tmp_path: Path,
    golden: Golden,
) -> None:
    fleet = Fleet(**SMALL, recorded={"ryzen": 3, "graviton": 0})
    answer = answer_experiment(write_fleet(tmp_path / "made-up", fleet))
    (not_measured,) = told(answer, "arm")
    golden("platform-without-records", not_measured)
    (leader, *_) = told(answer, "x86 (2 hosts), h2")
    golden("host-with-fewer-rounds", leader)
    assert "no records yet: graviton" in answer.warnings
    assert any("ryzen 3, others up to 8" in warning for warning in answer.warnings)
    json.dumps(document_of(answer), allow_nan=False)


def test_a_host_with_a_single_round_takes_no_part_and_the_others_keep_their_blocks(
    tmp_path: Path, golden: Golden
) -> None:
    answer = answer_experiment(write_fleet(tmp_path / "made-up", Fleet(**SMALL, recorded={"ryzen": 1})))
    g1 = next(one for one in HOSTS.of(answer).comparisons if one.place.platform == "x86")
    assert g1.hosts == ("xeon",)
    golden("host-with-a-single-round", g1.words)
    own = next(one for one in answer.comparisons if one.place.host == "xeon")
    assert (g1.ratio.low, g1.ratio.high) == pytest.approx((own.ratio.low, own.ratio.high), rel=1e-9)


def test_hosts_that_were_left_out_and_what_a_platform_lacks_are_told_with_their_reasons(
    tmp_path: Path,
    golden: Golden,
) -> None:
    fleet = Fleet(**SMALL, left_out={"ryzen": "unreachable: no route\nto host"}, lacking={"arm": ["z"]})
    answer = answer_experiment(write_fleet(tmp_path / "made-up", fleet))
    golden("excluded-host", "\n".join(answer.warnings))
    assert not any("no records yet" in warning for warning in answer.warnings)
    (leader, *_) = told(answer, "x86 (1 of 2 hosts: xeon), h2")
    golden("leader-without-the-excluded-host", leader)
    ((_, reason),) = answer.impossible
    assert any(f"{reason} (1 cell)" in one for one in answer.findings["coverage"])
    golden("platform-that-lacks-a-collector", reason)
    z = [one for one in HOSTS.of(answer).comparisons if one.a_name.endswith(" z")]
    assert [one.place.platform for one in z] == ["x86"]


def test_hosts_left_out_before_planning_are_told_too(tmp_path: Path) -> None:
    folder = write_fleet(tmp_path / "made-up", Fleet(**SMALL))
    facts = json.loads((folder / "plan" / "experiment.json").read_text())
    facts["left_out"] = {"pi": "it has no Python"}
    (folder / "plan" / "experiment.json").write_text(json.dumps(facts))
    (warning,) = (one for one in answer_experiment(folder).warnings if facts["left_out"]["pi"] in one)
    assert warning.startswith("pi excluded: ")


def test_random_hosts_speak_of_hosts_like_these_and_one_host_of_nobody_else(
    tmp_path: Path, golden: Golden
) -> None:
    folder = write_fleet(tmp_path / "made-up", Fleet(**SMALL))
    arm, _, x86, _ = HOSTS.of(answer_experiment(folder, random_hosts=True)).comparisons
    golden("random-hosts", x86.words)
    assert math.isnan(arm.ratio.low)
    golden("one-random-host", arm.words)
