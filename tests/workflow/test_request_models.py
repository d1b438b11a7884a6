"""From a request log to a load that has its distributions, as docs/request-models.md shows it, and the experiment `web-model`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.experiment_parts import HOME, measured, regatta
from helpers.workloads.web_runs import MISSING
from helpers.workloads.web_sessions import shop_sessions
from regatta.fleet.user_files import find_user_files
from regatta.models.load.comparing import SMALL
from regatta.spec.load import load_spec

MODEL = HOME / "configs" / "loads" / "shop.yml"
GAPS = "Time between requests of a view"
needs_servers = pytest.mark.skipif(bool(MISSING), reason=f"NOT TESTED: {', '.join(MISSING)} is not on PATH")


def example_log(directory: Path, *arguments: str) -> Path:
    log = directory / "access.log"
    program = [sys.executable, "-I", str(HOME / "benchmarks/web/example_log.py"), "--output", str(log)]
    subprocess.run([*program, *arguments], check=True, timeout=60)
    return log


def succeeded(*arguments: str, cwd: Path) -> str:
    done = regatta(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_sessions_of_the_experiment_are_drawn_from_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGATTA_CACHE", str(tmp_path / "cache"))
    files = find_user_files(load_spec(HOME / "configs/experiments/web-model.yml", HOME), HOME)
    paths = {Path(named["sessions"].path) for named in files.values()}
    assert {path.read_bytes() for path in paths} == {shop_sessions(tmp_path).read_bytes()}


def test_own_sessions_beside_the_spec_replace_those_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "spec.yml").write_text(f"include: [{HOME}/configs/experiments/web-model.yml]\n")
    own = tmp_path / "web.sessions"
    own.write_text("own")
    files = find_user_files(load_spec(tmp_path / "spec.yml", HOME), HOME)
    assert {named["sessions"].path for named in files.values()} == {str(own)}


@needs_servers
def test_the_log_of_a_server_under_a_model_is_like_the_log_of_the_model(tmp_path: Path) -> None:
    log = example_log(tmp_path, "--hours", "2", "--visits-per-hour", "2000")
    succeeded("model", "log", str(log), "-o", "shop.yml", cwd=tmp_path)
    succeeded("model", "sessions", "shop.yml", "-o", "shop.sessions", cwd=tmp_path)
    build = ["make", "-s", "-C", str(HOME / "benchmarks/web"), f"BUILD={tmp_path / 'build'}"]
    subprocess.run(build, check=True, timeout=300)
    web = [str(tmp_path / "build/web"), "--server", "nginx", "--sessions", "shop.sessions", "--rate", "500"]
    times = ["--warmup-ms", "0", "--window-ms", "12000", "--log-copy", "server.log"]
    subprocess.run([*web, *times], check=True, cwd=tmp_path, timeout=120, capture_output=True)
    found: dict[str, Any] = json.loads(
        succeeded("model", "compare", "shop.yml", "server.log", "--json", cwd=tmp_path)
    )
    distances = {part["part"]: part.get("distance") for part in found["parts"]}
    # The model is drawn from twice, and the popular objects of few sessions differ by chance.
    assert distances["Size of answers"] < 2 * SMALL
    assert distances[GAPS] < 2 * SMALL
    assert found["kinds"] < SMALL
    assert found["popularity"] < 2 * SMALL
    assert distances["Views per session"] is None


@needs_servers
def test_the_highest_throughput_is_predicted_from_the_primitives_of_a_server(tmp_path: Path) -> None:
    """Not measured: whether the server is the limit depends on the machine."""
    costs = {
        "suite": "web",
        "benchmark": "request-costs",
        "parameters": {"bytes": "1024,16384,65536", "users": 8, "warmup_ms": 0, "window_ms": 500},
    }
    nginx = {"runtimes": ["nginx"], "baseline": {"runtime": "nginx"}}
    measured("web-saturation", tmp_path, [costs], rounds=2, workflow=True, **nginx)
    succeeded("model", "vector", str(shop_sessions(tmp_path)), "-o", "shop.yml", cwd=tmp_path)
    words = ("predict", "shop.yml", "--on", "web-saturation", "--primitives", "web")
    (one,) = json.loads(succeeded(*words, "--json", cwd=tmp_path))["applications"]
    (system,) = one["systems"]
    parts = {part["primitive"]: part for part in system["prediction"]["contributions"]}
    assert set(parts) == {"get", "head", "unmodified", "missing", "connection"}
    assert all(part["cost"]["value"] > 0 for name, part in parts.items() if name != "connection")
    total = sum(part["cost"]["value"] * part["count"]["value"] for part in parts.values())
    time = system["elapsed"]
    assert time["value"] == pytest.approx(total)
    assert 0 <= time["low"] < time["value"] < time["high"]
    assert sum(
        part["count"]["value"] for name, part in parts.items() if name != "connection"
    ) == pytest.approx(1)
    shown = succeeded(*words, cwd=tmp_path)
    assert "Throughput of shop" in shown
    assert "system classes" not in shown


@needs_servers
def test_the_highest_load_that_meets_a_target_is_found(tmp_path: Path) -> None:
    nginx = {
        "suite": "web",
        "benchmark": "nginx-requests",
        "parameters": {"rate": [100, 200], "warmup_ms": 300, "window_ms": 700},
    }
    target = {"parameter": "rate", "metric": "latency", "parameters": {"percentile": 50}, "unit": "s"}
    capacity = {**target, "at_most": 3600}
    answer = measured("web-model", tmp_path, [nginx], rounds=2, workflow=True, capacity=capacity)
    (found,) = answer["capacity"]
    assert found["bound"] == {"low": 200, "high": None}
    assert found["estimate"]["n"] == 2


@pytest.mark.alone  # latencies of milliseconds: beside other programs, the distance is four times as large
@needs_servers
def test_the_log_of_a_proxy_under_a_model_has_the_latencies_of_the_model(tmp_path: Path) -> None:
    build = ["make", "-s", "-C", str(HOME / "benchmarks/web"), f"BUILD={tmp_path / 'build'}"]
    subprocess.run(build, check=True, timeout=300)
    web = [
        str(tmp_path / "build/web"),
        "--server",
        "nginx",
        "--sessions",
        str(shop_sessions(tmp_path)),
        "--rate",
        "300",
    ]
    times = [
        "--warmup-ms",
        "0",
        "--window-ms",
        "6000",
        "--log-copy",
        "proxy.log",
        "--cache-bytes",
        "64000000",
    ]
    done = subprocess.run(
        [*web, *times, "--json"], check=True, cwd=tmp_path, timeout=120, capture_output=True, text=True
    )
    told = json.loads(done.stdout)
    compared = json.loads(succeeded("model", "compare", str(MODEL), "proxy.log", "--json", cwd=tmp_path))
    (distance,) = [part["distance"] for part in compared["parts"] if part["part"] == "Latency of the origin"]
    # The origin of the model is not asked by chance alone: each object is new to the cache only once.
    assert distance < 2 * SMALL
    found = json.loads(succeeded("model", "log", "proxy.log", "--json", cwd=tmp_path))["model"]["proxy"]
    # The log also has the first answer of the server.
    assert abs(found["requests"] - told["planned"]) < 20
    assert abs(found["hit_ratio"] - (1 - told["origin_requests"] / told["planned"])) < 0.02
    assert 0 < found["byte_hit_ratio"] < 1


def test_the_example_log_of_a_proxy_has_the_hit_ratio_of_its_cache(tmp_path: Path) -> None:
    log = example_log(tmp_path, "--hours", "2", "--proxy-bytes", "4000000")
    words = Counter(line.rsplit('"', 1)[1].split()[1] for line in log.read_text().splitlines())
    found = json.loads(succeeded("model", "log", str(log), "--json", cwd=tmp_path))["model"]["proxy"]
    assert found["requests"] == words.total()
    assert abs(found["hit_ratio"] - words["hit"] / words.total()) < 1e-5
    assert abs(found["uncacheable"] - words["pass"] / words.total()) < 1e-5
    latency = found["origin_latency"]
    assert latency["distribution"] == "lognormal"
    assert abs(latency["parameters"]["mu"] + 3.2) < 0.05
    assert abs(latency["parameters"]["sigma"] - 0.6) < 0.05
