"""Predictions from costs of primitives times their counts, rankings, what-ifs. Arithmetic on frozen values, without I/O."""
