"""The SPEC-like programs in C: the same result wherever they are built, and none that breaks a law it must keep.

The digests of the suite's sizes are tested in test_speclike.py; here the programs are small.
"""

from __future__ import annotations

import errno
import math
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.workloads.speclike_runs import ROOT, SUITE, needs

SOURCES = ROOT / "benchmarks/spec/c"
EMULATOR = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"]
SMALL = {
    "nbody": ["--steps=20", "--bodies=200"],
    "lbm": ["--edge=16", "--steps=60"],
    "matmul": ["--order=301"],
    "fft": ["--log2-points=11", "--rounds=5"],
    "cg": ["--edge=12"],
    "montecarlo": ["--paths=10000", "--dates=8"],
    "raytrace": ["--width=60", "--spheres=300"],
    "search": ["--rounds=4", "--variables=60", "--vertices=8"],
}

pytestmark = needs("gcc", "make")


def run(command: list[str | Path], timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=timeout_s, check=False
    )  # fmt: skip


def copy_of_sources(directory: Path) -> Path:
    copy = directory / "c"
    shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("build"))
    return copy


def make(copy: Path, build: Path, *arguments: str) -> Path:
    command: list[str | Path] = ["make", "-s", "-j2", "-C", copy, f"BUILD={build}", *arguments]
    built = run(command, timeout_s=300)
    assert (built.returncode, built.stderr) == (0, "")
    return build


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def programs(sources: Path) -> Path:
    return make(sources, sources / "build")


def small_results(build: Path, emulator: list[str] | None = None) -> dict[str, str]:
    found = {}
    for name, arguments in SMALL.items():
        ended = run([*(emulator or []), build / name, *arguments])
        assert (ended.returncode, ended.stderr) == (0, ""), name
        found[name] = ended.stdout
    return found


@pytest.fixture(scope="module")
def expected(programs: Path) -> dict[str, str]:
    return small_results(programs)


def test_every_program_of_the_directory_is_in_the_suite_and_here() -> None:
    assert {path.stem for path in SOURCES.glob("*.c")} == set(SMALL)
    assert set(SUITE["builds"]["own"]["outputs"]) == set(SMALL)
    assert set(SMALL) < set(SUITE["benchmarks"])


