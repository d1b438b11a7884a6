"""Run two programs at once on disjoint halves of the host, whose ratio is then free of what slows both."""
