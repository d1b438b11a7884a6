"""Garbage collection: costs of collectors, demands of applications, predictions from both (HBench:JGC), and advice on heap sizes."""