# ---- one result everywhere ----


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        pytest.param("gcc", "-O0", id="gcc without optimisation"),
        # Vectors and, where the processor has them, fused operations.
        pytest.param("gcc", "-O3 -march=native", id="gcc for this processor"),
        pytest.param("clang", "-O2", id="clang", marks=needs("clang")),
        pytest.param(
            "aarch64-linux-gnu-gcc", "-O2", id="aarch64", marks=needs("aarch64-linux-gnu-gcc", EMULATOR[0])
        ),
    ],
)
def test_another_compiler_level_or_processor_gives_the_same_result(
    compiler: str, flags: str, sources: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    build = make(sources, tmp_path / "build", f"CC={compiler}", f"CFLAGS={flags}")
    assert small_results(build, EMULATOR if compiler.startswith("aarch64") else None) == expected


def test_the_programs_run_clean_under_the_sanitizers(
    sources: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    probe = tmp_path / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    if run(["gcc", "-fsanitize=address,undefined", "-o", tmp_path / "probe", probe]).returncode != 0:
        pytest.skip("NOT TESTED: this gcc has no AddressSanitizer")
    build = make(sources, tmp_path / "build", "sanitized")
    assert small_results(build / "sanitized") == expected


@pytest.mark.parametrize("name", SMALL)
def test_the_seed_decides_the_result(name: str, programs: Path, expected: dict[str, str]) -> None:
    again = run([programs / name, *SMALL[name], "--seed=1"])
    assert (again.returncode, again.stdout) == (0, expected[name])
    other = run([programs / name, *SMALL[name], "--seed", "18446744073709551615"])
    assert other.returncode == 0, other.stderr
    assert other.stdout.splitlines()[1:] != expected[name].splitlines()[1:]


# ---- known answers ----


def splitmix64(state: int) -> Iterator[int]:
    mask = 2**64 - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def test_splitmix64_gives_the_numbers_of_its_authors() -> None:
    # The first outputs for seed 1234567, as published with the reference implementation.
    numbers = splitmix64(1234567)
    assert [next(numbers) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


def test_a_product_has_the_trace_that_integers_give(programs: Path) -> None:
    numbers, order = splitmix64(5), 23
    a, b = [], []
    for _ in range(order * order):
        a.append(((next(numbers) >> 32) * 1025 >> 32) - 512)
        b.append(((next(numbers) >> 32) * 1025 >> 32) - 512)
    trace = sum(a[i * order + k] * b[k * order + i] for i in range(order) for k in range(order))
    assert f"trace {trace} digest" in run([programs / "matmul", "--order=23", "--seed=5"]).stdout


def test_a_european_call_costs_what_black_and_scholes_say(programs: Path) -> None:
    text = run([programs / "montecarlo", "--paths=20000", "--dates=2", "--strike=90"]).stdout
    found = re.search(r"European call +([\d.]+) \+- ([\d.]+)", text)
    assert found is not None
    price, error = map(float, found.groups())
    d = (math.log(100 / 90) + 0.05 + 0.25**2 / 2) / 0.25
    below = [(1 + math.erf(x / math.sqrt(2))) / 2 for x in (d, d - 0.25)]
    assert abs(price - (100 * below[0] - 90 * math.exp(-0.05) * below[1])) < 6 * error
    assert 0.05 < error < 0.25


def test_elementary_functions_are_right_to_a_few_units_in_the_last_place(
    sources: Path, programs: Path, tmp_path: Path
) -> None:
    own = tmp_path / "elementary.c"
    own.write_text(
        '#include "shared/sp.h"\n#include <stdio.h>\n'
        "int main(void) {\n"
        "    struct sp_random random = {.state = 1};\n"
        "    for (int i = 0; i < 5000; i++) {\n"
        "        double x = sp_random_between(&random, -690, 690), y = sp_exp(x), near = 1 + x * 1e-4;\n"
        "        uint64_t n = sp_random_below(&random, 1000) + 1, k = sp_random_below(&random, n);\n"
        "        double c = 0, s = 0;\n"
        "        sp_turn(k, n, &c, &s);\n"
        '        printf("%a %a %a %a %a %llu %llu %a %a\\n", x, y, sp_log(y), near, sp_log(near),\n'
        "               (unsigned long long)k, (unsigned long long)n, c, s);\n"
        "    }\n}\n"
    )
    objects = sorted((programs / "shared").glob("*.o"))
    assert run(["gcc", "-I", sources, "-o", tmp_path / "own", own, *objects, "-lm"]).stderr == ""
    lines = run([tmp_path / "own"]).stdout.splitlines()
    assert len(lines) == 5000
    for line in lines:
        x, y, log_y, near, log_near = map(float.fromhex, line.split()[:5])
        k, n = map(int, line.split()[5:7])
        c, s = map(float.fromhex, line.split()[7:])
        assert math.isclose(y, math.exp(x), rel_tol=1e-15)
        assert math.isclose(log_y, math.log(y), rel_tol=1e-15)
        assert math.isclose(log_near, math.log(near), rel_tol=1e-15)
        assert math.isclose(c, math.cos(2 * math.pi * k / n), abs_tol=2e-15)
        assert math.isclose(s, math.sin(2 * math.pi * k / n), abs_tol=2e-15)


# ---- a wrong result is told ----

WRONG = [
    ("nbody", "nbody.c", "ax[j] -= dx * pull;", "ax[j] -= dx * pull * 1.001;", "momentum"),
    ("nbody", "nbody.c", "(square * sqrt(square))", "(square * square)", "final energy"),
    ("lbm", "lbm.c", "1 / (3 * VISCOSITY + 0.5);", "1 / (3 * VISCOSITY + 0.52);", "energy, relative"),
    ("lbm", "lbm.c", "{1.0 / 3,", "{1.0 / 3.001,", "mass"),
    ("matmul", "matmul.c", "a[i] * b[j];", "a[i] * b[k == 7 ? 0 : j];", "Freivalds"),
    ("fft", "fft.c", "multiply(thrice,", "multiply(twice,", "part of a frequency"),
    ("fft", "fft.c", "roots[k * shift &", "roots[k * (shift + 1) &", "shifted signal"),
    ("fft", "fft.c", "    forward(transform, signal);\n    sp_check", "    forward(transform, signal);\n"
     "    (*signal)[3].re += 0.01;\n    sp_check", "Parseval"),
    ("cg", "cg.c", "x[i] += length * direction[i];", "x[i] += 0.999999 * length * direction[i];", "residual / b"),
    ("cg", "cg.c", "step[axis], -before[axis]);", "step[axis], -0.99 * before[axis]);", "symmetric"),
    ("montecarlo", "montecarlo.c", "spread * normal(normals);", "1.2 * spread * normal(normals);", "European call"),
    ("montecarlo", "shared/elementary.c", "1.0 / 2,", "1.0 / 1.7,", "wrong result"),
    ("raytrace", "raytrace.c", "high = centre + radius;", "high = centre;", "distance found by the tree"),
    ("raytrace", "raytrace.c", "-2 * against", "-1.999 * against", "reflected"),
    ("raytrace", "raytrace.c", "? nearest - half\n", "? nearest - 0.9 * half\n",
     "point on a sphere"),
    ("search", "sat/analyse.c", "            return 0;\n        }\n    }\n    return 1;",
     "            return 1;\n        }\n    }\n    return 1;", "was reported as unsatisfiable"),
    ("search", "sat/solver.c", "conflict = watch.clause;", "conflict = SAT_NO_CLAUSE;",
     "wrong result"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "file", "right", "wrong", "message"), WRONG, ids=[f"{w[0]}: {w[4]}" for w in WRONG]
)
def test_a_step_that_is_wrong_fails_the_program(
    name: str, file: str, right: str, wrong: str, message: str, sources: Path, programs: Path, tmp_path: Path
) -> None:
    text = (sources / file).read_text()
    assert text.count(right) == 1
    changed = tmp_path / "changed.c"
    changed.write_text(text.replace(right, wrong))
    shared = (path for folder in ("shared", "sat") for path in SOURCES.glob(f"{folder}/*.c"))
    parts = [f"{name}.c", *(f"{path.parent.name}/{path.name}" for path in shared)]
    units: list[str | Path] = [
        changed if part == file else programs / part.replace(".c", ".o") for part in parts
    ]
    flags: list[str | Path] = [
        "-std=c11",
        "-O1",
        "-ffp-contract=off",
        "-I",
        sources,
        "-I",
        (sources / file).parent,
    ]
    built = run(["gcc", *flags, "-o", tmp_path / name, *units, "-lm"])
    assert (built.returncode, built.stderr) == (0, "")
    ended = run([tmp_path / name, *SMALL[name]])
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"{name}: wrong result: " in ended.stderr
    assert message in ended.stderr


# ---- use ----


@pytest.mark.parametrize("name", SMALL)
def test_help_names_every_option_that_the_suite_uses(name: str, programs: Path) -> None:
    ended = run([programs / name, "--help"])
    assert (ended.returncode, ended.stderr) == (0, "")
    command = SUITE["benchmarks"][name]["command"]
    own = command[command.index(f"{{own.{name}}}") :]
    used = {argument for argument in own if argument.startswith("--")}
    assert "--seed" in used
    assert {option for option in used if f"  {option} " not in ended.stdout} == set()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("nbody", ["--steps", "0"]),
        ("nbody", ["--steps"]),
        ("lbm", ["--edge=-32"]),
        ("lbm", ["--edge="]),
        ("matmul", ["--order", "1e3"]),
        ("fft", ["--log2-points", "29"]),
        ("cg", ["cube"]),
        ("cg", ["--edges", "3"]),
        ("montecarlo", ["--seed", "18446744073709551616"]),
        ("raytrace", ["--width", "10 "]),
        ("search", ["--vertices", "2"]),
    ],
)
def test_bad_arguments_are_refused_with_a_message(
    name: str, arguments: list[str], golden: Golden, programs: Path
) -> None:
    ended = run([programs / name, *arguments])
    assert (ended.returncode, ended.stdout) == (2, "")
    golden(shlex.join([name, *arguments]), ended.stderr)
    assert f"; see {name} --help" in ended.stderr


def test_a_result_that_cannot_be_written_fails_the_program(programs: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("NOT TESTED: there is no /dev/full")
    with Path("/dev/full").open("w") as full:
        command: list[str | Path] = [programs / "cg", *SMALL["cg"]]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert os.strerror(errno.ENOSPC) in ended.stderr


def test_too_little_memory_is_told(programs: Path) -> None:
    ended = run(["sh", "-c", 'ulimit -v 100000 && exec "$0" --order 32768', programs / "matmul"])
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("matmul: out of memory ")
    assert "1073741824 objects of 8 bytes" in ended.stderr
