"""Garbage collection: models of run time over the heap and between collectors, and advice from them."""
