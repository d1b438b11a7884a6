rule build:
    input:
        spec=spec_of,
        sources=lambda wildcards: source_paths(EXPERIMENTS[wildcards.experiment], HOME),
    output:
        receipt=f"{RESULTS}/{{experiment}}/receipts/build.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/build.log",
    shell:
        "regatta build {input.spec:q} --receipt {output.receipt:q} > {log:q} 2>&1"
