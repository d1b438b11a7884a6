"""Parts of experiments made in code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from regatta.host.values.experiment import (
    Benchmark,
    Expectation,
)
from regatta.host.values.resolved import ResolvedRuntime

COLLECTORS = ("serial", "parallel", "g1")


def java_benchmark(name: str, **changes: Any) -> Benchmark:
    return replace(
        Benchmark(
            suite="s", name=name, size="small", kind="java", command=("{runtime}", "-cp", "x.jar", name, "{n}"),
            adapter="regatta", adapter_options={}, metric="elapsed", better="lower", parameters={"n": 3}, environment={},
            arrange={}, check=(), expect=Expectation(), builds={}, inputs={},
        ),
        **changes,
    )  # fmt: skip


def native_benchmark(name: str) -> Benchmark:
    return java_benchmark(name, kind="native", command=("true",), adapter="process")


def resolved_runtime(name: str, refuses: dict[str, str] | None = None) -> ResolvedRuntime:
    answers = dict.fromkeys(COLLECTORS, "") | (refuses or {})
    return ResolvedRuntime(
        name, f"/opt/{name}/bin/java", f"version of {name}", f"identity of {name}", (), answers
    )
