"""What every topic draws and writes with."""
