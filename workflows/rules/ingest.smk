rule ingest:
    input:
        verdict=rules.verify.output.verdict,
    output:
        database=f"{RESULTS}/{{experiment}}/store/regatta.duckdb",
    log:
        f"{RESULTS}/{{experiment}}/logs/ingest.log",
    params:
        folder=folder_of,
    shell:
        "{REGATTA:q} store rebuild {params.folder:q} > {log:q} 2>&1"
