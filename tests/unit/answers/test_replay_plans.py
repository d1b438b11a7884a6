"""Compilation plans: what a log of HotSpot says, what several logs have in common, and the directives made of it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from regatta.answers.spine.replay_plans import Compiler, ReplayPlan, compilers_of, majority_of
from regatta.host.values.experiment import plan_path

#: lines as OpenJDK 21.0.8 and 11.0.13 write them, shortened
LOG = rb"""<?xml version='1.0' encoding='UTF-8'?>
<task_queued compile_id='9' method='java.lang.Never compiled ()V' bytes='1' count='690' level='3' stamp='0.094'/>
<nmethod compile_id='1' compiler='c1' level='3' entry='0x7f' size='744' method='java.lang.Object &lt;init&gt; ()V' bytes='1' stamp='0.094'/>
<nmethod compile_id='2' compiler='c1' level='3' entry='0x7f' size='1440' method='java.lang.String hashCode ()I' bytes='60' stamp='0.105'/>
<nmethod compile_id='3' compiler='c2' level='4' entry='0x7f' size='1440' method='java.lang.String hashCode ()I' bytes='60' stamp='0.115'/>
<make_not_entrant thread='1' compile_id='3' compiler='c2' level='4' method='java.lang.String hashCode ()I' stamp='0.2'/>
<nmethod compile_id='4' compiler='c1' level='2' entry='0x7f' size='1440' method='java.lang.String hashCode ()I' bytes='60' stamp='0.3'/>
<nmethod compile_id='5' compile_kind='osr' compiler='c2' level='4' osr_bci='8' method='app.Main run ([Ljava/lang/String;J)V' stamp='0.4'/>
<nmethod compile_id='6' compile_kind='c2n' compiler='' level='0' entry='0x7f' method='jdk.internal.misc.Unsafe park (ZJ)V' stamp='0.122'/>
<nmethod compile_id='7' compiler='c2' level='4' method='app.Main$$Lambda/0x00000001000dc328 is (I)Z' stamp='0.5'/>
<nmethod compile_id='8' compiler='c2' level='4' method='app.Main$$Lambda$1 is (I)Z' stamp='0.5'/>
<nmethod compile_id='9' compiler='c2' level='4' method='java.lang.invoke.LambdaForm$MH/0x0000000100006400 invoke (I)I' stamp='0.5'/>
<nmethod compile_id='10' compiler='c1' level='1' method='app.Main odd*name ()I' stamp='0.5'/>
"""
PLAN: dict[str, Compiler] = {
    "java/lang/Object.<init>()V": "c1",
    "java/lang/String.hashCode()I": "c2",
    "app/Main.run([Ljava/lang/String;J)V": "c2",
}


def test_the_compiler_of_a_method_is_the_highest_that_made_code_of_it() -> None:
    assert compilers_of(LOG.splitlines()) == PLAN


def test_directives_allow_each_method_its_compiler_and_others_none() -> None:
    parts = json.loads(ReplayPlan("s/b:default", "jdk", 1, "", PLAN).directives())
    generated, c2, c1, rest = parts
    assert "java/lang/invoke/LambdaForm$*.*" in generated["match"]
    assert c2["match"] == ["app/Main.run([Ljava/lang/String;J)V", "java/lang/String.hashCode()I"]
    assert c1["match"] == ["java/lang/Object.<init>()V"]
    assert rest["match"] == ["*.*"]
    # Both compilers are named in each directive: HotSpot skips a directive for a compiler without options.
    assert [(part["c1"]["Exclude"], part["c2"]["Exclude"]) for part in parts] == [
        (False, False), (False, False), (False, True), (True, True)
    ]  # fmt: skip


def test_a_plan_without_methods_of_a_compiler_has_no_directive_for_it() -> None:
    parts = json.loads(ReplayPlan("s/b:default", "jdk", 1, "", {"a.b()V": "c1"}).directives())
    assert [part["match"][0] for part in parts[1:]] == ["a.b()V", "*.*"]


def test_majority_is_the_highest_compiler_that_more_than_half_of_the_runs_reach() -> None:
    runs: list[dict[str, Compiler]] = [
        {"always": "c2", "mostly": "c2", "half": "c2", "mixed": "c2", "once": "c1"},
        {"always": "c2", "mostly": "c2", "half": "c2", "mixed": "c1"},
        {"always": "c2", "mostly": "c2", "half": "c1", "mixed": "c1"},
        {"always": "c2", "half": "c1"},
    ]
    assert majority_of(runs) == {"always": "c2", "mostly": "c2", "half": "c1", "mixed": "c1"}


_runs = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["c1", "c2"])), min_size=1, max_size=7
)


@given(runs=_runs)
def test_the_majority_of_equal_runs_is_each_of_them(runs: list[dict[str, Compiler]]) -> None:
    assert majority_of([runs[0]] * len(runs)) == runs[0]
    found = majority_of(runs)
    for method in "abcd":
        levels = sorted((run.get(method, "") for run in runs), reverse=True)
        # "c2" > "c1" > "": the level at the middle, or the lower one of two.
        assert found.get(method, "") == levels[len(levels) // 2]


def test_plans_of_different_benchmarks_have_different_files_inside_the_folder() -> None:
    names = ["s/b:s1", "s/b:s1 x=1", "s/b:s1 x=../../y"]
    paths = [plan_path(name, "jdk") for name in names]
    assert paths[0] == "s/b/s1/jdk.json"
    assert len(set(paths)) == len(names)
    assert all(path.count("/") == 3 for path in paths)
