"""Make a host quiet, and restore it.

Every knob finds the values to change and stores them on the host's disk before its first change. It sets, reads back, and
restores the stored values. Standard library for Python 3.9 only: the package runs on hosts as the zipapp's verb `quiet`.
"""
