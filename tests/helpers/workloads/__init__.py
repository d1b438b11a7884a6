"""Compile and run the programs of benchmarks/."""
