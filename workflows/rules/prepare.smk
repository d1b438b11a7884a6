# One process for four steps, because each would read the same spec and prepare the same hosts. Minheaps are measured on this
# machine, so that the job must not run concurrently with a segment.
rule prepare:
    input:
        fingerprint=f"{RESULTS}/{{experiment}}/receipts/fingerprint.json",
    output:
        build=f"{RESULTS}/{{experiment}}/receipts/build.json",
        provision=f"{RESULTS}/{{experiment}}/receipts/provision.json",
        minheap=f"{RESULTS}/{{experiment}}/receipts/minheap.json",
        # The old plan stays until the new one replaces it, so that a failure or a kill leaves an experiment that can be read.
        plan=update(f"{RESULTS}/{{experiment}}/plan/experiment.json"),
        planned=f"{RESULTS}/{{experiment}}/receipts/plan.json",
    log:
        build=f"{RESULTS}/{{experiment}}/logs/build.log",
        provision=f"{RESULTS}/{{experiment}}/logs/provision.log",
        minheap=f"{RESULTS}/{{experiment}}/logs/minheap.log",
        plan=f"{RESULTS}/{{experiment}}/logs/plan.log",
    resources:
        measuring=1,
    params:
        spec=GRAPH.spec_of,
        folder=GRAPH.folder_of,
    shell:
        "{REGATTA:q} prepare {params.spec:q} {params.folder:q} {log:q} --way {resources.way:q}"
