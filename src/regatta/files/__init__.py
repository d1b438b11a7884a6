"""File operations of a program, and the page cache that serves them: the hybrid method of HBench:FS."""
