"""Count events of the kernel and the processor, and energy, around measured processes."""
