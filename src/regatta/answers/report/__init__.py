"""All topics together: the registry, the answer, its document, its page and its gallery."""
