"""Everything that predicts: vectors, traces, simulations, models of load. Nothing outside of this folder imports it."""
