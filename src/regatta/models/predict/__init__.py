"""Predictions from costs of primitives times their counts, rankings, what-ifs."""
