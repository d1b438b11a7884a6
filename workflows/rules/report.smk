rule report:
    input:
        database=rules.ingest.output.database,
        answer=rules.analyse.output.answer,
    output:
        page=f"{RESULTS}/{{experiment}}/report.html",
    log:
        f"{RESULTS}/{{experiment}}/logs/report.log",
    params:
        folder=folder_of,
    shell:
        "{REGATTA:q} report {params.folder:q} --output {output.page:q} > {log:q} 2>&1"
