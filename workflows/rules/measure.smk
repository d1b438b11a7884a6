# One job is one segment on one host, after the previous segment of the host. Its output is a receipt:
# the journal is not an output, because Snakemake deletes outputs.
rule measure:
    input:
        plan=rules.prepare.output.plan,
        previous=GRAPH.previous_receipt,
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
