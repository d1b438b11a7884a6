"""What a garbage collector costs, what an application asks of it, and the prediction that follows (HBench:JGC, thesis, chapter 5)."""
