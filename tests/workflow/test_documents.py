"""Every command of the README, the examples, the predictions and the tutorials, as it stands, in order, in a fresh clone.

A command runs here unless one of two lists names it: LONG runs with `--long`, and ELSEWHERE says why a command cannot run on
a machine of tests, and which test runs most of it.
"""

from __future__ import annotations

import re
import shutil
from fnmatch import fnmatch

import pytest

from helpers.documents import PAGES, FreshClone, Step, commands, steps
from helpers.experiments.experiment_parts import HOME
from helpers.git_repositories import commit

TUTORIALS = "docs/tutorials/"
#: what a reader follows in one clone, in order
JOURNEYS = {
    "readme": (
        "README.md",
        f"{TUTORIALS}first-experiment.md",
        f"{TUTORIALS}dashboards.md",
        "docs/examples.md",
    ),
    "predict": ("docs/predict.md",),
    "gate": (f"{TUTORIALS}gate.md", f"{TUTORIALS}bisect.md"),
    **{
        name: (f"{TUTORIALS}{name}.md",)
        for name in (
            "your-own-program",
            "two-versions",
            "compare-anything",
            "add-a-jvm",
            "compilers-and-commits",
            "over-time",
            "explain-difference",
        )
    },
}
#: pages whose commands need other machines -> the test that follows them on its own
ON_OTHER_HOSTS = {
    f"{TUTORIALS}ssh-fleet.md": "fleet/test_fleet_documents.py",
    f"{TUTORIALS}slurm.md": "fleet/test_fleet_documents.py",
}
#: patterns of commands that last too long for every change, or that need what such a command leaves -> how long, and why
LONG = {
    "./regatta demo": "three minutes on an idle machine; 108 invocations of a JVM",
    "./regatta demo --influx": "the demonstration again, with InfluxDB",
    "./regatta up": "starts InfluxDB for what follows the demonstration",
    "./regatta down": "ends it",
    "./regatta ingest demo *": "of the demonstration",
    "./regatta analyze demo *": "of the demonstration",
    "./regatta explain g1": "of the demonstration",
    "./regatta audit demo": "of the demonstration",
    "./regatta plot demo *": "of the demonstration",
    "./regatta status": "after the demonstration; test_readme.py runs it before",
    "./regatta run configs/experiments/demo.yml": "the demonstration",
    "*snakemake --profile local --config spec=configs/experiments/demo.yml": "the demonstration",
    "./regatta run jvms.yml": "30 invocations of three JVMs",
    "./regatta analyze jvms --all": "of these JVMs",
    "./regatta run configs/experiments/system-vector.yml": "ten minutes",
    "./regatta run configs/experiments/scaling.yml": "the same for several numbers of processes",
    "./regatta run configs/experiments/speclike.yml": "whole programs, with one copy and with two",
    "./regatta run configs/experiments/georges2007-quick.yml": "15 minutes",
    "./regatta run configs/experiments/chat.yml": "eight minutes",
    "./regatta run configs/experiments/matrix.yml": "every program on every JVM under every collector",
    "./regatta minheap configs/experiments/minheap.yml --keep": "searches, each of many invocations",
    "./regatta predict --on emulated-aarch64 -- sort docs/spec.md": "minutes on a machine that has no vector yet",
    "./regatta run configs/experiments/compilers.yml": "several builds of several programs",
    "./regatta run configs/experiments/pythons.yml": "whole programs in slow interpreters",
    "./regatta run configs/experiments/interpreters.yml": "whole programs in slow interpreters",
}
#: commands that do not run here, as they stand -> why, and the test that runs most of it
ELSEWHERE = {
    "./regatta test": "this run",
    "./regatta plan configs/experiments/gc-shootout.yml": "asks for minheaps that take hours: test_readme.py",
    "./regatta run configs/experiments/gc-shootout.yml": "one night; test_readme.py makes its plan",
    "./regatta run configs/experiments/lm-network.yml": "two hosts: test_native_experiments.py",
    "./regatta run configs/experiments/web-network.yml": "two hosts: test_native_experiments.py",
    "./regatta run configs/experiments/volano.yml": "two hosts: test_java_experiments.py",
    "./regatta run configs/experiments/hbench-os.yml": "Docker and half an hour: test_hbench_os.py",
    "./regatta vector system hbench-os": "after hbench-os: unit/models/cli/test_predict_command.py",
    "./regatta predict apache-static --on hbench-os": "after hbench-os: unit/models/cli/test_predict_command.py",
    './regatta predict --on "local one-processor" -- sort docs/spec.md': "minutes: test_predicted_commands.py",
    './regatta predict --on "temurin-21" "temurin-25 g1" -- java -jar app.jar': "a jar of the reader: test_predicted_commands.py",
    "./regatta predict h2.yml --on hbench-java --collections h2.json --costs hbench-jgc --heap 128m": "an hour: test_gc_predictions.py",
    "./regatta predict tar.yml --on hbench-os --files tar.files --memory 64m --costs file-system": "after hbench-os: test_file_predictions.py",
    "./regatta history results/demo other/demo": "a second experiment: unit/answers/history/test_history.py",
    "./regatta gate bench/gate.yml --baseline main": "a project of the reader: test_gate.py",
    "./regatta gate example/bench/gate.yml --baseline HEAD~1": "exit code 4, if the machine is quiet: test_gate.py",
    "./regatta bisect bench/large.yml --good v1.0": "a project of the reader: test_bisect.py",
    "./regatta bisect example/bench/large.yml --good HEAD~1": "exit code 5 on a busy machine: test_bisect.py",
    "./regatta bisect jdks.yml --over runtimes": "a spec of the reader: test_bisect.py",
    "./regatta bisect flags.yml --over modifiers": "a spec of the reader: unit/cli/test_derived_specs.py",
    "./regatta explain-difference serial g1": "an experiment of the reader: test_explanations.py",
    "./regatta explain-difference first second": "exit code 1 on a busy machine: test_explanations.py",
    "./regatta import running-ng shootout.yml": "a file of the reader: test_import.py",
    "./regatta reference results/mine --name this-machine": "writes a reference: unit/answers/topics/scores/test_scores.py",
    "./regatta check-host": "exit code 3 on a host that is not quiet: unit/fleet/test_host_checks.py",
    "./regatta hosts": "asks for facts of each host: fleet/test_fleet_documents.py",
    "./regatta quiesce x86": "another host: fleet/test_fleet_documents.py",
    "./regatta run SPEC --profile ssh": "another host: fleet/test_fleet_documents.py",
    ". .venv/bin/activate && snakemake --profile cluster": "Slurm: fleet/test_slurm_workflow.py",
}
#: what a page takes for granted: file -> content, all executable
GIVEN = {
    "README.md": dict.fromkeys(("old", "new"), '#!/bin/sh\nsleep "0.0$1"\n'),
}
#: the folder `program` of a page, with the tag v1 and a newer commit
PROGRAM = '#include <stdio.h>\nint main(void) {{ return puts("{word}") < 0; }}\n'
MAKEFILE = "program: program.c\n\tcc -o $@ program.c\n"


