# Read the specs and derive the graph: hosts x segments. Cells are never part of it.
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from regatta.cli.temporary_folder import claim_folders_of_snakemake

# Before the other imports, which take a second: a kill before this line leaves the folders forever.
claim_folders_of_snakemake(workflow)

from regatta.cli.handover import path_for_snakemake, wanted_results, wanted_specs
from regatta.host.errors import RegattaError
from regatta.fleet.fingerprint import write_fingerprint
from regatta.influx.settings import find_settings, hand_on
from regatta.spec.home import find_home
from regatta.spec.load import load_spec
from regatta.store.folder import Folder
from regatta.store.receipts import (
    sending_hindrance,
    sent_receipt,
    withdraw_left_out,
    withdraw_unsent,
)

try:
    HOME = find_home()
    EXPERIMENTS = {
        e.name: e for e in (load_spec(path, HOME) for path in wanted_specs(config))
    }
    FOLDER = wanted_results(config, {e.results_directory for e in EXPERIMENTS.values()})
    # None without InfluxDB: then the graph has no InfluxDB jobs.
    INFLUX = find_settings(HOME)
except RegattaError as error:
    raise WorkflowError(str(error))


# Not a name on PATH: PATH is that of the user, who may have another environment active.
REGATTA = str(Path(sys.executable).with_name("regatta"))

# File patterns of rules need a name without special characters; commands get the original.
RESULTS = path_for_snakemake(FOLDER)


wildcard_constraints:
    experiment="[^/]+",
    host="[^/]+",
    segment=r"\d{5}",


def spec_of(wildcards):
    return EXPERIMENTS[wildcards.experiment].spec_path


def folder_of(wildcards):
    return str(Path(FOLDER) / wildcards.experiment)


def results_of(wildcards):
    return FOLDER


# Experiments that send to InfluxDB. Excluded are those whose send positions cannot be saved, because sending must not stop
# measuring.
SENDERS = []

if INFLUX is not None:
    hand_on(INFLUX)
    for name in EXPERIMENTS:
        hindrance = sending_hindrance(Folder(Path(RESULTS) / name))
        if hindrance:
            print(
                f"{name}: warning: sending to InfluxDB is disabled: {hindrance}",
                file=sys.stderr,
                flush=True,
            )
        else:
            SENDERS.append(name)


# Written only here and only on change, so that its mtime is the time of the last relevant change.
for experiment in EXPERIMENTS.values():
    withdraw_left_out(Folder(Path(RESULTS) / experiment.name))
    write_fingerprint(
        experiment,
        HOME,
        Path(RESULTS) / experiment.name / "receipts" / "fingerprint.json",
    )
    if experiment.name in SENDERS:
        withdraw_unsent(Folder(Path(RESULTS) / experiment.name), INFLUX.identity)


def all_receipts(wildcards):
    """Return the receipts of all segments of all hosts in order, so that Snakemake finds each after its predecessor.

    From the last segment alone it would recurse through all of them, which fails at about 480.
    """
    experiment = EXPERIMENTS[wildcards.experiment]
    return [
        f"{RESULTS}/{experiment.name}/receipts/{host.name}/{segment:05d}.json"
        for host in experiment.hosts
        for segment in range(experiment.segments)
    ]


def previous_receipt(wildcards):
    number = int(wildcards.segment)
    if number == 0:
        return []
    return f"{RESULTS}/{wildcards.experiment}/receipts/{wildcards.host}/{number - 1:05d}.json"


def sent_to_influx(wildcards):
    """Return the receipt of a complete ingest; empty without InfluxDB."""
    if wildcards.experiment not in SENDERS:
        return []
    return str(sent_receipt(Folder(Path(RESULTS) / wildcards.experiment)))


# Additional targets for InfluxDB. Measured segments are not requested: one job at the end sends the rest of them, instead
# of thousands of jobs.
SENT = [
    str(path)
    for name in SENDERS
    for folder in [Folder(Path(RESULTS) / name)]
    for path in [
        sent_receipt(folder),
        *(
            sent_receipt(folder, host.name, segment)
            for host in EXPERIMENTS[name].hosts
            for segment in range(EXPERIMENTS[name].segments)
            if not (folder.receipts / host.name / f"{segment:05d}.json").exists()
        ),
    ]
]
