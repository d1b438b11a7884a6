"""Record the events of a host: scheduling, interrupts, system calls, and probes in unmodified programs."""
