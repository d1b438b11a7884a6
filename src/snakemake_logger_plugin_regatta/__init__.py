"""Snakemake's logger that shows how far an experiment is, and writes down what happens (`--logger regatta`)."""
