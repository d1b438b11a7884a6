"""The profiler's file becomes a tally: which windows count, under which names, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import Golden
from regatta.host.errors import RegattaError
from regatta.models.system_calls.application import About, Trace, application_vector
from regatta.models.system_calls.counting import count_calls
from regatta.models.system_calls.java import Profile, iteration_ns, read_profile, tally_of, with_profiler
from regatta.models.vectors.calls import CallTable, Seen, Tally, read_calls
from regatta.models.vectors.primitives import read_primitives

CALLS = Path(__file__).parents[4] / "configs" / "primitives" / "java-calls.yml"
APPEND_CHAR = "java.lang.StringBuilder.append(C)Ljava/lang/StringBuilder;"
APPEND_TEXT = "java.lang.StringBuilder.append(Ljava/lang/String;)Ljava/lang/StringBuilder;"
CHAR_AT = "java.lang.String.charAt(I)C"
WRITTEN: dict[str, Any] = {
    "profile": 1,
    "java": "OpenJDK 64-Bit Server VM 21",
    "windows": ["startup", "iteration 0", "before 1", "iteration 1", "before 2", "iteration 2", "rest"],
    "methods": [
        {"method": CHAR_AT, "calls": [1, 100, 10, 20, 10, 20, 1]},
        {"method": APPEND_CHAR, "calls": [0, 5, 0, 3, 0, 3, 0]},
        {"method": APPEND_TEXT, "calls": [0, 9, 0, 4, 0, 4, 0], "unit": "chars", "amount": [0, 99, 0, 40, 0, 60, 0]},
        {"method": "java.lang.Object.wait()V", "calls": [1, 1, 1, 1, 1, 1, 1]},
        {"method": "java.lang.Object.notify()V", "calls": [1, 0, 0, 0, 0, 0, 0]},
    ],
    "threads": {"main": 300},
    "not_profiled": {},
}  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> CallTable:
    path = tmp_path / "calls.yml"
    path.write_text(f"""\
rules:
  char: {{calls: java.lang.String.charAt, counts: [{{primitive: string_char_at}}]}}
  append-char: {{calls: "{APPEND_CHAR}", counts: [{{primitive: builder_append_char}}]}}
  append: {{calls: "{APPEND_TEXT}", counts: [{{primitive: builder_append_string, argument: chars}}]}}
