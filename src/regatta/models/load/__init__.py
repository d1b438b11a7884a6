"""Request logs of servers, and models of load that are made from them.

Source: Zhang, Application-Specific Benchmarking (2001), section 3.1.2: the trace-based method.
"""
