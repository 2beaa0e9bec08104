"""The machine: facts for the metadata, samples while a window is open, what a batch cost its process."""
