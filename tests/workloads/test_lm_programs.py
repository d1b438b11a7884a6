"""Every program of the suite `lm`: by other compilers, under sanitizers, on another architecture, and its bad input."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.workloads.lm_runs import SUITE, command_of, run

BENCHMARKS = sorted(SUITE["benchmarks"])
#: with the harness' own options: all but those that have a command line of another kind
WITH_OPTIONS = [name for name in BENCHMARKS if "--repetitions" in SUITE["benchmarks"][name]["command"]]
#: feature of the harness or of its kind of program -> the program that is tried in its place; the others are campaigns
FEATURES = {
    "a loop": "lat_syscall",
    "sizes": "bw_mem",
    "files": "bw_file_rd",
    "dropped files": "lat_uncached",
    "random places": "lat_mem_rd",
    "threads": "lat_thread",
    "processes in a group": "lat_ctx",
    "programs that are started": "lat_simple",
    "a transfer": "bw_pipe",
    "a server": "lat_tcp",
    "several metrics": "stream",
}
AARCH64_GCC, QEMU = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"

#: every program, some of them in the first tier
AND_SMOKE = [
    pytest.param(name, marks=pytest.mark.smoke) if name in ("lat_syscall", "lat_pipe", "bw_mem") else name
    for name in BENCHMARKS
]

#: what the emulator of another architecture does not have
NOT_EMULATED = {
    "lat_simple": "without binfmt_misc qemu-user cannot execute a program of its architecture",
    "lat_proc": "without binfmt_misc qemu-user cannot execute a program of its architecture",
    "lat_dram_page": "qemu-user gives no huge pages",
    "line": "an emulated load takes longer than a miss of the first cache",
    "mhz": "emulated instructions do not take whole cycles",
    "par_mem": "emulated loads do not overlap as the processor's do",
    "tlb": "an emulated load takes longer than a miss of the TLB",
    "lat_io_uring": "qemu-user has no io_uring",
    "lat_rpc": "there is no libtirpc for the cross compiler",
}


#: every program, those that stand for no feature as campaigns
ONE_OF_EACH = [
    name if name in FEATURES.values() else pytest.param(name, marks=pytest.mark.long) for name in BENCHMARKS
]


def quickly(name: str, sources: Path, build: Path) -> list[str]:
    """The command of the quick size on the programs in `build`, each series measured once."""
    once = {"repetitions": 1} if name in WITH_OPTIONS else {}
    command = command_of(name, "quick", sources, **once)
    return [argument.replace(str(sources / "build"), str(build)) for argument in command]


def asked_for(request: pytest.FixtureRequest) -> str:
    """The programs that the chosen tests of a fixture name, as an argument of `make`."""
    chosen = [
        item for item in request.session.items if request.fixturename in getattr(item, "fixturenames", ())
    ]
    names = sorted({item.callspec.params["name"] for item in chosen})  # type: ignore[attr-defined]
    return f"PROGRAMS={' '.join(names)}"


def built(sources: Path, place: Path, *arguments: str) -> Path:
    """Where `make` put the programs of a copy of the sources."""
    copy = place / "lm"
    shutil.copytree(sources, copy, ignore=shutil.ignore_patterns("build"))
    subprocess.run(["make", "-s", "-j2", *arguments], cwd=copy, check=True)
    return copy / "build"


@pytest.fixture(scope="module")
def sanitized(
    request: pytest.FixtureRequest, lm_sources: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    place = tmp_path_factory.mktemp("sanitized")
    (place / "probe.c").write_text("int main(void) { return 0; }\n")
    flags = ["-fsanitize=address,undefined", "-o", place / "probe", place / "probe.c"]
    if subprocess.run(["gcc", *flags], capture_output=True, check=False).returncode != 0:
        pytest.skip("NOT TESTED: this gcc has no AddressSanitizer")
    return built(lm_sources, place, "sanitized", asked_for(request)) / "sanitized"


@pytest.fixture(scope="module")
def emulated(
    request: pytest.FixtureRequest, lm_sources: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    missing = [program for program in (AARCH64_GCC, QEMU) if shutil.which(program) is None]
    if missing:
        pytest.skip(f"NOT TESTED ON AARCH64: {', '.join(missing)} is not on PATH")
    arguments = (f"CC={AARCH64_GCC}", "LDFLAGS=-static", "TIRPC=no", asked_for(request))
    return built(lm_sources, tmp_path_factory.mktemp("aarch64"), *arguments)


def test_the_suite_has_an_entry_for_every_program(lm_sources: Path) -> None:
    sources = {path.stem for path in lm_sources.glob("*.c")}
    started = {path.stem for path in lm_sources.glob("programs/*.c")}
    assert sources == set(BENCHMARKS)
    assert sources | started == set(SUITE["builds"]["lm"]["outputs"])


@pytest.mark.skipif(shutil.which("clang") is None, reason="NOT TESTED: clang is not on PATH")
def test_clang_compiles_all_of_it_without_a_warning(lm_sources: Path, tmp_path: Path) -> None:
    assert (built(lm_sources, tmp_path, "CC=clang") / "lat_syscall").exists()


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_program_runs_clean_under_the_sanitizers(
    name: str, lm_sources: Path, sanitized: Path, tmp_path: Path
) -> None:
    outcome = run(quickly(name, lm_sources, sanitized), tmp_path / "work")
    assert (outcome.exit_code, outcome.stderr) == (0, "")


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_program_runs_on_aarch64(name: str, lm_sources: Path, emulated: Path, tmp_path: Path) -> None:
    if name in NOT_EMULATED:
        pytest.skip(f"NOT TESTED ON AARCH64: {NOT_EMULATED[name]}")
    command = quickly(name, lm_sources, emulated)
    outcome = run([QEMU, *command], tmp_path / "work")
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert any("metric" in line for line in outcome.lines)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_help_names_every_option_that_the_suite_uses(name: str, lm_sources: Path, tmp_path: Path) -> None:
    command = command_of(name, "default", lm_sources)
    outcome = run([command[0], "--help"], tmp_path / "work")
    assert (outcome.exit_code, outcome.stderr, outcome.lines) == (0, "", [])
    used = {argument for argument in command if argument.startswith("--")}
    assert {option for option in used if option not in outcome.stdout} == set()


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_no_process_at_all_is_refused(name: str, lm_sources: Path, tmp_path: Path) -> None:
    outcome = run([lm_sources / "build" / name, "--parallel", "0"], tmp_path / "work")
    assert outcome.exit_code == 2
    assert re.search(r"--parallel: .* from 1 to \d+", outcome.stderr)


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_a_program_is_scaled_by_the_suite_or_says_why_it_cannot_be(
    name: str, lm_sources: Path, tmp_path: Path
) -> None:
    scaled = "--parallel" in SUITE["benchmarks"][name]["command"]
    program = lm_sources / "build" / name
    told = run([program, "--help"], tmp_path / "help").stdout
    assert ("single process only: " in told) != scaled
    if not scaled:
        outcome = run([program, "--parallel", "2"], tmp_path / "work")
        assert outcome.exit_code == 2
        assert "--parallel: expected 1 (" in outcome.stderr


@pytest.mark.parametrize("name", AND_SMOKE)
def test_a_program_leaves_nothing_in_its_directory(name: str, lm_sources: Path, tmp_path: Path) -> None:
    command = quickly(name, lm_sources, lm_sources / "build")
    outcome = run(command, tmp_path / "work")
    assert outcome.exit_code == 0, outcome.stderr
    assert os.listdir(tmp_path / "work") == []
