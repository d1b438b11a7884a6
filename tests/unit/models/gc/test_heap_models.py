"""Advice from predicted collections: programs and costs are known, and so are the times."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from helpers.golden import Golden
from helpers.heap_vectors import MIB, SIZE, made_vector
from regatta.answers.spine.parts import Place
from regatta.figures.sections_page import render_sections
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Heap
from regatta.models.gc.collection_log import FULL, YOUNG
from regatta.models.gc.costs import Costs, Observation, fit_costs
from regatta.models.gc.heap_advice import OverheadAdvice, advise_overhead
from regatta.models.gc.heap_curve import HeapPoint
from regatta.models.gc.heap_measurements import HeapMeasurements
from regatta.models.gc.heap_models import (
    CURVE,
    PREDICTION,
    CollectionTimes,
    HeapModels,
    choose_models,
    collection_times,
    fit_collections,
    predicted_times,
)
from regatta.models.gc.heap_page import (
    heap_sections,
    model_sentences,
    models_table,
    overhead_sentences,
    overhead_table,
)
from regatta.models.gc.measured import COLLECTED, MeasuredCollections, Vm
from regatta.models.gc.work import Work

HEAPS = (16, 24, 48, 128)
#: seconds without collections
BASE = 0.05
JVM = "temurin-21"


def costs() -> dict[str, Costs]:
    """Return costs of 1 ms per collection, and 30 ns per moved object."""
    observed = [
        Observation(Work(MIB, moved={SIZE: objects}), 1e6 + 30 * objects, str(objects))
        for objects in (0.0, 1e5, 2e5)
    ]
    return dict.fromkeys((FULL, YOUNG), fit_costs([observed] * 2, "made"))


def measured_with(
    time: Callable[[float], float], heaps: Sequence[int] = HEAPS, collector: str = "serial"
) -> HeapMeasurements:
    """Return three invocations per heap that differ by 0.1 %."""
    points = [
        HeapPoint(heap * MIB, [time(heap * MIB) * noise for noise in (0.999, 1, 1.001)]) for heap in heaps
    ]
    place = Place("here", "", "vm/made:s1", JVM, "", "", Heap())
    return HeapMeasurements(place, {collector: tuple(points)}, 12.0 * MIB)


@pytest.fixture(scope="module")
def times() -> dict[str, CollectionTimes]:
    every = MeasuredCollections(
        0.95, 1, {Vm("here", JVM, name): costs() for name in ("serial", "parallel")}, ()
    )
    return predicted_times(made_vector(), measured_with(lambda _: BASE), every)


def advised(models: HeapModels, target: float = 0.05) -> OverheadAdvice:
    return advise_overhead(models.curves, target, 0.95, models.second, models.unmeasured)


def test_collections_take_less_time_in_a_larger_heap(times: dict[str, CollectionTimes]) -> None:
    small, large = (times["serial"].at(heap * MIB) for heap in (16, 48))
    # Eden is 4.3 and 12.9 MiB, and 48 MiB are allocated.
    assert small > large >= 3e-3
    assert times["serial"].at(1.0 * MIB) == math.inf


def test_forced_collections_between_iterations_do_not_count() -> None:
    (none,) = collection_times(made_vector(), "serial", costs(), [256.0 * MIB], forced=True).seconds
    assert none == 0.0


def test_the_fit_finds_the_time_without_collections_and_the_factor(times: dict[str, CollectionTimes]) -> None:
    serial = times["serial"]
    measured = measured_with(lambda heap: BASE + 2.0 * serial.at(heap))
    curve = fit_collections(measured.points["serial"], serial, measured.minheap_bytes)
    assert np.median(curve.asymptote) == pytest.approx(BASE, rel=0.02)
    (choice,) = choose_models(measured, times).choices
    assert choice.scale is not None
    assert choice.scale.low < 2.0 < choice.scale.high
    # The least heap of a time is that of the prediction.
    assert curve.heap_for(BASE + 2.0 * serial.at(32.0 * MIB)).point == pytest.approx(32 * MIB, rel=0.1)


def test_the_model_that_predicts_left_out_heaps_is_used(times: dict[str, CollectionTimes]) -> None:
    right = choose_models(measured_with(lambda heap: BASE + times["serial"].at(heap)), times)
    assert [one.used for one in right.choices] == [PREDICTION]
    # Times with a cost that no collection has.
    wrong = choose_models(measured_with(lambda heap: BASE + 4e-2 / (heap / MIB - 11.0)), times)
    assert [one.used for one in wrong.choices] == [CURVE]
    assert all(one.curve_error != one.prediction_error for one in (*right.choices, *wrong.choices))
    assert list(right.second) == list(wrong.second) == ["serial"]


def test_two_heaps_use_the_curve_and_show_the_prediction(times: dict[str, CollectionTimes]) -> None:
    measured = measured_with(lambda heap: BASE + times["serial"].at(heap), (16, 128))
    models = choose_models(measured, times)
    (choice,) = models.choices
    assert choice.used == CURVE
    assert choice.reason
    assert math.isnan(choice.curve_error)
    assert all(row.second for row in advised(models).rows if row.collector == "serial")


def test_the_next_heap_is_where_the_models_disagree(golden: Golden) -> None:
    # The curve falls at once, the prediction between 90 and 110 MiB.
    step = CollectionTimes(np.array([8.0, 90.0, 110.0, 512.0]) * MIB, np.array([0.03, 0.03, 0.001, 0.001]))
    measured = measured_with(lambda heap: BASE + step.at(heap), (16, 128))
    advice = advised(choose_models(measured, {"serial": step}))
    following = advice.next
    assert any(text.startswith("model of serial") for text in advice.refusals)
    assert following.disagreement is not None
    assert 64 * MIB < following.heap.heap_bytes < 110 * MIB
    both = following.disagreement.used, following.disagreement.second
    assert max(one.time.low for one in both) > min(one.time.high for one in both)
    assert following.heap.heap_bytes == both[0].heap_bytes
    assert math.isnan(following.heap.shrinks_by)
    assert not both[0].time.reason
    golden("disagreement", overhead_sentences(advice)[-1])


def test_a_collector_that_was_not_measured_is_marked_and_never_chosen(
    times: dict[str, CollectionTimes],
) -> None:
    # Without collections, the other one would need no heap at all.
    free = CollectionTimes(times["parallel"].heaps, np.zeros(times["parallel"].heaps.size))
    models = choose_models(
        measured_with(lambda heap: BASE + times["serial"].at(heap)), {**times, "parallel": free}
    )
    advice = advised(models)
    assert advice.collector == "serial"
    assert advice.unmeasured["parallel"].point < advice.heap.point
    rows = [row for row in advice.rows if row.collector == "parallel"]
    assert rows
    assert all(row.prediction.time.reason and not row.invocations for row in rows)


def test_the_tight_end_is_refused_by_both_models(times: dict[str, CollectionTimes]) -> None:
    measured = measured_with(lambda heap: BASE + times["serial"].at(heap), (24, 48, 128))
    models = choose_models(measured, times)
    for curve in (models.curves["serial"], models.second["serial"]):
        assert curve.at(13.0 * MIB).time.reason
    assert advised(models, 10.0).heap.point >= 18 * MIB


def test_a_collector_without_a_prediction_has_its_curve_and_a_reason(
    times: dict[str, CollectionTimes],
) -> None:
    def reason(given: dict[str, CollectionTimes], heaps: Sequence[int] = HEAPS) -> str:
        models = choose_models(measured_with(lambda _: BASE, heaps), given)
        assert [one.used for one in models.choices] == [CURVE]
        assert not models.second
        return models.choices[0].reason

    no_costs = collection_times(made_vector(), "serial", {}, [64.0 * MIB], forced=True)
    large = made_vector(kept_mib=40)
    tight = collection_times(large, "serial", costs(), [heap * MIB for heap in HEAPS], forced=True)
    assert len({reason({}), reason({"serial": no_costs}), reason({"serial": tight})}) == 3


def test_a_program_without_collections_has_one_time_in_all_heaps() -> None:
    none = CollectionTimes(np.array([8.0, 512.0]) * MIB, np.zeros(2))
    models = choose_models(measured_with(lambda _: BASE), {"serial": none})
    curve = models.second.get("serial") or models.curves["serial"]
    assert curve.at(16.0 * MIB).time.point == pytest.approx(BASE, rel=0.01)


def test_a_target_that_no_heap_meets_has_no_recommended_heap(times: dict[str, CollectionTimes]) -> None:
    endless = CollectionTimes(times["serial"].heaps, np.ones(times["serial"].heaps.size))
    measured = measured_with(lambda heap: BASE + (0.0 if heap > 100 * MIB else 1.0))
    curve = fit_collections(measured.points["serial"], endless)
    advice = advise_overhead({"serial": curve}, 1e-4)
    assert not math.isfinite(advice.heap.point)
    assert math.isfinite(advice.prediction.time.point)
    assert advice.next.heap.heap_bytes > 128 * MIB
    assert advice.refusals


# Options


@pytest.mark.parametrize(
    ("vms", "runtime"),
    [
        ([], ""),
        ([Vm("here", "graal", "g1")], ""),
        ([Vm("here", JVM, "g1")], "graal"),
        ([Vm("a", JVM, "g1"), Vm("b", JVM, "g1")], ""),
    ],
)
def test_costs_of_no_single_jvm_are_refused(vms: list[Vm], runtime: str) -> None:
    every = MeasuredCollections(0.95, 1, dict.fromkeys(vms, costs()), ())
    with pytest.raises(SpecError) as caught:
        predicted_times(made_vector(), measured_with(lambda _: BASE), every, runtime)
    assert caught.value.problems[0].where == "--on"


def test_a_profile_of_another_benchmark_is_refused() -> None:
    made = measured_with(lambda _: BASE)
    measured = replace(made, place=replace(made.place, benchmark="vm/db:s10"))
    with pytest.raises(SpecError) as caught:
        predicted_times(made_vector(), measured, MeasuredCollections(0.95, 1, {}, ()))
    assert caught.value.problems[0].where == "--profile"


def test_forced_collections_are_those_of_the_modifier() -> None:
    every = MeasuredCollections(0.95, 1, {Vm("here", JVM, "serial"): costs()}, ())
    plain = measured_with(lambda _: BASE)
    forced = replace(plain, place=replace(plain.place, modifiers=COLLECTED))
    without, with_modifier = (
        predicted_times(made_vector(), one, every)["serial"].at(128.0 * MIB) for one in (plain, forced)
    )
    assert without != with_modifier


# Texts


def test_the_answer_names_the_model(times: dict[str, CollectionTimes], golden: Golden) -> None:
    models = choose_models(measured_with(lambda heap: BASE + 1.5 * times["serial"].at(heap)), times)
    advice = advised(models, 0.15)
    first, *rest = overhead_sentences(advice)
    sentences = [first, *model_sentences(models, advice.collector), *rest]
    tables = [models_table(models, 0.95), overhead_table(advice, 0.95)]
    shown = "\n".join(" | ".join(row) for table in tables for row in (table.columns, *table.rows))
    golden("models", "\n".join([*sentences, shown]))
    page = render_sections("heap advice", "", sentences, heap_sections("made", tables[1], models))
    assert '"dash"' in page
    assert PREDICTION in page


def test_a_heap_far_above_the_measured_ones_is_not_recommended(times: dict[str, CollectionTimes]) -> None:
    models = choose_models(measured_with(lambda heap: BASE + 1.5 * times["serial"].at(heap)), times)
    found = [advised(models, target) for target in (0.1, 0.15)]
    # The first needs 297 MiB, and 128 MiB are the largest measured heap.
    assert [math.isfinite(one.heap.point) for one in found] == [False, True]
    assert "2 x" in found[0].heap.reason
    assert found[0].next.heap.heap_bytes == 256 * MIB
