"""The page cache and its reclaim, simulated: read and written files, and the mapped pages of a program."""
