# Workflow of an experiment from its spec to its report. Every rule calls the CLI; rules contain no logic.
#   snakemake --profile local                                    experiments listed in configs/config.yml
#   snakemake --profile local --config spec=FILE results=DIR     another experiment


configfile: workflow.source_path("configs/config.yml")


include: "workflows/rules/common.smk"
include: "workflows/rules/prepare.smk"
include: "workflows/rules/measure.smk"
include: "workflows/rules/finish.smk"


if GRAPH.influx is not None:

    include: "workflows/rules/influx.smk"


rule all:
    default_target: True
    input:
        [f"{RESULTS}/{name}/receipts/verified.txt" for name in GRAPH.experiments],
        [f"{RESULTS}/{name}/report.html" for name in GRAPH.experiments],
        GRAPH.sent,
