"""The kept minheaps of suites: found in a home, read, and written by `regatta minheap --keep`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from regatta.host.errors import Problem, SpecError
from regatta.host.values.experiment import Benchmark, KeptMinheaps
from regatta.spec.fields import MAX_ITEMS, Line, Name, Sha256, Strict
from regatta.spec.flow import flow_yaml
from regatta.spec.home import minheaps_path
from regatta.spec.problems import check, is_called, shown_path
from regatta.spec.registries import read_registry

Mib = Annotated[int, Field(ge=1, le=2**24)]
Heaps = Annotated[dict[Name, Mib], Field(min_length=1, max_length=MAX_ITEMS)]
Outputs = Annotated[dict[Name, Sha256], Field(min_length=1, max_length=MAX_ITEMS)]


class MinheapsFile(Strict):
    """Minheaps of the benchmarks of a suite on one reference runtime. `regatta minheap SPEC --keep` writes this file."""

    suite: Name = Field(description="Name of the suite and of the file.", examples=["vm"])
    runtime: Name = Field(description="Name of the reference runtime.", examples=["temurin-21"])
    build: Line = Field(
        description="Version that the runtime reports.", examples=["openjdk 21.0.8 2025-07-15 LTS"]
    )
    architecture: Line = Field(
        description="Architecture of the machine (from `uname -m`).", examples=["x86_64"]
    )
    collectors: list[Name] = Field(
        description="Collectors under which every size completed.", min_length=1, examples=[["serial", "g1"]]
    )
    passes: int = Field(description="Number of completed runs per collector.", ge=1, examples=[3])
    iterations: int = Field(description="Number of iterations of each run.", ge=1, examples=[1])
    heaps_mib: dict[Name, Heaps] = Field(
        description="Minheap in MiB, by benchmark and size.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[{"compress": {"s10": 14, "s100": 92}}],
    )
    outputs: dict[Name, Outputs] = Field(
        {},
        description="Expected digest (`expect.digest` of the suite) at the time of measurement, by benchmark and "
        "size. If the suite now expects another digest, measure the minheap again.",
        max_length=MAX_ITEMS,
        examples=[{"compress": {"s10": "0" * 64}}],
    )


def read_minheaps(home: Path, suite: str, problems: list[Problem]) -> MinheapsFile | None:
    """Return the kept minheaps of a suite; None if they are missing, or invalid (then with a problem)."""
    document = read_registry(minheaps_path(home, suite), problems)
    model = None if document is None else check(MinheapsFile, document, problems)
    if document is None or model is None or not is_called(document, model.suite, suite, problems):
        return None
    return model


def kept_minheaps(
    home: Path, benchmarks: Iterable[Benchmark], spec: str, problems: list[Problem]
) -> KeptMinheaps | None:
    """Return the kept minheap of each Java benchmark; a missing one is a problem of the spec.

    Args:
        home: the result of `find_home`.
        benchmarks: of the experiment.
        spec: place of the spec's key that requests them.
        problems: every problem found is appended.
    """
    files: dict[str, MinheapsFile | None] = {}
    found = {}
    for benchmark in benchmarks:
        if benchmark.kind != "java":
            continue
        suite = benchmark.suite
        if suite not in files:
            before = len(problems)
            files[suite] = read_minheaps(home, suite, problems)
            if len(problems) > before:
                return None
        kept = files[suite]
        heap_mib = kept.heaps_mib.get(benchmark.name, {}).get(benchmark.size) if kept else None
        if heap_mib is None or benchmark.chosen:
            problems.append(
                Problem(
                    spec,
                    f"a minheap of {benchmark.label} in {shown_path(minheaps_path(home, suite))}",
                    "missing",
                    "write `source: measured`, or run `regatta minheap SPEC --keep`",
                )
            )
            continue
        then = kept.outputs.get(benchmark.name, {}).get(benchmark.size) if kept else None
        if then is not None and then != benchmark.expect.digest:
            problems.append(
                Problem(
                    spec,
                    f"a minheap of {benchmark.label} for output {benchmark.expect.digest[:16]}",
                    f"output {then[:16]} in {shown_path(minheaps_path(home, suite))}",
                    "run `regatta minheap SPEC --keep`",
                )
            )
            continue
        found[benchmark.label] = heap_mib
    sources = {suite: _source(kept) for suite, kept in files.items() if kept}
    return KeptMinheaps(found, sources)


def merged_minheaps(there: MinheapsFile | None, new: MinheapsFile) -> MinheapsFile:
    """Merge new minheaps into existing ones.

    Raises:
        SpecError: they were measured differently, and so cannot share a file.
    """
    if there is None:
        return new
    ways = [(m.runtime, m.build, m.architecture, m.collectors, m.passes, m.iterations) for m in (there, new)]
    if ways[0] != ways[1]:
        raise SpecError(
            [
                Problem(
                    f"configs/suites/minheap/{new.suite}.yml",
                    "minheaps measured in the same way: " + _told(there),
                    _told(new),
                    "use `--replace` to rewrite the file",
                )
            ]
        )
    heaps = {
        name: there.heaps_mib.get(name, {}) | new.heaps_mib.get(name, {})
        for name in _both(there.heaps_mib, new.heaps_mib)
    }
    outputs = {
        name: there.outputs.get(name, {}) | new.outputs.get(name, {})
        for name in _both(there.outputs, new.outputs)
    }
    return new.model_copy(update={"heaps_mib": heaps, "outputs": outputs})


def _both(a: Mapping[str, object], b: Mapping[str, object]) -> list[str]:
    return list(dict.fromkeys([*a, *b]))


def minheaps_text(kept: MinheapsFile) -> str:
    """Return the text of `configs/suites/minheap/<suite>.yml`."""
    heaps: Mapping[str, Mapping[str, int]] = kept.heaps_mib
    lines = [
        "# The least heap in which each benchmark completes under every one of the collectors (`regatta minheap SPEC --keep`).",
        f"suite: {flow_yaml(kept.suite)}",
        f"runtime: {flow_yaml(kept.runtime)}",
        f"build: {flow_yaml(kept.build)}",
        f"architecture: {flow_yaml(kept.architecture)}",
        f"collectors: {flow_yaml(list(kept.collectors))}",
        f"passes: {kept.passes}",
        f"iterations: {kept.iterations}",
        "heaps_mib:",
        *(
            f"  {flow_yaml(name)}: {flow_yaml(dict(sorted(sizes.items(), key=lambda item: item[1])))}"
            for name, sizes in sorted(heaps.items())
        ),
    ]
    if kept.outputs:
        lines += ["# Expected outputs of the suite at that time: other work needs another heap.", "outputs:"]
        lines += [
            f"  {flow_yaml(name)}: {flow_yaml(dict(sizes))}" for name, sizes in sorted(kept.outputs.items())
        ]
    return "\n".join(lines) + "\n"


def _source(kept: MinheapsFile) -> str:
    runs = "1 iteration" if kept.iterations == 1 else f"{kept.iterations} iterations"
    return f"{kept.runtime} under {', '.join(kept.collectors)} ({runs}, {kept.architecture})"


def _told(way: MinheapsFile) -> str:
    return (
        f"{way.runtime} ({way.build}) on {way.architecture}, {', '.join(way.collectors)}, "
        f"{way.passes} passes of {way.iterations}"
    )
