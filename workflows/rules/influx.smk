# Part of the graph only where an InfluxDB is configured. Nothing here may stop measuring, so that a job always ends well: its
# receipt says what waits in the journal, and while something does the next run sends again.


# Between two segments of a host and never beside one where this machine measures: it has the same resource and goes first.
# An InfluxDB that is slow holds measuring up for a minute at most, and then for ten minutes not at all; each call goes on where
# the one before has ended.
# Of segments that are measured already `ingest_influx` sends what is still to send, all of them at once.
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
        folder=folder_of,
    shell:
        "timeout --foreground -k 5 60 regatta ingest {params.folder:q} --host {wildcards.host:q} --no-estimates --patience-s 0"
        " --receipt {output.receipt:q} > {log:q} 2>&1"
        ' || echo \'{{"waiting": null, "reason": "it broke off: see logs/ingest-HOST-SEGMENT.log"}}\' > {output.receipt:q}'


# Ten minutes at most: what is not sent by then the next run sends.
rule ingest_influx:
    input:
        answer=rules.analyse.output.answer,
        report=rules.report.output.page,
    output:
        receipt=f"{RESULTS}/{{experiment}}/influx/receipts/all.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/ingest-influx.log",
    params:
        folder=folder_of,
    shell:
        "timeout --foreground -k 5 600 regatta ingest {params.folder:q} --patience-s 3"
        " --receipt {output.receipt:q} > {log:q} 2>&1"
        ' || echo \'{{"waiting": null, "reason": "it broke off: see logs/ingest-influx.log"}}\' > {output.receipt:q}'
