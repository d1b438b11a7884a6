# Measures on this machine, so that it must not run concurrently with a segment.
rule calibrate:
    input:
        build=rules.build.output.receipt,
        provision=rules.provision.output.receipt,
    output:
        receipt=f"{RESULTS}/{{experiment}}/receipts/minheap.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/minheap.log",
    resources:
        measuring=1,
    params:
        spec=GRAPH.spec_of,
        results=GRAPH.results_of,
    shell:
        "{REGATTA:q} minheap {params.spec:q} --results {params.results:q} --way {resources.way:q}"
        " --receipt {output.receipt:q} > {log:q} 2>&1"


rule plan:
    input:
        minheap=rules.calibrate.output.receipt,
    output:
        experiment=f"{RESULTS}/{{experiment}}/plan/experiment.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/plan.log",
    params:
        spec=GRAPH.spec_of,
        results=GRAPH.results_of,
    shell:
        "{REGATTA:q} plan {params.spec:q} --results {params.results:q} --way {resources.way:q} --write > {log:q} 2>&1"
