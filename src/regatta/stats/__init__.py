"""Estimate from arrays of numbers. This package depends on numpy and scipy and knows nothing about benchmarks.

All functions are total: a value that cannot be estimated is NaN with a reason, without a warning or an exception.
Only an invalid argument (a level outside 0 to 1, a wrong shape) raises ValueError.
"""
