"""Predicted times of a program whose objects are known, with costs that are known, and their comparison with a made log."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.heap_vectors import MIB, SIZE, checkpoint, made_vector, profile
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.spine.parts import Place
from regatta.host.errors import RegattaError
from regatta.host.values.experiment import Heap
from regatta.models.gc.collection_log import CYCLE, FULL, MIXED, YOUNG, Collection, Stall
from regatta.models.gc.costs import Costs, Observation, fit_costs
from regatta.models.gc.forecast import ALL, ForecastRequest, as_document, compare, forecast_of
from regatta.models.gc.heap_policy import policy_of
from regatta.models.gc.heap_vector import heap_vector
from regatta.models.gc.measured import (
    LOG,
    Application,
    MeasuredCollections,
    Ran,
    Vm,
    iterations_of,
    read_measured,
)
from regatta.models.gc.prediction import GcPrediction, predict_collections
from regatta.models.gc.tables import (
    answer_of,
    heap_text,
    sections_of,
    size_costs_table,
    size_costs_tables,
    totals_table,
)
from regatta.models.gc.work import CPU, Work

VM = Vm("local", "temurin-21", "serial")
#: ns: of a collection, and of an object
FIXED, MOVED, DEAD = 1e6, 30.0, 2.0
PER_MIB = MIB / SIZE


def costs() -> Costs:
    """Return exact costs from three invocations."""
    works = [
        Work(MIB),
        Work(MIB, moved={SIZE: 1e5}),
        Work(MIB, moved={SIZE: 2e5}),
        Work(MIB, dead_new={SIZE: 1e6}),
    ]
    ns = [FIXED + MOVED * sum(each.moved.values()) + DEAD * sum(each.dead_new.values()) for each in works]
    observed = [
        Observation(work, time, str(at)) for at, (work, time) in enumerate(zip(works, ns, strict=True))
    ]
    return fit_costs([observed] * 3, "made")


def predicted(heap_mib: int = 256) -> GcPrediction:
    made = costs()
    return predict_collections(made_vector(), policy_of("serial", heap_mib * MIB), {FULL: made, YOUNG: made})


def collection(kind: str, cause: str, ms: float, concurrent_ms: float = 0.0) -> Collection:
    return Collection(0, kind, cause, 0.0, 1.0, ms * 1e6, concurrent_ms * 1e6, None, None)


def application(benchmark: str, heap_mib: int, runs: Sequence[Ran]) -> Application:
    return Application(Place(VM.host, "", benchmark, VM.runtime, VM.collector, "", Heap(mib=heap_mib)), runs)


def ran(*times_ms: float) -> Ran:
    """Return a run whose iterations 1 and 2 have one forced collection each."""
    return Ran("r", {at: [collection(FULL, "System.gc()", ms)] for at, ms in enumerate(times_ms, 1)})


def test_a_forced_collection_costs_what_its_objects_cost() -> None:
    # An iteration begins when 48 MiB were allocated since the last collection, of which 4 MiB are alive until then.
    found = predicted()
    assert [(one.iteration, one.found.kind) for one in found.collections] == [(1, FULL), (2, FULL)]
    expected = FIXED + 4 * PER_MIB * MOVED + 44 * PER_MIB * DEAD
    # Before iteration 1, the JVM has allocated one more MiB.
    assert float(found.collections[0].ns[0]) == pytest.approx(expected + PER_MIB * DEAD, rel=1e-3)
    assert float(found.collections[1].ns[0]) == pytest.approx(expected, rel=1e-3)
    assert found.totals[FULL].count == 1
    assert found.totals[ALL].time.n == 3


def test_a_jump_to_an_object_that_is_new_costs_a_miss() -> None:
    vector = made_vector()
    # 1000 objects were looked at, and 250 were reached by a jump.
    (run,) = vector.runs
    first, *others = run.profile.checkpoints
    looked = [replace(first, unmoved_objects=1000, jumps=250), *others]
    jumping = replace(vector, runs=[replace(run, profile=replace(run.profile, checkpoints=looked))])
    miss = 100.0
    works = [Work(MIB), Work(MIB, moved={SIZE: 1e5}), Work(MIB, moved={SIZE: 1e5}, far_moved={MIB: 1e5})]
    ns = [FIXED, FIXED + 1e5 * MOVED, FIXED + 1e5 * (MOVED + miss)]
    made = fit_costs(
        [[Observation(work, time, str(time)) for work, time in zip(works, ns, strict=True)]], "made"
    )
    for collector, heap in (("serial", 64 * MIB), ("serial", 256 * MIB)):
        policy, kinds = policy_of(collector, heap), {FULL: made, YOUNG: made}
        before = predict_collections(vector, policy, kinds).collections
        after = predict_collections(jumping, policy, kinds).collections
        assert {each.found.kind for each in after} == ({FULL} if heap > 64 * MIB else {YOUNG, FULL})
        for each, other in zip(before, after, strict=True):
            new = other.found.unmoved.objects
            assert float(other.ns[0] - each.ns[0]) == pytest.approx(0.25 * new * miss, rel=1e-6, abs=1e-3)


@pytest.mark.parametrize(("jumps", "notes"), [(0, 1), (250, 0)])
def test_a_profile_that_hides_the_order_of_objects_is_named(jumps: int, notes: int) -> None:
    vector = made_vector()
    (run,) = vector.runs
    looked = [replace(at, unmoved_objects=1000, jumps=jumps) for at in run.profile.checkpoints]
    changed = replace(vector, runs=[replace(run, profile=replace(run.profile, checkpoints=looked))])
    found = predict_collections(changed, policy_of("serial", 256 * MIB), {FULL: costs()})
    assert sum("Shenandoah" in note for note in found.notes) == notes


@pytest.mark.parametrize(("forced", "iteration"), [(True, 0), (False, 1)])
def test_preparation_belongs_to_the_iteration_whose_call_of_the_collector_comes_before_it(
    forced: bool, iteration: int
) -> None:
    """The measured log has no other borders than the calls."""
    per = MIB // SIZE
    windows = ["startup", "iteration 0", "before 1", "iteration 1"]
    ends = (1, 2, 42, 43)
    walks = [checkpoint(at * MIB, per, {}, sum(at > end for end in ends), at in ends) for at in range(1, 44)]
    vector = heap_vector([profile(walks, windows)], "made", warmup=0)
    found = predict_collections(vector, policy_of("serial", 48 * MIB), {YOUNG: costs()}, forced=forced)
    young = [each.iteration for each in found.collections if each.found.kind == YOUNG]
    assert (len(young), set(young)) == (3, {iteration})


def test_a_prediction_is_the_mean_over_the_profiled_runs_with_their_spread() -> None:
    policy, each = policy_of("serial", 256 * MIB), [made_vector(mib=48), made_vector(mib=49)]
    vector = replace(each[0], runs=[run for one in each for run in one.runs])
    slower = [costs().per[0] * factor for factor in (1.0, 1.01, 1.03)]
    kinds = {FULL: replace(costs(), per=np.stack(slower))}
    alone = [predict_collections(one, policy, kinds) for one in each]
    found = predict_collections(vector, policy, kinds)
    times = np.stack([np.sum([one.ns for one in run.collections], axis=0) / 2 for run in alone])
    total = found.totals[FULL]
    assert (total.count, found.iterations, total.time.n) == (1, 4, 2)
    assert total.time.point == pytest.approx(times.mean())
    # Student's t for 2 and 1 degrees of freedom is 4.302653 and 12.706205.
    of_costs = 4.302653 * times.mean(axis=0).std(ddof=1) / math.sqrt(3)
    of_runs = 12.706205 * times.mean(axis=1).std(ddof=1) / math.sqrt(2)
    assert total.time.high - total.time.point == pytest.approx(math.hypot(of_costs, of_runs), rel=1e-6)
    assert total.time.point - total.time.low == pytest.approx(math.hypot(of_costs, of_runs), rel=1e-6)
    one = compare("made", "iteration", VM, found, application("vm/made", 1, [ran(4, 4)]), 1, 0.95)
    means = [float(np.mean([run.collections[at].ns.mean() for run in alone])) for at in (0, 1)]
    assert [pair.predicted_ns for pair in one.pairs] == pytest.approx(means)


def test_kinds_without_costs_are_named() -> None:
    found = predict_collections(made_vector(), policy_of("serial", 64 * MIB), {FULL: costs()})
    assert YOUNG in " ".join(found.notes)


def test_measured_collections_are_beside_the_predicted_ones() -> None:
    found = predicted()
    ms = found.totals[FULL].time.point / 1e6
    measured = application("vm/made", 256, [ran(2 * ms, 2 * ms), ran(2 * ms, 2 * ms)])
    one = compare("made", "iteration", VM, found, measured, 1, 0.95)
    (full,) = [row for row in one.rows if row.kind == FULL]
    assert (full.predicted_count, full.measured_count) == (1, 1)
    assert full.error == pytest.approx(-0.5, abs=0.01)
    assert [(pair.iteration, pair.place) for pair in one.pairs] == [(1, 0), (2, 0)]
    assert "-50" in " ".join(cell for row in totals_table([one]).rows for cell in row)


def test_processor_time_is_that_of_cycles_that_the_program_does_not_ask_for() -> None:
    made, policy = costs(), policy_of("z", 64 * MIB)
    found = predict_collections(made_vector(), policy, {CYCLE: made, CPU: made})
    own = [float(one.ns.mean()) for one in found.collections if not one.found.forced]
    total = found.totals[CPU]
    assert len(own) > 2
    assert found.totals[CYCLE].count == total.count + 1 == len(own) / 2 + 1
    assert total.time.point == pytest.approx(sum(own) / 2)
    cycles = [collection(CYCLE, cause, 0.1, 5.0) for cause in ("System.gc()", "Allocation Rate")]
    run = Ran("r", {1: cycles, 2: cycles}, 2 * total.time.point)
    one = compare("made", "iteration", VM, found, application("vm/made", 64, [run, run]), 1, 0.95)
    (cpu,) = [row for row in one.rows if row.kind == CPU]
    assert cpu.measured_count == 1
    assert cpu.error == pytest.approx(-0.5)
    unknown = compare("made", "iteration", VM, found, application("vm/made", 64, [ran(1, 1)]), 1, 0.95)
    assert [row.measured for row in unknown.rows if row.kind == CPU] == [None]


def test_stalls_of_measured_runs_are_noted_because_no_collection_has_them() -> None:
    found = predict_collections(made_vector(), policy_of("z", 64 * MIB), {CYCLE: costs(), CPU: costs()})
    stalls = [Stall("allocation", "main", 0.0, ms * 1e6) for ms in (1.0, 29.0)]
    run = replace(ran(1.0, 1.0), stalls=stalls)
    paced = replace(ran(1.0, 1.0), stalls_missing="it paces")
    measured = application("vm/made", 64, [run, paced])
    notes = compare("made", "iteration", VM, found, measured, 1, 0.95).notes
    assert any("2 per invocation" in note and "30 ms" in note and "longest 29 ms" in note for note in notes)
    assert any("undefined (it paces)" in note for note in notes)


def test_a_young_collection_before_a_forced_full_one_is_part_of_it() -> None:
    log = [
        collection(YOUNG, "Allocation Failure", 1.0),
        collection(YOUNG, "System.gc()", 2.0),
        collection(FULL, "System.gc()", 3.0),
        collection(MIXED, "Allocation Failure", 4.0),
        collection(CYCLE, "System.gc()", 0.1, 5.0),
    ]
    found = iterations_of(log)
    assert {at: [each.pause_ns for each in own] for at, own in found.items()} == {1: [5e6, 4e6], 2: [1e5]}


def test_costs_by_object_size_have_the_layout_of_the_thesis(golden: Golden) -> None:
    table = size_costs_table(costs(), VM, FULL)
    golden("costs_by_size", "\n".join(" | ".join(row) for row in (table.columns, *table.rows)))


def test_each_jvm_and_kind_has_its_costs() -> None:
    found = forecast_of(
        [], MeasuredCollections(0.95, 1, {VM: {FULL: costs(), YOUNG: costs()}}, []), ForecastRequest()
    )
    assert [table.rows for table in size_costs_tables(found)] == [
        size_costs_table(costs(), VM, FULL).rows
    ] * 2
    assert not found.comparisons


def forecast(asked: ForecastRequest, applications: Sequence[Application] = ()) -> object:
    measured = MeasuredCollections(0.95, 1, {VM: {FULL: costs(), YOUNG: costs()}}, applications)
    return forecast_of([made_vector()], measured, asked)


def test_the_answer_its_page_and_its_document_agree() -> None:
    measured = application("vm/made:s1", 256, [ran(4.0, 4.0), ran(5.0, 5.0)])
    found = forecast(ForecastRequest(), [measured])
    (one,) = found.comparisons  # type: ignore[attr-defined]
    assert heap_text(one.policy) == "256"
    assert answer_of(one).startswith("made")
    assert [section.anchor for section in sections_of(found)] == ["totals", "collections", "costs"]  # type: ignore[arg-type]
    document = as_document(found)  # type: ignore[arg-type]
    assert document["comparisons"][0]["rows"][0]["kind"] == FULL
    assert {each["kind"] for each in document["costs"]} == {FULL, YOUNG}


def test_collections_of_unknown_time_are_counted_and_not_drawn() -> None:
    runs = application("vm/made:s1", 256, [ran(4.0, 4.0)])
    measured = MeasuredCollections(0.95, 1, {VM: {YOUNG: costs()}}, [runs])
    found = forecast_of([made_vector()], measured, ForecastRequest())
    (one,) = found.comparisons
    assert "unknown" in answer_of(one)
    figures = [
        figure.traces for each in sections_of(found) for group in each.groups for figure in group.figures
    ]
    assert json.dumps(figures, allow_nan=False)
    assert len(figures[0][0]["x"]) > len(figures[0][1]["x"]) == 0


@pytest.mark.parametrize(
    "asked",
    [
        ForecastRequest(objects=0.5),
        ForecastRequest(rate=1.5),
        ForecastRequest(heap=2.0),
        ForecastRequest(young=64 * MIB),
        ForecastRequest(promotion_age=2),
        ForecastRequest(initial_heap=32 * MIB),
    ],
)
def test_changed_predictions_are_not_compared_with_measurements(asked: ForecastRequest) -> None:
    measured = application("vm/made", 256, [ran(4.0, 4.0)])
    (one,) = forecast(asked, [measured]).comparisons  # type: ignore[attr-defined]
    assert all(row.measured is None for row in one.rows)


def test_the_policy_of_the_measurements_is_compared_with_them() -> None:
    measured = application("vm/made", 256, [ran(4.0, 4.0)])
    (one,) = forecast(ForecastRequest(promotion_age=1), [measured]).comparisons  # type: ignore[attr-defined]
    assert all(row.measured for row in one.rows)
    document = as_document(forecast(ForecastRequest(young=64 * MIB, promotion_age=3), [measured]))  # type: ignore[arg-type]
    assert (document["comparisons"][0]["young_bytes"], document["comparisons"][0]["promotion_age"]) == (
        64 * MIB,
        3,
    )


def test_a_heap_that_grows_is_shown_with_both_sizes() -> None:
    (one,) = forecast(ForecastRequest(heaps=[256 * MIB], initial_heap=32 * MIB)).comparisons  # type: ignore[attr-defined]
    assert heap_text(one.policy) == "32 to 256"
    assert "32 to 256" in answer_of(one)
    assert "32 to 256" in {cell for row in totals_table([one]).rows for cell in row}


@pytest.mark.parametrize(
    "asked",
    [
        ForecastRequest(collectors=["cms"]),
        ForecastRequest(collectors=["g1"]),
        ForecastRequest(runtimes=["x"]),
        ForecastRequest(),
    ],
)
def test_unknown_names_and_no_heap_are_refused(asked: ForecastRequest) -> None:
    with pytest.raises(RegattaError) as caught:
        forecast(asked)
    assert caught.value.problems[0].where in ("--collector", "--runtime", "--heap")


LINE = "[{}ms][gc] GC({}) Pause Full (System.gc()) 3M->1M(8M) 2.500ms\n"


def test_logs_that_lack_something_are_excluded_with_a_note_and_the_others_count(tmp_path: Path) -> None:
    logs = {
        "whole": LINE.format(10, 0) + LINE.format(20, 1),
        "later": LINE.format(10, 7) + LINE.format(20, 8),
        "cut": LINE.format(10, 0) + "[20ms][gc] GC(1) Pause Fu",
        "without phases": LINE.format(10, 0)
        + "[20ms][gc] GC(1) Garbage Collection (Warmup) 22M(34%)->10M(15%)\n",
        "stalled": LINE.format(10, 0) + "[15ms][gc] Allocation Stall (main) 4.000ms\n" + LINE.format(20, 1),
    }
    of = cell("serial", modifiers="fixed-young+full-collection+collection-log", benchmark="vm/db:s1")
    records = [record(of, number, [1.0, 1.0]) for number in range(len(logs))]
    write_experiment(tmp_path, [of], records, len(logs))
    for one, text in zip(records, logs.values(), strict=True):
        folder = tmp_path / "journal" / "alpha" / "kept" / f"{one['invocation_id']}-a0"
        folder.mkdir(parents=True)
        (folder / LOG).write_text(text, encoding="utf-8")
    found = read_measured(tmp_path)
    (measured,) = found.applications
    assert [len(run.iterations) for run in measured.runs] == [2, 2]
    assert [[stall.ns for stall in run.stalls] for run in measured.runs] == [[], [4e6]]
    assert len(found.notes) == 3
    for number, note in zip((1, 2, 3), found.notes, strict=True):
        assert records[number]["invocation_id"] in note
    assert "begins at collection 7" in found.notes[0]
    assert "-Xlog:gc*" in found.notes[2]
    # The costs are not needed here.
    assert found.costs == {}
