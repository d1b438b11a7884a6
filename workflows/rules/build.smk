rule build:
    input:
        fingerprint=f"{RESULTS}/{{experiment}}/receipts/fingerprint.json",
    output:
        receipt=f"{RESULTS}/{{experiment}}/receipts/build.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/build.log",
    params:
        spec=GRAPH.spec_of,
    shell:
        "{REGATTA:q} build {params.spec:q} --way {resources.way:q} --receipt {output.receipt:q} > {log:q} 2>&1"
