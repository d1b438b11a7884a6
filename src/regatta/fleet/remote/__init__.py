"""Remote hosts: five verbs, and one file per kind of connection."""
