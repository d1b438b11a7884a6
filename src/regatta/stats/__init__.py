"""Arrays in, estimates out. Knows numpy and scipy, and no benchmark.

Every function is total: what cannot be estimated comes back as NaN with a reason, without a warning and without an exception.
Only a wrong call (a level outside 0 to 1, a wrong shape) raises ValueError.
"""
