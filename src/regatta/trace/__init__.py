"""What a program asks of the system, counted: traces of system calls become application vectors."""
