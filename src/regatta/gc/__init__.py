"""Garbage collection as HBench:JGC describes it: how an application uses the heap, and what a collector costs."""
