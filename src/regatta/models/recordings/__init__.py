"""Folders of recordings (events, file operations, memory): facts and tables, validated when read."""
