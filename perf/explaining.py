"""Whether a planted cause of 5 % is found, in real runs on this machine. README.md explains the output.

    perf/run explaining [--json] [--quick] [--directory FOLDER]

A trial compares the example program of docs/tutorials/difference-example with itself after one of its parts has grown: computing,
reading, touching pages, or sleeping. `regatta explain-difference` names what contributes. The peer is what a differential flame
graph shows of one run of each side: the part whose samples differ most.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import defaultdict
from pathlib import Path

from command import run_command
from experiments import HOME, NEVER_PERTURBED, REGATTA, call
from rows import Row, say

from regatta.answers.explanation.compute import read_profile
from regatta.answers.explanation.division import WAITING
from regatta.answers.explanation.work import PAGE_FAULTS, Work
from regatta.stats.proportion import proportion_interval

EXAMPLE = HOME / "docs" / "tutorials" / "difference-example"
TRIALS, QUICK_TRIALS, ROUNDS = 20, 4, 10
#: per cent of trials, of 20 one
MOST_WRONG = 5.0
#: turns of the parts, about half a second, and what adds about 5 % to it
TURNS = (70_000_000, 280_000, 280, 14_000)
#: grown part -> its additional turns, and the names of its work
CHANGES = {
    "computing": ((6_100_000, 0, 0, 0), {"function compute"}),
    "reading": ((0, 95_000, 0, 0), {"system call read", "function ask", "C library, other"}),
    "touching pages": (
        (0, 0, 70, 0),
        {PAGE_FAULTS, "system call munmap", "system call mmap", "function touch", "C library, other"},
    ),
    "sleeping": ((0, 0, 0, 23_500), {WAITING}),
}


def measured(place: Path, trial: int, change: str) -> dict[str, object] | None:
    """Measure both sides, and explain their difference; None if none was shown."""
    added, _ = CHANGES[change]
    name = f"trial-{trial:02d}"
    sides = {"before": TURNS, "after": tuple(map(sum, zip(TURNS, added, strict=True)))}
    modifiers = {side: {"environment": {"TURNS": " ".join(map(str, turns))}} for side, turns in sides.items()}
    (place / f"{name}.yml").write_text(
        f"name: {name}\nsuites: [suite.yml]\nbenchmarks: [{{suite: parts, benchmark: parts}}]\n"
        f"modifiers: {json.dumps(modifiers)}\nmodifier_sets: [[before], [after]]\nbaseline: {{modifiers: before}}\n"
        f"invocations: {{fixed: {ROUNDS}}}\nseed: {trial}\n{NEVER_PERTURBED}"
    )
    call(place, REGATTA, "run", f"{name}.yml")
    call(place, REGATTA, "explain-difference", "before", "after", "--experiment", name, expected=(0, 5))
    found = list((place / "results").glob(f"{name}-difference-*/difference.json"))
    return json.loads(found[0].read_text())["explanations"][0] if found else None


def seen_in_one_run(folder: Path) -> str:
    """Return the part whose time differs most between the first profiled runs of both sides."""
    cells = {
        cell["cell_id"]: cell["modifiers"]
        for cell in json.loads((folder / "plan" / "local" / "plan.json").read_text())["cells"]
    }
    sides: dict[str, dict[str, float]] = {}
    for path in sorted((folder / "journal" / "local" / "kept").glob("*-r1-a*/regatta-profile.json")):
        stacks = read_profile(path, set(), 1.0, 1.0).stacks_s
        work = Work(stacks)
        tally: dict[str, float] = defaultdict(float)
        for stack, used_s in stacks.items():
            tally[work.name(stack)] += used_s
        sides[cells[path.parent.name.split("-r")[0]].split("+")[0]] = tally
    before, after = sides["before"], sides["after"]
    return max({*before, *after}, key=lambda name: abs(after[name] - before[name]))


def measure(place: Path, quick: bool) -> list[Row]:
    """Return the rows: causes that were not planted, and planted ones that were not found."""
    trials = QUICK_TRIALS if quick else TRIALS
    shutil.copytree(EXAMPLE, place, dirs_exist_ok=True)
    innocent = missed = peer_wrong = explained = 0
    errors: list[float] = []
    for trial in range(trials):
        change = list(CHANGES)[trial % len(CHANGES)]
        names = CHANGES[change][1]
        found = measured(place, trial, change)
        if found is None:
            missed += 1
            say(f"{trial + 1} of {trials}: {change}: no difference shown")
            continue
        explained += 1
        causes = {part["name"]: part["contribution"]["point"] for part in found["parts"] if part["is_cause"]}
        innocent += bool(set(causes) - names)
        missed += not set(causes) & names
        own = sum(part["contribution"]["point"] for part in found["parts"] if part["name"] in names)
        errors.append(100.0 * (own - found["measured"]["point"]))
        (folder,) = (place / "results").glob(f"trial-{trial:02d}-difference-*")
        one = seen_in_one_run(folder)
        # A flame graph has no waiting.
        peer_wrong += one not in names
        say(f"{trial + 1} of {trials}: {change}: {causes}; one run each: {one}")
    details = {"trials": trials, "explained": explained, "errors_percent": errors}
    peer = 100.0 * peer_wrong / max(1, explained)
    return [
        _row("explanations that name an innocent part", innocent, explained, peer, MOST_WRONG, details),
        # A matter of rounds: no goal.
        _row("planted causes that are not named", missed, trials, peer, None, details),
    ]


def _row(what: str, count: int, of: int, peer: float, limit: float | None, details: dict[str, object]) -> Row:
    percent = 100.0 * count / max(1, of)
    interval = proportion_interval(count, max(1, of))
    more = {**details, "low": 100 * interval.low, "high": 100 * interval.high}
    goal, holds = (None, None) if limit is None else (f"at most {limit:g} %", percent <= limit)
    name = "largest difference of one run each"
    return Row(what, "%", percent, peer, name, goal, limit, holds, details=more)


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
