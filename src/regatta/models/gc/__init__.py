"""Garbage collection: costs, demands and predictions (HBench:JGC), and advice on heap sizes."""