def is_long(step: Step) -> bool:
    return any(fnmatch(step.text, pattern) for pattern in LONG)


def follow(pages: tuple[str, ...], clone: FreshClone, with_long: bool) -> None:
    """Follow pages in a clone, as their reader who has what they take for granted."""
    for page in pages:
        for name, text in GIVEN.get(page, {}).items():
            (clone.root / name).write_text(text)
            (clone.root / name).chmod(0o755)
        if page.endswith("compilers-and-commits.md"):
            for word, tag in (("one", "v1"), ("two", "")):
                files = {"program.c": PROGRAM.format(word=word), "Makefile": MAKEFILE}
                commit(clone.root / "program", files, tag)
        for step in steps(page):
            if step.name or (step.text not in ELSEWHERE and (with_long or not is_long(step))):
                print(step, flush=True)
                clone.follow(step)


@pytest.mark.smoke
def test_every_page_is_followed_once() -> None:
    followed = [page for pages in JOURNEYS.values() for page in pages]
    assert sorted([*followed, *ON_OTHER_HOSTS]) == sorted(PAGES)
    assert all(steps(page) for page in PAGES)


@pytest.mark.smoke
def test_the_lists_name_commands_that_exist_and_tests_that_exist() -> None:
    shown = {step.text for pages in JOURNEYS.values() for step in commands(*pages)}
    assert set(ELSEWHERE) <= shown
    assert [pattern for pattern in LONG if not any(fnmatch(text, pattern) for text in shown)] == []
    assert [text for text in ELSEWHERE if any(fnmatch(text, pattern) for pattern in LONG)] == []
    tests = HOME / "tests"
    for name in re.findall(
        r"[\w/]+\.py", " ".join([*LONG.values(), *ELSEWHERE.values(), *ON_OTHER_HOSTS.values()])
    ):
        assert (tests / name).exists() or (tests / "workflow" / name).exists(), name


@pytest.mark.skipif(shutil.which("mvn") is None, reason="NO MAVEN: THE DOCUMENTS ARE NOT FOLLOWED")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "journey", [name for name, pages in JOURNEYS.items() if not all(map(is_long, commands(*pages)))]
)
def test_documents_work_as_they_stand_in_a_fresh_clone(journey: str, fresh_clone: FreshClone) -> None:
    follow(JOURNEYS[journey], fresh_clone, with_long=False)


@pytest.mark.long
@pytest.mark.timeout(12 * 3600)
@pytest.mark.parametrize(
    "journey", [name for name, pages in JOURNEYS.items() if any(map(is_long, commands(*pages)))]
)
def test_documents_work_with_their_long_commands(journey: str, fresh_clone: FreshClone) -> None:
    try:
        follow(JOURNEYS[journey], fresh_clone, with_long=True)
    finally:
        # Services that a page starts and leaves, in the cache of this clone.
        fresh_clone.follow(Step("this test", 0, "./regatta down --delete"))
