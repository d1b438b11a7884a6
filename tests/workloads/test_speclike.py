"""The SPEC-like suite: its inputs are what the seed says, and its commands give what the suite expects."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
SUITE = YAML(typ="safe").load(ROOT / "configs/suites/speclike.yml")
GENERATE = ROOT / "benchmarks/spec/generate.py"
REPORT = ROOT / "benchmarks/spec/perl/report.pl"


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"NOT TESTED: {', '.join(missing)} is not on PATH")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def generate(output: Path, *arguments: str, **environment: str) -> bytes:
    subprocess.run(
        [sys.executable, GENERATE, *arguments, "--output", output],
        check=True,
        env={**os.environ, **environment},
    )
    return output.read_bytes()


def fill(command: list[str], values: dict[str, str]) -> list[str]:
    return [re.sub(r"\{([^}]+)\}", lambda match: values[match[1]], argument) for argument in command]


def execute(command: list[str], directory: Path) -> bytes:
    environment = {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C",
        "HOME": str(directory),
        "TMPDIR": str(directory),
    }
    ended = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout


# ---- the suite as it is written ----


@pytest.mark.parametrize("name", [pytest.param(n, marks=needs(n)) for n in SUITE["benchmarks"]])
def test_the_suites_command_gives_the_expected_digest(name: str, tmp_path: Path) -> None:
    benchmark: dict[str, Any] = SUITE["benchmarks"][name]
    size = benchmark["sizes"]["test"]
    values = {key: str(value) for key, value in size["parameters"].items()}
    for build_name, build in SUITE["builds"].items():
        copy = tmp_path / build_name
        shutil.copytree(ROOT / build["directory"], copy, ignore=shutil.ignore_patterns("build"))
        if f"{{{build_name}." in str(benchmark["command"]):
            subprocess.run(build["command"], cwd=copy, check=True, capture_output=True)
        values.update(
            {f"{build_name}.{output}": str(copy / path) for output, path in build["outputs"].items()}
        )
    used = set(re.findall(r"\{input\.(\w+)\}", str([benchmark["command"], benchmark.get("arrange")])))
    for kind in used:
        values["output"] = values[f"input.{kind}"] = str(tmp_path / kind)
        command = [sys.executable, *fill(SUITE["inputs"][kind]["command"], values)[1:]]
        subprocess.run(command, cwd=ROOT, check=True)
    work = tmp_path / "work"
    work.mkdir()
    for file_name, source in benchmark.get("arrange", {}).items():
        shutil.copyfile(fill([source], values)[0], work / file_name)

    stdout = execute(fill(benchmark["command"], values), work)
    found = {"stdout_sha256": sha256(stdout)}
    if "check" in benchmark:
        found["check_sha256"] = sha256(execute(fill(benchmark["check"]["command"], values), work))
    assert size["expect"].items() <= found.items()


def test_every_size_expects_something_and_sizes_grow() -> None:
    for benchmark in SUITE["benchmarks"].values():
        assert list(benchmark["sizes"]) == ["test", "train", "ref"]
        amounts = [next(iter(size["parameters"].values())) for size in benchmark["sizes"].values()]
        assert amounts == sorted(set(amounts))
        for size in benchmark["sizes"].values():
            assert re.fullmatch(r"[0-9a-f]{64}", next(iter(size["expect"].values())))


def test_inputs_do_not_depend_on_the_experiments_seed() -> None:
    for made in SUITE["inputs"].values():
        assert "{seed}" not in made["command"]


# ---- the generator ----

SMALL = {
    "text": (["--kib", "64"], "251bc15ff83f15357ad292f22ec9880c00bfb405866918a0fb14ce93137ff1b4"),
    "program": (["--functions", "5"], "65dd3d5c84ca3edbce78ba4b5f6e91c1ca3fb49ffaf857612a12b7e5695e04fe"),
    "log": (["--lines", "500"], "f068bb206ca51c6313f23e2cdc9b912069d66cd95b4549ab8e6cf7ad8417e1cc"),
}


@pytest.mark.parametrize("kind", SMALL)
def test_the_same_seed_gives_the_same_bytes_everywhere(kind: str, tmp_path: Path) -> None:
    size, expected = SMALL[kind]
    first = generate(tmp_path / "first", kind, *size, "--seed", "7", PYTHONHASHSEED="1", LC_ALL="C")
    again = generate(tmp_path / "again", kind, *size, "--seed", "7", PYTHONHASHSEED="2", TZ="Asia/Tokyo")
    assert first == again
    assert sha256(first) == expected


@pytest.mark.parametrize("kind", SMALL)
def test_another_seed_gives_other_bytes(kind: str, tmp_path: Path) -> None:
    size, expected = SMALL[kind]
    assert sha256(generate(tmp_path / "other", kind, *size, "--seed", "8")) != expected


def test_a_text_is_as_long_as_asked_for_and_follows_zipf(tmp_path: Path) -> None:
    text = generate(tmp_path / "text", "text", "--kib", "300", "--seed", "1").decode("ascii")
    assert len(text) == 300 * 1024
    words = re.findall(r"[a-z]+", text.lower())
    counts = sorted((words.count(word) for word in ("the", "that", "good")), reverse=True)
    # Zipf and Mandelbrot: frequency goes as 1 / (rank + 2.7), and "the" has rank 1, "that" rank 8, "good" 120.
    assert counts == [words.count(word) for word in ("the", "that", "good")]
    assert words.count("the") / words.count("that") == pytest.approx(10.7 / 3.7, rel=0.25)


@needs("gcc")
def test_a_generated_program_compiles_without_a_warning_and_means_the_same_at_every_level(
    tmp_path: Path,
) -> None:
    generate(tmp_path / "program.c", "program", "--functions", "12", "--seed", "42")
    printed = set()
    for flags in (["-O0"], ["-O2"], ["-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"]):
        command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, "-o", "prog", "program.c"]
        if subprocess.run(command, cwd=tmp_path, check=False).returncode != 0:
            assert "-fsanitize=undefined" in flags, "it must compile"
            continue
        printed.add(execute(["./prog"], tmp_path).decode())
    assert printed == {"checksum 971a52d4a028e668\n"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: kind"),
        (["novel", "--kib", "1"], "invalid choice: 'novel'"),
        (["text", "--kib", "0", "--seed", "1", "--output", "x"], "expected an integer from 1 to"),
        (["text", "--kib", "1", "--seed", "-1", "--output", "x"], "--seed"),
        (["program", "--functions", "many", "--seed", "1", "--output", "x"], "got 'many'"),
        (["log", "--lines", "5", "--output", "x"], "required: --seed"),
    ],
)
def test_bad_arguments_are_refused_with_a_message(arguments: list[str], message: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, GENERATE, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert message in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    command = [
        sys.executable,
        GENERATE,
        "text",
        "--kib",
        "1",
        "--seed",
        "1",
        "--output",
        tmp_path / "no/text",
    ]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "No such file or directory" in ended.stderr


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
    assert text.startswith("requests 3, bytes 1200, malformed lines 1, clients 1\n")
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
