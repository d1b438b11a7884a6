# Failures are recorded first, so that the rest can be analyzed; `verified` then fails.
rule verify:
    input:
        receipts=all_receipts,
    output:
        verdict=f"{RESULTS}/{{experiment}}/verify.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/verify.log",
    params:
        folder=folder_of,
    shell:
        "{REGATTA:q} verify {params.folder:q} --write {output.verdict:q} > {log:q} 2>&1"


rule verified:
    input:
        verdict=rules.verify.output.verdict,
        report=f"{RESULTS}/{{experiment}}/report.html",
        # First, so that dashboards show the failures as well.
        sent=sent_to_influx,
    output:
        f"{RESULTS}/{{experiment}}/receipts/verified.txt",
    log:
        f"{RESULTS}/{{experiment}}/logs/verified.log",
    shell:
        "{REGATTA:q} verify --verdict {input.verdict:q} > {output:q} 2> {log:q}"
