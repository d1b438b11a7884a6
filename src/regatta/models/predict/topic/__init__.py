"""Predictions as a topic of an answer: what a spec asks for by `predict`."""
