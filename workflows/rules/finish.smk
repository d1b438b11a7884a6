# One process for four steps, because each would read the same records. Failures are recorded first, so that the rest can
# be analyzed; `verified` then fails.
rule finish:
    input:
        receipts=GRAPH.all_receipts,
    output:
        verdict=f"{RESULTS}/{{experiment}}/verify.json",
        database=f"{RESULTS}/{{experiment}}/store/regatta.duckdb",
        answer=f"{RESULTS}/{{experiment}}/answer.json",
        page=f"{RESULTS}/{{experiment}}/report.html",
    log:
        verify=f"{RESULTS}/{{experiment}}/logs/verify.log",
        ingest=f"{RESULTS}/{{experiment}}/logs/ingest.log",
        analyse=f"{RESULTS}/{{experiment}}/logs/analyse.log",
        report=f"{RESULTS}/{{experiment}}/logs/report.log",
    params:
        folder=GRAPH.folder_of,
    shell:
        "{REGATTA:q} finish {params.folder:q} {log:q}"


rule verified:
    input:
        verdict=rules.finish.output.verdict,
        report=rules.finish.output.page,
        # First, so that dashboards show the failures as well.
        sent=GRAPH.sent_to_influx,
    output:
        f"{RESULTS}/{{experiment}}/receipts/verified.txt",
    log:
        f"{RESULTS}/{{experiment}}/logs/verified.log",
    shell:
        "{REGATTA:q} verify --verdict {input.verdict:q} > {output:q}.new 2> {log:q} && mv {output:q}.new {output:q}"
