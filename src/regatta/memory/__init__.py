"""References of a program to memory, and the page faults that they cause when memory is limited."""
