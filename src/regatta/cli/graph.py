"""The graph of the workflow, hosts x segments, from the specs. Cells are never part of it.

The rules of the workflow take names and paths from here. Arguments named `wildcards` are those of Snakemake.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from regatta.cli.handover import handed_experiment, path_for_snakemake, wanted_results, wanted_specs
from regatta.fleet.fingerprint import write_fingerprint
from regatta.influx.settings import find_settings, hand_on
from regatta.spec.home import find_home
from regatta.store.folder import Folder
from regatta.store.receipts import (
    FINGERPRINT,
    decided_name,
    sending_hindrance,
    sent_receipt,
    withdraw_left_out,
    withdraw_unprepared,
    withdraw_unsent,
)


class Graph:
    """The experiments of a workflow, and the paths of their receipts.

    Raises:
        RegattaError: a spec, a value of `--config` or the settings of InfluxDB are invalid.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._home = find_home()
        found = (handed_experiment(path, self._home) for path in wanted_specs(config))
        self.experiments = {experiment.name: experiment for experiment in found}
        self._given = wanted_results(config, {e.results_directory for e in self.experiments.values()})
        #: None without InfluxDB: then the graph has no InfluxDB jobs
        self.influx = find_settings(self._home)
        #: not a name on PATH: PATH is that of the user, who may have another environment active
        self.program = str(Path(sys.executable).with_name("regatta"))
        #: file patterns of rules need a name without special characters; commands get the original
        self.results = path_for_snakemake(self._given)
        self._senders = self._find_senders()
        self._withdraw_outdated()
        #: additional targets for InfluxDB
        self.sent = [str(path) for name in self._senders for path in self._to_send(name)]

    def _folder(self, name: str) -> Folder:
        return Folder(Path(self.results) / name)

    def _find_senders(self) -> list[str]:
        """Return the experiments that send to InfluxDB.

        Excluded are those whose send positions cannot be saved, because sending must not stop measuring.
        """
        if self.influx is None:
            return []
        hand_on(self.influx)
        found = []
        for name in self.experiments:
            hindrance = sending_hindrance(self._folder(name))
            if hindrance:
                text = f"{name}: warning: sending to InfluxDB is disabled: {hindrance}"
                print(text, file=sys.stderr, flush=True)
            else:
                found.append(name)
        return found

    def _withdraw_outdated(self) -> None:
        """Write the fingerprints, and request again what depends on a change.

        A fingerprint is written only here and only on change, so that its mtime is the time of the last relevant change.
        """
        for name, experiment in self.experiments.items():
            folder = self._folder(name)
            withdraw_left_out(folder)
            withdraw_unprepared(folder)
            write_fingerprint(experiment, self._home, folder.receipts / FINGERPRINT)
            if self.influx is not None and name in self._senders:
                withdraw_unsent(folder, self.influx.identity)

    def _to_send(self, name: str) -> Iterator[Path]:
        """Yield the receipts of ingests to request.

        Measured segments are not requested: one job at the end sends the rest of them, instead of thousands of jobs.
        """
        folder = self._folder(name)
        yield sent_receipt(folder)
        for host in self.experiments[name].hosts:
            for segment in range(self.experiments[name].segments):
                if not (folder.receipts / host.name / f"{segment:05d}.json").exists():
                    yield sent_receipt(folder, host.name, segment)

    def spec_of(self, wildcards: Any) -> str:
        """Return the path of the spec."""
        return self.experiments[wildcards.experiment].spec_path

    def folder_of(self, wildcards: Any) -> str:
        """Return the folder of the experiment as the user named it."""
        return str(Path(self._given) / wildcards.experiment)

    def all_receipts(self, wildcards: Any) -> list[str]:
        """Return the receipts of all segments of all hosts in order, so that Snakemake finds each after its predecessor.

        From the last segment alone it would recurse through all of them, which fails at about 480.
        """
        experiment = self.experiments[wildcards.experiment]
        receipts = self._receipts_of(experiment.name)
        found = []
        for segment in range(experiment.segments):
            found += [f"{receipts}/{host.name}/{segment:05d}.json" for host in experiment.hosts]
            if self._decides_together(experiment.name):
                found.append(f"{receipts}/{decided_name(segment)}")
        return found

    def receipts_of_segment(self, wildcards: Any) -> list[str]:
        """Return the receipts of a segment of all hosts."""
        receipts = self._receipts_of(wildcards.experiment)
        hosts = self.experiments[wildcards.experiment].hosts
        return [f"{receipts}/{host.name}/{wildcards.segment}.json" for host in hosts]

    def previous_receipts(self, wildcards: Any) -> list[str]:
        """Return the receipt of the segment before, and of the decision after it; empty for the first."""
        number = int(wildcards.segment)
        if number == 0:
            return []
        receipts = self._receipts_of(wildcards.experiment)
        found = [f"{receipts}/{wildcards.host}/{number - 1:05d}.json"]
        if self._decides_together(wildcards.experiment):
            found.append(f"{receipts}/{decided_name(number - 1)}")
        return found

    def _receipts_of(self, name: str) -> str:
        # Text, because Snakemake compares paths as they are written.
        return f"{self.results}/{name}/receipts"

    def _decides_together(self, name: str) -> bool:
        stopping = self.experiments[name].stopping
        return stopping is not None and bool(stopping.together)

    def segment_of(self, wildcards: Any) -> int:
        """Return the number of the segment."""
        return int(wildcards.segment)

    def sent_to_influx(self, wildcards: Any) -> str | list[str]:
        """Return the receipt of a complete ingest; empty without InfluxDB."""
        if wildcards.experiment not in self._senders:
            return []
        return str(sent_receipt(self._folder(wildcards.experiment)))
