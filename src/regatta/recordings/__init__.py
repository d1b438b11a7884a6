"""Folders of recordings (events, file operations, references to memory): facts and tables, validated at the door."""
