"""Specs that tests read, and experiments planned from them."""
