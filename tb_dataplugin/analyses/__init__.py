"""Pure functions ``(Trace, ...) -> frozen dataclass | Unavailable``. No I/O, no mutation. Times are int64 nanoseconds."""
