"""An input of ReBench's, run by ReBench and, once imported, by Regatta: the same combinations, with the same values."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from helpers.experiments import jobs
from helpers.experiments.experiment_parts import NEVER_PERTURBED_LINE
from regatta.store.folder import Folder

PROGRAM = """\
import os, sys
name, size, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for i in range(2):
    print(f"{name}: iterations=1 runtime: {1000 * size + 10 * len(mode) + len(os.environ['KIND']) + i}us", file=sys.stderr if i else sys.stdout)
"""

CONFIGURATION = """\
default_data_file: theirs.data
runs: {min_iteration_time: 0}
benchmark_suites:
  Sums:
    gauge_adapter: RebenchLog
    location: programs
    command: "program.py %(benchmark)s %(input)s '%(variable)s'"
    input_sizes: [1, 20]
    variable_values: [plain, two words]
    benchmarks:
      - Add
      - Multiply:
          input_sizes: [3]
  Whole:
    gauge_adapter: Time
    command: -c pass
    benchmarks: [start]
executors:
  isolated:
    executable: python3
    args: -I
    env: {KIND: isolated}
  optimised:
    path: bin
    executable: python3
    args: -O
    env: {KIND: optimised}
experiments:
  all-of-it:
    suites: [Sums]
    executions:
      - isolated
      - optimised: {suites: [Sums, Whole]}
"""


#: benchmark, executor, suite, input, variable
Combination = tuple[str, str, str, str, str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "program.py").write_text(PROGRAM)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to("/usr/bin/python3")
    (tmp_path / "sums.conf").write_text(CONFIGURATION)
    return tmp_path


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "REGATTA_HOST_LOCK": str(cwd / "lock"),
        "REGATTA_HOME": str(Path(__file__).parents[2]),
    }
    program, *arguments = words
    argv = [str(Path(sys.executable).parent / program), *arguments]
    return subprocess.run(argv, cwd=cwd, env=environment, text=True, capture_output=True, check=False)


def of_rebench(project: Path) -> dict[Combination, set[float]]:
    """What ReBench's data file has: combination to its totals in ms; of whole commands only that there is one."""
    done = command("rebench", "-D", "-c", "sums.conf", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in (project / "theirs.data").read_text().splitlines() if not line.startswith("#")]
    found: dict[Combination, set[float]] = {}
    for row in csv.DictReader(lines, delimiter="\t"):
        if row["criterion"] == "total":
            key = (row["benchmark"], row["executor"], row["suite"], row["inputSize"], row["varValue"])
            found.setdefault(key, set()).add(float(row["value"]))
    return found


def of_regatta(project: Path) -> dict[Combination, set[float]]:
    """What our journal has, in the same words: one segment of the imported spec is measured."""
    spec = project / "ours" / "sums.yml"
    with spec.open("a") as file:
        file.write(NEVER_PERTURBED_LINE)
    done = command("regatta", "plan", str(spec), "--write", cwd=project)
    assert done.returncode == 0, done.stderr
    folder = str(project / "results" / "sums")
    done = command(
        "regatta", "segment", folder, "--host", "local", "--segment", "0", "--receipt", "receipt", cwd=project
    )
    assert done.returncode == 0, done.stderr
    plan = json.loads((project / "results" / "sums" / "plan" / "local" / "plan.json").read_text())
    cells = {cell["cell_id"]: cell for cell in plan["cells"]}
    found: dict[Combination, set[float]] = {}
    for line in command("regatta", "records", "sums", "--json", cwd=project).stdout.splitlines():
        record = json.loads(line)
        assert record["status"] == "ok", record
        cell = cells[record["cell_id"]]
        suite, executor = cell["benchmark"].split("/")[0], cell["runtime"]
        name = cell["benchmark"].split("/")[1].split(":")[0]
        given = cell["argv"][-2:] if suite == "Sums" else ("", "")
        totals = found.setdefault((name, executor, suite, *given), set())
        totals.update(
            row[2] * {"ms": 1.0, "us": 1e-3}[row[3]] for row in record["iterations"] if row[1] == "total"
        )
    return found


