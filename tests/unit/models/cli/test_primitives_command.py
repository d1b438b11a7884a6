"""`regatta primitives` on the vectors of the repository, of the thesis, and of an experiment that is made up."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from helpers.served_experiment import as_home, refused, regatta, write_served_experiment
from regatta.cli.main import cli

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return as_home(write_served_experiment(tmp_path_factory.mktemp("served")))


def test_the_web_servers_of_the_repository_share_a_core_set() -> None:
    names = ["apache-static", "apache-cgi", "apache-fastcgi"]
    call = ["primitives", *names, "--on", "emulated-aarch64"]
    done = CliRunner().invoke(cli, call, env={"REGATTA_HOME": str(ROOT)})
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "at least 90 %" in lines[0]
    assert "each of 3 applications" in lines[0]
    header = next(line for line in lines if line.startswith("primitive "))
    assert header.split() == ["primitive", "mean", "cumulative", *names]
    # CGI starts a process for each request.
    assert next(line for line in lines if line.startswith("simple_process")).split()[-4:-2] == ["98.7", "%"]
    assert lines.index(next(line for line in lines if line.startswith("core set"))) < lines.index(
        next(line for line in lines if line.startswith("────"))
    )
    assert any("accept4, close, read, shutdown" in line for line in lines)


def test_json_has_every_primitive_and_what_is_left_out() -> None:
    call = [
        "primitives",
        "apache-static",
        "nginx-static",
        "--on",
        "emulated-aarch64",
        "--share",
        "0.95",
        "--json",
    ]
    done = CliRunner().invoke(cli, call, env={"REGATTA_HOME": str(ROOT)})
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert set(document) == {
        "system", "share", "applications", "primitives", "without_cost", "without_rule", "sentences", "warnings",
    }  # fmt: skip
    assert (document["system"], document["share"]) == ("emulated-aarch64", 0.95)
    for one in document["applications"]:
        assert set(one) == {"name", "per", "time_ns", "explained", "without_rule", "counted_as"}
        shares = [row["shares"][one["name"]] for row in document["primitives"]]
        assert sum(shares) == pytest.approx(1)
        core = [row["shares"][one["name"]] for row in document["primitives"] if row["core"]]
        assert sum(core) == pytest.approx(one["explained"])
        assert one["explained"] >= 0.95
    assert set(document["primitives"][0]) == {"primitive", "core", "mean", "cumulative", "shares", "calls"}


def test_times_are_those_of_predict(home: Path) -> None:
    call = ("apache-static", "--on", "sun-400", "--json")
    ranked = json.loads(regatta(home, "primitives", *call).stdout)
    (one,) = json.loads(regatta(home, "predict", *call).stdout)["applications"]
    prediction = one["systems"][0]["prediction"]
    assert ranked["applications"][0]["time_ns"] == pytest.approx(prediction["time"]["value"])
    shares = {row["primitive"]: row["share"] for row in prediction["contributions"]}
    assert {row["primitive"]: row["mean"] for row in ranked["primitives"]} == pytest.approx(shares)


def test_a_system_without_some_costs_is_ranked_with_a_warning(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    text = (home / "systems" / "sun-400.yml").read_text()
    less = tmp_path / "less.yml"
    less.write_text("\n".join(line for line in text.splitlines() if "tcp_connect" not in line))
    done = regatta(home, "primitives", "apache-static", "--on", str(less))
    assert done.exit_code == 0, done.output
    (warning,) = [line for line in done.stderr.splitlines() if "tcp_connect" in line]
    golden("no cost", warning)
    (title,) = [line for line in done.stdout.splitlines() if line.startswith("Primitives without a cost")]
    golden("title of those without a cost", title)


def test_an_experiment_of_several_systems_is_refused_with_their_names(home: Path, tmp_path: Path) -> None:
    (problem,) = refused(regatta(home, "primitives", "apache-static", "--on", "served"))
    assert "--on: " in problem
    assert "got 3: alpha-half-quota, alpha, beta" in problem
    vector = home / "results" / "served" / "vectors" / "alpha-half-quota.yml"
    assert f"fix: --on {vector}" in problem
    assert regatta(home, "primitives", "apache-static", "--on", str(vector)).exit_code == 0
    folder = tmp_path / "several"
    folder.mkdir()
    for name in ("sun-333", "sun-400"):
        shutil.copy(home / "systems" / f"{name}.yml", folder)
    (problem,) = refused(regatta(home, "primitives", "apache-static", "--on", str(folder)))
    assert "got 2: sun-333, sun-400 · fix: " in problem


@pytest.mark.parametrize(
    ("case", "arguments"),
    [
        ("unknown application", ["apache-statik", "--on", "sun-400"]),
        ("application twice", ["apache-static", "apache-static", "--on", "sun-400"]),
        ("unknown system", ["apache-static", "--on", "nothing"]),
        ("system as application", ["sun-400", "--on", "sun-400"]),
        ("share that is no number", ["apache-static", "--on", "sun-400", "--share", "nan"]),
    ],
)
def test_a_wrong_name_or_share_is_refused(
    home: Path, case: str, arguments: list[str], golden: Golden
) -> None:
    (problem,) = refused(regatta(home, "primitives", *arguments))
    golden(case, problem.replace(str(home), "HOME"))


@pytest.mark.parametrize("share", ["0", "1.1", "-1", "90", "most"])
def test_a_share_out_of_range_is_an_error_of_the_option(home: Path, share: str) -> None:
    done = regatta(home, "primitives", "apache-static", "--on", "sun-400", "--share", share)
    assert done.exit_code == 2
    assert "--share" in done.output
