"""What a person sees: of a run, from another terminal, and of a cell."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import SmallExperiment, read_terminal
from helpers.in_process import PROGRAM
from helpers.runner_plans import measured_processes
from helpers.waiting import PATIENCE_S, wait_until
from regatta.host.journal.runner_state import read_state
from regatta.store.so_far import read_so_far


def test_status_from_another_terminal_says_what_is_measured(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 2})
    go_on = tmp_path / "go on"
    small.suite["benchmarks"] = {
        "nap": {"command": ["sh", "-c", f"until [ -e '{go_on}' ]; do sleep 0.02; done"]}
    }
    small.write()
    process = small.start_run()
    wait_until(lambda: measured_processes(small.results_file), "a measured process")
    try:
        told = small.regatta("status").stdout
        assert told.startswith("small: measuring, 0 of 6 ")
        assert "local: 0/6, 0 failed" in told
        assert "now tiny/nap:default" in told
        (value,) = json.loads(small.regatta("status", "small", "--json").stdout)
        (host,) = value["hosts"]
        assert (host["planned"], host["recorded"], host["pid"]) == (6, 0, small.runners()[0])
    finally:
        go_on.touch()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    lines = err.splitlines()
    measuring = next(
        i for i, line in enumerate(lines) if line.split()[0] == "measuring" and "minheaps" not in line
    )
    assert lines.index("planning") < measuring < lines.index("writing the report")
    assert "\x1b" not in err
    assert "\r" not in err
    told = small.regatta("status", "small").stdout
    assert told.startswith("small: complete, 6 of 6 ")


def test_the_comparisons_so_far_are_shown_while_it_measures_here_and_from_another_terminal(
    tmp_path: Path,
) -> None:
    """Each invocation takes half a second until there are estimates, for they are computed in pauses of the runner."""
    small = SmallExperiment(tmp_path, invocations={"fixed": 100}, baseline={"modifiers": "quiet"})
    small.spec["modifiers"]["quiet"] = {"environment": {"LOUD": "0"}}
    small.spec["modifier_sets"] = [["quiet"], ["loud"]]
    go_on = tmp_path / "go on"
    small.suite["benchmarks"] = {"nap": {"command": ["sh", "-c", f"[ -e '{go_on}' ] || sleep 0.5"]}}
    small.be_patient()
    small.write()
    process = small.start_run()
    wait_until(lambda: measured_processes(small.results_file), "a measured process")
    watching = small.start("watch", "small")
    try:
        texts = [read_up_to(one, "loud / quiet") for one in (process, watching)]
        found = read_so_far(small.folder)
        if found is None and small.gave_a_pause_up():
            pytest.skip("machine too busy: the runner gave a pause up")
        assert found is not None
        assert found.columns[-3:] == ("ratio", "95 % CI", "n")
    finally:
        go_on.touch()
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    said, told = watching.communicate(timeout=PATIENCE_S)
    assert watching.returncode == 0, told
    assert "small: complete, 202 of 202 " in said
    for text in texts:
        assert re.search(r"^so far.* [0-9]+ invocations:.*elapsed, native$", text, re.MULTILINE), text
        assert re.search(r"loud / quiet +\d+\.\d+ ", text), text
    assert not [path for path in small.folder.logs.glob("live-*.log") if path.read_bytes()]


def read_up_to(process: subprocess.Popen[str], part: str) -> str:
    """What a process says up to a line with this part, or to its end."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if part in line:
            break
    return said