def test_the_same_combinations_run_with_the_same_values(project: Path) -> None:
    done = command("regatta", "import", "rebench", "sums.conf", "--output", "ours", "--json", cwd=project)
    assert done.returncode == 0, done.stderr
    assert [Path(spec).name for spec in json.loads(done.stdout)["specs"]] == ["sums.yml"]
    theirs, ours = of_rebench(project), of_regatta(project)
    assert len(theirs) == 2 * (4 + 2) + 1
    assert set(ours) == set(theirs)
    for key, totals in theirs.items():
        if key[2] == "Sums":
            assert sorted(ours[key]) == pytest.approx(sorted(totals)), key


def test_the_list_is_printed_and_stands_at_the_head_of_the_spec(project: Path) -> None:
    done = command("regatta", "import", "rebench", "sums.conf", cwd=project)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("sums.conf:2:runs.min_iteration_time · excluded · ") for line in lines)
    head = (project / "imported-sums" / "sums.yml").read_text().split("\n\n")[0]
    unwrapped = " ".join(line.removeprefix("#").strip() for line in head.splitlines())
    assert all(line in unwrapped for line in lines)


def test_a_wrong_input_ends_with_2_and_says_where(project: Path) -> None:
    (project / "sums.conf").write_text(CONFIGURATION.replace("      - isolated\n", "      - nobody\n"))
    done = command("regatta", "import", "rebench", "sums.conf", cwd=project)
    assert done.returncode == 2
    assert "sums.conf:32:experiments.all-of-it.executions[0]: expected an executor" in done.stderr
    assert not (project / "imported-sums").exists()


COUNT = {
    "python3": ("count.py", "import sys\nn, m = int(sys.argv[2]), int(sys.argv[3])\nfor i in range(n):\n    s = sum(range(m))\n    print(f'{sys.argv[1]}: iterations=1 runtime: {2000 + i}us')\n"),
    "perl": ("count.pl", "my ($name, $n, $m) = @ARGV; for my $i (0 .. $n - 1) { my $s = 0; $s += $_ for 0 .. $m - 1; printf qq(%s: iterations=1 runtime: %dus\\n), $name, 1000 + $i }\n"),
    "node": ("count.js", "const [name, n, m] = process.argv.slice(2); for (let i = 0; i < n; i++) { let s = 0; for (let j = 0; j < m; j++) s += j; console.log(`${name}: iterations=1 runtime: ${500 + i}us`) }\n"),
}  # fmt: skip


def test_interpreters_of_a_file_like_are_we_fast_yet_are_paired(tmp_path: Path) -> None:
    there = [program for program in COUNT if shutil.which(program)]
    assert {"python3", "perl"} <= set(there)
    lines = ["runs: {iterations: 3, invocations: 3}", "benchmark_suites:"]
    for program in there:
        name, text = COUNT[program]
        (tmp_path / f"in-{program}").mkdir()
        (tmp_path / f"in-{program}" / name).write_text(text)
        lines.append(
            f"  micro-{program}: {{gauge_adapter: RebenchLog, location: in-{program}, "
            f"command: {name} %(benchmark)s %(iterations)s, benchmarks: [Count: {{extra_args: 1000}}]}}"
        )
    lines += ["executors:", *(f"  {program}: {{executable: {program}}}" for program in there)]
    lines += ["experiments:"]
    lines += [f"  {program}: {{suites: [micro-{program}], executions: [{program}]}}" for program in there]
    (tmp_path / "fast.conf").write_text("\n".join(lines) + "\n")
    done = command("regatta", "import", "rebench", "fast.conf", "--output", "ours", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "ours" / "fast.yml").open("a") as file:
        file.write(NEVER_PERTURBED_LINE)
    here, folder = partial(command, "regatta", cwd=tmp_path), Folder(tmp_path / "results" / "fast")
    jobs.measure(here, folder, "ours/fast.yml")
    jobs.finish(here, folder)
    answer = json.loads(folder.answer.read_bytes())
    found = {one["a_name"]: one for one in answer["comparisons"]}
    expected = {"perl": 1001 / 2001, "node": 501 / 2001}
    assert len(found) == len(there) - 1
    for program in there[1:]:
        (name,) = (name for name in found if name.startswith(program))
        assert found[name]["b_name"] == "python3"
        assert found[name]["n"] == 3
        assert found[name]["ratio"] == pytest.approx(expected[program])
