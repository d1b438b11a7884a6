# Part of the graph only if an InfluxDB is configured. Errors here must not stop measuring, so that jobs always succeed: the
# receipt states the rest in the journal, and the next run sends it.


# Runs between two segments of a host, never concurrently with a local one: it shares their resource and has priority.
# A slow InfluxDB delays measuring by at most one minute, and then not again for ten minutes. Each call continues where
# the previous one ended.
# `ingest_influx` sends the rest of segments measured earlier, all at once.
rule ingest_segment:
    input:
        receipt=rules.measure.output.receipt,
    output:
        receipt=f"{RESULTS}/{{experiment}}/influx/receipts/{{host}}/{{segment}}.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/ingest-{{host}}-{{segment}}.log",
    priority: 1
    resources:
        measuring=1,
    params:
        folder=GRAPH.folder_of,
    shell:
        "timeout --foreground -k 5 60 {REGATTA:q} ingest {params.folder:q} --host {wildcards.host:q} --no-estimates --patience-s 0"
        " --receipt {output.receipt:q} > {log:q} 2>&1"
        ' || echo \'{{"waiting": null, "reason": "ingest failed: see logs/ingest-HOST-SEGMENT.log"}}\' > {output.receipt:q}'


# Limited to ten minutes: the next run sends the rest.
rule ingest_influx:
    input:
        answer=rules.finish.output.answer,
        report=rules.finish.output.page,
    output:
        receipt=f"{RESULTS}/{{experiment}}/influx/receipts/all.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/ingest-influx.log",
    params:
        folder=GRAPH.folder_of,
    shell:
        "timeout --foreground -k 5 600 {REGATTA:q} ingest {params.folder:q} --patience-s 3"
        " --receipt {output.receipt:q} > {log:q} 2>&1"
        ' || echo \'{{"waiting": null, "reason": "ingest failed: see logs/ingest-influx.log"}}\' > {output.receipt:q}'
