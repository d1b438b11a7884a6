"""The kept minheaps of a suite."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from regatta.spec.fields import MAX_ITEMS, Line, Name, Sha256, Strict

Mib = Annotated[int, Field(ge=1, le=2**24)]
Heaps = Annotated[dict[Name, Mib], Field(min_length=1, max_length=MAX_ITEMS)]
Outputs = Annotated[dict[Name, Sha256], Field(min_length=1, max_length=MAX_ITEMS)]


class MinheapsFile(Strict):
    """The least heaps of a suite's benchmarks on one reference runtime. `regatta minheap SPEC --keep` makes it."""

    suite: Name = Field(description="The suite, and the file's name.", examples=["vm"])
    runtime: Name = Field(description="The reference runtime, by its name.", examples=["temurin-21"])
    build: Line = Field(description="What it said of itself.", examples=["openjdk 21.0.8 2025-07-15 LTS"])
    architecture: Line = Field(description="Of the machine, as `uname -m` says.", examples=["x86_64"])
    collectors: list[Name] = Field(
        description="Those under which every size was survived.", min_length=1, examples=[["serial", "g1"]]
    )
    passes: int = Field(description="Runs that were survived under each.", ge=1, examples=[3])
    iterations: int = Field(description="Iterations of each run.", ge=1, examples=[1])
    heaps_mib: dict[Name, Heaps] = Field(
        description="Benchmark to size to the least heap in MiB.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[{"compress": {"s10": 14, "s100": 92}}],
    )
    outputs: dict[Name, Outputs] = Field(
        {},
        description="Benchmark to size to the digest of the right output (`expect.digest` of the suite) when it was measured: "
        "where the suite expects another one now, it is other work, and its minheap must be measured again.",
        max_length=MAX_ITEMS,
        examples=[{"compress": {"s10": "0" * 64}}],
    )
