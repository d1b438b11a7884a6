rule provision:
    input:
        fingerprint=f"{RESULTS}/{{experiment}}/receipts/fingerprint.json",
    output:
        receipt=f"{RESULTS}/{{experiment}}/receipts/provision.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/provision.log",
    params:
        spec=GRAPH.spec_of,
        results=GRAPH.results_of,
    shell:
        "{REGATTA:q} provision {params.spec:q} --results {params.results:q} --way {resources.way:q}"
        " --receipt {output.receipt:q} > {log:q} 2>&1"
