"""Fitness of a host for measuring, from its facts and its quiesce settings. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Level = Literal["good", "fair", "poor"]
LEVELS: tuple[Level, ...] = ("good", "fair", "poor")
Finding = tuple[Level, str]


def fitness(facts: Mapping[str, str], quiet: Mapping[str, Any] | None) -> list[Finding]:
    """Return the findings on a host, most severe first.

    Args:
        facts: as reported by the host (`regatta.host.facts`).
        quiet: the JSON of the verb `quiet status` there; None: not available.

    Returns:
        (level, sentence) each; `poor`: fix the host or use another; `fair`: wider intervals; `good`: no problem.
    """
    findings = _of_facts(facts)
    if quiet is None:
        findings.append(("fair", "host settings are unknown: the host did not report them"))
    else:
        findings += _of_knobs(quiet)
    return sorted(findings, key=lambda finding: -LEVELS.index(finding[0]))


def overall(findings: Sequence[Finding]) -> Level:
    """Return the most severe level; `good` without findings."""
    return max((level for level, _ in findings), key=LEVELS.index, default="good")


def _of_facts(facts: Mapping[str, str]) -> list[Finding]:
    findings: list[Finding] = []
    if facts.get("machine") == "virtual machine":
        findings.append(
            (
                "fair",
                "virtual machine: other guests share its processor, and steal time shows only a part of that",
            )
        )
    if facts.get("machine") == "emulated":
        findings.append(
            ("poor", "emulated: programs compute correct results, but their times are meaningless")
        )
    if facts.get("cpus") == "1":
        findings.append(("poor", "one CPU: any other process interrupts the measured one"))
    return findings


def _of_knobs(quiet: Mapping[str, Any]) -> list[Finding]:
    findings: list[Finding] = []
    well: list[str] = []
    for knob in _knobs(quiet):
        name, state = knob["name"].replace("_", " "), knob["state"]
        told = "; ".join(map(str, knob["told"]))
        level: Level = knob["level"]
        # A setting that is unavailable or unwanted may be harmless; a wrong setting is not.
        doubtful: Level = "good" if level == "good" else "fair"
        if state == "quiet":
            well.append(name)
        elif state == "noisy":
            findings.append((level, f"{name} is not quiet ({_values(knob)}): {knob['effect']}"))
        elif state == "not available":
            findings.append(
                (doubtful, f"{name} is not available{f' ({told})' if told else ''}: {knob['effect']}")
            )
        elif state == "not asked":
            findings.append((doubtful, f"{name} is unchanged ({told}): {knob['effect']}"))
        elif state == "left":
            findings.append((doubtful, f"{name} is unchanged by request: {knob['effect']}"))
        findings += [("fair", sentence) for sentence in map(str, knob["refused"])]
    if well:
        findings.append(("good", f"quiet: {', '.join(well)}"))
    return findings


def _values(knob: Mapping[str, Any]) -> str:
    """Return the first place with a deviating value, and the number of further ones."""
    differing = [place for place in knob["places"] if place["now"] != place["wanted"]]
    if not differing:
        return f"wanted: {knob['aim']}"
    first, further = differing[0], len(differing) - 1
    text = f"{first['where']} is {first['now']}, wanted {first['wanted']}"
    return f"{text}, and {further} more" if further else text


def _knobs(quiet: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of an untrusted answer; replace missing keys and wrong types."""
    kinds: dict[str, Any] = {
        "name": "?",
        "state": "",
        "level": "fair",
        "aim": "",
        "effect": "",
        "places": [],
        "told": [],
        "refused": [],
    }
    found = []
    knobs = quiet.get("knobs")
    for knob in knobs if isinstance(knobs, list) else []:
        if isinstance(knob, Mapping):
            entry = {
                name: knob[name] if isinstance(knob.get(name), type(default)) else default
                for name, default in kinds.items()
            }
            entry["level"] = entry["level"] if entry["level"] in LEVELS else "fair"
            entry["places"] = [
                {name: str(place.get(name, "")) for name in ("where", "now", "wanted")}
                for place in entry["places"]
                if isinstance(place, Mapping)
            ]
            found.append(entry)
    return found
