"""Traces of system calls, and the application vectors computed from them."""
