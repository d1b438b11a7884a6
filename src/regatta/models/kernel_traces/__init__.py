"""Event traces: what happened when, on which CPU, in which process, and the measures computed from it."""
