"""A small program started and ended (lat_simple): how much of it is user mode, and what its parent's memory costs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from helpers.waiting import wait_until
from helpers.workloads.lm_runs import PATIENCE_S, Run, command_of, in_a_group, run
from regatta.host.measure.cgroup import TreeAccounting

IN_USER_MODE = "int main(void) { for (volatile unsigned i = 0; i < 40000000; i++) {} return 0; }"
IN_THE_KERNEL = """#include <fcntl.h>
#include <unistd.h>
static char area[1 << 20];
int main(void) {
    int zero = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 200; i++) if (read(zero, area, sizeof area) < 0) return 1;
    return 0;
}
"""


def share_of(outcome: Run) -> float:
    ((lines),) = outcome.of("user_share").values()
    (line,) = lines
    assert line["unit"] == "ratio"
    return float(line["value"])


def told_of_the_share(outcome: Run) -> str:
    return str(
        [line["info"] for line in outcome.lines if "user_share" in line.get("info", {})][-1]["user_share"]
    )


def test_the_share_of_user_mode_is_that_of_the_process(
    lm_sources: Path, tmp_path: Path, accounting: TreeAccounting
) -> None:
    shares = []
    for name, text in (("user", IN_USER_MODE), ("kernel", IN_THE_KERNEL)):
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        subprocess.run(["gcc", "-O2", "-o", tmp_path / name, source], check=True)
        command = command_of(
            "lat_simple", "quick", lm_sources, resident_kib=0, mappings=0, user_share_us=300000, repetitions=2
        )
        command[command.index("--program") + 1] = str(tmp_path / name)
        outcome = in_a_group(accounting, [*command], tmp_path / f"at-{name}")
        assert (outcome.exit_code, outcome.stderr) == (0, "")
        if "are too short" in told_of_the_share(outcome):
            pytest.skip(f"machine too busy: {told_of_the_share(outcome)}")
        shares.append(share_of(outcome))
    assert shares[0] > 0.7
    assert shares[1] < 0.3


def test_a_group_with_others_tells_nothing_and_why(
    lm_sources: Path, tmp_path: Path, accounting: TreeAccounting
) -> None:
    command = command_of("lat_simple", "quick", lm_sources, resident_kib=0, mappings=0, repetitions=1)
    together: list[str | Path] = [
        "sh",
        "-c",
        'sleep 60 & "$@"; ended=$?; kill $!; exit $ended',
        "sh",
        *command,
    ]
    outcome = in_a_group(accounting, together, tmp_path / "work")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert outcome.of("user_share") == {}
    assert len(outcome.of("latency")) == 1
    assert "also contains other processes" in told_of_the_share(outcome)


def has_memory(process: int, kib: int, mappings: int) -> bool:
    """Whether so much is resident in so many mappings."""
    try:
        status, maps = ((Path(f"/proc/{process}") / name).read_text() for name in ("status", "maps"))
    except OSError:
        return False
    resident = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    return resident is not None and int(resident[1]) >= kib and len(maps.splitlines()) >= mappings


def test_the_parent_has_as_much_memory_and_as_many_mappings_as_it_says(
    lm_sources: Path, tmp_path: Path
) -> None:
    sizes = ["--resident-kib=262144", "--mappings=2000", "--interval-us=60000000", "--user-share-us=0"]
    program = subprocess.Popen([lm_sources / "build/lat_simple", *sizes], cwd=tmp_path)
    try:
        children = Path(f"/proc/{program.pid}/task/{program.pid}/children")
        wait_until(
            lambda: any(has_memory(int(child), 262144, 2000) for child in children.read_text().split()),
            "a measured child with the memory and the mappings",
            PATIENCE_S,
        )
    finally:
        program.terminate()
        program.wait()


def test_a_series_is_told_for_each_size_and_number_of_mappings(lm_sources: Path, tmp_path: Path) -> None:
    sizes = {"resident_kib": "0,2048", "mappings": "0,20"}
    command = command_of("lat_simple", "quick", lm_sources, user_share_us=0, repetitions=1, **sizes)
    outcome = run([*command], tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    assert [dict(key) for key in outcome.series] == [
        {"resident_kib": kib, "mappings": mappings, "parallel": 1}
        for kib, mappings in ((0, 0), (2048, 0), (0, 20))
    ]
    (own,) = (
        int(line["info"]["own_mappings"]) for line in outcome.lines if "own_mappings" in line.get("info", {})
    )
    assert 20 < own < 50
    assert told_of_the_share(outcome) == "not requested"


def test_the_program_beside_is_found_and_one_that_fails_is_an_error(lm_sources: Path, tmp_path: Path) -> None:
    program = lm_sources / "build/lat_simple"
    assert run([program, "--resident-kib=0", "--repetitions=1"], tmp_path / "beside").exit_code == 0
    outcome = run([program, "--program=/bin/false"], tmp_path / "failing")
    assert outcome.exit_code == 1
    assert re.search(r"/bin/false: .* code 0, got 1\b", outcome.stderr)
