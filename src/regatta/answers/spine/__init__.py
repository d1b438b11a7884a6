"""What every answer rests on: samples, blocks, pairs, places and names, and what is computed once for all topics."""
