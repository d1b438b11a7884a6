"""The reference machine of a suite."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from regatta.spec.fields import MAX_ITEMS, Line, Name, Strict, Text

Seconds = Annotated[float, Field(gt=0, le=1e7)]
Times = Annotated[dict[Name, Seconds], Field(min_length=1, max_length=MAX_ITEMS)]


class ReferenceFile(Strict):
    """How long a suite's programs take on a named machine, to which scores are ratios. `regatta reference` makes it."""

    suite: Name = Field(description="The suite, and the file's name.", examples=["speclike"])
    machine: Line = Field(
        description="The machine's name, told with every score.", examples=["quiet-xeon-2026"]
    )
    description: Text = Field(
        "", description="What the machine is.", examples=["2 cores of a Xeon at 2.1 GHz, Debian 12, gcc 12.2"]
    )
    times_s: dict[Name, Times] = Field(
        description="Benchmark to size to the mean elapsed time of one copy, in seconds; taken as exact.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[{"gzip": {"test": 0.31, "train": 0.97}}],
    )
