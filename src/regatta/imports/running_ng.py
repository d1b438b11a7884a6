"""Import a running-ng configuration: one spec for each number of iterations of its benchmarks.

Source of the format: running-ng's reference (suites, runtimes, modifiers, `runbms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from regatta.imports.drafts import Imported, SpecDraft, SuiteDraft
from regatta.imports.reader import Reader
from regatta.imports.running_ng_crossing import KINDS, Crossing
from regatta.imports.running_ng_files import read_configuration
from regatta.imports.running_ng_modifiers import Config, Modifiers
from regatta.imports.running_ng_suites import SelectedBenchmark, Suites
from regatta.imports.words import Names, clean
from regatta.spec.registries import Registries, read_registries
from regatta.spec.yaml_lines import KeyPath

_TOP = {
    "remote_host": ("results stay on the machine that runs `regatta run`", "copy results/<experiment>"),
    "plugins": (
        "Regatta has no plugins",
        "see the progress with `regatta status`; keep files of the working directory with `keep`",
    ),
    "maxheap": ("the minheap search ends at 75 % of the memory", ""),
}
_NO_CONFIG = ("not used by any imported config", "name it in a config if it is needed")
_UNUSED = {
    "modifiers": _NO_CONFIG,
    "runtimes": _NO_CONFIG,
    "suites": ("no imported benchmark belongs to it", "name a benchmark of it if it is needed"),
}


def import_running_ng(path: Path, home: Path, heaps: int = 8, package_data: Path | None = None) -> Imported:
    """Import a running-ng configuration with its includes.

    Args:
        path: the file.
        home: folder with `configs/`, whose names are taken.
        heaps: the N of `runbms`, at least 2: the number of steps of heap size.
        package_data: value of `$RUNNING_NG_PACKAGE_DATA`; None: unset.

    Returns:
        the specs, the one with the first benchmark first.

    Raises:
        SpecError: a file is wrong, or no part of it can be imported.
    """
    document = read_configuration(path, package_data)
    return _Importer(Reader(document), path, home, heaps).imported()


class _Importer:
    def __init__(self, reader: Reader, path: Path, home: Path, heaps: int) -> None:
        self.reader = reader
        self.ledger = reader.ledger
        self.path = path
        self.home = home
        self.heaps = heaps
        self.suites = Suites(reader, path.resolve().parent)
        self.suite_names = Names(file.stem for file in (home / "configs" / "suites").glob("*.yml"))

    def imported(self) -> Imported:
        self.reader.leave((), _TOP)
        self.ledger.carry(*((key,) for key in _TOP if key in self.reader.document.value))
        for key in _UNUSED:
            self.ledger.look((key,))
        registries = read_registries(self.home, [])
        wanted = self.suites.wanted()
        configs = self.configs(registries)
        crossing = Crossing(self.reader, registries, configs, self.path.resolve().parent)
        groups: dict[str, list[SelectedBenchmark]] = {}
        for one in wanted:
            if crossing.runs(one):
                groups.setdefault(str(one.iterations), []).append(one)
            else:
                self.ledger.leave(
                    one.path, f"no config has a runtime for `{one.kind}` programs", "add a config"
                )
        specs = [self.spec(those, crossing, index) for index, those in enumerate(groups.values())]
        needed = (("configs",), "a config and a benchmark that can be imported")
        return self.reader.imported(self.path, "running-ng", specs, _explain, needed)

    def configs(self, registries: Registries) -> list[Config]:
        """Return the entries of `configs` that can be imported."""
        found = []
        fix = 'write `configs: ["jdk-21|ms|s"]`'
        for path, _ in self.reader.entries(("configs",), "a list of at least 1 config", fix):
            if self.reader.valid(path, partial(self.attempt, registries, path)):
                config = _config(self.reader, path)
                if config is not None:
                    found.append(config)
        return found

    def attempt(self, registries: Registries, path: KeyPath, reader: Reader) -> None:
        """Convert one config alone, to find its problems."""
        config = _config(reader, path)
        Crossing(reader, registries, [config] if config else [], self.path.resolve().parent)

    def spec(self, those: list[SelectedBenchmark], crossing: Crossing, index: int) -> SpecDraft:
        """Return one spec of benchmarks with the same number of iterations."""
        name = clean(self.path.stem)
        if index:
            name = clean(f"{name}-{index + 1}")
            for one in those:
                self.ledger.change(
                    one.path,
                    f"in `{name}.yml`, because its number of iterations differs from that of the first benchmark",
                )
        drafts, choices = [], []
        for suite in dict.fromkeys(one.suite for one in those):
            members = [one for one in those if one.suite == suite]
            draft, given = self.suite(suite, members, crossing, name if index else "")
            drafts.append(draft)
            choices += given
        java = any(one.kind == "java" for one in those)
        body: dict[str, Any] = {
            "name": name,
            "platforms": ["local"],
            "benchmarks": choices,
            "invocations": {"fixed": self.invocations()},
            "iterations": those[0].iterations,
            "timeout_s": self.reader.limit_s([(one.timeout_path, one.timeout_s) for one in those]),
        }
        body |= crossing.keys(those)
        if java:
            body["heap"] = crossing.heap() or {"factors": self.factors()}
        return SpecDraft(name, body, drafts, crossing.told)

    def suite(
        self, suite: str, members: Sequence[SelectedBenchmark], crossing: Crossing, suffix: str
    ) -> tuple[SuiteDraft, list[dict[str, Any]]]:
        """Return the suite file of one suite's benchmarks, and the entries that select them."""
        text = f"{suite}-{suffix}" if suffix else suite
        suite_name = self.suite_names.give(self.ledger, ("suites", suite), "the suite", text)
        names = Names(["all"])
        bodies: dict[str, Any] = {}
        choices: list[dict[str, Any]] = []
        for one in members:
            name = names.give(self.ledger, one.path, "the benchmark", one.name)
            crossing.called[one.path] = (suite_name, name)
            bodies[name] = self.suites.body(one, crossing.arounds[one.kind])
            if choices and choices[-1]["size"] == [one.size]:
                choices[-1]["benchmark"].append(name)
            else:
                choices.append({"benchmark": [name], "size": [one.size]})
        comments = [f"Suite `{suite}`.", *filter(None, [self.suites.minheaps(members)])]
        return SuiteDraft(suite_name, {"suite": suite_name, "benchmarks": bodies}, comments), [
            {"suite": suite_name, **choice} for choice in choices
        ]

    def invocations(self) -> int:
        """Return the number of invocations; running-ng's base configuration has 10."""
        path: KeyPath = ("invocations",)
        if not self.reader.has(path):
            self.ledger.change(
                (),
                "default of running-ng's base configuration: `invocations: 10`",
                "change `invocations` in the spec",
            )
            return 10
        self.ledger.carry(path)
        return self.reader.whole(path, 1, "write `invocations: 10`") or 1

    def factors(self) -> list[float]:
        """Return the heap factors of `runbms`, with smaller steps near the minheap.

        With N steps, the n-th of 0 to N lies at n + spread / (N - 1) * (n^2 - n) / 2, scaled so that 0 is 1 and N the range.
        """
        given = {}
        for key, usual in (("heap_range", 6.0), ("spread_factor", 1.0), ("minheap_multiplier", 1.0)):
            value = self.reader.number((key,), -1 if key == "spread_factor" else 0)
            self.ledger.carry(*([(key,)] if key in self.reader.document.value else []))
            given[key] = usual if value is None else value
            if value is None:
                why = f"default of running-ng's base configuration: `{key}: {usual:g}`"
                self.ledger.change((), why, "change `heap` in the spec")
        steps = self.heaps
        self.ledger.change(
            ("heap_range",),
            f"N of `runbms`, an argument of its command line, is {steps} ({steps + 1} heaps)",
            "use `--heaps N`, or change `heap` in the spec",
        )
        places = [n + given["spread_factor"] / (steps - 1) * (n * n - n) / 2 for n in range(steps + 1)]
        width = given["heap_range"] - 1
        if width < 0:
            self.ledger.problem(("heap_range",), "a number >= 1", given["heap_range"])
            return [1.0]
        factors = [
            round((1 + place / places[-1] * width) * given["minheap_multiplier"], 4) for place in places
        ]
        return list(dict.fromkeys(factors))


def _config(reader: Reader, path: KeyPath) -> Config | None:
    """Resolve one entry of `configs`; None if it has no equivalent in Regatta."""
    text = reader.text(path, "jdk-21|ms|s")
    if text is None:
        return None
    config = Modifiers(reader).config(path, text)
    at: KeyPath = ("runtimes", config.runtime)
    kind = reader.text((*at, "type")) or ""
    if kind and kind not in KINDS:
        why = f"Regatta does not support runtimes of type `{kind}`"
        reader.ledger.leave(at, why)
        config.refused = (why, "")
    if config.refused[0]:
        reader.ledger.carried.discard(path)
        reader.ledger.leave(path, *config.refused)
        return None
    return config


def _explain(path: KeyPath) -> tuple[str, str]:
    if len(path) <= 2 and path[0] in _UNUSED:
        return _UNUSED[str(path[0])]
    if path[0] == "suites" and path[-1] in ("timing_iteration", "timeout", "size"):
        return "overridden by every imported benchmark of the suite", ""
    if path[0] in ("suites", "modifiers") and len(path) > 3:
        return "not used by any imported benchmark", ""
    return "Regatta has no equivalent", ""
