"""What commands import: libraries that take long to import are loaded where they are used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.experiments.small_experiments import HOME
from helpers.synthetic_journal import native, record, write_experiment

#: seconds together
HEAVY = ("duckdb", "jinja2", "numpy", "plotly", "pyarrow", "pydantic", "rich", "ruamel", "scipy", "snakemake")
#: prints the imported libraries when a command ends, or before it does what its last argument is
_SCRIPT = """
import json, sys
sys.argv[0] = "regatta"
from regatta.cli.main import main
try:
    main()
finally:
    print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def _imported(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, *arguments], cwd=HOME, capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("verb", ["analyze", "finish", "plan", "report", "run", "segment", "time", "verify"])
def test_the_help_of_a_command_imports_no_heavy_library(verb: str) -> None:
    assert _imported(verb, "--help") & set(HEAVY) == set()


def test_a_verdict_that_is_read_again_imports_no_heavy_library(tmp_path: Path) -> None:
    verdict = {
        "experiment": "e", "planned": 1, "recorded": 1, "statuses": {"ok": 1}, "reruns": 0, "unplanned": 0,
        "damage": [], "problems": [], "holds": True,
    }  # fmt: skip
    (tmp_path / "verify.json").write_text(json.dumps(verdict))
    assert _imported("verify", "--verdict", str(tmp_path / "verify.json")) & set(HEAVY) == set()


def test_an_answer_that_is_kept_is_shown_without_any_heavy_library(tmp_path: Path) -> None:
    folder = write_experiment(tmp_path / "e", [native()], [record(native(), 0, [1e9])], 1)
    assert set(HEAVY) & _imported("analyze", str(folder)) > {"duckdb", "numpy"}
    assert set(HEAVY) & _imported("analyze", str(folder)) == set()


def test_a_plan_imports_no_library_of_the_analysis(tmp_path: Path) -> None:
    suite = {"suite": "tiny", "description": "ends at once", "benchmarks": {"quick": {"command": ["true"]}}}
    spec = {
        "name": "small", "suites": ["suite.yml"], "benchmarks": [{"suite": "tiny", "benchmark": "all"}],
        "invocations": {"fixed": 2},
    }  # fmt: skip
    (tmp_path / "suite.yml").write_text(json.dumps(suite))
    (tmp_path / "spec.yml").write_text(json.dumps(spec))
    found = _imported(
        "plan",
        str(tmp_path / "spec.yml"),
        "--results",
        str(tmp_path / "results"),
        "--write",
        "--way",
        "local",
    )
    assert found & {"duckdb", "jinja2", "plotly", "pyarrow", "rich", "scipy", "snakemake"} == set()


def test_the_core_of_the_analysis_imports_no_distributions_and_no_page() -> None:
    script = "import sys; import regatta.answers.report.answer; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    unwanted = {
        "jinja2", "plotly", "multiprocessing", "ruamel.yaml", "scipy.stats", "scipy.sparse", "scipy.optimize",
        "regatta.models.kernel_traces.timeline",
    }  # fmt: skip
    assert set(done.stdout.split()) & unwanted == set()
