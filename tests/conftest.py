"""Being here, it lets every test import the helpers beside it."""
