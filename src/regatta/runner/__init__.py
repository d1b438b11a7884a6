"""One segment on one host: measured processes in plan order, each left as a durable record.

Plain standard library, Python 3.9 or newer; it travels to hosts as one zipapp. While a measured process runs it sleeps
in `poll`: it is woken by the end of the process, by its timeout, and by what the process prints.
"""
