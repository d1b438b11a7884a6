rule analyse:
    input:
        database=rules.ingest.output.database,
    output:
        answer=f"{RESULTS}/{{experiment}}/answer.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/analyse.log",
    params:
        folder=folder_of,
    shell:
        "{REGATTA:q} analyze {params.folder:q} --json > {output.answer:q} 2> {log:q}"
