"""The SPEC-like suite: its inputs are what the seed says, and its commands give what the suite expects."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.workloads.speclike_runs import (
    ROOT,
    SUITE,
    Builds,
    builds_of,
    execute,
    fill,
    generate,
    inputs_of,
    needs,
    programs_of,
    sha256,
)

REPORT = ROOT / "benchmarks/spec/perl/report.pl"
STUDY = ROOT / "benchmarks/spec/python/study.py"


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    return Builds(tmp_path_factory.mktemp("builds"))


# ---- the suite as it is written ----


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs(*programs_of(b))) for name, b in SUITE["benchmarks"].items()]
)
def test_the_suites_command_gives_the_expected_digests(name: str, builds: Builds, tmp_path: Path) -> None:
    benchmark: dict[str, Any] = SUITE["benchmarks"][name]
    size = benchmark["sizes"]["test"]
    values = builds.values(benchmark, "test", tmp_path)
    made = {kind: sha256(Path(values[f"input.{kind}"]).read_bytes()) for kind in inputs_of(benchmark)}
    assert size["expect"].get("inputs", {}) == made
    work = tmp_path / "work"
    work.mkdir()
    for file_name, source in benchmark.get("arrange", {}).items():
        shutil.copyfile(fill([source], values)[0], work / file_name)

    results = tmp_path / "results.jsonl"
    stdout = execute(fill(benchmark["command"], values), work, REGATTA_RESULTS=str(results))
    found = {"stdout_sha256": sha256(stdout), "inputs": made}
    if "check" in benchmark:
        found["check_sha256"] = sha256(execute(fill(benchmark["check"]["command"], values), work))
    assert size["expect"].items() <= found.items()
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [line["parameters"] for line in lines if line.get("metric") == "elapsed"] == [{"copies": 1}]


def test_every_size_expects_an_output_and_its_inputs_and_is_more_work_than_the_one_before() -> None:
    for benchmark in SUITE["benchmarks"].values():
        sizes = benchmark["sizes"]
        assert list(sizes) == ["test", "train", "ref"]
        for size in sizes.values():
            outputs = {key for key in size["expect"] if key != "inputs"}
            assert outputs == ({"check_sha256"} if "check" in benchmark else {"stdout_sha256"})
            assert sorted(size["expect"].get("inputs", {})) == inputs_of(benchmark)
            digests = [*map(size["expect"].get, outputs), *size["expect"].get("inputs", {}).values()]
            assert all(re.fullmatch(r"[0-9a-f]{64}", digest) and set(digest) != {"0"} for digest in digests)
        own = [size["parameters"] for size in sizes.values()]
        assert [p["passes"] for p in own] == sorted(p["passes"] for p in own)
        assert len({json.dumps(p) for p in own}) == 3


def test_every_benchmark_runs_as_one_copy_or_as_many() -> None:
    for benchmark in SUITE["benchmarks"].values():
        assert "copies" in builds_of(benchmark)
        assert benchmark["command"][:8] == [
            "{copies.copies}", "--copies", "{copies}", "--passes", "{passes}", "--placement", "{placement}", "--",
        ]  # fmt: skip
        if "check" in benchmark:
            assert benchmark["check"]["command"][:5] == [
                "{copies.copies}", "--check", "--copies", "{copies}", "--",
            ]  # fmt: skip
        for size in benchmark["sizes"].values():
            assert (size["parameters"]["copies"], size["parameters"]["placement"]) == (1, "free")


def test_inputs_do_not_depend_on_the_experiments_seed() -> None:
    for made in SUITE["inputs"].values():
        assert "{seed}" not in made["command"]


# ---- the report ----
Report = Callable[[str], str]


@pytest.fixture
def report(tmp_path: Path) -> Report:
    def run(log: str) -> str:
        path = tmp_path / "access.log"
        path.write_text(log)
        return execute(["perl", str(REPORT), str(path)], tmp_path).decode()

    return run


def line(client: str, time: str, target: str, status: int = 200, size: int = 100) -> str:
    return (
        f'{client} - - [01/Mar/2024:{time} +0000] "GET {target} HTTP/1.1" {status} {size} "-" "curl/8.1.0"\n'
    )


@needs("perl")
def test_the_report_counts_what_the_log_holds(report: Report) -> None:
    log = line("10.0.0.1", "10:00:00", "/shop/a.html", size=1000) + line("10.0.0.1", "10:05:00", "/gone", 404)
    # Half an hour and a second later: a new session.
    log += line("10.0.0.1", "10:35:01", "/search?q=red+shoe%2Cred&page=1") + "not a line\n"
    text = report(log)
    totals = dict(part.rsplit(" ", 1) for part in text.splitlines()[0].split(", "))
    assert totals == {"requests": "3", "bytes": "1200", "malformed lines": "1", "clients": "1"}
    for block in (
        "By session_length\n           1  001\n           1  002\n",
        "By status\n           2  200\n           1  404\n",
        "term (2)\n           2  red\n           1  shoe\n",
        "term_pair (2)\n           1  red shoe\n           1  shoe red\n",
        "agent (1)\n           3  tool curl\n",
        "missing (1)\n           1  /gone\n",
        "Most bytes: client (1)\n        1200  10.0.0.1\n",
    ):
        assert block in text


@needs("perl")
def test_the_report_does_not_depend_on_the_order_of_hashes(tmp_path: Path) -> None:
    generate(tmp_path / "log", "log", "--lines", "2000", "--seed", "3")
    reports = {
        subprocess.run(
            ["perl", REPORT, tmp_path / "log"],
            env={"PATH": os.environ["PATH"], "PERL_HASH_SEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }  # fmt: skip
    assert len(reports) == 1


# ---- the study ----


def study(text: str, directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = directory / "text.txt"
    path.write_text(text, encoding="utf-8")
    return subprocess.run(
        ["python3", "-B", STUDY, path], env={"PATH": os.environ["PATH"], **environment},
        capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip


@needs("python3")
def test_the_study_counts_what_the_text_holds(tmp_path: Path) -> None:
    ended = study("The cat saw the dog. The dog saw nothing!\nA cat, then.", tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    totals = lines[0].split()
    assert dict(zip(totals[::2], totals[1::2], strict=True)) == {
        "lines": "2", "words": "12", "different": "7", "sentences": "3", "marks": "1",
    }  # fmt: skip
    assert lines[1].split() == ["frequent", "the:3", "cat:2", "dog:2", "saw:2", "a:1", "nothing:1", "then:1"]
    assert lines[2].split() == ["beginnings", "the:4", "cat:2", "dog:2", "saw:2", "not:1"]
    # From `the`, the steps that were seen twice cost 1 + 64 // 2, those that were seen once 1 + 64.
    assert lines[6] == "from the 7 longest 228 sum 717"


@needs("python3")
def test_the_study_does_not_depend_on_the_order_of_hashes(tmp_path: Path) -> None:
    text = generate(tmp_path / "text", "text", "--kib", "24", "--seed", "3").decode("ascii")
    studies = {study(text, tmp_path, PYTHONHASHSEED=seed).stdout for seed in ("0", "1", "2")}
    assert len(studies) == 1
    assert len(studies.pop().splitlines()) == 9


@needs("python3")
@pytest.mark.parametrize(
    ("text", "message"),
    [("", "text with words"), ("aaa", "text with words"), ("caf\u00e9", "text in ASCII")],
)
def test_the_study_refuses_what_is_no_text(text: str, message: str, tmp_path: Path) -> None:
    ended = study(text, tmp_path)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert message in ended.stderr
