# One job is one segment on one host, after the previous segment of the host. Its output is a receipt:
# the journal is not an output, because Snakemake deletes outputs.
rule measure:
    input:
        plan=rules.prepare.output.plan,
        previous=GRAPH.previous_receipts,
    output:
        receipt=f"{RESULTS}/{{experiment}}/receipts/{{host}}/{{segment}}.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/measure-{{host}}-{{segment}}.log",
    resources:
        measuring=1,
    params:
        folder=GRAPH.folder_of,
        segment=GRAPH.segment_of,
    shell:
        "{REGATTA:q} segment {params.folder:q} --host {wildcards.host:q} --segment {params.segment}"
        " --way {resources.way:q}"
        " --receipt {output.receipt:q} > {log:q} 2>&1"


# Between the segments of hosts that decide together. The decisions are no output, because they stay when receipts are withdrawn.
rule decide:
    input:
        plan=rules.prepare.output.plan,
        measured=GRAPH.receipts_of_segment,
    output:
        receipt=f"{RESULTS}/{{experiment}}/receipts/decided-{{segment}}.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/decide-{{segment}}.log",
    resources:
        measuring=1,
    params:
        folder=GRAPH.folder_of,
        segment=GRAPH.segment_of,
    shell:
        "{REGATTA:q} decide {params.folder:q} --segment {params.segment}"
        " --receipt {output.receipt:q} > {log:q} 2>&1"
