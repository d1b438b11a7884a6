"""Folders of recordings (events, file operations, references to memory): facts and tables, validated when they are read."""
