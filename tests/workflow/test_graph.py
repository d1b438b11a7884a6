"""What Snakemake makes of an experiment: of names that it, a shell or YAML could take for something else, and of many segments."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from helpers.experiments.small_experiments import HOME, SmallExperiment
from regatta.store.folder import Folder

#: a leading dash, tab, glob, blanks, a wildcard, a mapping, quotes, a letter that is not ASCII, a command
RESULTS = "-r\t[1]* 2026_{experiment}{x}: '\"é$(x)`"
SPEC = "-expé {y}.yml"


def test_a_spec_and_a_results_folder_may_have_any_name_a_second_time_too(tmp_path: Path) -> None:
    root = tmp_path / "dé"
    root.mkdir()
    small = SmallExperiment(
        root, invocations={"fixed": 1}, benchmarks=[{"suite": "tiny", "benchmark": "quick"}]
    )
    (root / "spec.yml").rename(root / SPEC)
    folder = Folder(root / RESULTS / "small")
    for _ in range(2):
        done = small.regatta("run", "--results", RESULTS, "--", SPEC)
        assert done.returncode == 0, done.stderr
        assert "report.html" in done.stdout
    assert folder.report.exists()
    assert folder.answer.exists()
    assert len(list((folder.journal / "local").glob("0*.jsonl"))) == 1
    assert {path.name for path in root.iterdir() if path.is_dir()} == {".snakemake", "cache", RESULTS}
    (told,) = json.loads(small.regatta("status", "small", "--results", RESULTS, "--json").stdout)
    assert [(host["recorded"], host["planned"]) for host in told["hosts"]] == [(4, 4)]


def _dry_run(small: SmallExperiment, *config: str) -> subprocess.CompletedProcess[str]:
    command = ["snakemake", "--snakefile", str(HOME / "Snakefile"), "--profile", str(HOME / "local"), "-n",
               "--quiet", "rules", "--config", "spec=spec.yml", *config]  # fmt: skip
    return subprocess.run(
        command, cwd=small.root, env=small.environment, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def test_snakemake_refuses_a_folder_that_yaml_made_a_number_and_says_how_to_write_it(tmp_path: Path) -> None:
    done = _dry_run(SmallExperiment(tmp_path), "results=2026_11_22")
    assert done.returncode != 0
    assert "--config results" in done.stdout
    assert "results=./2026_11_22" in done.stdout
    assert not (tmp_path / "20261122").exists()


@pytest.mark.parametrize("sent", [False, True], ids=["no InfluxDB", "InfluxDB"])
def test_snakemake_takes_many_segments_of_a_host_without_recursion(tmp_path: Path, sent: bool) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 900}, segment={"rounds": 1})
    if sent:
        settings = tmp_path / "influx.yml"
        settings.write_text("{url: http://127.0.0.1:9, database: nobody_asks_it}")
        small.environment["REGATTA_INFLUX"] = str(settings)
    done = _dry_run(small)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^measure +900$", done.stdout, re.MULTILINE)
    assert bool(re.search(r"^ingest_segment +900$", done.stdout, re.MULTILINE)) is sent
