rule provision:
    input:
        spec=spec_of,
        registries=[
            str(HOME / "configs" / name) for name in ("runtimes.yml", "collectors.yml")
        ],
    output:
        receipt=f"{RESULTS}/{{experiment}}/receipts/provision.json",
    log:
        f"{RESULTS}/{{experiment}}/logs/provision.log",
    shell:
        "regatta provision {input.spec:q} --receipt {output.receipt:q} > {log:q} 2>&1"
