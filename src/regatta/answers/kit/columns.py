"""Columns that the tables of several topics share."""

from __future__ import annotations

from typing import Protocol

from regatta.answers.kit.view import View
from regatta.answers.spine.parts import Place
from regatta.answers.spine.verdicts import Verdict
from regatta.figures.section import Column
from regatta.figures.text import joined, show_heap, show_p, show_significance


class _Placed(Protocol):
    @property
    def place(self) -> Place: ...


class _Metric(Protocol):
    @property
    def metric(self) -> str: ...


class _Pair(Protocol):
    @property
    def a_name(self) -> str: ...
    @property
    def b_name(self) -> str: ...


class _Tested(Protocol):
    @property
    def p(self) -> float: ...


class _Adjusted(Protocol):
    @property
    def p_holm(self) -> float: ...


class _Judged(Protocol):
    @property
    def verdict(self) -> Verdict: ...


BENCHMARK: Column[_Placed] = Column("benchmark", lambda one: one.place.benchmark)
CONFIGURATION: Column[_Placed] = Column("configuration", lambda one: one.place.configuration)
#: with its heap
CONFIGURATION_AND_HEAP: Column[_Placed] = Column(
    "configuration", lambda one: joined(one.place.configuration, show_heap(one.place.heap))
)
HEAP_SIZE: Column[_Placed] = Column("heap", lambda one: show_heap(one.place.heap))
METRIC: Column[_Metric] = Column("metric", lambda one: one.metric)
COMPARISON: Column[_Pair] = Column("comparison", lambda one: f"{one.a_name} / {one.b_name}")
P: Column[_Tested] = Column("p", lambda one: show_p(one.p), numeric=True)
P_HOLM: Column[_Adjusted] = Column("adj. p (Holm)", lambda one: show_p(one.p_holm), numeric=True)
PRACTICAL: Column[_Judged] = Column("practical", lambda one: show_significance(one.verdict.practical))


def host_column(view: View) -> Column[_Placed]:
    """Return the hosts; without texts in an experiment with one host."""
    return Column("host", lambda one: view.host(one.place.host))
