"""`regatta model`: from a log to a model, from either to sessions, and the comparison of two."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from helpers import in_process
from helpers.request_logs import Known, as_combined, line, synthetic

ATTACK = "<script>alert(7)</script><img src=x onerror=alert(7)>"
ESCAPE = "\x1b[2J\x1b]0;title\x07"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log, its model, and another log with other sizes."""
    folder = tmp_path_factory.mktemp("logs")
    requests = synthetic(Known(sessions=90, objects=120), np.random.default_rng(1))
    hostile = line(200, path=f"/{ATTACK}", referer=ATTACK, agent=f"{ATTACK}{ESCAPE}", status=404)
    broken = f"{ESCAPE}{ATTACK}\n" + line(300, request=r"\x16\x03\x01")
    (folder / "access.log").write_text(as_combined(requests) + hostile + broken)
    for one in requests:
        one["size"] *= 3
    (folder / "other.log.gz").write_bytes(gzip.compress(as_combined(requests).encode()))
    done = regatta(folder, "log", "access.log", "-o", "model.yml")
    assert done.returncode == 0, done.stderr
    return folder


def regatta(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return in_process.regatta("model", *words, cwd=folder)


def loaded(done: subprocess.CompletedProcess[str]) -> Any:
    """The JSON of a command; NaN is not JSON."""
    assert done.returncode == 0, done.stderr

    def refuse(text: str) -> None:
        raise ValueError(text)

    return json.loads(done.stdout, parse_constant=refuse)


# --- log -------------------------------------------------------------------------------------------------


def test_a_log_gives_a_model_without_names(folder: Path) -> None:
    text = (folder / "model.yml").read_text(encoding="utf-8")
    model = yaml.safe_load(text)
    assert model["kind"] == "requests"
    assert model["source"]["lines"] == model["source"]["requests"] + 2
    assert sum(model["source"]["broken"].values()) == 2
    assert not any(word in text for word in ("secret", "script", "Mozilla", "10.0.", "\x1b"))


def test_the_table_shows_broken_lines_without_control_characters(folder: Path) -> None:
    done = regatta(folder, "log", "access.log")
    assert done.returncode == 0
    lines = sum(1 for _ in (folder / "access.log").open())
    for number in (lines - 1, lines):
        assert f"access.log:{number}" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


def test_json_has_the_model_and_the_comparison(folder: Path) -> None:
    found = loaded(regatta(folder, "log", "access.log", "--json"))
    assert set(found) == {"model", "comparison"}
    written = yaml.safe_load((folder / "model.yml").read_text(encoding="utf-8"))
    assert found["model"]["source"]["broken"] == written["source"]["broken"]
    assert found["model"]["arrivals"] == written["arrivals"]
    assert found["comparison"]["names"] == ["log", "model"]
    assert len(found["comparison"]["parts"]) == 5


def test_a_seed_determines_all(folder: Path) -> None:
    first, again, other = (
        regatta(folder, "log", "access.log", "--json", "--seed", seed).stdout for seed in ("3", "3", "4")
    )
    assert first == again
    assert json.loads(first)["model"] == json.loads(other)["model"]
    assert first != other


def test_names_are_kept_when_asked_for(folder: Path, tmp_path: Path) -> None:
    done = regatta(folder, "log", "access.log", "--names", "-o", str(tmp_path / "n.yml"))
    assert done.returncode == 0, done.stderr
    popular = yaml.safe_load((tmp_path / "n.yml").read_text(encoding="utf-8"))["objects"]["popular"]
    assert all(one["path"].startswith("/secret/object-") for one in popular)


def test_a_picture_has_nothing_that_a_client_sent(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = regatta(folder, "log", "access.log", "--names", "--picture", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "</html>" in text
    assert not any(word in text for word in ("alert(7)", "secret/object", "10.0.0."))


def test_several_logs_are_one(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "access.log").read_text().splitlines(keepends=True)
    (tmp_path / "1").write_text("".join(lines[:100]))
    (tmp_path / "2.gz").write_bytes(gzip.compress("".join(lines[100:]).encode()))
    whole = loaded(regatta(folder, "log", "access.log", "--json"))["model"]
    parts = loaded(regatta(tmp_path, "log", "2.gz", "1", "--json"))["model"]
    assert parts["source"] == whole["source"]
    assert parts["objects"] == whole["objects"]


def test_pauses_and_format_can_be_given(folder: Path) -> None:
    words = ("--format", "combined", "--idle", "20", "--think", "5")
    found = loaded(regatta(folder, "log", "access.log", "--json", *words))["model"]
    whole = loaded(regatta(folder, "log", "access.log", "--json"))["model"]
    assert (found["sessions"]["idle_s"], found["sessions"]["think_s"]) == (20, 5)
    assert found["source"]["sessions"] > whole["source"]["sessions"]


def test_the_result_does_not_depend_on_zone_and_language(folder: Path, tmp_path: Path) -> None:
    text = (folder / "access.log").read_text(encoding="utf-8") + line(400, path="/ü☃", size=12345)
    (tmp_path / "a.log").write_text(text, encoding="utf-8")
    here = regatta(tmp_path, "log", "a.log", "--names", "--json", "-o", "here.yml")
    language = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    there = subprocess.run(
        [in_process.PROGRAM, "model", "log", "a.log", "--names", "--json", "-o", "there.yml"],
        cwd=tmp_path, env=os.environ | language | {"TZ": "America/New_York"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout
    written = [(tmp_path / name).read_text(encoding="utf-8") for name in ("here.yml", "there.yml")]
    assert written[0] == written[1]
    listed = yaml.safe_load(written[0])["objects"]["popular"]
    assert len(listed) > 50


# --- sessions --------------------------------------------------------------------------------------------


def heads(path: Path) -> tuple[int, int]:
    """The numbers of objects and of sessions in a file of sessions."""
    lines = path.read_text().splitlines()
    assert lines[0] == "regatta-sessions 1"
    objects = int(lines[1].removeprefix("objects "))
    return objects, int(lines[2 + objects].removeprefix("sessions "))


def test_sessions_are_drawn_from_a_model(folder: Path, tmp_path: Path) -> None:
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        words = ("-o", str(tmp_path / name), "--sessions", "50", "--seed", seed)
        assert regatta(folder, "sessions", "model.yml", *words).returncode == 0
    assert heads(tmp_path / "a")[1] == 50
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def test_the_vector_of_sessions_is_a_file_that_predicts(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "shop.sessions"
    assert regatta(folder, "sessions", "model.yml", "-o", str(path), "--sessions", "50").returncode == 0
    printed = regatta(folder, "vector", str(path))
    assert printed.returncode == 0, printed.stderr
    done = regatta(folder, "vector", str(path), "-o", str(tmp_path / "shop.yml"), "--name", "load")
    assert done.returncode == 0, done.stderr
    found, named = yaml.safe_load(printed.stdout), yaml.safe_load((tmp_path / "shop.yml").read_text())
    assert (found["kind"], found["name"], found["per"]) == ("application", "shop", "request")
    assert named == {**found, "name": "load"}
    assert regatta(folder, "vector", str(path), "-o", str(tmp_path / "other.yml")).returncode == 0
    assert yaml.safe_load((tmp_path / "other.yml").read_text())["name"] == "other"
    costs = {
        primitive: {"unit": "operation", "cost": 10.0}
        for primitive in ("head", "unmodified", "missing", "connection")
    }
    costs["get"] = {
        "unit": "operation",
        "cost": {"linear": {"argument": "bytes", "fixed": 1000.0, "per": 0.1}},
    }
    system = {"kind": "system", "name": "server", "time_unit": "ns", "primitives": costs}
    (tmp_path / "server.yml").write_text(yaml.safe_dump(system))
    words = ("predict", str(tmp_path / "shop.yml"), "--on", str(tmp_path / "server.yml"))
    predicted = in_process.regatta(*words, cwd=tmp_path)
    assert predicted.returncode == 0, predicted.stderr
    assert "Throughput of load" in predicted.stdout
    assert "measured on none" not in predicted.stderr


def test_a_vector_of_a_model_is_refused(folder: Path) -> None:
    done = regatta(folder, "vector", "model.yml")
    assert done.returncode == 3
    assert "model.yml: expected" in done.stderr


def test_models_are_mixed_in_proportion(folder: Path, tmp_path: Path) -> None:
    words = ("-o", str(tmp_path / "s"), "--sessions", "100", "--mix", "3:1")
    assert regatta(folder, "sessions", "model.yml", "model.yml", *words).returncode == 0
    alone = ("-o", str(tmp_path / "alone"), "--sessions", "75")
    assert regatta(folder, "sessions", "model.yml", *alone).returncode == 0
    (objects, sessions), (objects_alone, _) = heads(tmp_path / "s"), heads(tmp_path / "alone")
    assert sessions == 100
    assert objects_alone < objects < 2 * objects_alone


def test_sizes_are_multiplied(folder: Path, tmp_path: Path) -> None:
    for name, factor in (("one", "1"), ("ten", "10")):
        words = ("-o", str(tmp_path / name), "--sessions", "5", "--size-factor", factor)
        assert regatta(folder, "sessions", "model.yml", *words).returncode == 0
    count, _ = heads(tmp_path / "one")
    sizes = [(tmp_path / name).read_text().splitlines()[2 : 2 + count] for name in ("one", "ten")]
    assert [10 * int(size) for size in sizes[0]] == list(map(int, sizes[1]))


def test_a_log_is_replayed(folder: Path, tmp_path: Path) -> None:
    done = regatta(folder, "sessions", "access.log", "-o", str(tmp_path / "s"))
    assert done.returncode == 0, done.stderr
    model = yaml.safe_load((folder / "model.yml").read_text(encoding="utf-8"))
    assert heads(tmp_path / "s")[1] == model["source"]["sessions"]


# --- compare ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["access.log", "model.yml", "other.log.gz"])
def test_two_loads_are_compared(second: str, folder: Path) -> None:
    found = loaded(regatta(folder, "compare", "access.log", second, "--json"))
    assert found["names"] == ["access.log", second]
    by_part = {one["part"]: one for one in found["parts"]}
    sizes = by_part["Size of answers"]
    if second == "access.log":
        assert all(one.get("distance", 0) == 0 for one in found["parts"])
        assert (found["popularity"], found["kinds"]) == (0, 0)
    if second == "other.log.gz":
        assert sizes["distance"] > sizes["by_chance"]
        assert sizes["p"] < 0.05
        assert by_part["Requests per view"]["distance"] < 0.05


def test_a_load_of_one_session_gives_null_in_json(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "one.log").write_text(line() + line(1))
    found = loaded(regatta(folder, "compare", "access.log", str(tmp_path / "one.log"), "--json"))
    sizes = next(one for one in found["parts"] if one["part"] == "Size of answers")
    assert (sizes["by_chance"], sizes["p"]) == (None, None)


def test_a_comparison_has_a_picture_with_escaped_names(folder: Path, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(7)>.log"
    (tmp_path / name).write_bytes((folder / "access.log").read_bytes())
    page = tmp_path / "page.html"
    done = regatta(tmp_path, "compare", name, str(folder / "model.yml"), "--picture", str(page))
    assert done.returncode == 0, done.stderr
    assert "<img src=x" not in page.read_text(encoding="utf-8")


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("log",),
        ("log", "none.log"),
        ("log", "."),
        ("log", "access.log", "--idle", "0"),
        ("log", "access.log", "--idle", "nan"),
        ("log", "access.log", "--think", "nan"),
        ("log", "access.log", "--idle", "10", "--think", "10"),
        ("log", "access.log", "--seed", "-1"),
        ("sessions", "model.yml"),
        ("sessions", "model.yml", "access.log", "-o", "never"),
        ("sessions", "access.log", "--mix", "1", "-o", "never"),
        ("sessions", "access.log", "--size-factor", "2", "-o", "never"),
        ("sessions", "model.yml", "--size-factor", "nan", "-o", "never"),
        ("sessions", "model.yml", "--size-factor", "0", "-o", "never"),
        ("sessions", "model.yml", "--sessions", "0", "-o", "never"),
        ("sessions", "model.yml", "--mix", "1:2", "-o", "never"),
        ("sessions", "model.yml", "--mix", "0", "-o", "never"),
        ("sessions", "model.yml", "--mix", "nan", "-o", "never"),
        ("sessions", "model.yml", "--mix", "one", "-o", "never"),
        ("compare", "access.log"),
        ("compare", "access.log", "none.log"),
    ],
)  # fmt: skip
def test_wrong_words_are_refused(words: tuple[str, ...], folder: Path) -> None:
    done = regatta(folder, *words)
    assert done.returncode == 2
    assert not (folder / "never").exists()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["combine", "%h %u", "$remote_addr"])
def test_a_wrong_format_is_refused(text: str, folder: Path) -> None:
    done = regatta(folder, "log", "access.log", "--format", text, "-o", "never")
    assert done.returncode == 3
    assert "--format" in done.stderr
    assert not (folder / "never").exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"Dear reader\n", bytes(range(11, 256)), b"\x1f\x8b\x08cut", b'{"a": 1}\n'])  # fmt: skip
def test_what_is_no_log_is_refused_with_its_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "letter").write_bytes(content)
    done = regatta(tmp_path, "log", "letter")
    assert done.returncode == 3
    assert "letter" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_model_is_refused_with_its_place(folder: Path, tmp_path: Path) -> None:
    text = (folder / "model.yml").read_text(encoding="utf-8")
    (tmp_path / "wrong.yml").write_text(text.replace("queries: 0", "queries: 7"))
    for words in (("sessions", "wrong.yml", "-o", "s"), ("compare", "wrong.yml", "wrong.yml")):
        done = regatta(tmp_path, *words)
        assert done.returncode == 2
        assert "queries" in done.stderr
