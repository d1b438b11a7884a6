# Measures on this machine, so it may not run beside a segment.
rule calibrate:
    input:
        spec=spec_of,
        build=rules.build.output.receipt,
        provision=rules.provision.output.receipt,
    output:
        receipt=f"{RESULTS}/{{experiment}}/receipts/minheap.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/minheap.log",
    resources:
        measuring=1,
    params:
        results=RESULTS,
    shell:
        "regatta minheap {input.spec:q} --results {params.results:q} --receipt {output.receipt:q} > {log:q} 2>&1"


rule plan:
    input:
        spec=spec_of,
        minheap=rules.calibrate.output.receipt,
    output:
        experiment=f"{RESULTS}/{{experiment}}/plan/experiment.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/plan.log",
    params:
        results=RESULTS,
    shell:
        "regatta plan {input.spec:q} --results {params.results:q} --write > {log:q} 2>&1"
