"""Specs and results folders with names that a shell, YAML, Snakemake or an option parser could take for something else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from small_experiments import HOME, SmallExperiment

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
    assert {path.name for path in root.iterdir()} == {".snakemake", "cache", "host.lock", RESULTS, SPEC, "suite.yml"}  # fmt: skip
    (told,) = json.loads(small.regatta("status", "small", "--results", RESULTS, "--json").stdout)
    assert [(host["recorded"], host["planned"]) for host in told["hosts"]] == [(2, 2)]


def test_snakemake_refuses_a_folder_that_yaml_made_a_number_and_says_how_to_write_it(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path)
    command = ["snakemake", "--snakefile", str(HOME / "Snakefile"), "--profile", str(HOME / "local"), "-n",
               "--config", "spec=spec.yml", "results=2026_11_22"]  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, env=small.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "--config results" in done.stderr
    assert "results=./2026_11_22" in done.stderr
    assert not (tmp_path / "20261122").exists()
