"""Execute the programs of one invocation on several hosts: a conductor, and an agent for each role (docs/roles.md)."""
