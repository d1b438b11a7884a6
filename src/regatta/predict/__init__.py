"""Costs of primitives times their counts: predictions, rankings, what-ifs. Arithmetic on frozen values, without I/O."""