""")
    return read_calls(path)


def profile_of(folder: Path, **changed: Any) -> Profile:
    path = folder / "profile.json"
    path.write_text(json.dumps({**WRITTEN, **changed}))
    return read_profile(path)


def test_iterations_after_warmup_count_and_nothing_between_them(tmp_path: Path, table: CallTable) -> None:
    tally, units = tally_of(profile_of(tmp_path), table, 1)
    assert units == 2
    assert tally.seen == {
        Seen("java.lang.String.charAt"): (40, 0),
        Seen(APPEND_CHAR): (6, 0),
        # 12.5 characters a call
        Seen(APPEND_TEXT, size=3): (8, 100),
        Seen("java.lang.Object.wait"): (2, 0),
    }


def test_a_startup_is_what_comes_before_these_iterations(tmp_path: Path, table: CallTable) -> None:
    tally, units = tally_of(profile_of(tmp_path), table, 1, startup=True)
    assert units == 1
    assert tally.seen[Seen("java.lang.String.charAt")] == (111, 0)
    assert tally.seen[Seen(APPEND_TEXT, size=3)] == (9, 99)
    line = {"method": CHAR_AT, "calls": [7]}
    with pytest.raises(RegattaError, match=r"--startup: .* got no iterations"):
        tally_of(profile_of(tmp_path, windows=["rest"], methods=[line]), table, 1, startup=True)


#: no calls: instructions of the language, and what the profiler cannot tell from other calls
NOT_CALLED = {
    "class_for_name_fresh", "exception_throw", "lock_contended", "monitor_contended", "monitor_free", "string_compare_to",
    "thread_hand_over", "user_work",
}  # fmt: skip


def test_each_primitive_is_counted_by_a_rule_or_is_no_call() -> None:
    rules = read_calls(CALLS).rules.values()
    counted = {one.primitive for rule in rules for one in rule.counts}
    assert {*read_primitives(CALLS.with_name("java.yml")).primitives} - counted == NOT_CALLED


def test_a_class_counts_once_whether_the_application_or_the_jvm_loads_it() -> None:
    table = read_calls(CALLS)
    seen = {
        Seen("java.lang.ClassLoader.defineClass"): (3, 0),
        Seen("application_classes"): (10, 0),
        Seen("bytes_compiled"): (500, 0),
        Seen("bytes_recompiled"): (200, 0),
    }
    entries = count_calls(Tally(seen), table).entries
    assert {key: entry.count for key, entry in entries.items()} == {
        ("class_load_fresh", ""): 3,
        ("class_load_fresh", "class-loaded"): 7,
        ("jit_first", "code-first"): 500,
        ("jit_again", "code-again"): 200,
    }


def test_each_connection_waits_for_an_answer() -> None:
    table = read_calls(CALLS)
    tally = Tally({Seen("java.net.Socket.<init>"): (3, 0), Seen("java.net.ServerSocket.accept"): (3, 0)})
    entries = count_calls(tally, table).entries
    counts = {primitive: entry.count for (primitive, _), entry in entries.items()}
    assert counts == {"socket_connect": 3, "socket_round_trip": 3}


def test_an_overload_without_an_amount_has_the_mean_of_the_others(tmp_path: Path, golden: Golden) -> None:
    path = tmp_path / "calls.yml"
    path.write_text(
        "rules: {sort: {calls: java.util.Arrays.sort, counts: [{primitive: sort, argument: elements}]}}"
    )
    methods = [
        {"method": "java.util.Arrays.sort([I)V", "calls": [4], "unit": "elements", "amount": [400]},
        {"method": "java.util.Arrays.sort([III)V", "calls": [6]},
        {"method": "java.lang.Object.wait()V", "calls": [1]},
    ]
    profile = profile_of(tmp_path, windows=["rest"], methods=methods)
    tally, _ = tally_of(profile, read_calls(path), 1)
    assert tally.seen[Seen("java.util.Arrays.sort", size=6)] == (10, 1000)
    (remark,) = tally.remarks
    golden("overload without an amount", remark)


def test_a_program_without_the_harness_is_counted_whole(tmp_path: Path, table: CallTable) -> None:
    line = {"method": CHAR_AT, "calls": [7]}
    tally, units = tally_of(profile_of(tmp_path, windows=["rest"], methods=[line]), table, 1)
    assert (units, tally.seen) == (1, {Seen("java.lang.String.charAt"): (7, 0)})


def test_warmup_must_leave_an_iteration(tmp_path: Path, table: CallTable) -> None:
    with pytest.raises(RegattaError, match=r"--warmup: expected fewer .*got 3"):
        tally_of(profile_of(tmp_path), table, 3)


def test_calls_without_a_rule_count_as_nothing_and_are_listed(tmp_path: Path, table: CallTable) -> None:
    tally, units = tally_of(profile_of(tmp_path), table, 1)
    vector = application_vector([Trace(tally, units)], table, About("x", "iteration"), {})
    assert {count.primitive: (count.count.value, count.arguments) for count in vector.counts} == {
        "string_char_at": (20, {}),
        "builder_append_char": (3, {}),
        "builder_append_string": (4, {"chars": 12.5}),
    }
    assert vector.provenance["unknown"] == "java.lang.Object.wait 2"


def test_of_many_calls_without_a_rule_the_most_frequent_are_listed(tmp_path: Path, table: CallTable) -> None:
    lines = [{"method": f"java.lang.A.m{i}()V", "calls": [i]} for i in range(1, 41)]
    tally, units = tally_of(profile_of(tmp_path, windows=["rest"], methods=lines), table, 0)
    vector = application_vector([Trace(tally, units)], table, About("x", "run"), {})
    assert vector.provenance["unknown"].startswith("java.lang.A.m40 40, java.lang.A.m39 39, ")
    assert vector.provenance["unknown"].endswith(", java.lang.A.m11 11, and 10 others 55")


def test_classes_that_were_not_profiled_are_a_remark(
    tmp_path: Path, table: CallTable, golden: Golden
) -> None:
    tally, _ = tally_of(profile_of(tmp_path, not_profiled={"a.B": "too large"}), table, 1)
    (remark,) = tally.remarks
    golden("class that was not profiled", remark)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"profile": 2}, "version 1, .* got version 2"),
        ({"windows": ["rest"]}, "value for each window"),
        ({"methods": [{"method": CHAR_AT, "calls": ["7"]}]}, r"profile.methods\[0\].calls\[0\]: expected int"),
        ({"methods": 7}, "profile.methods: expected a list"),
    ],
)  # fmt: skip
def test_a_file_of_another_shape_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(RegattaError, match=message):
        profile_of(tmp_path, **changed)


def test_without_a_file_the_error_says_what_writes_it(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(RegattaError) as caught:
        read_profile(tmp_path / "profile.json")
    golden("no file", str(caught.value))
    for broken in (b"{", b'{"java": "\xff"}', b"[" * 100_000):
        (tmp_path / "broken.json").write_bytes(broken)
        with pytest.raises(RegattaError, match="profile: expected JSON"):
            read_profile(tmp_path / "broken.json")


def test_the_time_of_an_iteration_is_the_mean_of_those_after_warmup(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    assert iteration_ns(results, 1) is None
    lines = [{"info": {}}, {"iteration": 0, "digest": "aa"}]
    lines += [{"iteration": i, "metric": "elapsed", "value": 100 * (3 - i), "unit": "ns"} for i in range(3)]
    lines += [{"iteration": 2, "metric": "cpu", "value": 9, "unit": "ns"}]
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert iteration_ns(results, 1) == 150
    with pytest.raises(RegattaError, match=r"--warmup: expected fewer .*got 3"):
        iteration_ns(results, 3)
    results.write_text('{"iteration": 0, "metric": "elapsed", "value": "fast"}\n')
    with pytest.raises(RegattaError, match=r"^results of the harness: "):
        iteration_ns(results, 0)


def test_the_profiler_is_the_first_option_of_the_jvm() -> None:
    command = with_profiler(["java", "-jar", "a.jar"], Path("/p.jar"), Path("/t/profile.json"))
    assert command == ["java", "-javaagent:/p.jar=/t/profile.json", "-jar", "a.jar"]
