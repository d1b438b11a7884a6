"""`regatta predict` and `regatta vector` on the thesis's vectors and an experiment that is made up."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from helpers.served_experiment import as_home, refused, regatta, write_served_experiment
from helpers.synthetic_journal import native, record, write_experiment
from helpers.vector_examples import application_of, constant, count_of, system_of
from regatta.cli.main import cli
from regatta.models.predict.model_error import OF_SYSTEM_CALLS
from regatta.models.vectors.files import write_vector
from regatta.models.vectors.values import PrimitiveCost, Value

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return as_home(write_served_experiment(tmp_path_factory.mktemp("served")))


def test_the_first_lines_answer_and_the_tables_follow(home: Path, tmp_path: Path, golden: Golden) -> None:
    page = tmp_path / "page.html"
    done = regatta(home, "predict", "apache-static", "--on", "served", "--optimise", "--html", str(page))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    golden("first line", lines[0])
    (compared,) = [line for line in lines[:10] if "compared with measured" in line]
    # Beta is predicted to differ from both others by less than the model's own error.
    assert "pairs: 1 right, 2 open;" in compared
    text = done.stdout
    for told in ("Contributions to the time", "a=tcp_transfer", "u=application in user",
                 "times, getpid (light calls", "Pairs of systems", "Possible savings for"):  # fmt: skip
        assert told in text
    assert page.stat().st_size > 1_000_000
    bar = next(line for line in lines if line.startswith("alpha  ") and "aaaa" in line).split()[1]
    # 245.7 of 672.6 us are tcp_transfer
    assert bar.count("a") / len(bar) == pytest.approx(245.7 / 672.6, abs=0.02)


def test_several_systems_may_follow_one_option_and_options_may_stand_anywhere(home: Path) -> None:
    names = ["intel-550", "sun-333"]
    done = regatta(
        home, "predict", "--json", "apache-static", "--on", *names, "--level", "0.9", "--on", "sun-400"
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["level"] == 0.9
    assert [one["system"] for one in document["applications"][0]["systems"]] == [
        "intel-550",
        "sun-400",
        "sun-333",
    ]


def test_every_problem_of_a_call_is_told_at_once(home: Path, tmp_path: Path, golden: Golden) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("kind: system\nname: x\ntime_unit: us\nprimitives: {stat: {unit: mile, cost: -1}}\n")
    done = regatta(home, "predict", "apache-statik", "--on", "served", "hbench", str(wrong), "--what-if", "stat=half",
                   "--measured", "nothing")  # fmt: skip
    problems = refused(done)
    assert sum("wrong.yml:4" in one for one in problems) == 2
    golden("every problem", "\n".join(sorted(one.replace(str(tmp_path), "TMP") for one in problems)))


def test_an_experiment_of_the_clone_that_is_not_measured_is_to_be_run_first(
    home: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(home, clone)
    (clone / "configs" / "experiments").mkdir(exist_ok=True)
    shutil.copy2(ROOT / "configs" / "experiments" / "hbench-os.yml", clone / "configs" / "experiments")
    (problem,) = refused(regatta(clone, "predict", "apache-static", "--on", "hbench-os"))
    assert problem.endswith("`regatta run configs/experiments/hbench-os.yml`")


def test_a_folder_of_the_registry_has_a_name_and_so_has_each_system_in_it(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(home, clone)
    suns = clone / "configs" / "systems" / "suns"
    suns.mkdir()
    for name in ("sun-333", "sun-400"):
        (suns.parent / f"{name}.yml").rename(suns / f"{name}.yml")
    both = {"sun-333", "sun-400"}
    for asked, systems in (("suns", both), ("suns/", both), ("suns/sun-400", {"sun-400"})):
        done = regatta(clone, "predict", "--json", "apache-static", "--on", asked)
        assert done.exit_code == 0, done.output
        assert {one["system"] for one in json.loads(done.stdout)["applications"][0]["systems"]} == systems
    shown = CliRunner().invoke(cli, ["vector", "show", "suns/sun-333"], env={"REGATTA_HOME": str(clone)})
    assert shown.exit_code == 0, shown.output
    (problem,) = refused(regatta(clone, "predict", "apache-static", "--on", "sun"))
    golden("name of a folder", problem)


MACHINE = {"fingerprint": "cpu of the trace", "host": "elsewhere"}


@pytest.mark.parametrize(
    ("case", "near", "own"),
    [
        ("scaled", {"a": constant(500), "user_work": constant(10)}, 600.0),
        ("without a cost", {"user_work": constant(10)}, 300.0),
        ("in another unit", {"a": replace(constant(500), unit="byte"), "user_work": constant(10)}, 300.0),
    ],
)
def test_the_system_of_the_trace_is_found_in_the_registry_if_it_has_what_is_needed(
    home: Path, tmp_path: Path, golden: Golden, case: str, near: dict[str, PrimitiveCost], own: float
) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(home, clone)
    # The same name as the system of the prediction, which is another machine.
    write_vector(replace(system_of("far", **near), provenance=MACHINE), clone / "configs/systems/near.yml")
    application = application_of(count_of("a", 1), name="own", user=Value.exact(300.0))
    write_vector(replace(application, provenance=MACHINE), clone / "configs/applications/own.yml")
    far = system_of("far", a=constant(1000), user_work=constant(20))
    write_vector(far, tmp_path / "far.yml")
    done = regatta(clone, "predict", "own", "--on", str(tmp_path / "far.yml"), "--json")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["applications"][0]["systems"]
    assert found["elapsed"]["value"] == pytest.approx(1000 + own)
    golden(f"system of the trace, {case}", done.stderr)


def test_a_speedup_can_have_a_user_time_that_is_a_multiple_of_the_kernel_time(home: Path) -> None:
    asked = ("predict", "apache-cgi", "--replace", "apache-cgi=apache-fastcgi", "--on", "sun-400", "--json")
    done = regatta(home, *asked, "--user-over-kernel", "0.11")
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)["speed_ups"]
    r = found["kernel"]["value"]
    # r' = (s1 + 0.11 s1) / (s2 + 0.11 s1), whatever the user time of the vectors is
    expected = 1.11 / (1 / r + 0.11)
    assert found["with_user"]["value"] == pytest.approx(expected)
    # All speedups have the model's own error in their intervals, at any level.
    narrow = json.loads(regatta(home, *asked, "--user-over-kernel", "0.11", "--level", "0.5").stdout)
    for level, each in ((0.95, found), (0.5, narrow["speed_ups"][0])):
        factor = math.exp(OF_SYSTEM_CALLS.speedups.half_width(0.0, level))
        for one in (each["kernel"], each["with_user"]):
            assert one["high"] > factor * one["value"]
            assert one["low"] < one["value"] / factor
    assert narrow["speed_ups"][0]["kernel"]["high"] < found["kernel"]["high"]
    # It is the answer, though the vectors have user times.
    told = regatta(home, *asked[:-1], "--user-over-kernel", "0.11").stdout.splitlines()[0]
    assert f"predicted speedup {expected:.3g} [" in told


@pytest.mark.parametrize(
    ("case", "arguments"),
    [
        ("user time of no speedup", ["apache-static", "--on", "sun-400", "--user-over-kernel", "0.1"]),
        (
            "user time that is no number",
            [
                "apache-cgi",
                "--on",
                "sun-400",
                "--replace",
                "apache-cgi=apache-fastcgi",
                "--user-over-kernel",
                "nan",
            ],
        ),
        ("system as application", ["sun-400", "--on", "sun-400"]),
        ("application as system", ["apache-static", "--on", "apache-static"]),
        ("one weight of two", ["apache-static=1", "apache-cgi", "--on", "sun-400"]),
        ("weights of 0", ["apache-static=0", "apache-cgi=0", "--on", "sun-400"]),
        ("weight below 0", ["apache-static=1", "apache-cgi=-1", "--on", "sun-400"]),
        ("application twice", ["apache-static", "apache-static", "--on", "sun-400"]),
        (
            "replacement of another application",
            ["apache-static", "--on", "sun-400", "--replace", "apache-cgi=apache-fastcgi"],
        ),
        ("replacement by nothing", ["apache-static", "--on", "sun-400", "--replace", "apache-static"]),
        (
            "benchmark of two applications",
            ["apache-static", "apache-cgi", "--on", "sun-400", "--benchmark", "web/apache-static"],
        ),
        (
            "benchmark of a replacement",
            [
                "apache-cgi",
                "--on",
                "sun-400",
                "--benchmark",
                "web/x",
                "--replace",
                "apache-cgi=apache-fastcgi",
            ],
        ),
        (
            "change of an unknown primitive",
            ["apache-static", "--on", "sun-400", "--what-if", "tcp_conect=0.5x"],
        ),
        (
            "primitive changed twice",
            [
                "apache-static",
                "--on",
                "sun-400",
                "--what-if",
                "tcp_connect=0.5x",
                "--what-if",
                "stat=2x",
                "--what-if",
                "tcp_connect=12us",
            ],
        ),
        (
            "application replaced twice",
            [
                "apache-cgi",
                "--on",
                "sun-400",
                "--replace",
                "apache-cgi=apache-fastcgi",
                "--replace",
                "apache-cgi.yml=apache-static",
            ],
        ),
    ],
)
def test_a_wrong_name_weight_or_change_is_refused_with_what_mends_it(
    home: Path, case: str, arguments: list[str], golden: Golden
) -> None:
    problems = refused(regatta(home, "predict", *arguments))
    golden(case, "\n".join(problems).replace(str(home), "HOME"))


def test_hypothetical_predictions_are_not_written_over_real_ones_and_not_even_made(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    golden: Golden,
) -> None:
    from regatta.models.predict import predictions

    def never(*_: object) -> None:
        raise AssertionError("predicted")

    monkeypatch.setattr(predictions, "forecast_of", never)
    done = regatta(
        home, "predict", "apache-static", "--on", "sun-400", "--ingest", "--what-if", "stat=2x", "--what-if", "count:fcntl=-5%"
    )  # fmt: skip
    (problem,) = refused(done)
    golden("hypothetical predictions", problem)


def test_a_changed_count_is_beside_a_changed_cost_and_is_told(home: Path, golden: Golden) -> None:
    call = ("predict", "apache-static", "--on", "sun-400")
    before = json.loads(regatta(home, *call, "--json").stdout)["applications"][0]["systems"][0]
    done = regatta(
        home, *call, "--what-if", "stat=2x", "--what-if", "count:stat=5", "--what-if", "count:mmap=-100%"
    )
    assert done.exit_code == 0, done.output
    (title,) = [line for line in done.stdout.splitlines() if line.startswith("Effect of")]
    golden("effect of changes", title)
    document = json.loads(
        regatta(home, *call, "--what-if", "stat=2x", "--what-if", "count:stat=5", "--what-if", "count:mmap=-100%", "--json").stdout
    )  # fmt: skip
    assert document["changes"] == [
        {"primitive": "stat", "text": "2x", "of": "cost"},
        {"primitive": "stat", "text": "5", "of": "count"},
        {"primitive": "mmap", "text": "-100%", "of": "count"},
    ]
    after = document["applications"][0]["systems"][0]
    # 1 stat at 20.875 us becomes 5 at 41.75 us, and 1 mmap of 17.003 us is saved; the 80 us of own time stay.
    change = 5 * 41_750 - 20_875 - 17_003
    assert after["elapsed"]["value"] - before["elapsed"]["value"] == pytest.approx(change)
    assert after["prediction"]["time"]["value"] - before["prediction"]["time"]["value"] == pytest.approx(
        change
    )


@pytest.mark.parametrize(
    "change",
    [
        "count:stat=half",
        "count:stat=12us",
        "count:stat=-3",
        "count:stta=0.5x",
        # The system has its cost, but the application does not use it.
        "count:pipe_read=0.5x",
    ],
)
def test_a_wrong_change_of_a_count_is_refused(home: Path, change: str, golden: Golden) -> None:
    (problem,) = refused(regatta(home, "predict", "apache-static", "--on", "sun-400", "--what-if", change))
    golden(change, problem)
    twice = ("--what-if", "count:stat=2x", "--what-if", "count:stat=3")
    problems = refused(regatta(home, "predict", "apache-static", "--on", "sun-400", *twice))
    golden("count changed twice", problems[0])


def test_figure_6_2_of_the_thesis_is_one_command(home: Path, tmp_path: Path) -> None:
    asked = ("predict", "apache-static", "apache-cgi=5,15,30", "--replace", "apache-cgi=apache-fastcgi")
    page = tmp_path / "page.html"
    done = regatta(
        home, *asked, "--on", "sun-400", "--user-over-kernel", "0.11", "--json", "--html", str(page)
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["speed_ups"]
    assert [one["kernel"]["value"] for one in found] == pytest.approx([1.623, 2.751, 4.202], rel=1e-3)
    assert found[-1]["with_user"]["value"] == pytest.approx(3.190, rel=1e-3)
    assert len({one["before"] for one in found}) == 3
    # Each mix is a row of the figure, and a sentence.
    text = page.read_text(encoding="utf-8")
    assert all(text.count(one["before"]) > 1 for one in found)


@pytest.mark.parametrize(
    ("case", "applications"),
    [
        ("two lists", ["apache-static=1,2", "apache-cgi=5,15"]),
        ("no rest", ["apache-cgi=5,15"]),
        ("a weighted rest", ["apache-static=2", "apache-cgi=5,15"]),
        ("no percentage", ["apache-static", "apache-cgi=5,100"]),
    ],
)
def test_shares_need_another_application_that_has_the_rest(
    home: Path, case: str, applications: list[str], golden: Golden
) -> None:
    (problem,) = refused(regatta(home, "predict", *applications, "--on", "sun-400"))
    golden(f"shares, {case}", problem)


def test_a_count_that_only_one_application_has_changes_that_one(home: Path) -> None:
    call = ("predict", "apache-static", "apache-cgi", "--on", "sun-400", "--json")
    change = ("--what-if", "count:simple_process=0.5x")
    before, after = (
        {one["application"]["name"]: one for one in json.loads(regatta(home, *call, *more).stdout)["applications"]}
        for more in ((), change)
    )  # fmt: skip
    assert after["apache-static"]["effects"]["sun-400"]["unused"] == ["simple_process"]
    assert after["apache-static"]["systems"][0]["elapsed"] == before["apache-static"]["systems"][0]["elapsed"]
    saved = after["apache-cgi"]["effects"]["sun-400"]["saved"]["value"]
    assert saved == pytest.approx(8_256_201 / 2)


def test_a_number_for_a_mix_is_the_count_in_its_mean_unit_of_work(home: Path) -> None:
    mix = ("apache-static=0.5", "apache-cgi=0.5")
    change = ("--what-if", "count:simple_process=0.25")
    document = json.loads(
        regatta(home, "predict", *mix, "--on", "sun-400", *change, "--replace", "apache-cgi=apache-fastcgi", "--json").stdout
    )  # fmt: skip
    one = document["applications"][0]
    (count,) = [c for c in one["application"]["counts"] if c["primitive"] == "simple_process"]
    assert count["count"]["value"] == 0.25
    mean = one["systems"][0]["prediction"]["time"]["value"]
    # r = s1 / s2, both sides with their changed counts; FastCGI starts no processes.
    fast = document["applications"][1]["systems"][0]["prediction"]["time"]["value"]
    (speed_up,) = document["speed_ups"]
    assert speed_up["kernel"]["value"] == pytest.approx(mean / fast)


def test_one_benchmark_may_be_named_for_one_mix(home: Path) -> None:
    mix = ("apache-static=0.7", "apache-cgi=0.3")
    label = "web/apache-cgi-mix dynamic_percent=30"
    done = regatta(home, "predict", *mix, "--on", "served", "--benchmark", label, "--json")
    assert done.exit_code == 0, done.output
    (one,) = json.loads(done.stdout)["applications"]
    assert all("elapsed" in row["ratios"] for row in one["systems"])


def test_what_comes_in_the_place_of_another_has_a_name_of_its_own(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    text = (home / "applications" / "apache-fastcgi.yml").read_text()
    namesake = tmp_path / "new.yml"
    namesake.write_text(text.replace("name: apache-fastcgi", "name: apache-cgi"))
    (problem,) = refused(
        regatta(home, "predict", "apache-cgi", "--on", "sun-400", "--replace", f"apache-cgi={namesake}")
    )
    golden("name of another vector", problem.replace(str(tmp_path), "TMP"))
    same = regatta(
        home, "predict", "apache-static=1", "apache-cgi=1", "--on", "sun-400", "--replace", "apache-static=apache-cgi"
    )  # fmt: skip
    assert same.exit_code == 0, same.output


def refused_on(home: Path, folder: Path, system: str, count: str) -> str:
    """The one problem of an application with one count on a system with one primitive, file_read."""
    (folder / "system.yml").write_text(
        f"kind: system\nname: s\ntime_unit: us\nprimitives: {{file_read: {{unit: operation, cost: {system}}}}}\n"
    )
    (folder / "app.yml").write_text(
        f"kind: application\nname: app\nper: run\ncounts: [{{primitive: file_read, count: 1{count}}}]\n"
    )
    (problem,) = refused(
        regatta(home, "predict", str(folder / "app.yml"), "--on", str(folder / "system.yml"))
    )
    return problem


def test_a_cost_below_zero_is_refused_with_whose_it_is_and_what_mends_it(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    falling = "{table: {arguments: [bytes], outside: extend, points: [{at: 10, cost: 4}, {at: 20, cost: 1}]}}"
    problem = refused_on(home, tmp_path, falling, ", arguments: {bytes: 30}")
    golden("cost below zero", problem)


def test_an_argument_that_an_application_does_not_give_is_refused_by_name(home: Path, tmp_path: Path) -> None:
    problem = refused_on(home, tmp_path, "{linear: {argument: bytes, fixed: 2, per: 0.006}}", "")
    assert "app" in problem
    assert "bytes" in problem


def test_a_system_that_is_named_twice_is_one(home: Path) -> None:
    done = regatta(
        home, "predict", "apache-static", "--on", "sun-400", str(home / "systems" / "sun-400.yml"), "--json"
    )
    (one,) = json.loads(done.stdout)["applications"]
    assert [row["system"] for row in one["systems"]] == ["sun-400"]


def test_vectors_of_another_level_are_brought_to_the_first_ones(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yml"
    text = (home / "systems" / "sun-333.yml").read_text()
    other.write_text(
        text.replace("time_unit: us", "time_unit: us\nlevel: 0.99").replace("name: sun-333", "name: other")
    )
    done = regatta(home, "predict", "apache-static", "--on", "sun-333", str(other), "--json")
    document = json.loads(done.stdout)
    assert document["level"] == 0.95
    by_name = {row["system"]: row["prediction"]["time"] for row in document["applications"][0]["systems"]}
    widths = {name: time["high"] - time["low"] for name, time in by_name.items()}
    # Student's t with 9 degrees of freedom: 2.262 and 3.250
    assert widths["other"] / widths["sun-333"] == pytest.approx(2.262 / 3.250, rel=1e-3)


def test_vectors_that_are_older_than_their_records_are_noted(tmp_path: Path) -> None:
    import os

    folder = as_home(write_served_experiment(tmp_path))
    for path in (folder / "results" / "served" / "vectors").iterdir():
        os.utime(path, (1, 1))
    done = regatta(folder, "predict", "apache-static", "--on", "served")
    assert "older than the newest" in done.stderr
    assert "`regatta vector system" in done.stderr


# `regatta vector`


@pytest.fixture
def measured_calls(tmp_path: Path) -> Path:
    """An experiment of two primitives under two configurations, in a home with the table of primitives."""
    cells = [
        native("lm/lat_syscall:default", metric="latency", modifiers=name) for name in ("none", "half-quota")
    ]
    records = [
        record(one, r, [[0, "latency", level * (100.0 + r), "ns", 1, {"call": call}] for call, level in (("null", 1), ("stat", 5))],
               position=i)
        for r in range(4)
        for i, one in enumerate(cells)
    ]  # fmt: skip
    write_experiment(tmp_path / "results" / "calls", cells, records, 4)
    (tmp_path / "configs" / "primitives").mkdir(parents=True)
    (tmp_path / "configs" / "runtimes.yml").write_text("runtimes: {}\n")
    shutil.copy(ROOT / "configs" / "primitives" / "os.yml", tmp_path / "configs" / "primitives")
    (tmp_path / "app.yml").write_text(
        "kind: application\nname: app\nper: run\ncounts: [{primitive: null_call, count: 3}, {primitive: stat, count: 2}]\n"
    )
    return tmp_path


def test_the_vectors_of_an_experiment_are_made_in_memory_or_written_and_give_the_same(
    measured_calls: Path,
    golden: Golden,
) -> None:
    folder = measured_calls / "results" / "calls" / "vectors"
    call = ("predict", str(measured_calls / "app.yml"), "--on", "calls", "--json")
    unwritten = regatta(measured_calls, *call)
    assert unwritten.exit_code == 0, unwritten.output
    assert not folder.exists()
    written = regatta(measured_calls, "vector", "system", "calls")
    assert written.exit_code == 0, written.output
    assert sorted(path.name for path in folder.iterdir()) == ["alpha-half-quota.yml", "alpha.yml"]
    assert written.stdout.count("2 primitives") == 2
    (folder / "gone.yml").write_text((folder / "alpha.yml").read_text().replace("name: alpha", "name: gone"))
    again = regatta(measured_calls, "vector", "system", "calls")
    (line,) = [line for line in again.stderr.splitlines() if "gone.yml" in line]
    golden("file of an earlier run", line.replace(str(measured_calls), "HOME"))
    (folder / "gone.yml").unlink()
    (made,) = json.loads(unwritten.stdout)["applications"]
    (read,) = json.loads(regatta(measured_calls, *call).stdout)["applications"]
    times = [{row["system"]: row["prediction"]["time"] for row in one["systems"]} for one in (made, read)]
    assert times[0] == times[1]
    assert times[0]["alpha"]["value"] == pytest.approx((3 + 10) * 101.5)


def test_another_table_of_primitives_is_chosen_by_its_name_or_file(measured_calls: Path) -> None:
    table = measured_calls / "configs" / "primitives" / "own.yml"
    table.write_text(
        "primitives: {look_up: {series: {suite: lm, benchmark: lat_syscall, parameters: {call: stat}}, cost: constant}}\n"
    )
    app = measured_calls / "own-app.yml"
    app.write_text("kind: application\nname: own\nper: run\ncounts: [{primitive: look_up, count: 2}]\n")
    call = ("predict", str(app), "--on", "calls", "--json", "--primitives")
    unwritten = [regatta(measured_calls, *call, chosen).stdout for chosen in ("own", str(table))]
    written = regatta(measured_calls, "vector", "system", "calls", "--primitives", "own")
    assert written.exit_code == 0, written.output
    folder = measured_calls / "results" / "calls" / "vectors"
    assert sorted(path.name for path in folder.iterdir()) == ["own"]
    assert sorted(path.name for path in (folder / "own").iterdir()) == ["alpha-half-quota.yml", "alpha.yml"]
    for text in (*unwritten, regatta(measured_calls, *call, "own").stdout):
        (one,) = json.loads(text)["applications"]
        times = {row["system"]: row["prediction"]["time"]["value"] for row in one["systems"]}
        assert times["alpha"] == pytest.approx(2 * 5 * 101.5)
    (problem,) = refused(regatta(measured_calls, *call, "gone"))
    assert "(os, own) · got 'gone'" in problem


def test_checking_files_names_every_problem_and_shows_what_is_right(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(
        "kind: application\nname: x\nper: request\ncounts: [{primitive: stat, count: -1}, {primitve: stat, count: 1}]\n"
    )
    good = home / "systems" / "sun-400.yml"
    done = CliRunner().invoke(cli, ["vector", "check", str(good), str(wrong)])
    assert len(refused(done)) >= 2
    golden("checked file", done.stdout.replace(str(home), "HOME"))


def test_a_vector_is_shown_with_its_entries_rules_and_where_it_comes_from(home: Path) -> None:
    env = {"REGATTA_HOME": str(home)}
    shown = CliRunner().invoke(cli, ["vector", "show", "sun-400"], env=env).stdout
    assert "tcp_connect" in shown
    assert "[345.94, 360.06]" in shown
    assert "experiment     thesis" in shown
    shown = CliRunner().invoke(cli, ["vector", "show", "apache-static"], env=env).stdout
    assert "times, getpid (light calls" in shown
    assert "user time: 80 us" in shown
    document = json.loads(
        CliRunner().invoke(cli, ["vector", "show", "apache-static", "--json"], env=env).stdout
    )
    assert (document["kind"], document["per"]) == ("application", "request")
    done = CliRunner().invoke(cli, ["vector", "show", "nothing"], env=env)
    assert "intel-550, sun-333, sun-400" in refused(done)[0]