def made_folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_run_that_waits_for_the_host_says_for_whom(tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    small_one: dict[str, Any] = {"invocations": {"fixed": 2}, "timeout_s": 600}
    first = SmallExperiment(made_folder(tmp_path / "first"), name="before", **small_one)
    second = SmallExperiment(made_folder(tmp_path / "second"), **small_one)
    for small in (first, second):
        small.suite["benchmarks"] = {
            "nap": {"command": ["sh", "-c", f"until [ -e '{go_on}' ]; do sleep 0.02; done"]}
        }
        small.write()
    second.environment["REGATTA_HOST_LOCK"] = first.environment["REGATTA_HOST_LOCK"]
    holder = first.start_run()
    try:
        wait_until(lambda: measured_processes(first.results_file), "a measured process")
        waiter = second.start_run()
        state = second.folder.state / "local.json"
        wait_until(lambda: "waiting_for" in (read_state(state) or {}), "the second run to wait")
        told = second.regatta("status").stdout
        since = re.fullmatch(
            r"small: (waiting .*local.* before .*[0-9][0-9]:[0-9][0-9]), 0 of 6 .*",
            told.splitlines()[0],
        )
        assert since, told
        ((host,),) = [value["hosts"] for value in json.loads(second.regatta("status", "--json").stdout)]
        assert (host["waiting"], host["cell"], host["recorded"]) == (since[1], "", 0)
        assert waiter.stderr is not None
        assert any(line.rstrip("\n") == since[1] for line in waiter.stderr)
    finally:
        go_on.touch()
    _, err = holder.communicate(timeout=PATIENCE_S)
    assert holder.returncode == 0, err
    _, err = waiter.communicate(timeout=PATIENCE_S)
    assert waiter.returncode == 0, err
    assert second.regatta("status").stdout.startswith("small: complete, 6 of 6")


def test_a_terminal_sees_a_bar(tmp_path: Path) -> None:
    small = SmallExperiment(tmp_path, invocations={"fixed": 4})
    small.let_naps_wait()
    small.hold_at(1)
    own, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "run", "spec.yml"],
        cwd=small.root,
        env={**small.environment, "TERM": "xterm", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    parts = (b"measuring", b"/20", b"tiny/nap:default")
    seen = read_terminal(own, lambda seen: all(part in seen for part in parts), small.hold.unlink)
    assert process.wait(timeout=PATIENCE_S) == 0
    assert [part for part in parts if part not in seen] == []


ODD = 'it\'s "so" $HOME; `*`'


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> SmallExperiment:
    """An experiment whose commands need all that a runner gives: arranged files, limits, pins, odd environments."""
    root = tmp_path_factory.mktemp("explained")
    small = SmallExperiment(
        root,
        invocations={"fixed": 1},
        modifiers={"odd": {"environment": {"ODD": ODD}}},
        limits={"open_files": 64},
        cores={"use": "cpus", "cpus": [min(os.sched_getaffinity(0))]},
        environment={"set": {"LC_ALL": "C"}},
    )
    generate = "import sys; open(sys.argv[1], 'w').write('3\\n1\\n2\\n')"
    small.suite["inputs"] = {"numbers": {"command": ["python3", "-c", generate, "{output}"]}}
    small.suite["benchmarks"] = {
        "sort": {
            "arrange": {"my numbers.txt": "{input.numbers}"},
            "command": ["sh", "-c", 'sort "my numbers.txt" && [ "$(ulimit -Sn)" = 64 ] && [ "$LC_ALL" = C ]'],
        },
        # Prints its environment: the odd one must come through as it is.
        "odd": {"command": ["env"]},
        "elsewhere": {
            "command": [
                "sh",
                "-c",
                'cd / && echo "[1]" > "$REGATTA_RESULTS" && test -e "$HOME/results.jsonl" -o -d "$TMPDIR"',
            ]
        },
    }
    small.write()
    small.step_by_step()
    return small


def test_every_explained_command_runs_by_hand(explained: SmallExperiment) -> None:
    for cell in explained.header()["cells"]:
        told = explained.regatta("explain", cell["cell_id"])
        assert told.returncode == 0, told.stderr
        assert cell["label"] in told.stdout
        assert "records: 2 ok" in told.stdout
        lines = told.stdout.splitlines()
        command = lines[lines.index("run by hand:") + 1].strip()
        by_hand = subprocess.run(["bash", "-euc", command], cwd="/", capture_output=True, text=True)
        assert by_hand.returncode == 0, f"{command}: {by_hand.stderr}"
        if "sort" in cell["label"]:
            assert by_hand.stdout == "1\n2\n3\n"
        if "tiny/odd" in cell["label"] and cell["modifiers"] == "odd":
            assert f"ODD={ODD}\n" in by_hand.stdout
            assert "REGATTA_SEED=7\n" in by_hand.stdout
            assert "LOGNAME" not in by_hand.stdout


def test_cells_are_found_by_id_by_its_beginning_by_invocation_and_by_label(
    explained: SmallExperiment,
) -> None:
    cell_id = explained.header()["cells"][0]["cell_id"]
    for name in (cell_id, cell_id[:8], f"{cell_id}-r0"):
        (value,) = json.loads(explained.regatta("explain", name, "--json").stdout)
        assert value["cell"]["cell_id"] == cell_id
        assert value["statuses"] == {"ok": 2}
    assert len(json.loads(explained.regatta("explain", "tiny/sort", "--json").stdout)) == 2
    missing = explained.regatta("explain", "no such cell")
    assert missing.returncode == 3
    assert "regatta plan" in missing.stderr
