"""Reaching a host: five verbs, and a file for each way."""
