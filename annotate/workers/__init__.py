"""DataLoader workers: one transport of what is known per batch, and both of its ends."""
