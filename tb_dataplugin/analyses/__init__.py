"""Pure functions ``(Trace, ...) -> frozen dataclass | Unavailable``. No I/O, no mutation; times in nanoseconds."""
